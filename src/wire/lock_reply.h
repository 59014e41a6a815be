/*
 * What a node's reply to a lock command means as a verdict, and what else it told. Which command that was is
 * in lock_command.h; who is told is not known here.
 */
#ifndef RL_WIRE_LOCK_REPLY_H
#define RL_WIRE_LOCK_REPLY_H

#include "core/event.h"
#include "wire/lock_command.h"
#include "wire/resp_reader.h"

enum rl_reading {
    RL_READING_ANSWER,    /* *answer is filled in */
    RL_READING_NO_SCRIPT, /* nothing was executed: send it again in full */
    /* nothing was executed: the node lacks the native command, or we lack the right: use the script */
    RL_READING_NO_COMMAND
};

/* What the owner of another program's kind of lock is called. */
extern const char rl_foreign_owner[];

/* What else a reply told; pointers into the reply, but for that one. */
struct rl_lock_reply {
    struct rl_answer answer;
    const char *error; /* error text; NULL none */
    size_t error_length;
    const char *owner; /* the owner value seen in possession, cut at RL_OWNER_MAX; NULL none */
    size_t owner_length;
    int64_t node_us; /* the node's time; 0 it did not tell */
    /* a look: the owner values of others that share it, as rl_lock_reply_other() reads them; NULL none */
    const char *others;
    size_t others_length;
};

/* Reads the whole reply (all its messages, complete and well formed). A reply of an unexpected shape is a
 * failed verdict with RL_CAUSE_PROTOCOL, and so is one with a fence out of range. Of the command that was
 * sent it wants both kinds, whether there was an epoch, the fence, and the names. */
enum rl_reading rl_lock_reply_read(const struct rl_lock_command *command, const char *bytes, size_t length,
                                   struct rl_lock_reply *reply);

/* The next of the others who share the lock, from *offset on, which begins with 0; false: there is none. */
bool rl_lock_reply_other(const struct rl_lock_reply *reply, size_t *offset, const char **owner,
                         size_t *length);

/* Tells the holder that it names from others; those who share a lock are as one. */
uint64_t rl_lock_reply_holder(const struct rl_lock_reply *reply);

/* For the readers of kinds: {0, now, fence, pttl, owner}, the items after the first two; false: they are not
 * that. */
bool rl_lock_reply_denied(const struct rl_resp *items, struct rl_lock_reply *reply);

/* The second reply to a question with `prove`: whether it is still the master of that replication id. A node
 * never has an old one again, so it was that master when it answered the acquire, too. */
enum rl_proof {
    RL_PROOF_SAME,
    RL_PROOF_ANOTHER,
    RL_PROOF_NONE /* it answered with an error */
};

enum rl_proof rl_lock_reply_proof(const char *bytes, size_t length, const char *replid);

/* The reply to FENCE; 0 none is stored. */
uint64_t rl_lock_reply_fence(const char *bytes, size_t length);

/* Makes of such a reply what it is worth when it is not: an epoch refusal. */
void rl_lock_reply_refuse(struct rl_lock_reply *reply);

#endif
