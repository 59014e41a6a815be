/*
 * The names of a lock that has several; see names.h.
 */
#include "cli/names.h"

#include <stdio.h>
#include <string.h>

#include "cli/exits.h"
#include "cli/held.h"
#include "cli/text.h"

_Static_assert((int)CLI_ALSO_MAX == REDLOCK_NAMES_MAX - 1, "as many as a lock may have");

static bool is_named_before(const struct cli_options *options, int number)
{
    for (int i = 0; i < number; i++)
        if (strcmp(options->also.items[i], options->also.items[number]) == 0)
            return true;
    return strcmp(options->words[0], options->also.items[number]) == 0;
}

static int check_one(const struct cli_session *session, const struct cli_options *options, int number)
{
    const char *name = options->also.items[number];

    if (*name == '\0')
        return cli_output_fail(CLI_EXIT_USAGE, "--also needs a NAME that is not empty");
    if (is_named_before(options, number))
        return cli_output_fail(CLI_EXIT_USAGE, "--also %s: the name is given twice; name each once", name);
    return cli_session_check_name(session, name);
}

int cli_names_check(const struct cli_session *session, const struct cli_options *options)
{
    int code = cli_session_check_name(session, options->words[0]);

    if (code != 0 || options->also.count == 0)
        return code;
    if (options->also.count > CLI_ALSO_MAX)
        return cli_output_fail(CLI_EXIT_USAGE, "--also is given %d times: a lock has at most %d names",
                               options->also.count, REDLOCK_NAMES_MAX);
    if (options->shared || options->reentrant || options->slots > 0)
        return cli_output_fail(CLI_EXIT_USAGE, "--also and %s exclude each other",
                               options->shared      ? "--shared"
                               : options->reentrant ? "--reentrant"
                                                    : "--slots");
    if (session->config.legacy || session->config.plain) {
        cli_output_fail(CLI_EXIT_USAGE, "--also: plain nodes take one name at a time");
        cli_output_hint("fix",
                        "leave out %s, or take one lock inside the other, in the same order everywhere",
                        options->plain    ? "--plain"
                        : options->legacy ? "--legacy"
                                          : "mode and format in the configuration");
        return CLI_EXIT_USAGE;
    }
    for (int i = 0; i < options->also.count && code == 0; i++)
        code = check_one(session, options, i);
    return code;
}

int cli_names_check_held(const struct cli_session *session, const struct cli_options *options)
{
    int code = cli_held_check(session, options->words[0]);

    for (int i = 0; i < options->also.count && code == 0; i++)
        code = cli_held_check(session, options->also.items[i]);
    return code;
}

void cli_names_set(redlock_spec *spec, const struct cli_options *options,
                   redlock_name also[REDLOCK_NAMES_MAX - 1])
{
    spec->name = options->words[0];
    for (int i = 0; i < options->also.count; i++)
        also[i] = (redlock_name){.name = options->also.items[i]};
    spec->also = options->also.count > 0 ? also : NULL;
    spec->also_count = (uint32_t)options->also.count;
}

const char *cli_names_of(const struct cli_options *options, const redlock_report *report)
{
    if (report->name_number < 2 || report->name_number > (uint32_t)options->also.count + 1)
        return options->words[0];
    return options->also.items[report->name_number - 2];
}

void cli_names_show(json_t *object, const struct cli_options *options)
{
    json_t *names = options->also.count > 0 ? json_array() : NULL;

    for (int i = 0; i < options->also.count && names != NULL; i++)
        json_array_append_new(names, cli_output_string(options->also.items[i]));
    if (names != NULL)
        json_object_set_new(object, "also", names);
}

void cli_names_print(const struct cli_options *options)
{
    char clean[REDLOCK_NAME_MAX + 1];

    for (int i = 0; i < options->also.count; i++) {
        cli_text_clean(options->also.items[i], clean, sizeof clean);
        printf("also %s\n", clean);
    }
}
