/*
 * Brings what nodes tell by themselves to the acquisitions that wait for it.
 */
#ifndef RL_ENGINE_PUSHES_H
#define RL_ENGINE_PUSHES_H

#include "engine/operation.h"

/* A push came. */
void rl_pushes_take(struct rl_engine *engine, uint32_t node, const char *bytes, size_t length);

/* A node came or went: RL_EVENT_UP or RL_EVENT_DOWN. */
void rl_pushes_node(struct rl_engine *engine, uint32_t node, enum rl_event_kind kind);

#endif
