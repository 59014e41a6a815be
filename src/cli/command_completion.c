/*
 * redlock completion: prints a script that completes commands and options in bash, zsh or fish. All words
 * come from the tables of commands and options; names of locks are not completed, which would mean asking the
 * nodes.
 */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/exits.h"
#include "cli/options.h"
#include "cli/output.h"

/* The words a command takes in its first place, from its usage: "start|stop|status". NULL when they are
 * free. */
static const char *first_choices(const struct cli_command *command)
{
    return strchr(command->usage, '|') != NULL ? command->usage : NULL;
}

static void print_choices(const char *choices)
{
    for (; *choices != '\0'; choices++)
        putchar(*choices == '|' ? ' ' : *choices);
}

static void print_command_names(const struct cli_commands *commands)
{
    for (size_t i = 0; i < commands->count; i++)
        printf("%s%s", i == 0 ? "" : " ", commands->each[i].name);
}

/* For a text between single quotes. */
static void print_quoted(const char *text)
{
    for (; *text != '\0'; text++)
        if (*text == '\'')
            printf("'\\''");
        else
            putchar(*text);
}

static bool is_shown(const struct cli_option *option, const struct cli_command *command)
{
    return option->help != NULL && (option->commands & command->bit);
}

/* ---- bash ---------------------------------------------------------------------------------------------- */

static void print_bash_options(const struct cli_command *command)
{
    size_t count;
    const struct cli_option *table = cli_options_table(&count);

    for (size_t i = 0; i < count; i++) {
        if (!is_shown(&table[i], command))
            continue;
        if (table[i].letter != '\0')
            printf(" -%c", table[i].letter);
        if (table[i].name != NULL)
            printf(" --%s", table[i].name);
    }
}

static void print_bash_values(void)
{
    size_t count;
    const struct cli_option *table = cli_options_table(&count);

    printf("    case $previous in\n");
    for (size_t i = 0; i < count; i++) {
        if (table[i].value != CLI_VALUE_CHOICE)
            continue;
        printf("        --%s) mapfile -t COMPREPLY < <(compgen -W '", table[i].name);
        print_choices(table[i].metavar);
        printf("' -- \"$word\"); return ;;\n");
    }
    printf("        --config) mapfile -t COMPREPLY < <(compgen -f -- \"$word\"); return ;;\n"
           "    esac\n");
}

/* The commands that take a CMD, as bits. */
static unsigned with_command(const struct cli_commands *commands)
{
    unsigned bits = 0;

    for (size_t i = 0; i < commands->count; i++)
        bits |= commands->each[i].takes_command ? commands->each[i].bit : 0;
    return bits;
}

/* Their names, with a text between them. */
static void print_with_command(const struct cli_commands *commands, const char *between)
{
    for (size_t i = 0, shown = 0; i < commands->count; i++)
        if (commands->each[i].takes_command)
            printf("%s%s", shown++ > 0 ? between : "", commands->each[i].name);
}

/* The words of such a command before the cursor: NAME, CMD and what follows it, which is CMD's business. */
static void print_bash_run(const struct cli_commands *commands)
{
    size_t count;
    const struct cli_option *table = cli_options_table(&count);

    printf("# How many words that are no options stand before the cursor; -- behind NAME ends the options.\n"
           "_redlock_words() {\n"
           "    local i found=0\n"
           "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
           "        case ${COMP_WORDS[i]} in\n"
           "            --) [ \"$found\" -eq 0 ] || { echo $((1 + COMP_CWORD - i - 1)); return; } ;;\n"
           "            ");
    for (size_t i = 0, shown = 0; i < count; i++) {
        if (table[i].value == CLI_VALUE_NONE || !(table[i].commands & with_command(commands)))
            continue;
        if (table[i].name != NULL)
            printf("%s--%s", shown++ > 0 ? " | " : "", table[i].name);
        if (table[i].letter != '\0')
            printf("%s-%c", shown++ > 0 ? " | " : "", table[i].letter);
    }
    printf(") i=$((i + 1)) ;;\n"
           "            -*) ;;\n"
           "            *) found=$((found + 1)); [ \"$found\" -lt 2 ] || { echo 2; return; } ;;\n"
           "        esac\n"
           "    done\n"
           "    echo \"$found\"\n"
           "}\n");
}

static void print_bash(const struct cli_commands *commands)
{
    printf("# Completion of redlock for bash.\n");
    print_bash_run(commands);
    printf("_redlock() {\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} words=''\n"
           "    COMPREPLY=()\n");
    printf("    if [[ ${COMP_WORDS[1]} =~ ^(");
    print_with_command(commands, "|");
    printf(")$ ]] && [ \"$(_redlock_words)\" -ge 2 ]; then\n"
           "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
           "        return\n"
           "    fi\n");
    print_bash_values();
    printf("    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
           "        words='");
    print_command_names(commands);
    printf("'\n"
           "    else\n"
           "        case ${COMP_WORDS[1]}:$word in\n");
    for (size_t i = 0; i < commands->count; i++) {
        const struct cli_command *command = &commands->each[i];
        printf("            %s:-*) words='", command->name);
        print_bash_options(command);
        printf("' ;;\n");
        if (command->takes_command)
            printf("            %s:*) mapfile -t COMPREPLY < <(compgen -c -- \"$word\"); return ;;\n",
                   command->name);
        if (first_choices(command) != NULL) {
            printf("            %s:*) words='", command->name);
            print_choices(first_choices(command));
            printf("' ;;\n");
        }
    }
    printf("            help:*) words='");
    print_command_names(commands);
    printf("' ;;\n"
           "        esac\n"
           "    fi\n"
           "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
           "}\n"
           "complete -F _redlock redlock\n");
}

/* ---- zsh ----------------------------------------------------------------------------------------------- */

static void print_zsh_option(const struct cli_option *option)
{
    char value[80] = "";

    if (option->value == CLI_VALUE_CHOICE)
        snprintf(value, sizeof value, ":value:(");
    else if (option->metavar != NULL)
        snprintf(value, sizeof value, ":%s:%s", option->metavar,
                 strcmp(option->metavar, "FILE") == 0 ? "_files" : "");
    for (int form = 0; form < 2; form++) {
        if (form == 0 ? option->letter == '\0' : option->name == NULL)
            continue;
        if (form == 0)
            printf(" \\\n                '-%c[", option->letter);
        else
            printf(" \\\n                '--%s[", option->name);
        print_quoted(option->help);
        printf("]%s", value);
        if (option->value == CLI_VALUE_CHOICE) {
            print_choices(option->metavar);
            putchar(')');
        }
        putchar('\'');
    }
}

static void print_zsh_words(const struct cli_command *command, const struct cli_commands *commands)
{
    if (command->takes_command) {
        printf(" \\\n                '1:name:' '*::command:_normal'");
    } else if (first_choices(command) != NULL) {
        printf(" \\\n                '1:what:(");
        print_choices(first_choices(command));
        printf(")'");
    } else if (command->bit == CLI_HELP) {
        printf(" \\\n                '1:command:(");
        print_command_names(commands);
        printf(")'");
    } else if (command->most_words > 0) {
        printf(" \\\n                '1:name:'");
    }
}

static void print_zsh(const struct cli_commands *commands)
{
    size_t count;
    const struct cli_option *table = cli_options_table(&count);

    printf("#compdef redlock\n"
           "# Completion of redlock for zsh.\n"
           "_redlock() {\n"
           "    local -a commands=(\n");
    for (size_t i = 0; i < commands->count; i++) {
        printf("        '%s:", commands->each[i].name);
        print_quoted(commands->each[i].summary);
        printf("'\n");
    }
    printf("    )\n"
           "    if (( CURRENT == 2 )); then\n"
           "        _describe command commands\n"
           "        return\n"
           "    fi\n"
           "    local command=$words[2]\n"
           "    shift words\n"
           "    (( CURRENT-- ))\n"
           "    case $command in\n");
    for (size_t i = 0; i < commands->count; i++) {
        printf("        %s)\n            _arguments -s", commands->each[i].name);
        for (size_t k = 0; k < count; k++)
            if (is_shown(&table[k], &commands->each[i]))
                print_zsh_option(&table[k]);
        print_zsh_words(&commands->each[i], commands);
        printf("\n            ;;\n");
    }
    printf("    esac\n"
           "}\n"
           "_redlock \"$@\"\n");
}

/* ---- fish ---------------------------------------------------------------------------------------------- */

static void print_fish_option(const struct cli_option *option, const struct cli_commands *commands)
{
    printf("complete -c redlock -n '__fish_seen_subcommand_from");
    for (size_t i = 0; i < commands->count; i++)
        if (option->commands & commands->each[i].bit)
            printf(" %s", commands->each[i].name);
    putchar('\'');
    if (option->letter != '\0')
        printf(" -s %c", option->letter);
    if (option->name != NULL)
        printf(" -l %s", option->name);
    if (option->value == CLI_VALUE_CHOICE) {
        printf(" -x -a '");
        print_choices(option->metavar);
        putchar('\'');
    } else if (option->metavar != NULL) {
        printf(strcmp(option->metavar, "FILE") == 0 ? " -r -F" : " -x");
    }
    printf(" -d \"%s\"\n", option->help);
}

static void print_fish(const struct cli_commands *commands)
{
    size_t count;
    const struct cli_option *table = cli_options_table(&count);

    printf("# Completion of redlock for fish.\n"
           "complete -c redlock -f\n");
    for (size_t i = 0; i < commands->count; i++) {
        const struct cli_command *command = &commands->each[i];
        printf("complete -c redlock -n __fish_use_subcommand -a %s -d \"%s\"\n", command->name,
               command->summary);
        if (first_choices(command) != NULL) {
            printf("complete -c redlock -n '__fish_seen_subcommand_from %s' -a '", command->name);
            print_choices(first_choices(command));
            printf("'\n");
        }
    }
    printf("complete -c redlock -n '__fish_seen_subcommand_from ");
    print_with_command(commands, " ");
    printf("' -a '(__fish_complete_subcommand --fcs-skip=3)'\n");
    for (size_t i = 0; i < count; i++)
        if (table[i].help != NULL)
            print_fish_option(&table[i], commands);
}

int cli_command_completion(const struct cli_options *options)
{
    const struct cli_commands *commands = options->commands;
    const char *shell = options->words[0];

    if (strcmp(shell, "bash") == 0) {
        print_bash(commands);
    } else if (strcmp(shell, "zsh") == 0) {
        print_zsh(commands);
    } else if (strcmp(shell, "fish") == 0) {
        print_fish(commands);
    } else {
        cli_output_fail(CLI_EXIT_USAGE, "completion \"%s\" is not one of bash, zsh, fish", shell);
        return CLI_EXIT_USAGE;
    }
    return cli_output_flush() ? CLI_EXIT_OK : CLI_EXIT_SYSTEM;
}
