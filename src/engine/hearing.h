/*
 * Being told by a node that it has handed a lock over: each client has one channel, to which every connection
 * is subscribed on which somebody stands in line. What is told there is in pushes.c.
 */
#ifndef RL_ENGINE_HEARING_H
#define RL_ENGINE_HEARING_H

#include "engine/state.h"

/* Draws the channel; false: the host has no randomness. */
bool rl_hearing_init(struct rl_engine *engine);

/* Subscribes a connection that is not yet: what is sent on it afterwards comes behind. */
void rl_hearing_begin(struct rl_engine *engine, uint32_t node);

/* The channel that a node is to be told; "" it has to be asked instead. */
const char *rl_hearing_channel(const struct rl_engine *engine, uint32_t node);

/* The answer to subscribing. */
void rl_hearing_reply(struct rl_engine *engine, uint32_t node, const char *bytes, size_t length);

#endif
