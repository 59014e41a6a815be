/*
 * What a command is: its name, what follows it, and the function that carries it out. Which ones there are is
 * in command_table.c; it does not parse, options.c does.
 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>

struct cli_options;

struct cli_command {
    const char *name;
    const char *usage;   /* what follows the name */
    const char *summary; /* half a line */
    const char *text;    /* what help CMD says below its options; NULL nothing */
    unsigned bit;        /* enum cli_command_bit */
    int least_words, most_words;
    const char *missing; /* what to say when there are fewer */
    bool takes_command;  /* options end at the second word, and everything from there is CMD */
    int (*carry_out)(const struct cli_options *options); /* returns the exit code */
};

/* All of them. */
struct cli_commands {
    const struct cli_command *each;
    size_t count;
};

/* NULL when there is none. */
const struct cli_command *cli_command_find(const struct cli_commands *commands, const char *name);

/* Says that there is no such command, and which one may have been meant, by the words that follow it
 * (NULL-terminated). Returns the exit code. */
int cli_command_unknown(const struct cli_commands *commands, const char *name, char **next);

/* The same when options come first, as in flock(1): options[0] is the first of all words. */
int cli_command_missing(char **options);

int cli_command_bench(const struct cli_options *options);
int cli_command_doctor(const struct cli_options *options);
int cli_command_run(const struct cli_options *options);
int cli_command_acquire(const struct cli_options *options);
int cli_command_extend(const struct cli_options *options);
int cli_command_release(const struct cli_options *options);
int cli_command_status(const struct cli_options *options);
int cli_command_list(const struct cli_options *options);
int cli_command_watch(const struct cli_options *options);
int cli_command_wait(const struct cli_options *options);
int cli_command_break(const struct cli_options *options);
int cli_command_init(const struct cli_options *options);
int cli_command_serve(const struct cli_options *options);
int cli_command_local(const struct cli_options *options);
int cli_command_completion(const struct cli_options *options);
int cli_command_help(const struct cli_options *options);
int cli_command_elect(const struct cli_options *options);
int cli_command_once(const struct cli_options *options);
int cli_command_barrier(const struct cli_options *options);
int cli_command_update(const struct cli_options *options);
int cli_command_version(const struct cli_options *options);

/* Prints the help of one command to stdout. */
void cli_help_print(const struct cli_command *command);

#endif
