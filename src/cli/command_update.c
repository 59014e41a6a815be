/*
 * redlock update: changes a key of one node without a lock. FILTER makes the new value; redlock_update() sees
 * to it that nobody else's change is lost.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/child.h"
#include "cli/commands.h"
#include "cli/exits.h"
#include "cli/failure.h"
#include "cli/filter.h"
#include "cli/output.h"
#include "cli/session.h"

struct update {
    const struct cli_session *session;
    const struct cli_options *options;
    const char *key;
    struct cli_filter filter;
    char *key_text, *nodes_text;
    int code; /* set when FILTER is why the key was left alone */
};

/* ---- FILTER -------------------------------------------------------------------------------------------- */

/* "NAME=value"; NULL without memory. */
static char *make_variable(const char *name, const char *value)
{
    size_t size = strlen(name) + strlen(value) + 2;
    char *text = malloc(size);

    if (text != NULL)
        snprintf(text, size, "%s=%s", name, value);
    return text;
}

static bool is_variable(const char *text, const char *name)
{
    size_t length = strlen(name);

    return strncmp(text, name, length) == 0 && text[length] == '=';
}

/* The environment without what FILTER gets anew and without passwords; the last entry but one is
 * REDLOCK_EXISTS. */
static bool make_environment(struct update *update)
{
    const char *nodes = getenv("REDLOCK_NODES");
    char *bare = nodes == NULL ? NULL : cli_config_without_passwords(nodes);
    size_t count = 0, kept = 0;

    while (environ[count] != NULL)
        count++;
    update->key_text = make_variable("REDLOCK_KEY", update->key);
    update->nodes_text = bare == NULL ? NULL : make_variable("REDLOCK_NODES", bare);
    free(bare);
    update->filter.environment = calloc(count + 4, sizeof *update->filter.environment);
    if (update->key_text == NULL || update->filter.environment == NULL ||
        (nodes != NULL && update->nodes_text == NULL))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!is_variable(environ[i], "REDLOCK_KEY") && !is_variable(environ[i], "REDLOCK_EXISTS") &&
            !is_variable(environ[i], "REDLOCK_PASSWORD") && !is_variable(environ[i], "REDLOCK_NODES"))
            update->filter.environment[kept++] = environ[i];
    if (update->nodes_text != NULL)
        update->filter.environment[kept++] = update->nodes_text;
    update->filter.environment[kept++] = update->key_text;
    return true;
}

static void set_exists(struct update *update, bool exists)
{
    static char yes[] = "REDLOCK_EXISTS=yes", no[] = "REDLOCK_EXISTS=no";
    char **entry = update->filter.environment;

    while (*entry != NULL && *entry != yes && *entry != no)
        entry++;
    *entry = exists ? yes : no;
}

static int refuse_start(const struct update *update)
{
    int error = update->filter.error;
    bool missing = error == ENOENT || error == ENOTDIR;

    return cli_output_fail(missing ? CLI_EXIT_NOT_FOUND : CLI_EXIT_CANNOT_EXECUTE, "%s: %s",
                           update->filter.argv[0], missing ? "command not found" : strerror(error));
}

/* 0 when there is a new value; else the exit code, after having said why there is none. */
static int run_filter(struct update *update, const void *value, size_t length)
{
    struct cli_filter *filter = &update->filter;

    set_exists(update, value != NULL);
    if (!cli_filter_run(filter, value, length))
        return cli_output_fail(CLI_EXIT_SYSTEM, "%s: out of memory, or the system refused a process",
                               filter->argv[0]);
    if (filter->error != 0)
        return refuse_start(update);
    if (filter->too_long)
        return cli_output_fail(CLI_EXIT_DATA, "%s printed more than %d bytes; %s was left alone",
                               filter->argv[0], REDLOCK_VALUE_MAX, update->key);
    int code = cli_child_exit_code(filter->wait_status);
    if (code != 0)
        cli_output_warn("%s failed with %d; %s was left alone", filter->argv[0], code, update->key);
    return code;
}

static int change(void *context, const void *value, size_t length, const void **next, size_t *next_length)
{
    struct update *update = context;

    update->code = run_filter(update, value, length);
    *next = update->filter.value == NULL ? "" : update->filter.value;
    *next_length = update->filter.length;
    return update->code;
}

/* ---- the node ------------------------------------------------------------------------------------------ */

/* Which of them has the key: changing it on the wrong one would lose it. */
static int choose_node(const struct update *update, uint32_t *node)
{
    uint32_t count = redlock_client_node_count(update->session->client);
    int64_t chosen = update->options->node;

    *node = chosen == CLI_NOT_GIVEN ? 0 : (uint32_t)chosen - 1;
    if (chosen != CLI_NOT_GIVEN && *node >= count)
        return cli_output_fail(CLI_EXIT_USAGE, "--node %u: there are %u nodes", *node + 1, count);
    if (chosen != CLI_NOT_GIVEN || count == 1 || update->session->local)
        return 0;
    cli_output_fail(CLI_EXIT_USAGE, "%u nodes are configured, and update changes a key of one of them",
                    count);
    cli_output_hint("fix", "say which: --nodes URL, or --node N");
    return CLI_EXIT_USAGE;
}

static int say_result(const struct update *update, const redlock_report *report)
{
    switch (report->result) {
    case REDLOCK_OK:
        if (cli_output_is_json())
            cli_output_answer(json_pack("{s:o, s:i, s:I}", "key", cli_output_string(update->key), "tries",
                                        (int)report->rounds, "length", (json_int_t)update->filter.length));
        return cli_output_flush() ? CLI_EXIT_OK : CLI_EXIT_SYSTEM;
    case REDLOCK_TIMEOUT:
        cli_output_fail(CLI_EXIT_BUSY, "%s was changed by others in each of %u tries; it was left alone",
                        update->key, report->rounds);
        cli_output_hint("fix", "try again, raise --tries, or take a lock: redlock run NAME -- CMD");
        return CLI_EXIT_BUSY;
    case REDLOCK_FOREIGN_TYPE:
        return cli_output_fail(CLI_EXIT_DATA, "%s: %s", update->key, report->line);
    default:
        return cli_output_fail(cli_failure_code(report->result), "%s: %s", update->key, report->line);
    }
}

static int change_key(struct update *update)
{
    redlock_report report = REDLOCK_REPORT_INIT;
    uint32_t tries = update->options->tries == CLI_NOT_GIVEN ? 0 : (uint32_t)update->options->tries, node;
    int code = choose_node(update, &node);

    if (code != 0)
        return code;
    if (!make_environment(update))
        return cli_output_fail(CLI_EXIT_SYSTEM, "out of memory");
    report.result =
        redlock_update(update->session->client, node, update->key, 0, change, update, tries, &report);
    return update->code != 0 ? update->code : say_result(update, &report);
}

static int check_filter(const struct update *update)
{
    if (update->options->word_count > 1)
        return 0;
    cli_output_fail(CLI_EXIT_USAGE, "update needs a FILTER, as in: redlock update %s -- FILTER", update->key);
    cli_output_hint("see", "redlock help update");
    return CLI_EXIT_USAGE;
}

int cli_command_update(const struct cli_options *options)
{
    struct cli_session session = {0};
    struct update update = {.session = &session,
                            .options = options,
                            .key = options->words[0],
                            .filter = {.argv = options->words + 1, .most = REDLOCK_VALUE_MAX}};
    int code = check_filter(&update);

    if (code == 0)
        code = cli_session_prepare(&session, options);
    session.one_node = true;
    if (code == 0)
        code = cli_session_connect(&session, options);
    if (code == 0)
        code = change_key(&update);
    cli_session_close(&session);
    cli_filter_free(&update.filter);
    free(update.filter.environment);
    free(update.key_text);
    free(update.nodes_text);
    return code;
}
