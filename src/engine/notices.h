/*
 * What the holder of a lock is to be told through its callbacks: that the lock was lost, that it was renewed.
 * Running them is the client's, which needs threads for it.
 */
#ifndef RL_ENGINE_NOTICES_H
#define RL_ENGINE_NOTICES_H

#include "engine/lock.h"

/* Whether its holder is to be told of its loss. */
bool rl_notices_wanted(const redlock_lock *lock);

/* It was lost; a renewal came to an end. What nobody wants to be told of is only counted. */
void rl_notices_add_loss(redlock_lock *lock);
void rl_notices_add_renewal(redlock_lock *lock);

/* The next of them, first what happened first: a renewal, then the loss. Returns the callback, and fills in
 * the report that it is given. NULL: nobody wants to be told any more. */
redlock_lost_fn rl_notices_take(redlock_lock *lock, redlock_report *report, bool *lost);

#endif
