/*
 * Commands that are proposed to the user; see suggest.h.
 */
#include "cli/suggest.h"

#include <stdio.h>
#include <string.h>

#include "cli/commands.h"

/* The options that say which locks are meant; a command is given those of them that it knows. */
static const char *const fleet_options[] = {"config", "nodes", "prefix", "format", "plain"};

static const struct cli_options *typed;

void cli_suggest_configure(const struct cli_options *options)
{
    typed = options;
}

bool cli_suggest_repeats_format(void)
{
    return typed != NULL && typed->format != CLI_NOT_GIVEN;
}

static void add(struct cli_suggested *suggested, const char *text)
{
    size_t used = strlen(suggested->text);

    snprintf(suggested->text + used, sizeof suggested->text - used, "%s", text);
}

static void add_quoted(struct cli_suggested *suggested, const char *word)
{
    size_t used = strlen(suggested->text);

    cli_text_quote(word, suggested->text + used, sizeof suggested->text - used);
}

/* The choice by its number: "redisson" of "common|redisson". */
static void add_choice(struct cli_suggested *suggested, const char *choices, int64_t number)
{
    char choice[32];

    while (number-- > 0)
        choices += strcspn(choices, "|") + 1;
    snprintf(choice, sizeof choice, "%.*s", (int)strcspn(choices, "|"), choices);
    add(suggested, choice);
}

static void add_option(struct cli_suggested *suggested, const struct cli_option *option)
{
    const void *member = (const char *)typed + option->offset;
    bool given = option->value == CLI_VALUE_TEXT     ? *(const char *const *)member != NULL
                 : option->value == CLI_VALUE_CHOICE ? *(const int64_t *)member != CLI_NOT_GIVEN
                                                     : *(const bool *)member;

    if (!given)
        return;
    add(suggested, " --");
    add(suggested, option->name);
    if (option->value != CLI_VALUE_NONE)
        add(suggested, " ");
    if (option->value == CLI_VALUE_TEXT)
        add_quoted(suggested, *(const char *const *)member);
    else if (option->value == CLI_VALUE_CHOICE)
        add_choice(suggested, option->metavar, *(const int64_t *)member);
}

static void add_fleet(struct cli_suggested *suggested, const char *verb)
{
    const struct cli_command *command = typed != NULL ? cli_command_find(typed->commands, verb) : NULL;
    size_t count;
    const struct cli_option *table = cli_options_table(&count);

    for (size_t i = 0; command != NULL && i < sizeof fleet_options / sizeof fleet_options[0]; i++)
        for (size_t k = 0; k < count; k++)
            if (table[k].name != NULL && strcmp(table[k].name, fleet_options[i]) == 0 &&
                (table[k].commands & command->bit) != 0)
                add_option(suggested, &table[k]);
}

struct cli_suggested cli_suggest(const char *verb, const char *name, const char *options, const char *command)
{
    struct cli_suggested suggested = {"redlock "};
    bool last = name != NULL && name[0] == '-';

    add(&suggested, verb);
    if (name != NULL && !last) {
        add(&suggested, " ");
        add_quoted(&suggested, name);
    }
    if (options != NULL) {
        add(&suggested, " ");
        add(&suggested, options);
    }
    add_fleet(&suggested, verb);
    if (last || command != NULL)
        add(&suggested, " -- ");
    if (last)
        add_quoted(&suggested, name);
    if (last && command != NULL)
        add(&suggested, " ");
    if (command != NULL)
        add(&suggested, command);
    /* One that was cut would do something else. */
    if (strlen(suggested.text) + 1 == sizeof suggested.text)
        snprintf(suggested.text, sizeof suggested.text, "redlock %s, with the options of this command", verb);
    return suggested;
}
