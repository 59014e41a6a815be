/*
 * What is known of a node itself, for callers: from its greeting, from the guard, and from an examination.
 */
#ifndef RL_ENGINE_FACTS_H
#define RL_ENGINE_FACTS_H

#include "engine/state.h"

/* All but what only its connection knows. */
void rl_facts_tell(const struct rl_engine *engine, uint32_t node, redlock_node_facts *facts);

#endif
