/*
 * How many more nodes may fail before no lock can be had; see margin.h.
 */
#include "cli/margin.h"

#include <stdbool.h>
#include <stdio.h>

#include "cli/exits.h"

/* One server that is counted twice is no majority: no lock is handed out on such a fleet. */
static bool is_doubled(const redlock_report *report)
{
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;
    bool doubled = false;

    for (uint32_t i = 0; redlock_report_node(report, i, &node); i++)
        doubled = doubled || node.cause == REDLOCK_CAUSE_DUPLICATE;
    return doubled;
}

void cli_margin_describe(const redlock_report *report, char *text, size_t size)
{
    static const char *const numbers[] = {"", "one", "two", "three", "four", "five", "six"};
    uint32_t spare = report->eligible > report->quorum ? report->eligible - report->quorum : 0;
    char words[60];

    if (is_doubled(report))
        snprintf(words, sizeof words, "no lock can be had, one server is named twice");
    else if (report->eligible < report->quorum)
        snprintf(words, sizeof words, "no lock can be had");
    else if (spare == 0)
        snprintf(words, sizeof words, "none may fail");
    else if (spare < sizeof numbers / sizeof numbers[0])
        snprintf(words, sizeof words, "%s more may fail", numbers[spare]);
    else
        snprintf(words, sizeof words, "%u more may fail", spare);
    snprintf(text, size, "%u node%s, %u needed, %u eligible: %s", report->node_count,
             report->node_count == 1 ? "" : "s", report->quorum, report->eligible, words);
}

int cli_margin_code(const redlock_report *report)
{
    if (report->eligible < report->quorum || report->quorum == 0 || is_doubled(report))
        return CLI_EXIT_NODES;
    return report->eligible > report->quorum ? CLI_EXIT_OK : CLI_EXIT_WARNING;
}
