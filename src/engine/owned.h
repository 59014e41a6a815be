/*
 * Finds the lock that an owner value belongs to: one that stands in line, or has stood there and is held.
 * Nodes name owners when they hand a lock over, and nobody asked them then.
 */
#ifndef RL_ENGINE_OWNED_H
#define RL_ENGINE_OWNED_H

#include "engine/lock.h"

void rl_owned_init(struct rl_engine *engine);
void rl_owned_free(struct rl_engine *engine);

/* Under its present owner, until that changes or the lock is over: rl_owned_remove() comes before either. */
void rl_owned_add(redlock_lock *lock);
void rl_owned_remove(redlock_lock *lock);

/* NULL: there is none of that name with that owner. */
redlock_lock *rl_owned_find(struct rl_engine *engine, const char *key, size_t key_length, const char *owner,
                            size_t owner_length);

#endif
