/*
 * The owner value that extend and release need: from --owner-token or, inside redlock run, from
 * REDLOCK_OWNER. Whether it holds anything is for the nodes to say.
 */
#ifndef CLI_OWNER_H
#define CLI_OWNER_H

#include "cli/options.h"

/* 0, or an exit code after having said what is wrong. */
int cli_owner_find(const struct cli_options *options, const char **owner);

#endif
