/*
 * The talk with one node over a connection of its own: it is opened when there is something to send, greets
 * the node, and reads as many replies as commands were written. It never blocks; talk.c waits, for all nodes
 * at once.
 */
#ifndef RL_BESIDE_TALK_NODE_H
#define RL_BESIDE_TALK_NODE_H

#include <string.h>

#include "base/memory.h"
#include "engine/config.h"
#include "net/clock.h"
#include "net/connection.h"
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

/* What all nodes of a talk have in common. */
struct rl_talk_means {
    const struct rl_config *config;
    const struct rl_memory *memory;
    struct rl_clock *clock;
};

/* The talk with one node. */
struct rl_talk_node {
    const struct rl_talk_means *means;
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

/* A fresh exchange: forgets what was asked before. Then commands are written; without memory for one it has
 * failed. */
void rl_talk_node_begin(struct rl_talk_node *node);
void rl_talk_node_write(struct rl_talk_node *node, const struct rl_argument *arguments, uint32_t count);

/* Sends what was written, once there is a connection. */
void rl_talk_node_start(struct rl_talk_node *node);

/* What the resolver or the poller said of it. */
void rl_talk_node_resolved(struct rl_talk_node *node, const struct rl_resolved *resolved);
void rl_talk_node_ready(struct rl_talk_node *node, const struct rl_ready *ready);

/* Gives it up, with a reset: what it was asked and has not carried out yet must not be carried out later. */
void rl_talk_node_fail(struct rl_talk_node *node, enum rl_cause cause, const char *why);
void rl_talk_node_close(struct rl_talk_node *node);

/* Whether a node has answered all of its commands. */
static inline bool rl_talk_answered(const struct rl_talk_node *node)
{
    return node->asked && !node->failed && node->replies == node->commands;
}

/* Whether there is still something to wait for. */
static inline bool rl_talk_node_awaited(const struct rl_talk_node *node)
{
    return node->asked && !node->failed && !rl_talk_answered(node);
}

/* Reads the next item of a node's replies from *offset on (0 at first), however large a text is; false: there
 * is none. */
bool rl_talk_item(const struct rl_talk_node *node, size_t *offset, struct rl_resp *item);

/* Moves *offset past one whole reply. */
bool rl_talk_skip(const struct rl_talk_node *node, size_t *offset);

#endif
