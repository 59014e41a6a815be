/*
 * One caller at guarded nodes, from the first question to the lock or the reason why not; in line, if it
 * waits. Nodes grant the lock in their answers or hand it over later; it counts both, agrees on the fence,
 * gives way when the lock is split, and keeps its places. It decides; others send, draw owners and keep the
 * lock.
 */
#ifndef RL_CORE_STAND_H
#define RL_CORE_STAND_H

#include "core/acquire.h"
#include "core/stand_state.h"

void rl_stand_init(struct rl_stand *stand, const struct rl_acquire_config *config, struct rl_prng *prng);

/* Tell it what happened; learn what to do about it. Effects: release (whatever the present owner has there:
 * the lock or a place), then acquire (fresh: with a fresh owner), raise, watch, done; asks_first: acquire,
 * then release what the owner before that has. */
void rl_stand_step(struct rl_stand *stand, const struct rl_event *event, struct rl_effects *effects);

#endif
