/*
 * What an engine counts beside calls that ended (operation.c): how long things took, what each node answered.
 * Nothing here changes what happens.
 */
#ifndef RL_ENGINE_STATS_H
#define RL_ENGINE_STATS_H

#include "engine/state.h"

void rl_stats_add(redlock_histogram *histogram, struct rl_span value);
void rl_stats_renewal(struct rl_engine *engine, bool fine, struct rl_span took);
void rl_stats_validity(struct rl_engine *engine,
                       struct rl_span left); /* when a lock was extended or renewed */
void rl_stats_verdict(struct rl_engine *engine, uint32_t node, redlock_verdict verdict, enum rl_cause cause);

#endif
