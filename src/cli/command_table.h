/*
 * The commands there are. Only main.c knows it: others are given it.
 */
#ifndef CLI_COMMAND_TABLE_H
#define CLI_COMMAND_TABLE_H

#include "cli/commands.h"

extern const struct cli_commands cli_command_table;

#endif
