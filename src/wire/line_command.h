/*
 * The commands about those who wait for a lock (the line of a fair one, and who waits for an ordinary one), as bytes, and
 * the answer that names them. The vote itself is in lock_command.h.
 */
#ifndef RL_WIRE_LINE_COMMAND_H
#define RL_WIRE_LINE_COMMAND_H

#include "wire/owner.h"
#include "wire/resp_reader.h"
#include "wire/resp_writer.h"

enum {
    RL_WAITER_ID = 2 * 16, /* random, in hex */
    RL_LINE_NAMED_MAX = 32 /* waiters of each kind that an answer names */
};

/* Somebody who waits. */
struct rl_place {
    char id[RL_WAITER_ID + 1];
    uint64_t ticket; /* fair: in the order of these the lock is given out (us); PRESENT: since when (us) */
    bool settled;    /* fair: a quorum has taken the waiter in with this ticket: it counts as it is */
    uint32_t lease_ms;
    uint32_t grace_ms; /* fair: how long a free lock is offered to one who does not take it */
    const char *
        who; /* an owner value without its random part, at most RL_OWNER_TAIL_MAX; longer ones are cut when read */
    size_t who_length;
    uint32_t count;      /* PRESENT: how many wait together */
    bool leaving;        /* PRESENT: they wait no longer */
    const char *channel; /* rl_kind_line: where to tell it that it has the lock; "" it cannot be told */
};

/* The keys of a line and of a waiter in it: they follow those of the vote, or are all there is to leaving. */
enum { RL_LINE_KEYS = 3 };
void rl_line_write_keys(struct rl_writer *writer, const char *key, size_t key_length,
                        const struct rl_place *place);

void rl_line_write_leave(struct rl_writer *writer, const char *key, size_t key_length,
                         const struct rl_place *place, bool full);
void rl_line_write_present(struct rl_writer *writer, const char *key, size_t key_length,
                           const struct rl_place *place, bool full);

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
