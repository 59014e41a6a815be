/*
 * Finding a command by its name, or the one that may have been meant; see commands.h.
 */
#include <stdio.h>
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

/* What other programs call it. */
static const char *find_synonym(const char *name)
{
    static const char *const synonyms[][2] = {
        {"lock", "run"},     {"flock", "run"},    {"exec", "run"},     {"hold", "run"},
        {"with", "run"},     {"take", "acquire"}, {"renew", "extend"}, {"unlock", "release"},
        {"free", "release"}, {"ls", "list"},      {"show", "status"},  {"monitor", "watch"},
        {"kill", "break"},   {"check", "doctor"}, {"leader", "elect"}};

    for (size_t i = 0; i < sizeof synonyms / sizeof synonyms[0]; i++)
        if (strcmp(synonyms[i][0], name) == 0)
            return synonyms[i][1];
    return NULL;
}

/* The nearest command to a misspelt one, at most so many letters away; NULL when none is. */
static const char *find_near(const struct cli_commands *commands, const char *name, int most)
{
    const char *near = NULL;

    for (size_t i = 0; i < commands->count; i++) {
        if (commands->each[i].bit == CLI_INIT) /* nobody is to get there by a slip of the hand */
            continue;
        int distance = cli_text_distance(commands->each[i].name, name);
        if (distance <= most) {
            near = commands->each[i].name;
            most = distance - 1;
        }
    }
    return near;
}

/* Adds words to a line that a person can type: with quotes around those that need them. */
static void add_words(char *line, size_t size, char **words)
{
    for (; *words != NULL && strlen(line) + 8 < size; words++) {
        size_t length = strlen(line);

        line[length++] = ' ';
        cli_text_quote(*words, line + length, size - length);
    }
}

/* A name and CMD where a command should be: people who know flock(1) write that. */
static void suggest_run(const char *name, char **next)
{
    char line[CLI_COMMAND_MAX] = "", quoted[CLI_COMMAND_MAX];
    bool dashes = strcmp(next[0], "--") == 0;

    add_words(line, sizeof line, next + dashes);
    cli_text_quote(name, quoted, sizeof quoted);
    cli_output_hint("fix", "redlock run %s --%s # holds %s while %s runs", quoted, line, name, next[dashes]);
}

int cli_command_unknown(const struct cli_commands *commands, const char *name, char **next)
{
    bool has_command =
        next[0] != NULL && (*next[0] != '-' || (strcmp(next[0], "--") == 0 && next[1] != NULL));
    const char *near = find_synonym(name);

    /* A name is likelier than a slip of two letters when something that may be CMD follows. */
    if (near == NULL)
        near = find_near(commands, name, has_command || strlen(name) < 4 ? 1 : 2);
    if (near == NULL)
        cli_output_fail(CLI_EXIT_USAGE, "there is no command \"%s\"", name);
    else
        cli_output_fail(CLI_EXIT_USAGE, "there is no command \"%s\"; did you mean %s?", name, near);
    if (near == NULL && has_command)
        suggest_run(name, next);
    cli_output_hint("see", "redlock help");
    return CLI_EXIT_USAGE;
}

/* Whether a word of flock(1)'s is also one of run. */
static bool is_option_of_run(const char *word)
{
    size_t count, length = strcspn(word + 2, "=");
    const struct cli_option *table = cli_options_table(&count);

    for (size_t i = 0; i < count; i++) {
        if (!(table[i].commands & CLI_RUN) || table[i].help == NULL)
            continue;
        if (word[1] != '-' && table[i].letter == word[1])
            return true;
        if (word[1] == '-' && table[i].name != NULL && strlen(table[i].name) == length &&
            memcmp(table[i].name, word + 2, length) == 0)
            return true;
    }
    return false;
}

int cli_command_missing(char **options)
{
    char line[CLI_COMMAND_MAX] = "";

    if (options[1] != NULL && is_option_of_run(options[0])) {
        add_words(line, sizeof line, options);
        cli_output_fail(CLI_EXIT_USAGE, "%s: options come after the command", options[0]);
        cli_output_hint("fix", "redlock run%s", line);
    } else {
        cli_output_fail(CLI_EXIT_USAGE, "%s: options come after the command, as in: redlock status %s",
                        options[0], options[0]);
    }
    cli_output_hint("see", "redlock help");
    return CLI_EXIT_USAGE;
}
