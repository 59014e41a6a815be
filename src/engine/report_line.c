/*
 * The result of a call in one readable line: what came of it, how many nodes said so, and what is wrong with
 * the others.
 */
#include "engine/report_line.h"

#include "base/format.h"

/* "1, 4 and 5": the nodes with this verdict, from 1. */
static void list_nodes(struct rl_text *text, const struct rl_report_views *views, redlock_verdict verdict,
                       uint32_t total)
{
    uint32_t listed = 0;

    for (uint32_t i = 0; i < views->engine->node_count; i++) {
        if (views->nodes[i].verdict != verdict)
            continue;
        if (listed > 0)
            rl_text_add(text, listed + 1 == total ? " and " : ", ");
        rl_text_add_unsigned(text, i + 1);
        listed++;
    }
}

static uint32_t count_nodes(const struct rl_report_views *views, redlock_verdict verdict)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < views->engine->node_count; i++)
        count += views->nodes[i].verdict == verdict;
    return count;
}

/* " (node 4 redis://d:6379: connection refused)": the first of them that has anything to say. */
static void add_example(struct rl_text *text, const struct rl_report_views *views, redlock_verdict verdict)
{
    for (uint32_t i = 0; i < views->engine->node_count; i++) {
        if (views->nodes[i].verdict != verdict || views->nodes[i].words[0] == '\0')
            continue;
        rl_text_add(text, " (node ");
        rl_text_add_unsigned(text, i + 1);
        rl_text_add(text, " ");
        rl_text_add(text, views->engine->sessions[i].url.display);
        rl_text_add(text, ": ");
        rl_text_add(text, views->nodes[i].words);
        rl_text_add(text, ")");
        return;
    }
}

/* "; nodes 4 and 5 did not answer": what is wrong with the nodes, and the first one's own words. */
static void add_trouble(struct rl_text *text, const struct rl_report_views *views)
{
    static const struct {
        redlock_verdict verdict;
        const char *words;
    } kinds[] = {{REDLOCK_VERDICT_FAILED, "cannot be used"},
                 {REDLOCK_VERDICT_INELIGIBLE, "must not vote"},
                 {REDLOCK_VERDICT_SILENT, "did not answer"}};

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        uint32_t count = count_nodes(views, kinds[i].verdict);

        if (count == 0)
            continue;
        rl_text_add(text, count == 1 ? "; node " : "; nodes ");
        list_nodes(text, views, kinds[i].verdict, count);
        rl_text_add(text, " ");
        rl_text_add(text, kinds[i].words);
        add_example(text, views, kinds[i].verdict);
    }
}

static void add_counts(struct rl_text *text, const redlock_report *report, uint32_t count, const char *words)
{
    rl_text_add_unsigned(text, count);
    rl_text_add(text, " of ");
    rl_text_add_unsigned(text, report->node_count);
    rl_text_add(text, " nodes ");
    rl_text_add(text, words);
    rl_text_add(text, ", ");
    rl_text_add_unsigned(text, report->quorum);
    rl_text_add(text, " needed");
}

/* "3 of 5 nodes granted it, which is enough": nobody waits for the rest of them. */
static void add_enough(struct rl_text *text, const redlock_report *report,
                       const struct rl_report_views *views, const char *words)
{
    bool all = report->granted == report->node_count;

    if (all)
        rl_text_add(text, "all ");
    rl_text_add_unsigned(text, report->granted);
    if (!all) {
        rl_text_add(text, " of ");
        rl_text_add_unsigned(text, report->node_count);
    }
    rl_text_add(text, report->node_count == 1 ? " node " : " nodes ");
    rl_text_add(text, words);
    if (!all && count_nodes(views, REDLOCK_VERDICT_PENDING) > 0)
        rl_text_add(text, " so far, which is enough");
}

/* split: owners were seen, but none of them is known to be the holder. */
static void add_holder(struct rl_text *text, const redlock_report *report, bool split)
{
    if (split)
        rl_text_add(text, ", its votes are split");
    if (report->holder.id[0] == '\0')
        return;
    rl_text_add(text, ", held by ");
    if (report->sharers > 1) {
        rl_text_add_unsigned(text, report->sharers);
        rl_text_add(text, " that share it, one of them ");
    }
    rl_text_add(text, report->holder.host[0] != '\0' ? report->holder.host : report->holder.id);
    if (report->holder.pid != 0) {
        rl_text_add(text, " pid ");
        rl_text_add_unsigned(text, report->holder.pid);
    }
}

static const char *granted_words(enum rl_operation_kind kind)
{
    switch (kind) {
    case RL_OPERATION_EXTEND:
    case RL_OPERATION_ADOPT:
        return "extended it";
    case RL_OPERATION_RELEASE:
        return "released it";
    case RL_OPERATION_INSPECT:
        return "say it is free";
    case RL_OPERATION_EXAMINE:
        return "answered";
    case RL_OPERATION_INIT:
        return "may vote";
    case RL_OPERATION_BREAK:
        return "broke it";
    case RL_OPERATION_LIST:
    case RL_OPERATION_WATCH:
        return "were gone through";
    case RL_OPERATION_WAIT:
    case RL_OPERATION_ACQUIRE:
        break;
    }
    return "granted it";
}

/* A lock that was lost by the clock alone: no node refused it or was silent, or enough of them answered too
 * late. */
static bool ended_by_time(const redlock_report *report, const redlock_lock *lock)
{
    return report->result == REDLOCK_LOST && (lock->lease.late || report->granted >= report->quorum);
}

/* The name, as the caller has it: the prefix is the configuration's business. */
static void add_name(struct rl_text *text, const redlock_lock *lock)
{
    size_t prefix = lock->engine->config.key_prefix_length, length = lock->key_length - prefix;
    size_t shown = length < 80 ? length : 80;

    if (shown == 0)
        return;
    rl_text_add_printable(text, lock->text + prefix, shown);
    rl_text_add(text, length > shown ? "…: " : ": ");
}

void rl_report_write_entry(redlock_report *report, const redlock_lock *lock, bool entered)
{
    struct rl_text text = rl_text_on(report->line, sizeof report->line);

    add_name(&text, lock);
    rl_text_add(&text,
                entered ? "ok: entered again by its owner" : "ok: left, and its owner is still inside");
}

void rl_report_write_line(redlock_report *report, const redlock_lock *lock,
                          const struct rl_report_views *views, enum rl_operation_kind kind, bool split)
{
    struct rl_text text = rl_text_on(report->line, sizeof report->line);

    if (kind != RL_OPERATION_EXAMINE)
        add_name(&text, lock);
    rl_text_add(&text, redlock_result_name(report->result));
    if (report->result == REDLOCK_BUSY || report->result == REDLOCK_TIMEOUT)
        add_holder(&text, report, split);
    rl_text_add(&text, ": ");
    if (report->broken && kind != RL_OPERATION_INSPECT && kind != RL_OPERATION_ACQUIRE)
        rl_text_add(&text, "an operator has broken it");
    else if (ended_by_time(report, lock))
        rl_text_add(&text, "it was not renewed in time, its validity has ended");
    else if (kind == RL_OPERATION_INIT && report->result == REDLOCK_BUSY)
        add_counts(&text, report, report->held, "have a lock that is held");
    else if (report->result == REDLOCK_OK && kind == RL_OPERATION_RELEASE && lock->lease.config.quick_release)
        rl_text_add(&text, "released, and the nodes' answers were not waited for");
    else if (report->result == REDLOCK_OK && kind != RL_OPERATION_INSPECT)
        add_enough(&text, report, views, granted_words(kind));
    else
        add_counts(&text, report, kind == RL_OPERATION_INSPECT ? report->free : report->granted,
                   kind == RL_OPERATION_INIT ? "answered" : granted_words(kind));
    add_trouble(&text, views);
}
