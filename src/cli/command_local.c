/*
 * redlock local: starts, ends and shows the five private nodes. local.c does the work; this file only talks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/exits.h"
#include "cli/local.h"
#include "cli/options.h"
#include "cli/output.h"

static int start(void)
{
    struct cli_local local;
    int started = 0;
    int code = cli_local_open(&local, true);

    if (code == 0)
        code = cli_local_start(&local, false, &started);
    if (code != 0)
        return code;
    if (started == 0)
        cli_output_note("five local nodes already run in %s", local.directory);
    else
        cli_output_note("started %d of five local nodes in %s", started, local.directory);
    return CLI_EXIT_OK;
}

static int stop(void)
{
    struct cli_local local;
    int ended = 0;
    int code = cli_local_open(&local, false);

    if (code == 0)
        code = cli_local_stop(&local, &ended);
    if (code > 0)
        return code;
    if (ended == 0)
        cli_output_note("no local nodes were running");
    else
        cli_output_note("ended %d local nodes", ended);
    return CLI_EXIT_OK;
}

static int print_nodes(const struct cli_local *local)
{
    static const char *const words[] = {"down", "silent", "up"};
    json_t *list = json_array();
    int up = 0;

    for (int node = 0; node < CLI_LOCAL_NODES; node++) {
        pid_t pid;
        enum cli_local_state state = cli_local_probe(local, node, &pid);
        char *url = cli_local_url(local, node);
        up += state == CLI_LOCAL_UP;
        if (cli_output_is_json())
            json_array_append_new(list, json_pack("{s:o, s:s, s:i}", "url",
                                                  cli_output_string(url == NULL ? "" : url), "state",
                                                  words[state], "pid", (int)pid));
        else if (pid != 0)
            printf("  node %d  %s  %s  pid %d\n", node + 1, url == NULL ? "" : url, words[state], (int)pid);
        else
            printf("  node %d  %s  %s\n", node + 1, url == NULL ? "" : url, words[state]);
        free(url);
    }
    if (cli_output_is_json())
        cli_output_answer(json_pack("{s:o, s:i, s:O}", "directory", cli_output_string(local->directory), "up",
                                    up, "nodes", list));
    json_decref(list);
    return up;
}

static int show(void)
{
    struct cli_local local;
    int code = cli_local_open(&local, false);

    if (code > 0)
        return code;
    if (code < 0)
        return cli_output_fail(CLI_EXIT_NODES, "no local nodes run; redlock local start starts them");
    int up = print_nodes(&local);
    if (!cli_output_flush())
        return cli_output_fail(CLI_EXIT_SYSTEM, "the status could not be printed");
    if (up >= CLI_LOCAL_QUORUM)
        return CLI_EXIT_OK;
    return cli_output_fail(CLI_EXIT_NODES,
                           "%d of five local nodes run; redlock local start starts the others", up);
}

int cli_command_local(const struct cli_options *options)
{
    const char *word = options->words[0];

    if (strcmp(word, "start") == 0)
        return start();
    if (strcmp(word, "stop") == 0)
        return stop();
    if (strcmp(word, "status") == 0)
        return show();
    cli_output_fail(CLI_EXIT_USAGE, "local \"%s\" is not one of start, stop, status", word);
    cli_output_hint("see", "redlock help local");
    return CLI_EXIT_USAGE;
}
