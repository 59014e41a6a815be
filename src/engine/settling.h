/*
 * Calls that put one question for which a new client's nodes are given the time to connect: adopt and release
 * of a lock that somebody else made, inspect and init. An acquisition has a way of its own to wait for nodes.
 */
#ifndef RL_ENGINE_SETTLING_H
#define RL_ENGINE_SETTLING_H

#include "engine/operation.h"

/* Puts its question once `wanted` nodes are connected, or no more will be in time. */
void rl_settling_begin(struct rl_operation *operation, uint32_t wanted);

/* Its time is up: now. */
void rl_settling_start(struct rl_operation *operation);

/* A node came or went. Whether a call was started. */
bool rl_settling_check(struct rl_engine *engine);

#endif
