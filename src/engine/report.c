/*
 * Fills in the report a caller owns: each node's verdict, and what the lock came to. The holder is worked
 * out in picture.c, the line for people is in report_line.c.
 */
#include "engine/report.h"

#include <stdarg.h>
#include <string.h>

#include "base/format.h"
#include "engine/picture.h"
#include "engine/report_line.h"
#include "engine/vote.h"

void rl_report_clear(redlock_report *report)
{
    size_t kept = offsetof(redlock_report, result);

    if (report == NULL)
        return;
    memset((char *)report + kept, 0, sizeof *report - kept);
    report->holder_ttl_left_ms = -2;
    rl_details_clear(report->details);
}

redlock_result rl_report_error(redlock_report *report, redlock_result result, const char *format, ...)
{
    struct rl_text text;
    va_list arguments;

    if (report == NULL)
        return result;
    rl_report_clear(report);
    report->result = result;
    text = rl_text_on(report->line, sizeof report->line);
    va_start(arguments, format);
    rl_text_format_list(&text, format, arguments);
    va_end(arguments);
    return result;
}

/* ---- one node ---- */

redlock_verdict rl_report_verdict(enum rl_operation_kind kind, struct rl_answer answer)
{
    /* A node that was not asked because it still owes answers is silent to people, though the round need not
     * wait for it. */
    if (answer.cause == RL_CAUSE_SILENT)
        return REDLOCK_VERDICT_SILENT;
    switch (answer.verdict) {
    case RL_GRANTED:
        return kind == RL_OPERATION_INSPECT ? REDLOCK_VERDICT_FREE : REDLOCK_VERDICT_GRANTED;
    case RL_DENIED:
        return kind == RL_OPERATION_ACQUIRE || kind == RL_OPERATION_INSPECT || kind == RL_OPERATION_INIT
                   ? REDLOCK_VERDICT_HELD
                   : REDLOCK_VERDICT_NOT_HELD;
    case RL_INELIGIBLE:
        return REDLOCK_VERDICT_INELIGIBLE;
    case RL_FAILED:
        return REDLOCK_VERDICT_FAILED;
    case RL_SILENT:
        break;
    }
    return REDLOCK_VERDICT_SILENT;
}

/* What keeps a node from voting now, be it that it cannot write; NONE when nothing is known to. */
static enum rl_cause obstacle(const struct rl_engine *engine, uint32_t node)
{
    enum rl_cause cause = rl_vote_obstacle(engine, node);

    if (cause == RL_CAUSE_NONE && rl_vote_lacks_floor(engine, node))
        return RL_CAUSE_FENCES;
    return cause != RL_CAUSE_NONE ? cause : engine->guards[node].refused;
}

static const char *obstacle_words(const struct rl_engine *engine, uint32_t node)
{
    if (!rl_vote_reachable(engine, node))
        return engine->sessions[node].error;
    if (rl_vote_obstacle(engine, node) != RL_CAUSE_NONE)
        return engine->guards[node].why;
    if (rl_vote_lacks_floor(engine, node))
        return rl_vote_floorless;
    return engine->guards[node].refused != RL_CAUSE_NONE ? engine->guards[node].refusal : "";
}

bool rl_report_eligible(const struct rl_engine *engine, uint32_t node)
{
    return obstacle(engine, node) == RL_CAUSE_NONE;
}

static int64_t eligible_in_ms(const struct rl_engine *engine, uint32_t node)
{
    int64_t left;

    if (rl_report_eligible(engine, node))
        return 0;
    if (obstacle(engine, node) != RL_CAUSE_QUARANTINE)
        return -1;
    left = rl_span_ms_up(rl_time_since(engine->guards[node].quarantine_ends, engine->now));
    return left > 0 ? left : 0;
}

/* Whether it can push notice of a release. */
static bool notifies(const struct rl_session *session)
{
    return session->state == RL_SESSION_READY && session->handshake.info.resp3 &&
           session->tracking != RL_TRACKING_REFUSED && session->hearing != RL_HEARING_REFUSED;
}

static struct rl_report_view view_record(const struct rl_operation *operation, uint32_t node)
{
    const struct rl_engine *engine = operation->lock->engine;
    const struct rl_node_record *record = &operation->record.nodes[node];
    struct rl_report_view view = {.verdict = rl_report_verdict(operation->kind, record->answer),
                                  .cause = record->answer.cause,
                                  .words = record->detail};

    if (record->answer.verdict == RL_SILENT && !operation->record.timed_out)
        view.verdict = REDLOCK_VERDICT_PENDING;
    else if (record->answer.verdict == RL_SILENT)
        view.cause = RL_CAUSE_TIMED_OUT;
    /* A node that names the holder of a lock may still have no vote: an inspection says why. */
    if ((operation->kind == RL_OPERATION_INSPECT || operation->kind == RL_OPERATION_EXAMINE) &&
        view.cause == RL_CAUSE_NONE) {
        view.cause = obstacle(engine, node);
        if (view.words[0] == '\0')
            view.words = obstacle_words(engine, node);
    }
    return view;
}

/* From the tally alone: nobody waits for a renewal, so nobody kept the nodes' words. */
static struct rl_report_view view_tally(const redlock_lock *lock, const struct rl_tally *tally, uint32_t node)
{
    const struct rl_engine *engine = lock->engine;
    struct rl_answer answer = {.verdict = RL_SILENT};
    struct rl_report_view view = {.cause = obstacle(engine, node), .words = engine->sessions[node].error};

    if (rl_node_set_has(tally->granted, node))
        answer.verdict = RL_GRANTED;
    else if (rl_node_set_has(tally->denied, node))
        answer.verdict = RL_DENIED;
    else if (rl_node_set_has(tally->ineligible, node))
        answer.verdict = RL_INELIGIBLE;
    else if (rl_node_set_has(tally->failed, node))
        answer.verdict = RL_FAILED;
    view.verdict = rl_report_verdict(RL_OPERATION_EXTEND, answer);
    if (answer.verdict == RL_DENIED && rl_node_set_has(lock->broken_on, node)) {
        view.cause = RL_CAUSE_BROKEN;
        view.words = "an operator has broken the lock";
    }
    if (answer.verdict == RL_SILENT && !lock->timed_out)
        view.verdict = REDLOCK_VERDICT_PENDING;
    else if (answer.verdict == RL_SILENT && view.cause == RL_CAUSE_NONE)
        view.cause = RL_CAUSE_TIMED_OUT;
    return view;
}

/* ---- all nodes ---- */

static void fill_detail(struct rl_node_detail *detail, const struct rl_engine *engine, uint32_t node,
                        const struct rl_report_view *view)
{
    detail->verdict = view->verdict;
    detail->cause = (redlock_cause)view->cause;
    detail->eligible = rl_report_eligible(engine, node);
    detail->notifies = notifies(&engine->sessions[node]);
    detail->eligible_in_ms = eligible_in_ms(engine, node);
    detail->latency_us = -1;
    detail->ttl_left_ms = -2;
    detail->fence = 0;
    rl_text_copy(detail->url, sizeof detail->url, engine->sessions[node].url.display);
    rl_text_copy(detail->words, sizeof detail->words, view->words);
}

static void fill_nodes(redlock_report *report, const struct rl_report_views *views)
{
    const struct rl_engine *engine = views->engine;

    report->node_count = engine->node_count;
    report->quorum = rl_quorum(engine->node_count);
    for (uint32_t node = 0; node < engine->node_count; node++) {
        redlock_verdict verdict = views->nodes[node].verdict;

        report->granted += verdict == REDLOCK_VERDICT_GRANTED;
        report->held += verdict == REDLOCK_VERDICT_HELD;
        report->free += verdict == REDLOCK_VERDICT_FREE;
        report->not_held += verdict == REDLOCK_VERDICT_NOT_HELD;
        report->eligible += rl_report_eligible(engine, node);
        if (report->details != NULL)
            fill_detail(&report->details->nodes[node], engine, node, &views->nodes[node]);
    }
    if (report->details != NULL)
        report->details->node_count = engine->node_count;
}

/* What only the record of a call has. */
static void fill_answers(redlock_details *details, const struct rl_operation *operation)
{
    if (details == NULL)
        return;
    for (uint32_t node = 0; node < details->node_count; node++) {
        const struct rl_node_record *record = &operation->record.nodes[node];

        details->nodes[node].latency_us = record->latency_us;
        details->nodes[node].ttl_left_ms = record->answer.ttl_left_ms;
        details->nodes[node].fence =
            record->answer.fence > record->fence ? record->answer.fence : record->fence;
    }
}

/* Nothing was asked yet: who they are, and that nobody has answered. */
void rl_report_open(redlock_report *report, const struct rl_engine *engine)
{
    struct rl_report_views views = {.engine = engine};
    struct rl_text text;

    if (report == NULL)
        return;
    rl_report_clear(report);
    for (uint32_t i = 0; i < engine->node_count; i++)
        views.nodes[i] = (struct rl_report_view){REDLOCK_VERDICT_PENDING, obstacle(engine, i), ""};
    rl_details_forget(report->details);
    fill_nodes(report, &views);
    text = rl_text_on(report->line, sizeof report->line);
    rl_text_format(&text, "connecting to %u nodes, %u make a quorum", report->node_count, report->quorum);
}

/* ---- the lock ---- */

static int64_t validity_left_ms(const redlock_lock *lock)
{
    struct rl_time now = lock->engine->now;

    if (lock->stage != RL_LOCK_HELD || !rl_lease_held(&lock->lease, now))
        return 0;
    return rl_span_ms_down(rl_time_since(lock->lease.valid_until, now));
}

static void fill_from(redlock_report *report, const struct rl_operation *operation, redlock_result result);

void rl_report_operation(redlock_report *report, const struct rl_operation *operation)
{
    if (report != NULL)
        fill_from(report, operation, operation->result);
}

void rl_report_look(redlock_report *report, const struct rl_operation *operation,
                    const struct rl_operation *look)
{
    if (report == NULL)
        return;
    fill_from(report, look, operation->result);
    report->waited_ms = rl_span_ms_up(rl_time_since(look->lock->engine->now, operation->started));
}

static void fill_from(redlock_report *report, const struct rl_operation *operation, redlock_result result)
{
    const redlock_lock *lock = operation->lock;
    struct rl_engine *engine = lock->engine;
    struct rl_report_views views;

    rl_report_clear(report);
    views.engine = engine;
    for (uint32_t i = 0; i < engine->node_count; i++)
        views.nodes[i] = view_record(operation, i);
    if (operation->kind != RL_OPERATION_INSPECT) /* which has filled in what it found, already */
        rl_details_forget(report->details);
    fill_nodes(report, &views);
    fill_answers(report->details, operation);
    report->result = result;
    report->broken = lock->broken_on != 0;
    report->name_number = result != REDLOCK_OK ? lock->name_number : 0;
    report->rounds = operation->kind == RL_OPERATION_ACQUIRE ? operation->acquire.round : 1;
    report->waited_ms = rl_span_ms_up(rl_time_since(engine->now, operation->started));
    report->validity_ms = validity_left_ms(lock);
    report->fence = operation->kind == RL_OPERATION_INSPECT ? rl_picture_fence(operation)
                    : operation->result == REDLOCK_OK       ? lock->fence
                                                            : 0;
    report->waiting = operation->record.waiting;
    if (report->details != NULL) {
        report->details->waiter_count = operation->record.waiter_count;
        report->waiter_count = operation->record.waiter_count;
        report->details->sharer_count = operation->record.sharer_count;
    }
    rl_report_write_line(report, lock, &views, operation->kind, rl_picture_name_holder(report, operation));
    if (operation->enters && result == REDLOCK_OK)
        rl_report_write_entry(report, lock, operation->kind == RL_OPERATION_ACQUIRE);
}

void rl_report_renewal(redlock_report *report, redlock_lock *lock, redlock_result result,
                       const struct rl_tally *tally)
{
    struct rl_report_views views = {.engine = lock->engine};
    bool late = result == REDLOCK_LOST && lock->lease.late; /* then what nodes said is not the reason */

    rl_report_clear(report);
    for (uint32_t i = 0; i < lock->engine->node_count; i++)
        views.nodes[i] = late ? (struct rl_report_view){.verdict = REDLOCK_VERDICT_PENDING, .words = ""}
                              : view_tally(lock, tally, i);
    rl_details_forget(report->details);
    fill_nodes(report, &views);
    report->result = result;
    report->rounds = 1;
    report->validity_ms = validity_left_ms(lock);
    report->fence = lock->fence;
    report->broken = lock->broken_on != 0;
    report->name_number = result != REDLOCK_OK ? lock->name_number : 0;
    rl_report_write_line(report, lock, &views, RL_OPERATION_EXTEND, false);
}
