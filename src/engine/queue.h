/*
 * The queues of callers inside this process, one for each name that more than one of them wants. Which thread
 * drives the connections meanwhile is not decided here.
 */
#ifndef RL_ENGINE_QUEUE_H
#define RL_ENGINE_QUEUE_H

#include "engine/operation.h"

void rl_queue_init(struct rl_engine *engine);
void rl_queue_free(struct rl_engine *engine);

/* The lock of a name that others of this process queue behind; NULL none. Of a semaphore of so many slots one
 * of its leaders; 0: the name's exclusive lock. */
redlock_lock *rl_queue_leader(struct rl_engine *engine, const char *key, size_t key_length, uint16_t slots);

/* Becomes a leader of its name, or queues behind; says so in the acquisition's configuration. */
void rl_queue_join(struct rl_operation *operation, bool waits, struct rl_acquire_config *config);

/* Whether it waits for others of this process: then no node has anything to tell it. */
bool rl_queue_holds(const struct rl_operation *operation);

/* The operation has ended, wherever it was. */
void rl_queue_quit(struct rl_operation *operation);

/* The lock has ended or is being released: the next in line may ask, right behind the release. */
void rl_queue_leave(redlock_lock *lock);

/* The next acquisition whose turn has come, to be told so (RL_EVENT_TURN); NULL: there is none. */
struct rl_operation *rl_queue_next(struct rl_engine *engine, bool *others_first);

/* What a caller whose time ran out in the queue can be told: what its leader knows. */
void rl_queue_explain(struct rl_operation *operation);

#endif
