/*
 * redlock status: the holder of a name, its waiters and what each node says about it; without a name, the
 * state of the nodes. It takes, changes and starts nothing.
 */
#include <stdio.h>
#include <string.h>

#include "cli/busy.h"
#include "cli/clock.h"
#include "cli/commands.h"
#include "cli/exits.h"
#include "cli/failure.h"
#include "cli/holder.h"
#include "cli/margin.h"
#include "cli/output.h"
#include "cli/owners.h"
#include "cli/session.h"
#include "cli/sharers.h"
#include "cli/slots.h"
#include "cli/suggest.h"
#include "cli/text.h"
#include "cli/waiters.h"

/* What was asked for. */
struct subject {
    const struct cli_session *session;
    const char *name; /* NULL: the nodes themselves */
    bool plain, verbose;
    bool semaphore; /* what nodes have under the name names no holder */
};

/* What a node's verdict means when nothing was asked for but the state of things. */
static const char *node_word(const redlock_node_report *node, bool about_name)
{
    bool answered = node->verdict == REDLOCK_VERDICT_FREE || node->verdict == REDLOCK_VERDICT_HELD;

    if (about_name || !answered)
        return redlock_verdict_name(node->verdict);
    if (node->eligible)
        return "up";
    return redlock_verdict_name(REDLOCK_VERDICT_INELIGIBLE);
}

/* What a node does for waiters; known only of one that answered. */
static const char *telling_words(const redlock_node_report *node)
{
    if (node->verdict != REDLOCK_VERDICT_FREE && node->verdict != REDLOCK_VERDICT_HELD)
        return "";
    return node->notifies ? "  push notifications: yes" : "  push notifications: no";
}

/* "  by 7f3a91d0": whose key is there. */
static void print_owner_id(const redlock_node_report *node)
{
    redlock_holder who;
    char clean[sizeof who.id];

    if (node->owner_length == 0)
        return;
    redlock_holder_parse(node->owner, node->owner_length, &who);
    cli_text_clean(who.id, clean, sizeof clean);
    printf("  by %s", clean);
}

/* "  redis 7.0.15  clock +0.4ms": what kind of server it is, and what its clock shows. */
static void print_server(const struct subject *subject, uint32_t number)
{
    redlock_node_facts facts = REDLOCK_NODE_FACTS_INIT;

    if (redlock_client_node_facts(subject->session->client, number, &facts) != REDLOCK_OK)
        return;
    if (facts.version[0] != '\0')
        printf("  %s %s", facts.server, facts.version);
    if (facts.clock_offset_us != INT64_MIN)
        printf("  clock %s", cli_text_offset(facts.clock_offset_us).text);
}

static void print_node(uint32_t number, const redlock_node_report *node, const struct subject *subject,
                       int width)
{
    bool about_name = subject->name != NULL;
    char url[200], detail[200];

    cli_text_clean(node->url, url, sizeof url);
    cli_text_clean(node->detail, detail, sizeof detail);
    printf("  node %-2u %-*s  %-10s", number, width, url, node_word(node, about_name));
    if (node->latency_us >= 0)
        printf("  %7s", cli_text_latency(node->latency_us).text);
    if (node->ttl_left_ms >= 0)
        printf("  %s left", cli_text_span(node->ttl_left_ms).text);
    else if (node->ttl_left_ms == -1 && node->verdict == REDLOCK_VERDICT_HELD)
        printf("  never expires");
    if (!subject->semaphore)
        print_owner_id(node);
    if (!about_name)
        print_server(subject, number - 1);
    if (subject->verbose)
        printf("%s", telling_words(node));
    if (detail[0] != '\0')
        printf("  %s", detail);
    printf("\n");
}

static void print_nodes(const redlock_report *report, const struct subject *subject)
{
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;
    int width = 0;

    for (uint32_t i = 0; redlock_report_node(report, i, &node); i++)
        if ((int)strlen(node.url) > width)
            width = (int)strlen(node.url);
    for (uint32_t i = 0; redlock_report_node(report, i, &node); i++)
        print_node(i + 1, &node, subject, width);
}

/* "  owner   old-one, on node 5, 59s left", from this owner on. */
static void print_owners(const struct cli_owners *owners, uint32_t first)
{
    char words[800], clean[800];

    for (uint32_t i = first; i < owners->count; i++) {
        cli_owners_describe(&owners->owners[i], words, sizeof words);
        cli_text_clean(words, clean, sizeof clean);
        printf("  %s   %s\n", first == 0 ? "owner" : "also ", clean);
    }
}

/* shown: the name as a terminal may have it. */
static void print_holder(const struct subject *subject, const char *shown, const redlock_report *report,
                         const struct cli_owners *owners)
{
    const redlock_holder *holder = &report->holder;
    char words[512], clean[512];
    struct cli_busy_force force;
    int64_t now = cli_clock_wall();

    cli_sharers_describe(report, words, sizeof words);
    cli_text_clean(words, clean, sizeof clean);
    printf("%s is held by %s\n", shown, clean);
    cli_sharers_print(report);
    if (holder->since_ms > 0 && report->sharers <= 1)
        printf("  since   %s (%s)\n", cli_text_since(holder->since_ms, now).text,
               cli_text_span(now - holder->since_ms).text);
    cli_busy_describe_lease(report, owners->owners[0].node_count, words, sizeof words);
    printf("  lease   %s\n", words);
    if (report->fence != 0)
        printf("  fence   %llu\n", (unsigned long long)report->fence);
    cli_text_clean(holder->id, clean, sizeof clean);
    if (clean[0] != '\0' && report->sharers <= 1)
        printf("  id      %s\n", clean);
    if (holder->broken)
        printf("  broken  %s\n", CLI_HOLDER_BROKEN);
    else if (clean[0] != '\0' && cli_busy_suggest_force(subject->session, subject->name, holder, &force))
        printf("  %-7s %s%s\n", force.label, force.command.text, force.remark);
    print_owners(owners, 1);
}

/* A lock that is being taken or given back looks like this for a moment: nothing of it is called wrong. */
static void print_unheld(const char *name, const redlock_report *report, const struct cli_owners *owners)
{
    char words[100];

    cli_owners_describe_nobody(owners, words, sizeof words);
    if (owners->possession == CLI_POSSESSION_FOREIGN)
        printf("%s holds something that is not a lock of this kind\n", name);
    else if (owners->possession == CLI_POSSESSION_UNKNOWN)
        printf("whether %s is held is %s\n", name, words);
    else if (owners->possession == CLI_POSSESSION_SPLIT)
        printf("%s is held by %s\n", name, words);
    else if (report->held > 0)
        printf("%s is free, but for %u of %u nodes\n", name, report->held, report->node_count);
    else
        printf("%s is free\n", name);
    print_owners(owners, 0);
    cli_owners_describe_end(owners, words, sizeof words);
    if (owners->possession == CLI_POSSESSION_SPLIT)
        printf("  free    %s\n", words);
}

static void print_slot(uint32_t slot, const char *words)
{
    printf("  slot %-2u %s\n", slot, words);
}

/* How the first of them is broken shows how any other is. */
static void print_force(const char *name, const redlock_slot *slot)
{
    char quoted[4 * sizeof slot->holder.id + 8], option[sizeof quoted + 8];

    cli_text_quote(slot->holder.id, quoted, sizeof quoted);
    snprintf(option, sizeof option, "--id %s", quoted);
    printf("  force   %s # the holder of slot %u\n", cli_suggest("break", name, option, NULL).text,
           slot->slot);
}

/* A semaphore. */
static void print_slots(const struct subject *subject, const char *shown, const redlock_report *report,
                        const struct cli_slots *slots)
{
    printf("%s: %u of %u slots held\n", shown, slots->held, slots->permits);
    cli_slots_each(slots, print_slot);
    if (report->fence != 0)
        printf("  fence   %llu\n", (unsigned long long)report->fence);
    if (slots->count > 0)
        print_force(subject->name, &slots->list[0]);
}

static void print_words(const struct subject *asked, const redlock_report *report)
{
    struct subject copy = *asked, *subject = &copy;
    char clean[REDLOCK_NAME_MAX + 1] = "", margin[120];
    struct cli_owners owners;
    struct cli_slots slots;

    cli_margin_describe(report, margin, sizeof margin);
    if (subject->name == NULL) {
        printf("%s\n", margin);
    } else {
        cli_text_clean(subject->name, clean, sizeof clean);
        cli_owners_read(&owners, report);
        if (cli_slots_find(subject->session, subject->name, report, &slots)) {
            subject->semaphore = true;
            print_slots(subject, clean, report, &slots);
            cli_slots_free(&slots);
        } else if (owners.possession == CLI_POSSESSION_HELD)
            print_holder(subject, clean, report, &owners);
        else if (report->result == REDLOCK_OK || owners.count > 0)
            print_unheld(clean, report, &owners);
        cli_waiters_print(report);
        printf("  fleet   %s\n", margin);
    }
    print_nodes(report, subject);
    if (subject->name == NULL)
        printf("  mode    %s\n", subject->plain ? "plain (no fencing tokens; restarted nodes vote at once)"
                                                : "guarded (fencing tokens; restarted nodes excluded)");
}

static json_t *nodes_json(const struct subject *subject, const redlock_report *report)
{
    json_t *nodes = cli_output_nodes(report);

    for (uint32_t i = 0; i < report->node_count; i++) {
        redlock_node_facts facts = REDLOCK_NODE_FACTS_INIT;
        json_t *node = json_array_get(nodes, i);

        if (redlock_client_node_facts(subject->session->client, i, &facts) != REDLOCK_OK)
            continue;
        if (facts.version[0] != '\0')
            json_object_set_new(node, "version", cli_output_string(facts.version));
        if (facts.server[0] != '\0')
            json_object_set_new(node, "server", cli_output_string(facts.server));
        json_object_set_new(node, "clock_offset_us",
                            facts.clock_offset_us == INT64_MIN ? json_null()
                                                               : json_integer(facts.clock_offset_us));
    }
    return nodes;
}

/* What nodes have under the name of a semaphore is nobody's. */
static void remove_ids(json_t *nodes)
{
    size_t index;
    json_t *node;

    json_array_foreach(nodes, index, node) json_object_del(node, "id");
}

static void print_json(const struct subject *subject, const redlock_report *report)
{
    json_t *object =
        json_pack("{s:s, s:s, s:i, s:i, s:i, s:o}", "result", redlock_result_name(report->result), "mode",
                  subject->plain ? "plain" : "guarded", "quorum", (int)report->quorum, "eligible",
                  (int)report->eligible, "held_on", (int)report->held, "nodes", nodes_json(subject, report));
    char margin[120];
    struct cli_owners owners;
    struct cli_slots slots;

    cli_margin_describe(report, margin, sizeof margin);
    json_object_set_new(object, "summary", json_string(margin));
    if (subject->name != NULL && report->fence != 0)
        json_object_set_new(object, "fence", json_integer((json_int_t)report->fence));
    if (subject->name != NULL) {
        json_object_set_new(object, "name", cli_output_string(subject->name));
        json_object_set_new(object, "holder", cli_output_holder(&report->holder));
        json_object_set_new(object, "ttl_left_ms",
                            report->holder_ttl_left_ms < 0 ? json_null()
                                                           : json_integer(report->holder_ttl_left_ms));
        cli_owners_read(&owners, report);
        cli_owners_add_json(&owners, object);
        cli_sharers_add_json(report, object);
        if (cli_slots_find(subject->session, subject->name, report, &slots)) {
            cli_slots_add_json(&slots, object);
            cli_slots_free(&slots);
            remove_ids(json_object_get(object, "nodes"));
        }
        json_object_set_new(object, "waiting", json_integer(report->waiting));
        json_object_set_new(object, "waiters", cli_waiters_json(report));
    }
    cli_output_answer(object);
}

/* For scripts: the first line and nothing else. */
static int check(const struct cli_session *session)
{
    redlock_report report = cli_session_report(session);
    char margin[120];

    redlock_inspect(session->client, NULL, 0, &report);
    int code = cli_margin_code(&report);
    cli_margin_describe(&report, margin, sizeof margin);
    if (cli_output_is_json())
        cli_output_answer(json_pack("{s:s, s:i, s:i, s:i, s:i}", "summary", margin, "nodes",
                                    (int)report.node_count, "quorum", (int)report.quorum, "eligible",
                                    (int)report.eligible, "exit_code", code));
    else
        printf("%s\n", margin);
    return cli_output_flush() ? code : cli_output_fail(CLI_EXIT_SYSTEM, "the status could not be printed");
}

/* Whatever came back is printed; only then it is said that it is not enough. */
static int ask_and_print(const struct cli_session *session, const struct subject *subject)
{
    redlock_report report = cli_session_report(session);

    report.result = redlock_inspect(session->client, subject->name, 0, &report);
    if (cli_output_is_json())
        print_json(subject, &report);
    else
        print_words(subject, &report);
    if (!cli_output_flush())
        return cli_output_fail(CLI_EXIT_SYSTEM, "the status could not be printed");
    return report.result == REDLOCK_OK ? CLI_EXIT_OK : cli_failure_shown(session, subject->name, &report);
}

int cli_command_status(const struct cli_options *options)
{
    const char *name = options->word_count > 0 ? options->words[0] : NULL;
    struct cli_session session = {0};
    int code = 0;

    if (options->check && name != NULL)
        return cli_output_fail(CLI_EXIT_USAGE, "--check is about the nodes, and takes no NAME");
    code = cli_session_look(&session, options);
    if (code == 0 && options->check)
        code = check(&session);
    else if (code == 0 && (name == NULL || (code = cli_session_check_name(&session, name)) == 0))
        code = ask_and_print(
            &session, &(struct subject){&session, name, session.config.plain, options->verbose, false});
    cli_session_close(&session);
    return code;
}
