/*
 * What happens to one lock may let another go on: a node that was waited for is ready, a name is free for the
 * next in the queue. That is noted where it happens, and done here, when the step that made it so is over.
 */
#ifndef RL_ENGINE_STEPS_H
#define RL_ENGINE_STEPS_H

#include "engine/operation.h"

/* Does what has been noted. Every call from outside ends with it. */
void rl_steps_run(struct rl_engine *engine);

/* Whether somebody still waits for the answer to this question. */
bool rl_steps_current(const redlock_lock *lock, const struct rl_pending *pending);

/* Brings an answer to the operation it is for; drops it when none waits for it any more. */
void rl_steps_deliver(redlock_lock *lock, uint32_t node, const struct rl_pending *pending,
                      const struct rl_answer *answer);

/* An acquisition or a survey. */
void rl_steps_operation(struct rl_operation *operation, const struct rl_event *event);

#endif
