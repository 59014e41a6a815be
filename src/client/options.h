/*
 * Takes the options a caller gave, with what only the system knows filled in. What they mean is the engine's:
 * engine/config.h.
 */
#ifndef RL_CLIENT_OPTIONS_H
#define RL_CLIENT_OPTIONS_H

#include "engine/config.h"

/* On failure *wrong says what is wrong and with which option, and nothing is kept. */
redlock_result rl_options_take(struct rl_config *config, const redlock_options *options, const char **wrong);

#endif
