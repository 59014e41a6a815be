/*
 * One acquisition at plain nodes from the first question to the lock or the reason why not: rounds over all
 * nodes, undoing what was half won, waiting for the lock to be free in between. It decides; others send,
 * sleep and keep the lock. At guarded nodes stand.h has all of that.
 */
#ifndef RL_CORE_ACQUIRE_H
#define RL_CORE_ACQUIRE_H

#include "core/acquire_state.h"

void rl_acquire_init(struct rl_acquire *acquire, const struct rl_acquire_config *config,
                     struct rl_prng *prng);

/* Tell the acquisition what happened; learn what to do about it. *effects is overwritten. */
void rl_acquire_step(struct rl_acquire *acquire, const struct rl_event *event, struct rl_effects *effects);

#endif
