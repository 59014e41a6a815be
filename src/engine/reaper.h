/*
 * The reaper: pays what nodes are owed, as soon as they can be reached.
 */
#ifndef RL_ENGINE_REAPER_H
#define RL_ENGINE_REAPER_H

#include "engine/state.h"

/* Sends what is due where it can be sent, and wakes nodes that are owed something. */
void rl_reaper_pay(struct rl_engine *engine, struct rl_time now);

#endif
