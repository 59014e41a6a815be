/*
 * Commands of ours that are proposed to the user, as they can be pasted into a shell: with the options by
 * which the fleet was named, as they were typed, and names in quotes where a shell would change them. Every
 * command that is printed about a fleet is made here.
 */
#ifndef CLI_SUGGEST_H
#define CLI_SUGGEST_H

#include <stdbool.h>

#include "cli/options.h"
#include "cli/text.h"

/* By value, so that it can be used right where it is printed. */
struct cli_suggested {
    char text[CLI_COMMAND_MAX];
};

/* What was typed, for the rest of the process: --nodes, --config, --prefix, --format and --plain are repeated
 * from it. */
void cli_suggest_configure(const struct cli_options *options);

/* "redlock break NAME --id 7f3a91 --config FILE", "redlock run doctor -w 5s -- sleep 1". The options are such
 * text already; what is not needed is NULL. A name that begins with a dash comes last, behind "--". */
struct cli_suggested cli_suggest(const char *verb, const char *name, const char *options,
                                 const char *command);

/* Whether --format was typed, so that every suggestion repeats it. */
bool cli_suggest_repeats_format(void);

#endif
