/*
 * The commands that take, prolong, drop and look at a lock on one node, as bytes. Everything the core wants
 * from a node is said here; what the node answers is in lock_reply.h.
 */
#ifndef RL_WIRE_LOCK_COMMAND_H
#define RL_WIRE_LOCK_COMMAND_H

#include "wire/kind.h"
#include "wire/line_command.h"
#include "wire/page_command.h"

enum rl_command_kind {
    RL_COMMAND_ACQUIRE,
    RL_COMMAND_RAISE, /* lift the fence while the lock is ours */
    RL_COMMAND_EXTEND,
    RL_COMMAND_RELEASE,
    RL_COMMAND_PEEK,      /* who holds it: answers granted for "free there" */
    RL_COMMAND_WATCH,     /* the same, and the node tells when the key changes, once; see tracking.h */
    RL_COMMAND_TRACK,     /* switches such telling on or off for a connection: see tracking.h, not here */
    RL_COMMAND_SUBSCRIBE, /* to the client's own channel: see hand_over.h, not here */
    RL_COMMAND_ADMIT,     /* may this node vote: see guard_command.h, not here */
    RL_COMMAND_LINE,      /* who waits: answers granted, and rl_line_read has the rest */
    RL_COMMAND_FENCE,     /* the highest fence of a lock: rl_lock_reply_fence reads it */
    RL_COMMAND_EXAMINE,   /* how is this node: see examine_command.h, not here */
    /* is any lock held, of any name: answers denied with the first; fence is the node's floor */
    RL_COMMAND_SEARCH,
    RL_COMMAND_BREAK, /* end somebody's hold by an operator's order; ttl_ms: how long others are kept out */
    RL_COMMAND_PAGE   /* one page of all locks of a node: see page_command.h for the answer */
};

/* As many digits as RL_FENCE_MAX has. */
enum { RL_FENCE_DIGITS = 16 };

struct rl_lock_command {
    enum rl_command_kind kind;
    const struct rl_kind *lock_kind; /* ACQUIRE, RAISE, EXTEND, RELEASE, PEEK, WATCH, BREAK, PAGE */
    const char *key;
    size_t key_length;
    const struct rl_names *names; /* of a lock that has several: then key is the first that was given */
    const char *owner;
    size_t owner_length;
    int64_t ttl_ms;
    /* Guarded nodes only; without an epoch the plain commands are written. */
    const char *epoch; /* the record the node was admitted with; NULL: plain */
    uint64_t fence; /* ACQUIRE: the proposal; RAISE: the one agreed on; EXTEND: the holder's, 0 not known */
    int64_t not_after_us;         /* ACQUIRE, EXTEND: in node time */
    bool holds;                   /* EXTEND: a holder asks, not a program that would adopt it */
    bool repair;                  /* EXTEND: plant it again where it was lost; only a holder may */
    bool prove;                   /* ACQUIRE, EXTEND: ask behind it which master it was that answered */
    bool nameless;                /* PEEK: of no lock; asked is whether the node could store one */
    bool finds;                   /* PEEK: for the holder that owner names, by its id perhaps, and its slot */
    uint32_t slots;               /* a kind with slots: how many there are, */
    uint32_t slot;                /* which one it is about, or which it would like best; 0 not known */
    bool whole;                   /* RELEASE of several names: of all of them, or of none */
    bool only_slot;               /* ACQUIRE: that one and no other */
    uint32_t kept_slot;           /* RELEASE: everything but this one is given back; 0 all */
    const struct rl_place *place; /* ACQUIRE of a caller that stands in line; NULL it does not */
    const struct rl_page *page;   /* PAGE: which one */
};

/* Replies such a command gets. */
static inline uint32_t rl_lock_command_replies(const struct rl_lock_command *command)
{
    if (command->kind == RL_COMMAND_WATCH)
        return 3;
    return command->kind == RL_COMMAND_PEEK || command->prove ? 2 : 1;
}

/* The script it calls; NULL none, whatever the node. A release may do without where the node has a command
 * for it. */
const struct rl_script *rl_lock_command_script(const struct rl_lock_command *command);

/* Writes it. full: send the whole script, because the node said it does not have it (NOSCRIPT). */
void rl_lock_command_write(struct rl_writer *writer, const struct rl_lock_command *command, unsigned features,
                           bool full);

#endif
