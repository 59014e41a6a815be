/*
 * Releases that are still owed to nodes whose connection broke. Bounded; a debt ends with the key's own TTL.
 * Sending them is the reaper's.
 */
#ifndef RL_ENGINE_DEBTS_H
#define RL_ENGINE_DEBTS_H

#include "engine/lock.h"

/* A release is owed to a node, to be sent after a pause. random: whose owner; NULL the present one. */
void rl_debts_add(redlock_lock *lock, uint32_t node, const uint8_t *random, struct rl_span pause);
/* The last one takes its place. */
void rl_debts_forgive(struct rl_engine *engine, struct rl_debt *debt);

/* Counts anew what each node is owed, and when; after debts were put off. */
void rl_debts_reckon(struct rl_engine *engine);

/* Whether a node is owed a release that was not sent at all yet. */
bool rl_debts_waits(const struct rl_engine *engine, uint32_t node);

/* Whether a release is owed to a node that is being connected to. */
bool rl_debts_awaited(const struct rl_engine *engine);

/* When somebody should look again: a debt is due, over, or its node may be tried anew. */
struct rl_time rl_debts_due(const struct rl_engine *engine);
void rl_debts_drop_all(struct rl_engine *engine);

#endif
