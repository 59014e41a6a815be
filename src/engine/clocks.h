/*
 * Whose clock can be trusted: what a node tells of the time in its answers goes here.
 */
#ifndef RL_ENGINE_CLOCKS_H
#define RL_ENGINE_CLOCKS_H

#include "engine/state.h"

/* A node told its time in an answer. false: its clock cannot be trusted, so this answer does not count as a
 * grant. */
bool rl_clocks_look(struct rl_engine *engine, uint32_t node, struct rl_time sent, int64_t node_us);

/* The same for people to read, and without any consequence: how far its clock is from our wall clock. */
void rl_clocks_note(struct rl_engine *engine, uint32_t node, struct rl_span latency, int64_t node_us);

#endif
