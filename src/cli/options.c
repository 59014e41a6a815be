/*
 * The words after the command, read by one table for all commands. It checks each value by itself; what
 * belongs together (a renewal shorter than its lease) is checked by the command that uses it.
 */
#include "cli/options.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/exits.h"
#include "cli/output.h"
#include "cli/text.h"

#define AT(member) offsetof(struct cli_options, member)
#define RUNNING (CLI_RUN | CLI_ELECT | CLI_ONCE)
#define TAKING (CLI_RUN | CLI_ACQUIRE | CLI_ONCE)
#define LOCKING (TAKING | CLI_ELECT | CLI_EXTEND | CLI_RELEASE)
#define OPERATING (CLI_LIST | CLI_WATCH | CLI_WAIT | CLI_BREAK)
#define ASKING                                                                                       \
    (LOCKING | OPERATING | CLI_STATUS | CLI_INIT | CLI_SERVE | CLI_DOCTOR | CLI_BENCH | CLI_UPDATE | \
     CLI_BARRIER)
#define EVERY (ASKING | CLI_LOCAL | CLI_COMPLETION | CLI_HELP | CLI_VERSION)

static const struct cli_option table[] = {
    {"nonblock", 'n', CLI_VALUE_NONE, AT(nonblock), TAKING | CLI_WAIT, NULL, "do not wait"},
    {"wait", 'w', CLI_VALUE_DURATION, AT(wait_ms), TAKING | CLI_WAIT | CLI_BARRIER, "DUR",
     "wait at most DUR (default: for ever)"},
    {"nb", '\0', CLI_VALUE_NONE, AT(nonblock), TAKING | CLI_WAIT, NULL,
     "as --nonblock, for users of flock(1)"},
    {"timeout", '\0', CLI_VALUE_DURATION, AT(wait_ms), TAKING | CLI_WAIT | CLI_BARRIER, "DUR",
     "as --wait, for users of flock(1)"},
    {"conflict-exit-code", 'E', CLI_VALUE_CODE, AT(conflict_exit_code), TAKING | CLI_WAIT | CLI_BARRIER, "N",
     "exit code when busy (75)"},
    {"skip-ok", '\0', CLI_VALUE_NONE, AT(skip_ok), CLI_RUN | CLI_ONCE, NULL, "busy: exit 0 in silence"},
    {"ttl", '\0', CLI_VALUE_DURATION, AT(ttl_ms), TAKING | CLI_ELECT | CLI_EXTEND | CLI_BARRIER, "DUR",
     "the lease: how soon a dead holder is noticed (15s; acquire needs it)"},
    {"renew", '\0', CLI_VALUE_DURATION, AT(renew_ms), RUNNING, "DUR", "time between renewals (ttl/3)"},
    {"grace", '\0', CLI_VALUE_DURATION, AT(grace_ms), RUNNING | CLI_BREAK, "DUR",
     "run: between TERM and KILL when CMD is stopped (5s); break: others are kept out at most this long while the "
     "holder does not know (10s, or half its TTL)"},
    {"on-lost", '\0', CLI_VALUE_CHOICE, AT(on_lost), RUNNING, "term|kill|ignore",
     "what happens to CMD when the lock is lost (term)"},
    {"min-hold", '\0', CLI_VALUE_DURATION, AT(min_hold_ms), CLI_RUN, "DUR",
     "keep the lock at least this long"},
    {"max-time", '\0', CLI_VALUE_DURATION, AT(max_time_ms), CLI_RUN | CLI_ONCE, "DUR",
     "stop CMD after DUR (exit code 124)"},
    {"kind", '\0', CLI_VALUE_CHOICE, AT(kind), TAKING | CLI_ELECT, "exclusive|fair",
     "both mean the order of asking; plain nodes keep none, and refuse fair"},
    {"shared", 's', CLI_VALUE_NONE, AT(shared), CLI_RUN | CLI_ACQUIRE | CLI_EXTEND | CLI_RELEASE, NULL,
     "hold it together with others that share it, as in flock(1); a writer waits for all of them"},
    {"slots", '\0', CLI_VALUE_COUNT, AT(slots), CLI_RUN | CLI_ACQUIRE | CLI_EXTEND | CLI_RELEASE, "K",
     "a semaphore: at most K hold NAME at a time, each a slot of its own; all users of NAME give the same K"},
    {"exclusive", 'x', CLI_VALUE_NONE, AT(exclusive), TAKING | CLI_ELECT, NULL,
     "one holder at a time, as in flock(1) (the default)"},
    {NULL, 'e', CLI_VALUE_NONE, AT(exclusive), TAKING | CLI_ELECT, NULL, "as -x"},
    {"also", '\0', CLI_VALUE_LIST, AT(also), CLI_RUN | CLI_ACQUIRE | CLI_EXTEND | CLI_RELEASE, "NAME",
     "this name too, together with the first or not at all; up to 15 times"},
    {"reentrant", '\0', CLI_VALUE_NONE, AT(reentrant), CLI_RUN, NULL,
     "inside a run that holds NAME already, run CMD under that lock"},
    {"who", '\0', CLI_VALUE_TEXT, AT(who), TAKING | CLI_ELECT, "TEXT",
     "name of the holder, shown to waiters (your user name)"},
    {"why", '\0', CLI_VALUE_TEXT, AT(why), TAKING | CLI_ELECT, "TEXT", "purpose, shown to waiters (nothing)"},
    {"command", 'c', CLI_VALUE_TEXT, AT(shell), RUNNING, "TEXT", "run TEXT through $SHELL -c"},
    {"foreground", '\0', CLI_VALUE_NONE, AT(foreground), RUNNING, NULL,
     "CMD stays in the caller's process group"},
    {"pass-credentials", '\0', CLI_VALUE_NONE, AT(pass_credentials), RUNNING, NULL,
     "CMD sees REDLOCK_PASSWORD and the passwords in REDLOCK_NODES"},
    {"status-fd", '\0', CLI_VALUE_NUMBER, AT(status_fd), RUNNING, "N",
     "write what happens to descriptor N, as JSON lines"},
    {"metrics-file", '\0', CLI_VALUE_TEXT, AT(metrics_file), RUNNING, "FILE",
     "write statistics there, for the textfile collector of Prometheus"},
    {"metrics-label", '\0', CLI_VALUE_TEXT, AT(metrics_label), RUNNING, "KEY=VALUE",
     "a label for all of them, such as task=backup"},
    {"owner-token", '\0', CLI_VALUE_TEXT, AT(owner), CLI_EXTEND | CLI_RELEASE, "OWNER",
     "as printed by acquire (default: REDLOCK_OWNER)"},
    {"id", '\0', CLI_VALUE_TEXT, AT(id), CLI_BREAK, "ID",
     "the holder: its id from redlock status or list, or its whole owner value"},
    {"slot", '\0', CLI_VALUE_NUMBER, AT(slot), CLI_BREAK, "N",
     "of a semaphore: only if the holder has this slot, from 0"},
    {"now", '\0', CLI_VALUE_NONE, AT(now), CLI_BREAK, NULL,
     "others get the lock at once: for a holder that is known to be gone"},
    {"foreign", '\0', CLI_VALUE_NONE, AT(foreign), CLI_LIST | CLI_WATCH, NULL,
     "also texts with an expiry that other programs made"},
    {"every", '\0', CLI_VALUE_DURATION, AT(every_ms), CLI_ONCE, "DUR",
     "the period: CMD succeeds at most once in DUR"},
    {"observe", '\0', CLI_VALUE_NONE, AT(observe), CLI_ELECT, NULL,
     "take no part: print who leads, and the fence, as that changes"},
    {"parties", '\0', CLI_VALUE_COUNT, AT(parties), CLI_BARRIER, "K", "go on when so many have come"},
    {"tries", '\0', CLI_VALUE_COUNT, AT(tries), CLI_UPDATE, "N",
     "how often to try when others change KEY meanwhile (100)"},
    {"node", '\0', CLI_VALUE_COUNT, AT(node), CLI_UPDATE, "N", "which of several nodes has KEY, from 1 on"},
    {"listen", '\0', CLI_VALUE_TEXT, AT(listen), CLI_SERVE, "ADDR:PORT", "serve HTTP there (127.0.0.1:7420)"},
    {"unix", '\0', CLI_VALUE_TEXT, AT(unix_path), CLI_SERVE, "PATH",
     "serve HTTP on this unix socket (serve.sock beside the local nodes)"},
    {"resp", '\0', CLI_VALUE_TEXT, AT(resp), CLI_SERVE, "PORT",
     "serve Redis lock libraries on this port of 127.0.0.1, or ADDR:PORT (not at all)"},
    {"metrics-name", '\0', CLI_VALUE_TEXT, AT(metrics_name), CLI_SERVE, "GLOB",
     "/metrics counts locks with such names one by one, at most 100 of them (none)"},
    {"nodes", '\0', CLI_VALUE_TEXT, AT(nodes), ASKING, "URL,URL...", "the nodes, without passwords"},
    {"config", '\0', CLI_VALUE_TEXT, AT(config), ASKING, "FILE", "read nodes and settings from FILE"},
    {"prefix", '\0', CLI_VALUE_TEXT, AT(prefix), ASKING & ~CLI_UPDATE, "TEXT",
     "put before every name at the nodes"},
    {"require-nodes", '\0', CLI_VALUE_NONE, AT(require_nodes), ASKING, NULL,
     "never use local nodes, which are for this machine only"},
    {"plain", '\0', CLI_VALUE_NONE, AT(plain),
     LOCKING | OPERATING | CLI_STATUS | CLI_SERVE | CLI_DOCTOR | CLI_BENCH, NULL,
     "SET NX PX only: no fencing tokens, restarted nodes are not excluded"},
    {"format", '\0', CLI_VALUE_CHOICE, AT(format), LOCKING | OPERATING | CLI_STATUS | CLI_SERVE | CLI_DOCTOR,
     "common|redisson",
     "redisson: share locks with Redisson (Java) in its own format, without fencing tokens and guard (common)"},
    {"legacy", '\0', CLI_VALUE_NONE, AT(legacy), CLI_RUN | CLI_ACQUIRE | CLI_EXTEND | CLI_RELEASE, NULL,
     "share a lock with programs that use SETNX and GETSET, on one node; weaker"},
    {"legacy-seconds", '\0', CLI_VALUE_NONE, AT(legacy_seconds),
     CLI_RUN | CLI_ACQUIRE | CLI_EXTEND | CLI_RELEASE, NULL,
     "the same, with ends in seconds in place of milliseconds"},
    {"for", '\0', CLI_VALUE_DURATION, AT(bench_ms), CLI_BENCH, "DUR", "how long to measure in all (10s)"},
    {"check", '\0', CLI_VALUE_NONE, AT(check), CLI_STATUS, NULL,
     "print the first line only; exit 1 when no node may fail"},
    {"yes", 'y', CLI_VALUE_NONE, AT(yes), CLI_INIT | CLI_BREAK, NULL, "do not ask"},
    {"force", '\0', CLI_VALUE_NONE, AT(force), CLI_INIT, NULL, "also when a lock is seen to be held"},
    {"quiet", 'q', CLI_VALUE_NONE, AT(quiet), EVERY, NULL, "print nothing but errors, one line each"},
    {"verbose", 'v', CLI_VALUE_NONE, AT(verbose), EVERY, NULL, "print every step on stderr"},
    {"json", '\0', CLI_VALUE_NONE, AT(json), EVERY, NULL, "answers and errors as JSON lines"},
    {"no-color", '\0', CLI_VALUE_NONE, AT(no_color), EVERY, NULL,
     "no colours on a terminal (also: NO_COLOR)"},
    {"help", 'h', CLI_VALUE_NONE, AT(help), EVERY, NULL, "show this help"},
};

#define TABLE_COUNT (sizeof table / sizeof table[0])

const struct cli_option *cli_options_table(size_t *count)
{
    *count = TABLE_COUNT;
    return table;
}

/* The words being read, and where we are in them. */
struct reader {
    const struct cli_command *command;
    struct cli_options *options;
    char **argv;
    int argc, next;
};

/* Says what is wrong, and where help is; in the form asked for by the options that were read so far. */
static int refuse(const struct reader *reader, const char *option, const char *words)
{
    const struct cli_options *options = reader->options;

    cli_output_configure(options->quiet, options->verbose, options->json, options->no_color);
    cli_output_fail(CLI_EXIT_USAGE, "%s %s", option, words);
    cli_output_hint("see", "redlock help %s", reader->command->name);
    return CLI_EXIT_USAGE;
}

static int refuse_value(const struct reader *reader, const char *option, const char *value,
                        const char *problem)
{
    char words[512];

    snprintf(words, sizeof words, "\"%.300s\" %s", value, problem);
    return refuse(reader, option, words);
}

/* Which of a|b|c a value is, or -1. */
static int find_choice(const char *choices, const char *value)
{
    size_t length = strlen(value);

    for (int index = 0;; index++) {
        size_t part = strcspn(choices, "|");
        if (part == length && memcmp(choices, value, length) == 0)
            return index;
        if (choices[part] == '\0')
            return -1;
        choices += part + 1;
    }
}

static void add_item(struct cli_list *list, const char *value)
{
    if (list->count < CLI_ALSO_MAX)
        list->items[list->count] = value;
    list->count++;
}

/* Reads one value into its member. NULL, or what is wrong with it. */
static const char *store_value(const struct cli_option *option, const char *value,
                               struct cli_options *options)
{
    void *member = (char *)options + option->offset;
    int64_t *number = member;
    uint32_t small;
    const char *problem;

    switch (option->value) {
    case CLI_VALUE_NONE:
        *(bool *)member = true;
        return NULL;
    case CLI_VALUE_TEXT:
        *(const char **)member = value;
        return NULL;
    case CLI_VALUE_LIST:
        add_item(member, value);
        return NULL;
    case CLI_VALUE_DURATION:
        return cli_text_read_duration(value, number);
    case CLI_VALUE_COUNT:
        problem = cli_text_read_number(value, INT_MAX, &small);
        if (problem == NULL)
            *number = small;
        return problem != NULL || small == 0 ? "is not a whole number from 1 on" : NULL;
    case CLI_VALUE_CODE:
    case CLI_VALUE_NUMBER:
        problem = cli_text_read_number(value, option->value == CLI_VALUE_CODE ? 255 : INT_MAX, &small);
        if (problem == NULL)
            *number = small;
        return problem != NULL && option->value == CLI_VALUE_CODE ? "is not an exit code from 0 to 255"
                                                                  : problem;
    case CLI_VALUE_CHOICE:
        *number = find_choice(option->metavar, value);
        return *number < 0 ? "is not one of" : NULL; /* the choices are named behind it */
    }
    return "is not understood";
}

static bool has_long_name(const struct cli_option *option, const char *name, size_t length)
{
    return option->name != NULL && strlen(option->name) == length && memcmp(option->name, name, length) == 0;
}

/* The nearest option of this command to a misspelt one; NULL when none is near. */
static const char *suggest_option(const struct reader *reader, const char *name)
{
    const char *best = NULL;
    int least = 3;

    for (size_t i = 0; i < TABLE_COUNT; i++) {
        bool shown =
            table[i].name != NULL && table[i].help != NULL && (table[i].commands & reader->command->bit);
        int distance = shown ? cli_text_distance(table[i].name, name) : least;
        if (distance < least) {
            best = table[i].name;
            least = distance;
        }
    }
    return best;
}

static int refuse_unknown(const struct reader *reader, const char *option, const char *name)
{
    const char *near = suggest_option(reader, name);
    char words[128] = "is not an option of ";

    strcat(words, reader->command->name);
    if (near != NULL)
        snprintf(words + strlen(words), sizeof words - strlen(words), "; did you mean --%s?", near);
    return refuse(reader, option, words);
}

/* Takes the value of an option from behind its = or from the next word. */
static int take_value(struct reader *reader, const struct cli_option *option, const char *shown,
                      const char *attached)
{
    const char *value = attached;

    if (!(option->commands & reader->command->bit))
        return refuse_unknown(reader, shown, option->name == NULL ? "" : option->name);
    if (option->value == CLI_VALUE_NONE && attached != NULL)
        return refuse(reader, shown, "takes no value");
    if (option->value != CLI_VALUE_NONE && value == NULL) {
        if (reader->next >= reader->argc)
            return refuse(reader, shown, "needs a value");
        value = reader->argv[reader->next++];
        if (strcmp(value, "--") == 0)
            return refuse(reader, shown, "needs a value, and -- is none: it ends the options");
    }
    const char *problem = store_value(option, value, reader->options);
    char words[64];
    if (problem != NULL && option->value == CLI_VALUE_CHOICE) {
        snprintf(words, sizeof words, "%s %s", problem, option->metavar);
        problem = words;
    }
    return problem == NULL ? 0 : refuse_value(reader, shown, value, problem);
}

static int read_long(struct reader *reader, const char *word)
{
    const char *name = word + 2, *equals = strchr(name, '=');
    size_t length = equals == NULL ? strlen(name) : (size_t)(equals - name);
    char shown[64];

    snprintf(shown, sizeof shown, "--%.*s", length < 48 ? (int)length : 48, name);
    for (size_t i = 0; i < TABLE_COUNT; i++)
        if (has_long_name(&table[i], name, length))
            return take_value(reader, &table[i], shown, equals == NULL ? NULL : equals + 1);
    return refuse_unknown(reader, shown, shown + 2);
}

/* Reads -n, -nq, -w5 and -w 5. */
static int read_letters(struct reader *reader, const char *word)
{
    for (const char *letter = word + 1; *letter != '\0'; letter++) {
        char shown[3] = {'-', *letter, '\0'};
        const struct cli_option *option = NULL;

        for (size_t i = 0; i < TABLE_COUNT && option == NULL; i++)
            if (table[i].letter == *letter)
                option = &table[i];
        if (option == NULL)
            return refuse_unknown(reader, shown, "");
        bool rest_is_value = option->value != CLI_VALUE_NONE && letter[1] != '\0';
        int code = take_value(reader, option, shown, rest_is_value ? letter + 1 : NULL);
        if (code != 0 || rest_is_value)
            return code;
    }
    return 0;
}

/* A lone dash is a word: it is what many commands call their stdin. */
static bool is_option(const char *word)
{
    return word[0] == '-' && word[1] != '\0';
}

/* Options end at NAME's first following word that is none, and at --. What follows is kept as it is. */
static int read_words(struct reader *reader)
{
    struct cli_options *options = reader->options;
    bool only_words = false;

    while (reader->next < reader->argc) {
        char *word = reader->argv[reader->next];
        bool ends_options = strcmp(word, "--") == 0;
        if (reader->command->takes_command && options->word_count == 1 &&
            (ends_options || only_words || !is_option(word))) {
            reader->next += ends_options;
            break;
        }
        reader->next++;
        if (!only_words && ends_options)
            only_words = true;
        else if (!only_words && is_option(word)) {
            int code = word[1] == '-' ? read_long(reader, word) : read_letters(reader, word);
            if (code != 0)
                return code;
        } else {
            options->words[options->word_count++] = word;
        }
    }
    while (reader->next < reader->argc)
        options->words[options->word_count++] = reader->argv[reader->next++];
    options->words[options->word_count] = NULL;
    return 0;
}

static int check_words(const struct reader *reader)
{
    const struct cli_command *command = reader->command;
    const struct cli_options *options = reader->options;

    if (options->help)
        return 0;
    if (options->word_count < command->least_words)
        return refuse(reader, command->name, command->missing);
    if (!command->takes_command && options->word_count > command->most_words)
        return refuse_value(reader, command->name, options->words[command->most_words],
                            "is not expected here");
    if ((command->bit & ASKING) && options->word_count > 0 && *options->words[0] == '\0')
        return refuse(reader, command->name,
                      command->bit == CLI_LIST     ? "needs a GLOB that is not empty, or none"
                      : command->bit == CLI_UPDATE ? "needs a KEY that is not empty"
                                                   : "needs a NAME that is not empty");
    return 0;
}

int cli_options_parse(const struct cli_command *command, int argc, char **argv, struct cli_options *options)
{
    struct reader reader = {.command = command, .options = options, .argv = argv, .argc = argc};

    *options = (struct cli_options){.wait_ms = CLI_NOT_GIVEN,
                                    .ttl_ms = CLI_NOT_GIVEN,
                                    .renew_ms = CLI_NOT_GIVEN,
                                    .grace_ms = CLI_NOT_GIVEN,
                                    .min_hold_ms = CLI_NOT_GIVEN,
                                    .max_time_ms = CLI_NOT_GIVEN,
                                    .bench_ms = CLI_NOT_GIVEN,
                                    .every_ms = CLI_NOT_GIVEN,
                                    .parties = CLI_NOT_GIVEN,
                                    .conflict_exit_code = CLI_NOT_GIVEN,
                                    .status_fd = CLI_NOT_GIVEN,
                                    .slot = CLI_NOT_GIVEN,
                                    .on_lost = CLI_NOT_GIVEN,
                                    .kind = CLI_NOT_GIVEN,
                                    .format = CLI_NOT_GIVEN,
                                    .tries = CLI_NOT_GIVEN,
                                    .node = CLI_NOT_GIVEN};
    options->command = command->bit;
    /* Words are moved to the front of argv itself: there are never more words than places read so far. */
    options->words = argv;
    int code = read_words(&reader);
    return code != 0 ? code : check_words(&reader);
}
