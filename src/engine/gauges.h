/*
 * Statistics that nobody counts: how things stand at the moment at which a caller asks.
 */
#ifndef RL_ENGINE_GAUGES_H
#define RL_ENGINE_GAUGES_H

#include "engine/state.h"

/* Fill them in, among what is counted. */
void rl_gauges_client(struct rl_engine *engine);
void rl_gauges_node(struct rl_engine *engine, uint32_t node);

#endif
