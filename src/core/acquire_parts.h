/*
 * What the two halves of the acquisition's state machine, acquire.c and acquire_wait.c, want from each other. Nobody else
 * calls these.
 */
#ifndef RL_CORE_ACQUIRE_PARTS_H
#define RL_CORE_ACQUIRE_PARTS_H

#include "core/acquire.h"

/* ---- acquire.c ---- */

void rl_acquire_begin_round(struct rl_acquire *acquire, struct rl_time now, struct rl_effects *effects);

/* Waits or rests before the next round, or ends when there is to be none. */
void rl_acquire_rest_or_end(struct rl_acquire *acquire, struct rl_time now, struct rl_effects *effects);

/* ---- acquire_wait.c ---- */

void rl_acquire_begin_wait(struct rl_acquire *acquire, struct rl_time now, struct rl_effects *effects);

/* Stays away from a lock that is too hot, and then begins to wait. */
void rl_acquire_doze(struct rl_acquire *acquire, struct rl_time now, struct rl_effects *effects);
void rl_acquire_return(struct rl_acquire *acquire, struct rl_time now, struct rl_effects *effects);

/* While waiting: a node said who holds it; a node told of a change, came or went; the time for something has come. */
void rl_acquire_count_watch(struct rl_acquire *acquire, const struct rl_event *event,
                            struct rl_effects *effects);
void rl_acquire_node_event(struct rl_acquire *acquire, const struct rl_event *event,
                           struct rl_effects *effects);
void rl_acquire_wait_on(struct rl_acquire *acquire, struct rl_time now, struct rl_effects *effects);

#endif
