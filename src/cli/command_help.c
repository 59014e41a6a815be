/*
 * redlock help and redlock version. Everything said comes from the tables of commands and options.
 */
#include <stdio.h>
#include <string.h>

#include <redlock.h>

#include "cli/commands.h"
#include "cli/exits.h"
#include "cli/options.h"
#include "cli/output.h"

enum { WIDTH = 80, LEFT = 30 };

/* Two columns that fit on any terminal: a left one that is too long has a line of its own, a right one is
 * wrapped. */
static void print_columns(const char *left, const char *right)
{
    int column = printf("  %-*s", LEFT, left);

    if (column > LEFT + 2) {
        printf("\n");
        column = printf("%*s", LEFT + 2, "");
    }
    while (*right != '\0') {
        size_t length = strcspn(right, " ");
        if (column + 1 + (int)length > WIDTH && column > LEFT + 2) {
            printf("\n");
            column = printf("%*s", LEFT + 2, "");
        }
        column += printf(" %.*s", (int)length, right);
        right += length;
        right += strspn(right, " ");
    }
    printf("\n");
}

static void print_option(const struct cli_option *option)
{
    char left[64];

    if (option->name == NULL)
        snprintf(left, sizeof left, "-%c", option->letter);
    else if (option->letter == '\0')
        snprintf(left, sizeof left, "    --%s", option->name);
    else
        snprintf(left, sizeof left, "-%c, --%s", option->letter, option->name);
    if (option->metavar != NULL)
        snprintf(left + strlen(left), sizeof left - strlen(left), " %s", option->metavar);
    print_columns(left, option->help);
}

void cli_help_print(const struct cli_command *command)
{
    size_t count;
    const struct cli_option *table = cli_options_table(&count);

    printf("redlock %s %s\n%s\n\n", command->name, command->usage, command->summary);
    for (size_t i = 0; i < count; i++)
        if (table[i].help != NULL && (table[i].commands & command->bit))
            print_option(&table[i]);
    if (command->text != NULL)
        printf("\n%s", command->text);
}

static void print_overview(const struct cli_commands *commands)
{
    printf("redlock: flock(1) across machines, on a quorum of Redis or Valkey nodes\n\n");
    for (size_t i = 0; i < commands->count; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s %s", commands->each[i].name, commands->each[i].usage);
        print_columns(left, commands->each[i].summary);
    }
    printf("\nNodes come from --nodes, REDLOCK_NODES, --config FILE, the user's\n"
           "redlock/redlock.conf below XDG_CONFIG_HOME (~/.config) or /etc/redlock.conf, in\n"
           "this order. Without any, five private nodes of this machine are started and\n"
           "used. A password comes from REDLOCK_PASSWORD or from a file, never from an\n"
           "option.\n\n"
           "redlock help COMMAND says more.\n");
}

int cli_command_help(const struct cli_options *options)
{
    if (options->word_count == 0) {
        print_overview(options->commands);
    } else {
        const struct cli_command *command = cli_command_find(options->commands, options->words[0]);
        if (command == NULL)
            return cli_command_unknown(options->commands, options->words[0], options->words + 1);
        cli_help_print(command);
    }
    return cli_output_flush() ? CLI_EXIT_OK : CLI_EXIT_SYSTEM;
}

int cli_command_version(const struct cli_options *options)
{
    (void)options;
    if (cli_output_is_json())
        cli_output_answer(json_pack("{s:s, s:s}", "version", REDLOCK_VERSION, "library", redlock_version()));
    else if (strcmp(REDLOCK_VERSION, redlock_version()) == 0)
        printf("redlock %s\n", REDLOCK_VERSION);
    else
        printf("redlock %s (library %s)\n", REDLOCK_VERSION, redlock_version());
    return cli_output_flush() ? CLI_EXIT_OK : CLI_EXIT_SYSTEM;
}
