/*
 * The words after the command, read by one table for all commands. It checks each value by itself; what
 * belongs together (a renewal shorter than its lease) is checked by the command that uses it.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cli_command;
struct cli_commands;

/* The commands an option belongs to. */
enum cli_command_bit {
    CLI_RUN = 1 << 0,
    CLI_ACQUIRE = 1 << 1,
    CLI_EXTEND = 1 << 2,
    CLI_RELEASE = 1 << 3,
    CLI_STATUS = 1 << 4,
    CLI_LOCAL = 1 << 5,
    CLI_COMPLETION = 1 << 6,
    CLI_HELP = 1 << 7,
    CLI_VERSION = 1 << 8,
    CLI_INIT = 1 << 9,
    CLI_SERVE = 1 << 10,
    CLI_DOCTOR = 1 << 11,
    CLI_BENCH = 1 << 12,
    CLI_LIST = 1 << 13,
    CLI_WATCH = 1 << 14,
    CLI_WAIT = 1 << 15,
    CLI_BREAK = 1 << 16,
    CLI_UPDATE = 1 << 17,
    CLI_ELECT = 1 << 18,
    CLI_ONCE = 1 << 19,
    CLI_BARRIER = 1 << 20
};

enum cli_on_lost { CLI_ON_LOST_TERM, CLI_ON_LOST_KILL, CLI_ON_LOST_IGNORE };

#define CLI_NOT_GIVEN (-1)

enum { CLI_ALSO_MAX = 15 };

/* Of an option that may be given several times: how often it was, and the first values. */
struct cli_list {
    const char *items[CLI_ALSO_MAX];
    int count;
};

/* Everything any command understands. Texts are NULL, durations and numbers CLI_NOT_GIVEN when not given. */
struct cli_options {
    const char *nodes, *config, *prefix;
    const char *id, *owner, *why, *who, *shell;
    struct cli_list also;
    const char *listen, *unix_path, *resp, *metrics_name;
    const char *metrics_file, *metrics_label;
    int64_t wait_ms, ttl_ms, renew_ms, grace_ms, min_hold_ms, max_time_ms, bench_ms, every_ms;
    int64_t conflict_exit_code, status_fd, on_lost, kind; /* kind: a redlock_kind */
    int64_t slots;                                        /* of a semaphore; 0 it is none */
    int64_t slot;                                         /* which of them, from 0 */
    int64_t format, tries, node, parties;                 /* format: a redlock_format */
    bool nonblock, skip_ok, foreground, pass_credentials, shared, exclusive, quiet, verbose, json, no_color,
        help;
    bool reentrant, plain, legacy, legacy_seconds, yes, force, check, require_nodes, foreign, now, observe;
    unsigned command;                    /* its bit */
    const struct cli_commands *commands; /* all there are; not read, but given by main() */
    char **words; /* what is not an option, NULL-terminated: NAME first, then CMD and all that follows it */
    int word_count;
};

enum cli_value {
    CLI_VALUE_NONE,
    CLI_VALUE_TEXT,
    CLI_VALUE_LIST, /* a text each time it is given */
    CLI_VALUE_DURATION,
    CLI_VALUE_CODE,
    CLI_VALUE_NUMBER, /* from 0 on */
    CLI_VALUE_COUNT,  /* from 1 on */
    CLI_VALUE_CHOICE
};

struct cli_option {
    const char *name;
    char letter; /* '\0' when it has none */
    enum cli_value value;
    size_t offset;       /* of its member in struct cli_options */
    unsigned commands;   /* enum cli_command_bit */
    const char *metavar; /* what its value is called; for a choice, the choices with | between them */
    const char *help;    /* NULL hides it: known, but only to be refused with a good word */
};

/* The whole table, for help and completion. */
const struct cli_option *cli_options_table(size_t *count);

/* Reads argv[0..] (without program and command). 0, or an exit code after having said what is wrong.
 * The words point into argv. */
int cli_options_parse(const struct cli_command *command, int argc, char **argv, struct cli_options *options);

#endif
