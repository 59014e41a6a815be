/*
 * Checks the options a caller gave and keeps a copy with the defaults filled in. Node URLs are the client's own business.
 */
#ifndef RL_CLIENT_OPTIONS_H
#define RL_CLIENT_OPTIONS_H

#include "engine/config.h"

/* Checks and copies; on failure *error says what is wrong and with which option, and nothing is kept. */
redlock_result rl_config_make(struct rl_config *config, const redlock_options *options, char *error,
                              size_t error_size);
void rl_config_free(struct rl_config *config);

#endif
