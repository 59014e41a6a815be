/*
 * The half of the acquisition's state machine that waits. It says what waiting came to; the rounds themselves
 * are in acquire.c, which alone calls these.
 */
#ifndef RL_CORE_ACQUIRE_WAIT_H
#define RL_CORE_ACQUIRE_WAIT_H

#include "core/acquire_state.h"

enum rl_waited {
    RL_WAITED_ON,     /* it goes on waiting, or rests; wake_at says how long */
    RL_WAITED_ENOUGH, /* a round is to begin now */
    RL_WAITED_IN_VAIN /* the outcome is what it is: rest or end */
};

enum rl_waited rl_acquire_begin_wait(struct rl_acquire *acquire, struct rl_time now,
                                     struct rl_effects *effects);

/* While waiting: a node said who holds it; a node told of a change, came or went; the time for something has
 * come. */
enum rl_waited rl_acquire_count_watch(struct rl_acquire *acquire, const struct rl_event *event,
                                      struct rl_effects *effects);
enum rl_waited rl_acquire_node_event(struct rl_acquire *acquire, const struct rl_event *event,
                                     struct rl_effects *effects);
enum rl_waited rl_acquire_wait_on(struct rl_acquire *acquire, struct rl_time now, struct rl_effects *effects);

#endif
