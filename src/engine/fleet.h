/*
 * The nodes that a client is opened with, as its options name them. Their connections are the client's.
 */
#ifndef RL_ENGINE_FLEET_H
#define RL_ENGINE_FLEET_H

#include "engine/state.h"

/* How many nodes the options name; 0: there are none, or more than allowed, and the report says so. */
uint32_t rl_fleet_count(const redlock_options *options, redlock_report *report);

/* Adds them to an engine that has room for them, with user and password where their URLs have none. On
 * failure the report says what is wrong, and the engine has those before. */
redlock_result rl_fleet_add(struct rl_engine *engine, const redlock_options *options, redlock_report *report);

/* Whether one of them is reached through TLS. */
bool rl_fleet_needs_tls(const struct rl_engine *engine);

#endif
