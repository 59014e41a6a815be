/*
 * Connections of a call's own, beside those of the client: commands to one node or to several, and the
 * replies to them. It blocks. It decides nothing and does not know what the commands mean; one thread uses it
 * at a time. Replies are read by rl_talk_item() of talk_node.h.
 */
#ifndef RL_BESIDE_TALK_H
#define RL_BESIDE_TALK_H

#include "beside/talk_node.h"
#include "client/client.h"

struct rl_talk {
    redlock_client *client;
    struct rl_talk_means means;
    struct rl_poller poller;
    struct rl_resolver *resolver;
    struct rl_connection_config config;
    struct rl_clock clock;
    uint32_t node_count;
    struct rl_talk_node nodes[]; /* as many */
};

/* Without the client's mutex, by a thread that has entered the client: the client cannot go meanwhile. NULL:
 * *result is REDLOCK_NOMEM or REDLOCK_SYSTEM. */
struct rl_talk *rl_talk_open(redlock_client *client, redlock_result *result);
void rl_talk_close(struct rl_talk *talk); /* NULL is fine */

/* Forgets what was asked before; then commands are written, to as many nodes as are to be asked. A node
 * without memory for a command has failed. */
void rl_talk_begin(struct rl_talk *talk);
void rl_talk_write(struct rl_talk *talk, uint32_t node, const struct rl_argument *arguments, uint32_t count);

/* Connects where that has to be, sends, and waits until every node that was written to has answered or
 * failed, which takes no longer than connect_timeout_ms and node_timeout_ms. */
void rl_talk_exchange(struct rl_talk *talk);

struct rl_time rl_talk_now(struct rl_talk *talk);

/* Sleeps, but no longer than until somebody closes the client; false: that is the case. */
bool rl_talk_rest(struct rl_talk *talk, struct rl_span span);

#endif
