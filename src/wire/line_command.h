/*
 * The waiters for a lock: what a caller in line tells of itself, and the question who waits, with the answer
 * that names them. The vote itself is in lock_command.h.
 */
#ifndef RL_WIRE_LINE_COMMAND_H
#define RL_WIRE_LINE_COMMAND_H

#include "wire/owner.h"
#include "wire/resp_reader.h"
#include "wire/resp_writer.h"

enum { RL_LINE_NAMED_MAX = 32 }; /* waiters of each kind that an answer names */

/* What a caller that stands in line tells the nodes of itself. */
struct rl_place {
    uint64_t ticket;   /* in the order of these the lock is given out (us) */
    bool settled;      /* a quorum has taken it in with this ticket: it counts as it is */
    bool yields;       /* it wants no vote, for somebody else has the lock */
    bool keeps;        /* of several names: it has all of them at another node; see wire/lua/ask_names.lua */
    uint32_t lease_ms; /* how long it is believed to be there unless it asks again */
    const char *channel; /* where to tell it that it has the lock; "" it cannot be told */
};

/* Asks who waits. */
void rl_line_write_line(struct rl_writer *writer, const char *key, size_t key_length, bool full);

struct rl_waiter {
    uint64_t ticket; /* in the line: his ticket; otherwise since when he waits (us) */
    uint32_t count;  /* how many wait together: in the line 1 */
    const char *who; /* for rl_owner_field; points into the reply */
    size_t who_length;
};

struct rl_line {
    int64_t node_us;
    uint32_t in_line; /* all of them; some may not be named */
    uint32_t in_line_named;
    uint32_t waiting; /* entries, each of which stands for `count` */
    uint32_t waiting_named;
    struct rl_waiter line[RL_LINE_NAMED_MAX]; /* the first is the next to have the lock */
    struct rl_waiter others[RL_LINE_NAMED_MAX];
};

/* Reads the answer to rl_line_write_line; false: it is not one, and *line means nothing. */
bool rl_line_read(const char *bytes, size_t length, struct rl_line *line);

#endif
