/*
 * redlock_mark() and redlock_marked(): what was done, and how long ago, kept at all nodes by their own
 * clocks; see ask_all.h.
 */
#include <stdio.h>

#include "beside/ask_all.h"
#include "engine/report.h"
#include "engine/sized.h"

static const struct rl_ask_kind notes = {"once:", "+eval +time +get +set"};

#define KEEP_MAX_MS (INT64_C(100000) * 86400000) /* some centuries: what nodes can add to their time */

static struct rl_argument number(char *text, size_t size, int64_t value)
{
    snprintf(text, size, "%lld", (long long)value);
    return rl_argument_text(text);
}

static redlock_result mark(const struct rl_ask_all *ask, int64_t age_ms, int64_t keep_ms)
{
    char age[24], keep[24];
    struct rl_argument arguments[] = {number(age, sizeof age, age_ms), number(keep, sizeof keep, keep_ms)};
    uint32_t done = 0;
    struct rl_resp item;

    rl_talk_begin(ask->talk);
    for (uint32_t i = 0; i < ask->talk->node_count; i++)
        rl_ask_all_write(ask, i, &rl_script_mark, arguments, 2);
    rl_talk_exchange(ask->talk);
    for (uint32_t i = 0; i < ask->talk->node_count; i++) {
        size_t offset = 0;

        done += rl_ask_all_read(ask, i, &offset, &item) && item.type == RL_RESP_INTEGER;
    }
    return rl_ask_all_result(ask, done, "have noted it");
}

redlock_result redlock_mark(redlock_client *client, const char *name, size_t name_length, int64_t age_ms,
                            int64_t keep_ms, redlock_report *report)
{
    RL_NO_CANCELLATION;
    struct rl_report_frame frame;
    struct rl_ask_all ask;
    redlock_result result;

    if (!rl_report_accept(&frame, report))
        return REDLOCK_INVALID;
    if (keep_ms <= 0 || keep_ms > KEEP_MAX_MS || age_ms > KEEP_MAX_MS || age_ms < -KEEP_MAX_MS) {
        rl_report_error(frame.report, REDLOCK_INVALID, "keep_ms is not above 0, or a time is out of range");
        return rl_report_return(&frame, REDLOCK_INVALID);
    }
    result = rl_ask_all_open(&ask, client, notes, name, name_length, frame.report);
    if (result == REDLOCK_OK) {
        result = mark(&ask, age_ms, keep_ms);
        rl_ask_all_close(&ask);
    }
    return rl_report_return(&frame, result);
}

/* The latest of all marks counts: it is on a quorum, and so on one of those that answer. */
static redlock_result look(const struct rl_ask_all *ask, int64_t *age_ms, uint32_t *have)
{
    uint32_t done = 0;
    struct rl_resp item;

    rl_talk_begin(ask->talk);
    for (uint32_t i = 0; i < ask->talk->node_count; i++)
        rl_ask_all_write(ask, i, &rl_script_marked, NULL, 0);
    rl_talk_exchange(ask->talk);
    *have = 0;
    for (uint32_t i = 0; i < ask->talk->node_count; i++) {
        size_t offset = 0;

        if (!rl_ask_all_read(ask, i, &offset, &item) ||
            (item.type != RL_RESP_INTEGER && item.type != RL_RESP_NULL))
            continue;
        done++;
        if (item.type == RL_RESP_NULL)
            continue;
        *age_ms = *have == 0 || item.integer < *age_ms ? item.integer : *age_ms;
        ++*have;
    }
    return rl_ask_all_result(ask, done, "have answered");
}

redlock_result redlock_marked(redlock_client *client, const char *name, size_t name_length, int64_t *age_ms,
                              redlock_report *report)
{
    RL_NO_CANCELLATION;
    struct rl_report_frame frame;
    struct rl_ask_all ask;
    redlock_result result;
    uint32_t have = 0;

    if (age_ms == NULL || !rl_report_accept(&frame, report))
        return REDLOCK_INVALID;
    *age_ms = 0;
    result = rl_ask_all_open(&ask, client, notes, name, name_length, frame.report);
    if (result == REDLOCK_OK) {
        result = look(&ask, age_ms, &have);
        rl_ask_all_close(&ask);
    }
    if (result == REDLOCK_OK && have == 0) {
        result = REDLOCK_NOT_HELD;
        rl_report_error(frame.report, result, "it was never noted, or that is longer ago than it is kept");
    }
    if (result == REDLOCK_OK && frame.report != NULL)
        frame.report->held = have;
    return rl_report_return(&frame, result);
}
