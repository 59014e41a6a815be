/*
 * Finding a command by its name, or the one that may have been meant; see commands.h.
 */
#include <string.h>

#include "cli/commands.h"
#include "cli/exits.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/text.h"

const struct cli_command *cli_command_find(const struct cli_commands *commands, const char *name)
{
    for (size_t i = 0; i < commands->count; i++)
        if (strcmp(commands->each[i].name, name) == 0)
            return &commands->each[i];
    return NULL;
}

int cli_command_unknown(const struct cli_commands *commands, const char *name, const char *next)
{
    const char *near = NULL;
    int least = 3;

    for (size_t i = 0; i < commands->count; i++) {
        if (commands->each[i].bit == CLI_INIT) /* nobody is to get there by a slip of the hand */
            continue;
        int distance = cli_text_distance(commands->each[i].name, name);
        if (distance < least) {
            near = commands->each[i].name;
            least = distance;
        }
    }
    if (near == NULL)
        cli_output_fail(CLI_EXIT_USAGE, "there is no command \"%s\"", name);
    else
        cli_output_fail(CLI_EXIT_USAGE, "there is no command \"%s\"; did you mean %s?", name, near);
    if (near == NULL && next != NULL)
        cli_output_hint("fix", "redlock run %s -- %s, to hold %s while %s runs", name, next, name, next);
    cli_output_hint("see", "redlock help");
    return CLI_EXIT_USAGE;
}
