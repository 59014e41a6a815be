/*
 * Where the nodes are and how to talk to them: --nodes, REDLOCK_NODES, --config FILE, the user's file, the
 * machine's. It finds and opens the files; what may be in them is in config_file.h. It connects to nothing.
 */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

#include "cli/config_file.h"
#include "cli/options.h"

/* 0, or an exit code after having said what is wrong. Either way cli_config_free() has to be called. */
int cli_config_load(const struct cli_options *options, struct cli_config *config);
void cli_config_free(struct cli_config *config);

/* Nothing names nodes: the line "fix" with where to name them. */
void cli_config_suggest_nodes(void);

/* The longest TTL there may be. */
int64_t cli_config_max_ttl(const struct cli_config *config);

#endif
