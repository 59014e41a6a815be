/*
 * What local.c and local_fleet.c share: the files of a node and a connection to it. For nobody else.
 */
#ifndef CLI_LOCAL_PARTS_H
#define CLI_LOCAL_PARTS_H

#include <stdbool.h>

#include "cli/local.h"

/* How the names of a node's files end. */
enum { CLI_LOCAL_ENDINGS = 3 };
extern const char *const cli_local_endings[CLI_LOCAL_ENDINGS];

void cli_local_path(const struct cli_local *local, int node, const char *ending, char path[160]);

/* Whether any node has any. Nodes that were stopped in order leave none. */
bool cli_local_has_files(const struct cli_local *local);

/* A connection that does not block, or -1. */
int cli_local_connect(const struct cli_local *local, int node);

#endif
