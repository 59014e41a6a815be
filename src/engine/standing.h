/*
 * A lock while its caller stands in line for it: carries out what core/stand wants, and brings it what nodes
 * hand over. A hand-over to an owner that is unknown here is ignored.
 */
#ifndef RL_ENGINE_STANDING_H
#define RL_ENGINE_STANDING_H

#include "engine/operation.h"
#include "wire/hand_over.h"

/* Of a caller that does not wait as well: it asks in the same way, without a place. */
void rl_standing_start(struct rl_operation *operation, const struct rl_acquire_config *config);

/* It has waited behind others of this client, as an acquisition that is queued; now it is the first of
 * them. */
void rl_standing_turn(struct rl_operation *operation);
void rl_standing_event(struct rl_operation *operation, const struct rl_event *event);

/* The key of a lock has changed at a node. */
void rl_standing_changed(struct rl_engine *engine, uint32_t node, const char *key, size_t key_length);

/* A node has handed a lock over. */
void rl_standing_handed(struct rl_engine *engine, uint32_t node, const struct rl_hand_over *handed);

#endif
