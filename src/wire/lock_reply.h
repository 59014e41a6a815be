/*
 * What a node's reply to a lock command means as a verdict, and what else it told. Which command that was is
 * in lock_command.h; who is told is not known here.
 */
#ifndef RL_WIRE_LOCK_REPLY_H
#define RL_WIRE_LOCK_REPLY_H

#include "wire/lock_answer.h"
#include "wire/lock_command.h"

enum rl_reading {
    RL_READING_ANSWER,    /* *answer is filled in */
    RL_READING_NO_SCRIPT, /* nothing was executed: send it again in full */
    /* nothing was executed: the node lacks the native command, or we lack the right: use the script */
    RL_READING_NO_COMMAND
};

/* Reads the whole reply (all its messages, complete and well formed). A reply of an unexpected shape is a
 * failed verdict with RL_CAUSE_PROTOCOL, and so is one with a fence out of range. Of the command that was
 * sent it wants both kinds, whether there was an epoch, the fence, and the names. */
enum rl_reading rl_lock_reply_read(const struct rl_lock_command *command, const char *bytes, size_t length,
                                   struct rl_lock_reply *reply);

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
