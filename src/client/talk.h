/*
 * Connections of a call's own, beside those of the client, for what is no lock: commands to one node or to several, and the replies
 * to them. It blocks. It decides nothing and does not know what the commands mean; one thread uses it at a time.
 */
#ifndef RL_CLIENT_TALK_H
#define RL_CLIENT_TALK_H

#include <string.h>

#include "client/client.h"
#include "wire/handshake.h"
#include "wire/resp_reader.h"

/* One argument of a command. */
struct rl_argument {
    const void *bytes;
    size_t length;
};

static inline struct rl_argument rl_argument_text(const char *text)
{
    return (struct rl_argument){text, strlen(text)};
}

/* Room that grows; from the client's allocator. */
struct rl_room {
    char *bytes;
    size_t length, capacity;
};

/* The talk with one node. */
struct rl_talk_node {
    struct rl_connection connection;
    struct rl_handshake handshake;
    bool greeted;      /* it can be asked; a connection that breaks takes what was watched on it with it */
    bool asked;        /* of the exchange that is under way: it takes part */
    bool failed;       /* it could not be asked, or did not answer: `cause` and `error` say why */
    bool sent;         /* something of its commands has gone out: it may have carried them out */
    bool too_long;     /* failed: it answered with a text of more than REDLOCK_VALUE_MAX bytes */
    uint32_t commands; /* how many have been written */
    uint32_t replies;  /* how many of the replies are there */
    size_t read;       /* how far the replies in `in` go */
    size_t put;        /* how much of what has to be sent was */
    struct rl_room in, out; /* replies; commands */
    struct rl_room hello;   /* the greeting */
    struct rl_time deadline;
    enum rl_cause cause;
    char error[128];
};

struct rl_talk {
    redlock_client *client;
    const struct rl_memory *memory;
    struct rl_poller poller;
    struct rl_resolver *resolver;
    struct rl_connection_config config;
    struct rl_clock clock;
    uint32_t node_count;
    struct rl_talk_node nodes[]; /* as many */
};

/* Without the client's mutex, by a thread that has entered the client: the client cannot go meanwhile. NULL: *result is
 * REDLOCK_NOMEM or REDLOCK_SYSTEM. */
struct rl_talk *rl_talk_open(redlock_client *client, redlock_result *result);
void rl_talk_close(struct rl_talk *talk); /* NULL is fine */

/* Forgets what was asked before; then commands are written, to as many nodes as are to be asked. A node without memory for a
 * command has failed. */
void rl_talk_begin(struct rl_talk *talk);
void rl_talk_write(struct rl_talk *talk, uint32_t node, const struct rl_argument *arguments, uint32_t count);

/* Connects where that has to be, sends, and waits until every node that was written to has answered or failed, which takes no
 * longer than connect_timeout_ms and node_timeout_ms. */
void rl_talk_exchange(struct rl_talk *talk);

/* Whether a node has answered all of its commands. */
static inline bool rl_talk_answered(const struct rl_talk_node *node)
{
    return node->asked && !node->failed && node->replies == node->commands;
}

/* Reads the next item of a node's replies from *offset on (0 at first), however large a text is; false: there is none. */
bool rl_talk_item(const struct rl_talk_node *node, size_t *offset, struct rl_resp *item);

/* Moves *offset past one whole reply. */
bool rl_talk_skip(const struct rl_talk_node *node, size_t *offset);

struct rl_time rl_talk_now(struct rl_talk *talk);

/* Sleeps, but no longer than until somebody closes the client; false: that is the case. */
bool rl_talk_rest(struct rl_talk *talk, struct rl_span span);

#endif
