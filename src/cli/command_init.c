/*
 * redlock init: the operator's word that no lock is held on the nodes, which admits them to vote at once. It
 * asks first: said wrongly, it can put one lock into two hands.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/exits.h"
#include "cli/failure.h"
#include "cli/holder.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/suggest.h"
#include "cli/text.h"

static const char *words_of(const redlock_node_report *node)
{
    return node->detail[0] != '\0' ? node->detail : redlock_verdict_name(node->verdict);
}

/* Nodes that do not answer are named before anybody says yes: what is locked on them is not seen. */
static void name_unheard(const struct cli_session *session)
{
    redlock_report report = cli_session_second_report(session);
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;

    redlock_inspect(session->client, NULL, 0, &report);
    for (uint32_t i = 0; redlock_report_node(&report, i, &node); i++)
        if (node.verdict != REDLOCK_VERDICT_FREE && node.verdict != REDLOCK_VERDICT_HELD)
            cli_output_warn("node %u %s does not answer, so that locks on it are not seen: %s", i + 1,
                            node.url, words_of(&node));
}

/* Only a person at a terminal can be asked. 0, or an exit code after having said why not. */
static int confirm(const struct cli_session *session)
{
    char answer[16] = "";

    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return cli_output_fail(CLI_EXIT_USAGE, "init needs --yes when nobody can be asked");
    name_unheard(session);
    fprintf(stderr, "redlock: only safe if nobody holds a lock on these %u nodes. Continue? [y/N] ",
            redlock_client_node_count(session->client));
    if (fgets(answer, sizeof answer, stdin) != NULL && (answer[0] == 'y' || answer[0] == 'Y'))
        return 0;
    return cli_output_fail(CLI_EXIT_WARNING, "nothing was changed");
}

static int refuse_plain(void)
{
    cli_output_fail(CLI_EXIT_USAGE, "plain mode is configured, in which nodes need not be admitted");
    cli_output_hint("fix",
                    "leave init out; or, for guarded mode, remove mode = plain from the configuration");
    return CLI_EXIT_USAGE;
}

/* Whose lock was seen, and where. */
static int refuse_held(const redlock_report *report)
{
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;
    char holder[512];

    cli_output_fail(CLI_EXIT_BUSY, "a lock is held on these nodes: nothing was changed");
    for (uint32_t i = 0; redlock_report_node(report, i, &node); i++)
        if (node.verdict == REDLOCK_VERDICT_HELD)
            cli_output_hint("node", "%u %s: %s", i + 1, node.url, node.detail);
    if (report->holder.id[0] != '\0') {
        cli_holder_describe_since(&report->holder, holder, sizeof holder);
        cli_output_hint("holder", "%s", holder);
    }
    cli_output_hint("fix", "let it end; or, if nobody uses it any more, give --force");
    return CLI_EXIT_BUSY;
}

/* A quorum votes: what is left to do is said of each other node. */
static void name_left(const redlock_report *report)
{
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;

    for (uint32_t i = 0; redlock_report_node(report, i, &node); i++)
        if (node.verdict != REDLOCK_VERDICT_GRANTED)
            cli_output_warn("node %u %s was not admitted: %s", i + 1, node.url, words_of(&node));
    if (report->granted < report->node_count)
        cli_output_hint("fix", "repair it; then, if nobody holds a lock by then: %s",
                        cli_suggest("init", NULL, NULL, NULL).text);
}

/* Too few can be admitted for a lock to be had, so none was. */
static int refuse_few(const struct cli_session *session, const redlock_report *report)
{
    int code = cli_failure_asking(session, NULL, report);

    cli_output_hint("done", "no node was admitted");
    return code;
}

static int admit(const struct cli_session *session, bool force)
{
    redlock_report report = cli_session_report(session);

    report.result = redlock_init_nodes(session->client, force, &report);
    if (report.result == REDLOCK_BUSY)
        return refuse_held(&report);
    if (report.result != REDLOCK_OK)
        return refuse_few(session, &report);
    if (cli_output_is_json())
        cli_output_answer(json_pack("{s:s, s:i, s:o}", "result", "ok", "admitted", (int)report.granted,
                                    "nodes", cli_output_nodes(&report)));
    else
        cli_output_note("%u of %s may vote", report.granted, cli_text_nodes(report.node_count).text);
    name_left(&report);
    return CLI_EXIT_OK;
}

int cli_command_init(const struct cli_options *options)
{
    struct cli_session session = {0};
    int code = cli_session_open(&session, options);

    if (code == 0 && session.config.plain)
        code = refuse_plain();
    if (code == 0 && !options->yes)
        code = confirm(&session);
    if (code == 0)
        code = admit(&session, options->force);
    cli_session_close(&session);
    return code;
}
