/*
 * What a reply about a lock told, as a value, and those parts of it that several readers fill in. Which reply
 * says what is in lock_reply.c and look_reply.c.
 */
#ifndef RL_WIRE_LOCK_ANSWER_H
#define RL_WIRE_LOCK_ANSWER_H

#include "core/event.h"
#include "wire/resp_reader.h"

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
    /* a look: the owner values of others that share it, as rl_look_reply_other() reads them; NULL none */
    const char *others;
    size_t others_length;
};

/* A reply that has an unexpected shape, and one that is an error: failed verdicts. */
void rl_lock_answer_protocol(struct rl_lock_reply *reply);
void rl_lock_answer_error(struct rl_lock_reply *reply, const struct rl_resp *item);

/* Whose key is there. The mark of a hold that was broken is no part of its owner's value. */
void rl_lock_answer_owner(struct rl_lock_reply *reply, const struct rl_resp *value);

/* Tells the holder that it names from others; those who share a lock are as one. */
uint64_t rl_lock_answer_holder(const struct rl_lock_reply *reply);

/* For the readers of kinds: {0, now, fence, pttl, owner}, the items after the first two; false: they are not
 * that. */
bool rl_lock_answer_denied(const struct rl_resp *items, struct rl_lock_reply *reply);

/* What PTTL says that a key has left, as an answer has it; false: PTTL does not say that. */
bool rl_lock_answer_ttl(const struct rl_resp *item, int64_t *ttl_left_ms);

/* Whether it is a number that a fence may be, or 0. */
bool rl_lock_answer_is_fence(const struct rl_resp *item);

#endif
