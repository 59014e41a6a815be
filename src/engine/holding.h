/*
 * A lock after it was acquired: carries out what its lease wants, ends the calls that wait for it, and sees
 * to it that a loss is told.
 */
#ifndef RL_ENGINE_HOLDING_H
#define RL_ENGINE_HOLDING_H

#include "engine/lock.h"

struct rl_lease_terms rl_holding_terms(struct rl_engine *engine); /* once its options are known */
struct rl_lease_config rl_holding_config(const struct rl_engine *engine, const redlock_spec *spec);
void rl_holding_start(redlock_lock *lock, struct rl_time asked, struct rl_time valid_until);
void rl_holding_event(redlock_lock *lock, const struct rl_event *event);

/* It turned out that nodes do not have it. */
void rl_holding_missed(redlock_lock *lock, rl_node_set nodes);

/* Whether all it wants is to be renewed, and validity lasts long enough to do that a little later. */
bool rl_holding_can_wait(const redlock_lock *lock, struct rl_time now);
void rl_holding_abandon(redlock_lock *lock); /* leave it at the nodes and look after it no more */
void rl_holding_let_go(redlock_lock *lock);  /* its loss has been told: release what is left of it */
void rl_holding_discard(redlock_lock *lock); /* release it everywhere without waiting for anybody */

/* The caller's handle is gone; the lock it was a handle of is left at the nodes if it was held. */
void rl_holding_free(redlock_lock *lock);

#endif
