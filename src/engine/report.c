/*
 * Fills in the report a caller owns: each node's verdict, who holds it, and the result in one readable line.
 */
#include "engine/report.h"

#include <stdarg.h>
#include <string.h>

#include "base/format.h"

void rl_report_clear(redlock_report *report)
{
    if (report == NULL)
        return;
    /* The nodes are most of it, and filled in one by one: those beyond node_count mean nothing. */
    memset(report, 0, offsetof(redlock_report, nodes));
    report->size = sizeof *report;
    report->holder_ttl_left_ms = -2;
}

static void clear_node(redlock_node_report *node)
{
    node->verdict = REDLOCK_VERDICT_SILENT;
    node->fit = 0;
    node->latency_us = -1;
    node->ttl_left_ms = -2;
    node->fence = 0;
    node->url[0] = node->detail[0] = '\0';
}

void rl_report_error(redlock_report *report, redlock_result result, const char *format, ...)
{
    struct rl_text text;
    va_list arguments;

    if (report == NULL)
        return;
    rl_report_clear(report);
    report->result = result;
    text = rl_text_on(report->line, sizeof report->line);
    va_start(arguments, format);
    rl_text_format_list(&text, format, arguments);
    va_end(arguments);
}

/* "1, 4 and 5": the nodes with this verdict, from 1. */
static void list_nodes(struct rl_text *text, const redlock_report *report, redlock_verdict verdict)
{
    uint32_t total = 0, listed = 0;

    for (uint32_t i = 0; i < report->node_count; i++)
        total += report->nodes[i].verdict == verdict;
    for (uint32_t i = 0; i < report->node_count; i++) {
        if (report->nodes[i].verdict != verdict)
            continue;
        if (listed > 0)
            rl_text_add(text, listed + 1 == total ? " and " : ", ");
        rl_text_add_unsigned(text, i + 1);
        listed++;
    }
}

static uint32_t count_nodes(const redlock_report *report, redlock_verdict verdict)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < report->node_count; i++)
        count += report->nodes[i].verdict == verdict;
    return count;
}

static const redlock_node_report *first_node(const redlock_report *report, redlock_verdict verdict,
                                             uint32_t *node)
{
    for (*node = 0; *node < report->node_count; ++*node)
        if (report->nodes[*node].verdict == verdict && report->nodes[*node].detail[0] != '\0')
            return &report->nodes[*node];
    return NULL;
}

/* "; nodes 4 and 5 are silent": what is wrong with the nodes, and the first one's own words. */
static void add_trouble(struct rl_text *text, const redlock_report *report)
{
    static const struct {
        redlock_verdict verdict;
        const char *words;
    } kinds[] = {{REDLOCK_VERDICT_BROKEN, "cannot be used"},
                 {REDLOCK_VERDICT_UNFIT, "must not vote"},
                 {REDLOCK_VERDICT_SILENT, "did not answer"}};

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        uint32_t count = count_nodes(report, kinds[i].verdict), node;
        const redlock_node_report *example = first_node(report, kinds[i].verdict, &node);

        if (count == 0)
            continue;
        rl_text_add(text, count == 1 ? "; node " : "; nodes ");
        list_nodes(text, report, kinds[i].verdict);
        rl_text_add(text, " ");
        rl_text_add(text, kinds[i].words);
        if (example != NULL) {
            rl_text_add(text, " (node ");
            rl_text_add_unsigned(text, node + 1);
            rl_text_add(text, " ");
            rl_text_add(text, example->url);
            rl_text_add(text, ": ");
            rl_text_add(text, example->detail);
            rl_text_add(text, ")");
        }
    }
}

static void add_counts(struct rl_text *text, const redlock_report *report, const char *granted)
{
    rl_text_add_unsigned(text, report->granted);
    rl_text_add(text, " of ");
    rl_text_add_unsigned(text, report->node_count);
    rl_text_add(text, " nodes ");
    rl_text_add(text, granted);
    rl_text_add(text, ", ");
    rl_text_add_unsigned(text, report->quorum);
    rl_text_add(text, " needed");
}

/* split: owners were seen, but none of them is known to be the holder. */
static void add_holder(struct rl_text *text, const redlock_report *report, bool split)
{
    if (split)
        rl_text_add(text, ", its votes are split");
    if (report->holder.id[0] == '\0')
        return;
    rl_text_add(text, ", held by ");
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
    case RL_OPERATION_INIT:
        return "may vote";
    case RL_OPERATION_ACQUIRE:
        break;
    }
    return "granted it";
}

static void write_line(redlock_report *report, const redlock_lock *lock, const char *granted, bool split)
{
    struct rl_text text = rl_text_on(report->line, sizeof report->line);
    size_t shown = lock->key_length < 80 ? lock->key_length : 80;

    if (shown > 0) {
        rl_text_add_printable(&text, lock->text, shown);
        rl_text_add(&text, lock->key_length > shown ? "…: " : ": ");
    }
    rl_text_add(&text, redlock_result_name(report->result));
    if (report->result == REDLOCK_BUSY || report->result == REDLOCK_TIMEOUT)
        add_holder(&text, report, split);
    rl_text_add(&text, ": ");
    add_counts(&text, report, granted);
    add_trouble(&text, report);
}

/* owners: an inspection has filled them in already. */
static void fill_nodes(redlock_report *report, const struct rl_engine *engine, bool owners)
{
    report->node_count = engine->node_count;
    report->quorum = rl_quorum(engine->node_count);
    for (uint32_t i = 0; i < engine->node_count; i++) {
        const struct rl_session *session = &engine->sessions[i];

        clear_node(&report->nodes[i]);
        if (!owners)
            report->nodes[i].owner[0] = '\0';
        rl_text_copy(report->nodes[i].url, sizeof report->nodes[i].url, session->url.display);
        report->nodes[i].tells = session->state == RL_SESSION_READY && session->handshake.info.resp3 &&
                                 session->tracking != RL_TRACKING_REFUSED;
        report->nodes[i].fit = session->state == RL_SESSION_READY && session->unfit == RL_CAUSE_NONE &&
                               engine->guards[i].cause == RL_CAUSE_NONE;
    }
}

/* Nothing was asked yet: who they are, and that nobody has answered. */
void rl_report_open(redlock_report *report, const struct rl_engine *engine)
{
    struct rl_text text;

    if (report == NULL)
        return;
    rl_report_clear(report);
    fill_nodes(report, engine, false);
    for (uint32_t i = 0; i < report->node_count; i++)
        report->nodes[i].verdict = REDLOCK_VERDICT_PENDING;
    text = rl_text_on(report->line, sizeof report->line);
    rl_text_format(&text, "connecting to %u nodes, %u make a quorum", report->node_count, report->quorum);
}

static void count_verdicts(redlock_report *report)
{
    report->granted = count_nodes(report, REDLOCK_VERDICT_GRANTED);
    report->denied = count_nodes(report, REDLOCK_VERDICT_DENIED);
}

static void fill_node(redlock_node_report *node, const struct rl_node_record *record, bool timed_out)
{
    node->verdict = (redlock_verdict)record->answer.verdict;
    if (record->answer.verdict == RL_SILENT && !timed_out)
        node->verdict = REDLOCK_VERDICT_PENDING;
    /* A node that was not asked because it still owes answers is silent, not broken. */
    if (record->answer.cause == RL_CAUSE_SILENT)
        node->verdict = REDLOCK_VERDICT_SILENT;
    node->latency_us = record->latency_us;
    node->ttl_left_ms = record->answer.ttl_left_ms;
    node->fence = record->answer.fence;
    rl_text_copy(node->detail, sizeof node->detail, record->detail);
}

/* A node that answers who holds a lock may still have no vote: whoever inspects wants to know why. */
static void explain_unfit(redlock_report *report, const struct rl_engine *engine)
{
    for (uint32_t i = 0; i < engine->node_count; i++)
        if (report->nodes[i].detail[0] == '\0' && engine->guards[i].cause != RL_CAUSE_NONE)
            rl_text_copy(report->nodes[i].detail, sizeof report->nodes[i].detail, engine->guards[i].why);
}

static int64_t validity_left_ms(const redlock_lock *lock)
{
    struct rl_time now = lock->engine->now;

    if (lock->stage != RL_LOCK_HELD || !rl_lease_held(&lock->lease, now))
        return 0;
    return rl_span_ms_down(rl_time_since(lock->lease.valid_until, now));
}

/* What the nodes said of the owner that most of them named. */
struct support {
    uint32_t named;  /* it is there */
    uint32_t rivals; /* another one is there */
    uint32_t free;   /* nobody is there: the node granted us the lock, and has named nobody since */
};

static struct support count_support(const struct rl_record *record, uint32_t node_count)
{
    struct support support = {0};

    for (uint32_t node = 0; node < node_count; node++) {
        const struct rl_answer *answer = &record->nodes[node].answer;

        if (answer->holder == 0)
            support.free += answer->verdict == RL_GRANTED;
        else if (answer->holder == record->named)
            support.named++;
        else
            support.rivals++;
    }
    return support;
}

/* When the holder will be on too few nodes unless it renews: nodes need not agree on when its key ends. */
static int64_t lease_left_ms(const struct rl_record *record, uint32_t node_count)
{
    uint64_t longest = 0; /* -1, no end, is the highest number */

    for (uint32_t one = 0; one < node_count; one++) {
        uint64_t left = (uint64_t)record->nodes[one].answer.ttl_left_ms;
        uint32_t at_least = 0;

        if (record->nodes[one].answer.holder != record->named)
            continue;
        for (uint32_t node = 0; node < node_count; node++)
            at_least += record->nodes[node].answer.holder == record->named &&
                        (uint64_t)record->nodes[node].answer.ttl_left_ms >= left;
        if (at_least >= rl_quorum(node_count) && left > longest)
            longest = left;
    }
    return (int64_t)longest;
}

/* Who holds a lock is on a quorum of all nodes. An inspection has heard all who could answer. A round ends as soon as it cannot
 * be won, so it is enough that those who were heard named one and the same, unless too many were free. */
static bool is_holder(const redlock_report *report, const struct rl_operation *operation)
{
    struct support support = count_support(&operation->record, report->node_count);

    if (support.named >= report->quorum)
        return true;
    return operation->kind != RL_OPERATION_INSPECT && support.rivals == 0 &&
           report->node_count - support.free >= report->quorum;
}

/* Returns whether owners were seen, but none of them is known to be the holder. */
static bool name_holder(redlock_report *report, const struct rl_operation *operation)
{
    const struct rl_record *record = &operation->record;
    bool asked_all = operation->kind == RL_OPERATION_INSPECT && record->named != 0;

    if (record->named != 0 && !is_holder(report, operation))
        return true;
    report->holder = record->holder;
    report->holder_ttl_left_ms =
        asked_all ? lease_left_ms(record, report->node_count) : record->holder_ttl_left_ms;
    return false;
}

void rl_report_operation(redlock_report *report, const struct rl_operation *operation)
{
    const redlock_lock *lock = operation->lock;
    struct rl_engine *engine = lock->engine;
    bool inspected = report != NULL && operation->record.inspected == report;

    if (report == NULL)
        return;
    if (!inspected)
        rl_report_clear(report);
    fill_nodes(report, engine, inspected);
    for (uint32_t i = 0; i < engine->node_count; i++)
        fill_node(&report->nodes[i], &operation->record.nodes[i], operation->record.timed_out);
    count_verdicts(report);
    if (operation->kind == RL_OPERATION_INSPECT)
        explain_unfit(report, engine);
    report->result = operation->result;
    report->rounds = operation->kind == RL_OPERATION_ACQUIRE ? operation->acquire.round : 1;
    report->waited_ms = rl_span_ms_up(rl_time_since(engine->now, operation->started));
    report->validity_ms = validity_left_ms(lock);
    report->fence = operation->result == REDLOCK_OK ? lock->fence : 0;
    write_line(report, lock, granted_words(operation->kind), name_holder(report, operation));
}

/* From the tally alone: nobody waits for a renewal, so nobody kept the nodes' words. */
void rl_report_renewal(redlock_report *report, redlock_lock *lock, redlock_result result,
                       const struct rl_tally *tally)
{
    rl_report_clear(report);
    fill_nodes(report, lock->engine, false);
    for (uint32_t i = 0; i < report->node_count; i++) {
        redlock_node_report *node = &report->nodes[i];

        if (rl_node_set_has(tally->granted, i))
            node->verdict = REDLOCK_VERDICT_GRANTED;
        else if (rl_node_set_has(tally->denied, i))
            node->verdict = REDLOCK_VERDICT_DENIED;
        else if (rl_node_set_has(tally->unfit, i))
            node->verdict = REDLOCK_VERDICT_UNFIT;
        else if (rl_node_set_has(tally->broken, i))
            node->verdict = REDLOCK_VERDICT_BROKEN;
        else if (!lock->timed_out)
            node->verdict = REDLOCK_VERDICT_PENDING;
        rl_text_copy(node->detail, sizeof node->detail, lock->engine->sessions[i].error);
    }
    count_verdicts(report);
    report->result = result;
    report->rounds = 1;
    report->validity_ms = validity_left_ms(lock);
    report->fence = lock->fence;
    write_line(report, lock, "extended it", false);
}
