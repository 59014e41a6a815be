/*
 * Watching a lock's key: the nodes are asked to tell when it changes. Nothing is armed while nobody waits.
 * What they tell is in pushes.c.
 */
#ifndef RL_ENGINE_WATCHING_H
#define RL_ENGINE_WATCHING_H

#include "engine/operation.h"

/* Puts the question on the connection, and switches telling on where it is not; false: it cannot be sent
 * now. */
bool rl_watching_send(redlock_lock *lock, uint32_t node, uint32_t question);
void rl_watching_begin(struct rl_operation *operation);
void rl_watching_end(struct rl_operation *operation);

/* The same for a caller that looks at a name without wanting it. */
void rl_watching_join(struct rl_engine *engine);
void rl_watching_leave(struct rl_engine *engine);

/* The answer to switching it on or off. */
void rl_watching_tracked(struct rl_engine *engine, uint32_t node, const char *bytes, size_t length);

#endif
