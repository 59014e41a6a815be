/*
 * Locks that their owner enters again: how often it is inside is counted here, in the client, and no node is
 * asked. The first acquisition and the last release are ordinary ones.
 */
#ifndef RL_ENGINE_REENTRANT_H
#define RL_ENGINE_REENTRANT_H

#include "engine/operation.h"

/* The lock of this name that this owner is inside of, be it lost meanwhile; NULL: none. */
redlock_lock *rl_reentrant_find(struct rl_engine *engine, const redlock_spec *spec);

/* An acquisition that enters it, and has ended; its lock is handed out like any other. NULL: no memory. */
struct rl_operation *rl_reentrant_begin(redlock_lock *lock, redlock_request request);

/* The caller of an acquisition gets its handle: one more entry. Callers of the same owner that queue behind
 * it enter with it. */
void rl_reentrant_enter(struct rl_operation *operation);

/* It does not get one after all; true: others are inside. */
bool rl_reentrant_miss(struct rl_operation *operation);

/* One entry less; true: others are left, and it stays held. */
bool rl_reentrant_leave(redlock_lock *lock);

/* A handle is freed, and its entry with it if it was not left; true: others are left. */
bool rl_reentrant_free(redlock_lock *lock);

#endif
