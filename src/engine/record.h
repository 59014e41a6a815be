/*
 * What nodes said, written down for the caller's report and for the statistics. Nothing here changes what
 * happens.
 */
#ifndef RL_ENGINE_RECORD_H
#define RL_ENGINE_RECORD_H

#include "engine/operation.h"

/* The answer of a node that could not be asked, or whose vote is withheld. */
struct rl_answer rl_record_refusal_answer(struct rl_engine *engine, uint32_t node);

/* Write down what a node said, or why it was not asked, for the waiter of the lock's present question. */
void rl_record_refusal(redlock_lock *lock, uint32_t node);
void rl_record_reply(redlock_lock *lock, uint32_t node, enum rl_command_kind kind, int64_t latency_us,
                     const struct rl_lock_reply *reply);

/* The node did not do what a list or a watch asked it; `words` is what it said, if anything. */
void rl_record_failure(redlock_lock *lock, uint32_t node, enum rl_cause cause, const char *words,
                       size_t length);

/* A node that cannot write, for want of memory or of a disk, is known as such until it grants or denies a
 * lock again: a waiter has no other way to learn why. */
void rl_record_inability(struct rl_engine *engine, uint32_t node, const struct rl_lock_reply *reply);

/* A round ended because time did: nodes that have not answered were silent. */
void rl_record_silence(redlock_lock *lock, const struct rl_tally *tally);
void rl_record_line(redlock_lock *lock, const char *bytes, size_t length); /* waiters, for an inspection */
void rl_record_count(struct rl_engine *engine, uint32_t node, enum rl_command_kind kind,
                     struct rl_answer answer);

#endif
