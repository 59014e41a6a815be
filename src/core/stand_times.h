/*
 * The times of a caller at guarded nodes: from when what it was handed counts, and whether that is for long
 * enough; when it asks to keep its places, looks at a lock that is about to expire, has it watched, and gives
 * up. It asks nobody; stand.c does.
 */
#ifndef RL_CORE_STAND_TIMES_H
#define RL_CORE_STAND_TIMES_H

#include "core/stand_state.h"

/* Only those near the front ask when a lock is about to expire. */
enum { RL_STAND_NEAR_FRONT = 2 };

/* When to ask again, so that its places are kept. */
struct rl_time rl_stand_next_keep(struct rl_stand *stand, struct rl_time now);

/* When a node gave it the lock that the event hands over, no later. */
struct rl_time rl_stand_handed_at(const struct rl_stand *stand, const struct rl_stand_node *node,
                                  const struct rl_event *event);

/* Whether a lock that was handed over lasts for as long as its caller needs. */
bool rl_stand_lasts(const struct rl_stand *stand, struct rl_span ttl, struct rl_time given,
                    struct rl_time now);

/* The nodes that are to tell when the lock's key changes, and do not yet; and when to have them do so.
 * Expiry, and releases by other programs and older versions, run no script that would hand the lock on: those
 * near the front see to it. */
rl_node_set rl_stand_nodes_to_watch(const struct rl_stand *stand);
void rl_stand_plan_watch(struct rl_stand *stand, struct rl_time now);

/* Nodes where somebody's lock has expired. If it was its own, it may not be any more. */
rl_node_set rl_stand_take_expired(struct rl_stand *stand, struct rl_time now);

/* When it gives up. */
struct rl_time rl_stand_deadline(const struct rl_stand *stand);

/* Computes when it wants RL_EVENT_TIMER. */
void rl_stand_set_wake(struct rl_stand *stand);

#endif
