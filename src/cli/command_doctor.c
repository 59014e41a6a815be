/*
 * redlock doctor: asks the nodes how they are, puts what they say to the checks, and prints what was found
 * with its remedy. It takes no lock and changes nothing.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/clock.h"
#include "cli/commands.h"
#include "cli/doctor.h"
#include "cli/exits.h"
#include "cli/failure.h"
#include "cli/margin.h"
#include "cli/output.h"
#include "cli/text.h"

enum { LOOKS = 50, LOOKS_AT_CLOCKS = 3 };
#define RATE_SPAN_MS 1000 /* as long as a clock has to be watched for its rate to show */

/* The bound of the bucket in which `percent` of all answers are; -1 when there are none. */
static int64_t percentile(const redlock_histogram *histogram, uint64_t percent)
{
    uint64_t needed = (histogram->count * percent + 99) / 100, seen = 0;

    for (uint32_t i = 0; histogram->count > 0 && i < REDLOCK_HISTOGRAM_BUCKETS; i++) {
        seen += histogram->buckets[i];
        if (seen >= needed)
            return (int64_t)redlock_histogram_bound_us(i);
    }
    return -1;
}

/* Asks often enough for latency to be known, and for so long that clocks that run wrong have moved. Not
 * longer: a look at a node that is frozen can take a second. */
static void look_for_a_while(const struct cli_session *session, int64_t until_ms)
{
    redlock_report report = cli_session_second_report(session);

    for (int i = 0; i < LOOKS && (i == 0 || cli_clock_now() < until_ms); i++)
        redlock_inspect(session->client, NULL, 0, &report);
    int64_t left_ms = until_ms - cli_clock_now();
    if (left_ms > 0)
        nanosleep(&(struct timespec){.tv_sec = left_ms / 1000, .tv_nsec = (long)(left_ms % 1000) * 1000000},
                  NULL);
}

/* What one look at a node's clock showed, and by how much that may be wrong: it was read at some time between
 * question and answer. */
struct look {
    int64_t at_us, offset_us, error_us;
};

/* The slowest rate that explains two looks; INT64_MIN when one of them saw nothing. */
static int64_t rate_between(const struct look *before, const struct look *after)
{
    int64_t moved_us, error_us = before->error_us + after->error_us, span_us = after->at_us - before->at_us;

    if (before->offset_us == INT64_MIN || after->offset_us == INT64_MIN || span_us <= 0)
        return INT64_MIN;
    moved_us = after->offset_us - before->offset_us;
    if (moved_us > error_us)
        return (moved_us - error_us) * 1000000 / span_us;
    return moved_us < -error_us ? (moved_us + error_us) * 1000000 / span_us : 0;
}

static bool is_bad_rate(const struct cli_session *session, int64_t rate_ppm)
{
    int64_t most_ppm = cli_doctor_drift_ppm(session);

    return rate_ppm != INT64_MIN && (rate_ppm > most_ppm || rate_ppm < -most_ppm);
}

/* Asks all nodes about themselves, and keeps what their clocks showed. */
static void look_at_clocks(const struct cli_session *session, redlock_report *report, struct look *looks)
{
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;

    report->result = redlock_examine(session->client, report);
    for (uint32_t i = 0; redlock_report_node(report, i, &node); i++) {
        redlock_node_facts facts = REDLOCK_NODE_FACTS_INIT;

        redlock_client_node_facts(session->client, i, &facts);
        looks[i] = (struct look){.at_us = cli_clock_now_us(),
                                 .offset_us = facts.examined ? facts.clock_offset_us : INT64_MIN,
                                 .error_us = node.latency_us > 0 ? node.latency_us / 2 + 1 : 0};
    }
}

/* The slower of two rates is the better explanation; one that is not known is none. */
static int64_t better_rate(int64_t one_ppm, int64_t other_ppm)
{
    if (one_ppm == INT64_MIN || other_ppm == INT64_MIN)
        return one_ppm == INT64_MIN ? other_ppm : one_ppm;
    return llabs(one_ppm) <= llabs(other_ppm) ? one_ppm : other_ppm;
}

/* A process that did not run for a moment looks like a clock that jumped: so a clock that seems to run wrong
 * is looked at once more. Of three looks one may be wrong, whichever, and the best rate between two of them
 * is right. */
static void find_rates(struct cli_doctor *doctor, redlock_report *report)
{
    static struct look looks[LOOKS_AT_CLOCKS][REDLOCK_NODES_MAX];
    bool again = true;

    look_at_clocks(doctor->session, report, looks[0]);
    for (int last = 1; last < LOOKS_AT_CLOCKS && again; last++) {
        look_for_a_while(doctor->session, cli_clock_now() + RATE_SPAN_MS);
        look_at_clocks(doctor->session, report, looks[last]);
        again = false;
        for (uint32_t i = 0; i < report->node_count; i++) {
            int64_t *best = &doctor->nodes[i].rate_ppm;

            *best = last == 1 ? INT64_MIN : *best;
            for (int first = 0; first < last; first++)
                *best = better_rate(*best, rate_between(&looks[first][i], &looks[last][i]));
            again = again || is_bad_rate(doctor->session, *best);
        }
    }
}

static void take_node(struct cli_doctor *doctor, uint32_t node)
{
    struct cli_doctor_node *one = &doctor->nodes[node];
    redlock_node_stats stats = REDLOCK_NODE_STATS_INIT;
    redlock_client *client = doctor->session->client;

    one->report = (redlock_node_report)REDLOCK_NODE_REPORT_INIT;
    one->facts = (redlock_node_facts)REDLOCK_NODE_FACTS_INIT;
    redlock_report_node(doctor->report, node, &one->report);
    redlock_client_node_stats(client, node, &stats);
    redlock_client_node_facts(client, node, &one->facts);
    one->median_us = percentile(&stats.latency, 50);
    one->slow_us = percentile(&stats.latency, 99);
    cli_doctor_client(doctor->session, &one->facts, one->report.url, one->client, sizeof one->client);
}

/* A node that is slow once on a busy machine is not frozen: one that is stays so. */
static bool is_any_silent(const redlock_report *report)
{
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;
    bool silent = false;

    for (uint32_t i = 0; redlock_report_node(report, i, &node); i++)
        silent = silent || node.cause == REDLOCK_CAUSE_TIMED_OUT || node.cause == REDLOCK_CAUSE_SILENT;
    return silent;
}

static void gather(struct cli_doctor *doctor, redlock_report *report)
{
    find_rates(doctor, report);
    if (is_any_silent(report))
        report->result = redlock_examine(doctor->session->client, report);
    doctor->report = report;
    doctor->count = report->node_count;
    for (uint32_t i = 0; i < doctor->count; i++)
        take_node(doctor, i);
}

static const char *role_word(redlock_role role)
{
    static const char *const words[] = {"", "master", "replica", "sentinel"};

    return (size_t)role < sizeof words / sizeof words[0] ? words[role] : "";
}

static void print_node(uint32_t number, const struct cli_doctor_node *node, int width)
{
    char url[200];

    cli_text_clean(node->report.url, url, sizeof url);
    printf("  node %-2u %-*s  %s", number, width, url, node->report.eligible ? "eligible" : "ineligible");
    if (node->facts.version[0] != '\0')
        printf("  %s %s %s", node->facts.server, node->facts.version, role_word(node->facts.role));
    if (node->median_us >= 0)
        printf("  p50 %s p99 %s", cli_text_latency(node->median_us).text,
               cli_text_latency(node->slow_us).text);
    if (node->facts.clock_offset_us != INT64_MIN)
        printf("  clock %s", cli_text_offset(node->facts.clock_offset_us).text);
    printf("\n");
}

static void print_words(const struct cli_doctor *doctor)
{
    uint32_t errors = cli_findings_count(&doctor->findings, CLI_WEIGHT_ERROR);
    uint32_t warnings = cli_findings_count(&doctor->findings, CLI_WEIGHT_WARNING);
    uint32_t notes = cli_findings_count(&doctor->findings, CLI_WEIGHT_NOTE);
    char margin[120];
    int width = 0;

    cli_margin_describe(doctor->report, margin, sizeof margin);
    printf("%s\n", margin);
    for (uint32_t i = 0; i < doctor->count; i++)
        if ((int)strlen(doctor->nodes[i].report.url) > width)
            width = (int)strlen(doctor->nodes[i].report.url);
    for (uint32_t i = 0; i < doctor->count; i++)
        print_node(i + 1, &doctor->nodes[i], width);
    cli_findings_print(&doctor->findings);
    printf("%u error%s, %u warning%s, %u note%s\n", errors, errors == 1 ? "" : "s", warnings,
           warnings == 1 ? "" : "s", notes, notes == 1 ? "" : "s");
}

static json_t *known(int64_t value, int64_t unknown)
{
    return value == unknown ? json_null() : json_integer(value);
}

static json_t *switch_json(int32_t value)
{
    return value < 0 ? json_null() : json_boolean(value);
}

static json_t *node_json(const struct cli_doctor_node *node)
{
    const redlock_node_facts *facts = &node->facts;
    json_t *object = json_pack(
        "{s:o, s:b, s:s, s:o, s:o, s:o, s:s, s:b, s:b, s:b}", "url", cli_output_string(node->report.url),
        "eligible", (int)node->report.eligible, "cause", redlock_cause_name(node->report.cause), "detail",
        cli_output_string(node->report.detail), "server", cli_output_string(facts->server), "version",
        cli_output_string(facts->version), "role", role_word(facts->role), "cluster", (int)facts->cluster,
        "notifies", (int)node->report.notifies, "examined", (int)facts->examined);

    json_object_set_new(object, "latency_p50_us", known(node->median_us, -1));
    json_object_set_new(object, "latency_p99_us", known(node->slow_us, -1));
    json_object_set_new(object, "clock_offset_us", known(facts->clock_offset_us, INT64_MIN));
    json_object_set_new(object, "clock_rate_ppm", known(node->rate_ppm, INT64_MIN));
    json_object_set_new(object, "memory_used", known(facts->memory_used, -1));
    json_object_set_new(object, "memory_max", known(facts->memory_max, -1));
    json_object_set_new(object, "memory_policy", cli_output_string(facts->memory_policy));
    json_object_set_new(object, "append_only", switch_json(facts->append_only));
    json_object_set_new(object, "snapshots", switch_json(facts->snapshots));
    json_object_set_new(object, "certificate_ends_s", known(facts->certificate_ends_s, 0));
    json_object_set_new(object, "longest_ttl_ms", known(facts->longest_ttl_ms, 0));
    json_object_set_new(object, "user", cli_output_string(facts->user));
    json_object_set_new(object, "missing_rights", cli_output_string(facts->missing_rights));
    return object;
}

static void print_json(const struct cli_doctor *doctor, int code)
{
    json_t *nodes = json_array();
    char margin[120];

    cli_margin_describe(doctor->report, margin, sizeof margin);
    for (uint32_t i = 0; i < doctor->count; i++)
        json_array_append_new(nodes, node_json(&doctor->nodes[i]));
    cli_output_answer(json_pack("{s:s, s:i, s:i, s:i, s:o, s:o}", "summary", margin, "exit_code", code,
                                "quorum", (int)doctor->report->quorum, "eligible",
                                (int)doctor->report->eligible, "findings",
                                cli_findings_json(&doctor->findings), "nodes", nodes));
}

static int exit_code(const struct cli_doctor *doctor)
{
    if (cli_findings_count(&doctor->findings, CLI_WEIGHT_ERROR) > 0)
        return CLI_EXIT_NODES;
    return cli_findings_count(&doctor->findings, CLI_WEIGHT_WARNING) > 0 ? CLI_EXIT_WARNING : CLI_EXIT_OK;
}

static int examine(struct cli_doctor *doctor)
{
    redlock_report report = cli_session_report(doctor->session);

    gather(doctor, &report);
    for (uint32_t i = 0; i < doctor->count; i++)
        cli_doctor_check_node(doctor, i);
    cli_doctor_check_fleet(doctor);
    cli_doctor_check_host(doctor);
    int code = exit_code(doctor);
    if (cli_output_is_json())
        print_json(doctor, code);
    else
        print_words(doctor);
    return cli_output_flush() ? code : cli_output_fail(CLI_EXIT_SYSTEM, "the findings could not be printed");
}

int cli_command_doctor(const struct cli_options *options)
{
    struct cli_session session = {0};
    int code = cli_session_look(&session, options);
    struct cli_doctor *doctor = code == 0 ? calloc(1, sizeof *doctor) : NULL;

    if (code == 0 && doctor == NULL)
        code = cli_output_fail(CLI_EXIT_SYSTEM, "out of memory");
    if (doctor != NULL) {
        doctor->session = &session;
        doctor->required = options->require_nodes;
        code = examine(doctor);
    }
    free(doctor);
    cli_session_close(&session);
    return code;
}
