/*
 * The commands that take, prolong, drop and look at a lock on one node, as bytes, and what the node's reply means as a
 * verdict. Everything the core wants from a node is said here; connections and deadlines are not.
 */
#ifndef RL_WIRE_LOCK_COMMAND_H
#define RL_WIRE_LOCK_COMMAND_H

#include "core/event.h"
#include "wire/handshake.h"
#include "wire/line_command.h"
#include "wire/resp_writer.h"

enum rl_command_kind {
    RL_COMMAND_ACQUIRE,
    RL_COMMAND_RAISE, /* lift the fence while the lock is ours */
    RL_COMMAND_EXTEND,
    RL_COMMAND_RELEASE,
    RL_COMMAND_PEEK,  /* who holds it: answers granted for "free there" */
    RL_COMMAND_WATCH, /* the same, and the node tells when the key changes, once; see tracking.h */
    RL_COMMAND_TRACK, /* switches such telling on or off for a connection: see tracking.h, not here */
    RL_COMMAND_PLACE, /* where a waiter stands in the line, and to be told when he moves up: see place.c, not here */
    RL_COMMAND_ADMIT,   /* may this node vote: see guard_command.h, not here */
    RL_COMMAND_LEAVE,   /* give up the place in the line: answers denied for "was not in it" */
    RL_COMMAND_PRESENT, /* somebody waits, or no longer: for people to see */
    RL_COMMAND_LINE,    /* who waits: answers granted, and rl_line_read has the rest */
    RL_COMMAND_FENCE,   /* the highest fence of a lock: see rl_lock_command_fence */
    RL_COMMAND_EXAMINE, /* how is this node: see examine_command.h, not here */
    RL_COMMAND_SEARCH /* is any lock held, of any name: answers denied with the first; fence is the node's floor */
};

struct rl_lock_command {
    enum rl_command_kind kind;
    const char *key;
    size_t key_length;
    const char *owner;
    size_t owner_length;
    int64_t ttl_ms;
    /* Guarded nodes only; without an epoch the plain commands are written. */
    const char *epoch;    /* the record the node was admitted with; NULL: plain */
    uint64_t fence;       /* ACQUIRE: the proposal; RAISE: the one agreed on */
    int64_t not_after_us; /* ACQUIRE, EXTEND: in node time */
    bool repair;          /* EXTEND: plant it again where it was lost */
    bool prove;           /* ACQUIRE: ask behind it which master it was that answered */
    /* ACQUIRE: a fair one, on guarded nodes only; NULL: an ordinary one. LEAVE, PRESENT: whose place. */
    const struct rl_place *place;
};

/* Replies such a command gets. */
static inline uint32_t rl_lock_command_replies(const struct rl_lock_command *command)
{
    if (command->kind == RL_COMMAND_WATCH)
        return 3;
    return command->kind == RL_COMMAND_PEEK || command->prove ? 2 : 1;
}

/* Writes it. full: send the whole script, because the node said it does not have it (NOSCRIPT). */
void rl_lock_command_write(struct rl_writer *writer, const struct rl_lock_command *command, unsigned features,
                           bool full);

enum rl_reading {
    RL_READING_ANSWER,    /* *answer is filled in */
    RL_READING_NO_SCRIPT, /* nothing was executed: send it again in full */
    RL_READING_NO_COMMAND /* nothing was executed: the node lacks the native command, or we lack the right: use the script */
};

/* What the owner of another program's kind of lock is called, whoever that is. */
extern const char rl_foreign_owner[];

/* What else a reply told; pointers into the reply, but for that one. */
struct rl_lock_reply {
    struct rl_answer answer;
    const char *error; /* error text; NULL none */
    size_t error_length;
    const char *owner; /* the owner value seen in possession, cut at RL_OWNER_MAX; NULL none */
    size_t owner_length;
    int64_t node_us; /* the node's time; 0 it did not tell */
};

/* Reads the whole reply (all its messages, complete and well formed). A reply of an unexpected shape is a broken
 * verdict with RL_CAUSE_PROTOCOL, and so is one with a fence out of range. guarded: it was not a plain command;
 * proposal: the fence that a guarded acquire proposed. */
enum rl_reading rl_lock_command_read(enum rl_command_kind kind, bool guarded, uint64_t proposal,
                                     const char *bytes, size_t length, struct rl_lock_reply *reply);

/* The second reply to an acquire with `prove`: whether it is still the master of that replication id. A node never has an
 * old one again, so it was that master when it answered the acquire, too. */
enum rl_proof {
    RL_PROOF_SAME,
    RL_PROOF_ANOTHER,
    RL_PROOF_NONE /* it answered with an error */
};

enum rl_proof rl_lock_command_proof(const char *bytes, size_t length, const char *replid);

/* The reply to FENCE; 0 none is stored. */
uint64_t rl_lock_command_fence(const char *bytes, size_t length);

/* Makes of such a reply what it is worth when it is not: an epoch refusal. */
void rl_lock_command_refuse(struct rl_lock_reply *reply);

#endif
