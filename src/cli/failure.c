/*
 * What to say when the nodes did not do what was asked, and which exit code that is.
 * An error names what, who, how to see more and how to fix it; it never has one message for four causes.
 */
#include "cli/failure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/busy.h"
#include "cli/exits.h"
#include "cli/not_held.h"
#include "cli/output.h"
#include "cli/rights.h"
#include "cli/suggest.h"
#include "cli/text.h"

enum { SAME_S = 5 }; /* what passes at most between a node's answer and our words */

int cli_failure_code(redlock_result result)
{
    switch (result) {
    case REDLOCK_OK:
        return CLI_EXIT_OK;
    case REDLOCK_BUSY:
    case REDLOCK_TIMEOUT:
    case REDLOCK_FOREIGN_TYPE:
        return CLI_EXIT_BUSY;
    case REDLOCK_NOT_HELD:
    case REDLOCK_LOST:
        return CLI_EXIT_LOST;
    case REDLOCK_NO_QUORUM:
    case REDLOCK_TOO_SLOW:
    case REDLOCK_QUARANTINE:
        return CLI_EXIT_NODES;
    case REDLOCK_FORBIDDEN:
        return CLI_EXIT_DENIED;
    case REDLOCK_INVALID:
        return CLI_EXIT_USAGE;
    case REDLOCK_NOMEM:
    case REDLOCK_SYSTEM:
        return CLI_EXIT_SYSTEM;
    case REDLOCK_CANCELED:
    case REDLOCK_MISUSE:
        break;
    }
    return CLI_EXIT_INTERNAL;
}

/* Whether it did what it was asked, or said why somebody has it. */
static bool has_answered(const redlock_node_report *node)
{
    return node->verdict == REDLOCK_VERDICT_GRANTED || node->verdict == REDLOCK_VERDICT_HELD ||
           node->verdict == REDLOCK_VERDICT_FREE || node->verdict == REDLOCK_VERDICT_NOT_HELD;
}

/* A line for each node that is not well; where votes are missing, one that answers without having one is
 * not. */
static void say_nodes(const redlock_report *report)
{
    bool votes = report->result == REDLOCK_QUARANTINE;
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;

    for (uint32_t i = 0; redlock_report_node(report, i, &node); i++) {
        if (node.verdict == REDLOCK_VERDICT_PENDING || (has_answered(&node) && (!votes || node.eligible)))
            continue;
        cli_output_hint("node", "%u %s: %s", i + 1, node.url,
                        node.detail[0] != '\0' ? node.detail : redlock_verdict_name(node.verdict));
    }
}

/* Whether asking the nodes once more takes no longer than their answers: all of them are connected, or said
 * why not. A caller that has waited as long as it wanted is not to wait for the others on top of that. */
static bool answers_soon(const redlock_report *report)
{
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;

    for (uint32_t i = 0; redlock_report_node(report, i, &node); i++)
        if (!node.eligible &&
            (node.verdict == REDLOCK_VERDICT_SILENT || node.verdict == REDLOCK_VERDICT_PENDING ||
             node.cause == REDLOCK_CAUSE_CONNECTING || node.cause == REDLOCK_CAUSE_TIMED_OUT ||
             node.cause == REDLOCK_CAUSE_SILENT || node.cause == REDLOCK_CAUSE_RESOLVE))
            return false;
    return true;
}

static uint32_t count_answers(const redlock_report *report)
{
    return report->granted + report->held + report->free + report->not_held;
}

bool cli_failure_is_new_fleet(const redlock_report *report)
{
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;
    uint32_t quarantined = 0;

    for (uint32_t i = 0; redlock_report_node(report, i, &node); i++)
        quarantined += node.cause == REDLOCK_CAUSE_QUARANTINE;
    return report->eligible == 0 && quarantined > 0 && quarantined >= report->quorum;
}

/* The seconds in "quarantined for another 62 s", which were counted when the node answered; 0 when it says
 * none. */
static int64_t seconds_said(const char *detail)
{
    static const char before[] = "quarantined for ", again[] = "another ";
    const char *place = strstr(detail, before);

    if (place == NULL)
        return 0;
    place += sizeof before - 1;
    if (strncmp(place, again, sizeof again - 1) == 0)
        place += sizeof again - 1;
    return strtoll(place, NULL, 10);
}

int64_t cli_failure_quarantine_ms(const redlock_node_report *node)
{
    int64_t said = seconds_said(node->detail), left = (node->eligible_in_ms + 999) / 1000;

    if (left < 1)
        left = 1;
    return 1000 * (said > left && said - left <= SAME_S ? said : left);
}

/* The latest time at which a quarantined node may vote again; -1 when none is quarantined. */
static int64_t find_quarantine_end(const redlock_report *report)
{
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;
    int64_t end_ms = -1;

    for (uint32_t i = 0; redlock_report_node(report, i, &node); i++)
        if (node.cause == REDLOCK_CAUSE_QUARANTINE && cli_failure_quarantine_ms(&node) > end_ms)
            end_ms = cli_failure_quarantine_ms(&node);
    return end_ms;
}

bool cli_failure_describe_full(const redlock_report *report, char *text, size_t size)
{
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;
    uint32_t count = 0, listed = 0;
    char list[160] = "";

    for (uint32_t i = 0; redlock_report_node(report, i, &node); i++)
        count += node.cause == REDLOCK_CAUSE_MEMORY;
    for (uint32_t i = 0; redlock_report_node(report, i, &node); i++) {
        if (node.cause != REDLOCK_CAUSE_MEMORY)
            continue;
        const char *separator = listed == 0 ? "" : listed + 1 == count ? " and " : ", ";
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%u", separator, i + 1);
        listed++;
    }
    snprintf(text, size, "node%s %s %s out of memory: raise maxmemory there, or remove data",
             count == 1 ? "" : "s", list, count == 1 ? "is" : "are");
    return count > 0;
}

/* What is being said about which nodes: `shown` ones are not listed again. */
struct failing {
    const struct cli_session *session;
    const char *name; /* NULL none */
    const redlock_report *report;
    const struct cli_claim *claim; /* NULL none */
    bool shown;
    char subject[400]; /* "NAME: ", or nothing */
};

static void list_nodes(const struct failing *failing)
{
    if (!failing->shown)
        say_nodes(failing->report);
}

/* A round that is decided early knows nothing of the nodes that had not answered. */
static void say_no_quorum(const struct failing *failing, json_t *more)
{
    const redlock_report *report = failing->report;
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;
    bool decided_early = false;
    char full[240];

    for (uint32_t i = 0; redlock_report_node(report, i, &node); i++)
        decided_early = decided_early || node.verdict == REDLOCK_VERDICT_PENDING;
    cli_output_fail_with(more, CLI_EXIT_NODES, "%sno quorum: %u of %s %s, %s%s", failing->subject,
                         decided_early ? report->granted : count_answers(report),
                         cli_text_nodes(report->node_count).text, decided_early ? "agreed" : "answered",
                         cli_text_needed(report->quorum).text, cli_busy_waited(report).text);
    list_nodes(failing);
    if (cli_failure_describe_full(report, full, sizeof full))
        cli_output_hint("fix", "%s", full);
    cli_output_hint("see", "%s", cli_suggest("doctor", NULL, NULL, NULL).text);
}

static void say_quarantine(const struct failing *failing, json_t *more)
{
    int64_t end_ms = find_quarantine_end(failing->report);

    cli_output_fail_with(more, CLI_EXIT_NODES, "%stoo few nodes may vote: %s%s", failing->subject,
                         cli_text_needed(failing->report->quorum).text,
                         cli_busy_waited(failing->report).text);
    list_nodes(failing);
    if (cli_failure_is_new_fleet(failing->report))
        cli_output_hint("fix", "wait %s; or, if this is a new fleet and nobody holds a lock yet: %s",
                        cli_text_span(end_ms).text, cli_suggest("init", NULL, NULL, NULL).text);
    else if (end_ms >= 0)
        cli_output_hint("fix", "wait %s, or bring back the nodes that are down", cli_text_span(end_ms).text);
    cli_output_hint("see", "%s", cli_suggest("doctor", NULL, NULL, NULL).text);
}

static bool has_cause(const redlock_report *report, redlock_cause cause)
{
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;
    bool found = false;

    for (uint32_t i = 0; redlock_report_node(report, i, &node); i++)
        found = found || node.cause == cause;
    return found;
}

int cli_failure_report_code(const redlock_report *report)
{
    bool twice = report->result == REDLOCK_INVALID && has_cause(report, REDLOCK_CAUSE_DUPLICATE);

    return twice ? CLI_EXIT_CONFIG : cli_failure_code(report->result);
}

static void say_forbidden(const struct failing *failing, json_t *more)
{
    bool rights = has_cause(failing->report, REDLOCK_CAUSE_RIGHTS);
    char fix[CLI_COMMAND_MAX];

    cli_output_fail_with(more, CLI_EXIT_DENIED, "%sthe nodes refused the %s", failing->subject,
                         rights ? "rights" : "credentials");
    list_nodes(failing);
    if (cli_output_is_quiet())
        return;
    if (rights && cli_rights_find(failing->session, fix, sizeof fix)) {
        cli_output_hint("fix", "on each node: %s", fix);
        return;
    }
    cli_rights_credentials(failing->session, failing->report, fix, sizeof fix);
    cli_output_hint("fix", "%s", fix);
    if (getenv("REDLOCK_HELD") != NULL)
        cli_output_hint("or", "redlock run --pass-credentials, above this one");
}

/* Two votes of one server are no majority: nothing is asked of such a fleet. */
static void say_duplicate(const struct failing *failing, json_t *more)
{
    cli_output_fail_with(more, CLI_EXIT_CONFIG, "%sone server is named twice among the nodes",
                         failing->subject);
    list_nodes(failing);
    cli_output_hint("fix", "remove one of the two URLs");
}

/* Nodes that know what the name is in use for say so: another kind of lock of ours. false: they do not. */
static bool say_other_kind(const struct failing *failing, json_t *more, int code)
{
    static const char known[] = "WRONGTYPE the name is in use for ";
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;

    for (uint32_t i = 0; redlock_report_node(failing->report, i, &node); i++) {
        if (strncmp(node.detail, known, sizeof known - 1) != 0)
            continue;
        cli_output_fail_with(more, code, "%s%s", failing->subject, node.detail + strlen("WRONGTYPE "));
        cli_output_hint("fix", "use it in the same way everywhere, or choose another name");
        return true;
    }
    return false;
}

static int say_failure(struct failing *failing)
{
    const redlock_report *report = failing->report;
    int code = cli_failure_report_code(report);
    json_t *more = cli_busy_json(failing->name, report);

    if (failing->name != NULL)
        snprintf(failing->subject, sizeof failing->subject, "%.300s: ", failing->name);
    switch (report->result) {
    case REDLOCK_NO_QUORUM:
        say_no_quorum(failing, more);
        break;
    case REDLOCK_QUARANTINE:
        say_quarantine(failing, more);
        break;
    case REDLOCK_FORBIDDEN:
        say_forbidden(failing, more);
        break;
    case REDLOCK_FOREIGN_TYPE:
        if (say_other_kind(failing, more, code))
            break;
        cli_output_fail_with(more, code, "%sthe key holds something that is not a lock of this kind",
                             failing->subject);
        list_nodes(failing);
        cli_output_hint("fix", "choose another name or --prefix: what is there never expires");
        break;
    case REDLOCK_NOT_HELD:
    case REDLOCK_LOST:
        cli_not_held_say(failing->session, failing->name, failing->subject, report, failing->claim, more);
        break;
    case REDLOCK_INVALID:
        if (code == CLI_EXIT_CONFIG) {
            say_duplicate(failing, more);
            break;
        }
        /* fall through */
    default:
        cli_output_fail_with(more, code, "%s",
                             report->line[0] != '\0' ? report->line : redlock_result_name(report->result));
        list_nodes(failing);
        break;
    }
    return code;
}

int cli_failure_asking(const struct cli_session *session, const char *name, const redlock_report *report)
{
    return say_failure(&(struct failing){.session = session, .name = name, .report = report});
}

int cli_failure_claiming(const struct cli_session *session, const char *name, const struct cli_claim *claim,
                         const redlock_report *report)
{
    return say_failure(&(struct failing){.session = session, .name = name, .report = report, .claim = claim});
}

int cli_failure_shown(const struct cli_session *session, const char *name, const redlock_report *report)
{
    return say_failure(&(struct failing){.session = session, .name = name, .report = report, .shown = true});
}

/* The round ended as soon as it could not be won, before all nodes had answered: they are asked anew how they
 * are. What they say now is only used when it is the same trouble. */
static redlock_report look_again(const struct cli_session *session, const char *name,
                                 const redlock_report *report)
{
    redlock_report now = cli_session_second_report(session);
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;
    uint32_t able = 0;

    if (report->result != REDLOCK_NO_QUORUM && report->result != REDLOCK_QUARANTINE)
        return *report;
    redlock_result result = redlock_inspect(session->client, name, 0, &now);
    for (uint32_t i = 0; redlock_report_node(&now, i, &node); i++)
        able += has_answered(&node) && node.eligible;
    bool same = report->result == REDLOCK_NO_QUORUM ? result == REDLOCK_NO_QUORUM
                                                    : result == REDLOCK_OK && able < report->quorum;
    if (!same)
        return *report;
    now.result = report->result;
    now.waited_ms = report->waited_ms;
    return now;
}

int cli_failure_taking(const struct cli_session *session, const struct cli_options *options, const char *name,
                       const redlock_report *report)
{
    bool busy = report->result == REDLOCK_BUSY || report->result == REDLOCK_TIMEOUT;
    int code = cli_failure_code(report->result);

    if (busy && options->skip_ok)
        return CLI_EXIT_OK;
    if (code == CLI_EXIT_BUSY && options->conflict_exit_code != CLI_NOT_GIVEN)
        code = (int)options->conflict_exit_code;
    bool ask = options->wait_ms <= 0 || answers_soon(report); /* it waited: no longer than it wanted to */
    if (busy)
        return cli_busy_say(session, name, report, ask, code);
    redlock_report now = ask ? look_again(session, name, report) : *report;
    int usual = cli_failure_asking(session, name, &now);
    return usual == CLI_EXIT_BUSY ? code : usual;
}
