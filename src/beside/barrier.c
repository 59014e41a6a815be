/*
 * redlock_barrier(): waits until K parties have come. It tells all nodes again and again that it is there
 * (attendant.c), which renews its lease, and opens the barrier when enough are; what may be decided by what
 * they answer, and why nobody goes on early, is in core/gathering.h.
 */
#include <string.h>

#include "base/bytes.h"
#include "beside/attendant.h"
#include "core/tally.h"
#include "engine/report.h"
#include "engine/sized.h"

enum {
    DEFAULT_LEASE_MS = 15000,
    LOOK_FIRST_MS = 20,
    LOOK_MOST_MS = 250, /* between two looks */
    SETTLE_MS = 1000    /* for an opening that has reached some nodes to reach the others */
};

static const struct rl_ask_kind barriers = {"barrier:",
                                            "+eval +time +hget +hset +hdel +hgetall +pttl +pexpire"};

struct barrier {
    struct rl_attendant attendant;
    redlock_barrier_spec spec;
    char lock_name[REDLOCK_NAME_MAX + 16];
    size_t lock_name_length;
    struct rl_time put_in;   /* when it was first seen in an opening that has no quorum yet */
    bool leaving;            /* it has begun to leave, so as to come again */
    redlock_result obstacle; /* why it could not be opened when all were there; REDLOCK_OK nothing is known */
    char obstacle_line[320];
};

/* ---- opening ---- */

/* Somebody else may be about to; then the next look tells. */
static void try_to_open(struct barrier *barrier)
{
    redlock_spec spec = REDLOCK_SPEC_INIT;
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_lock *lock = NULL;

    spec.name = barrier->lock_name;
    spec.name_length = barrier->lock_name_length;
    spec.why = "opens the barrier";
    redlock_result result = redlock_try_acquire(barrier->attendant.ask.client, &spec, &lock, &report);
    barrier->obstacle = result == REDLOCK_BUSY ? REDLOCK_OK : result;
    rl_text_copy(barrier->obstacle_line, sizeof barrier->obstacle_line, report.line);
    if (result != REDLOCK_OK)
        return;
    rl_attendant_open(&barrier->attendant);
    redlock_release(lock, NULL);
    redlock_lock_free(lock);
}

/* ---- giving up ---- */

/* Why it is not known, in the report. */
static redlock_result remain_unknown(const struct barrier *barrier)
{
    uint32_t left = rl_attendance_count(&barrier->attendant.own, RL_AT_LEFT);

    if (!rl_attendance_lost(&barrier->attendant.own))
        return rl_ask_all_result(&barrier->attendant.ask, left,
                                 "were left, and it is not known whether the barrier counts on this party");
    rl_report_error(
        barrier->attendant.ask.report, REDLOCK_LOST,
        "nodes have lost this party (it was stopped or cut off for longer than its lease, or they were "
        "emptied); the others may have gone on and counted it");
    return REDLOCK_LOST;
}

/* The caller wants no more, or cannot have it: it is certain afterwards whether it went through, or said that
 * it is not. */
static redlock_result give_up(struct barrier *barrier, redlock_result why)
{
    rl_attendant_leave(&barrier->attendant, false);
    if (rl_attendance_through(&barrier->attendant.own)) {
        rl_attendant_leave(&barrier->attendant, true);
        return REDLOCK_OK;
    }
    return rl_attendance_out(&barrier->attendant.own) ? why : remain_unknown(barrier);
}

/* A node has lost it, or an opening stays without a quorum: it leaves, and comes again under a fresh id once
 * that is safe. */
static bool must_come_again(struct barrier *barrier)
{
    struct rl_time now = rl_talk_now(barrier->attendant.ask.talk);
    bool is_put_in = false;

    for (uint32_t i = 0; i < barrier->attendant.own.node_count; i++)
        is_put_in = is_put_in || barrier->attendant.own.opening[i] != 0;
    if (is_put_in && barrier->put_in.us == 0)
        barrier->put_in = now;
    return barrier->leaving || rl_attendance_count(&barrier->attendant.own, RL_AT_GONE) > 0 ||
           (is_put_in && rl_time_since(now, barrier->put_in).us > SETTLE_MS * 1000);
}

static bool begin_fresh(struct barrier *barrier)
{
    barrier->leaving = false;
    barrier->put_in = (struct rl_time){0};
    return rl_attendant_draw_id(&barrier->attendant);
}

/* REDLOCK_BUSY: it is not through. */
static redlock_result come_again(struct barrier *barrier)
{
    barrier->leaving = true;
    rl_attendant_leave(&barrier->attendant, false);
    if (rl_attendance_through(&barrier->attendant.own)) {
        rl_attendant_leave(&barrier->attendant, true);
        return REDLOCK_OK;
    }
    if (rl_attendance_lost(&barrier->attendant.own))
        return remain_unknown(barrier);
    if (rl_attendance_out(&barrier->attendant.own) && !begin_fresh(barrier))
        return REDLOCK_SYSTEM;
    return REDLOCK_BUSY;
}

/* ---- waiting ---- */

static redlock_result refuse_number(const struct barrier *barrier)
{
    rl_report_error(
        barrier->attendant.ask.report, REDLOCK_INVALID,
        "this party waits for %u parties, and others wait for %u at this barrier; the number must be the same for all",
        barrier->spec.parties, barrier->attendant.others_want);
    return REDLOCK_INVALID;
}

/* What will not change by waiting: REDLOCK_OK nothing. In the report. */
static redlock_result find_refusal(const struct barrier *barrier)
{
    uint32_t count = barrier->attendant.ask.talk->node_count, refusals = 0;

    if (barrier->attendant.not_let_in != 0 &&
        rl_attendance_count(&barrier->attendant.own, RL_AT_THERE) < rl_quorum(count))
        return refuse_number(barrier);
    for (uint32_t i = 0; i < count; i++) {
        const struct rl_talk_node *node = &barrier->attendant.ask.talk->nodes[i];

        refusals += node->failed && (rl_cause_forbids(node->cause) || node->cause == RL_CAUSE_FOREIGN_TYPE);
    }
    if (count - refusals < rl_quorum(count))
        return rl_ask_all_result(&barrier->attendant.ask, rl_node_set_count(barrier->attendant.heard),
                                 "have answered");
    if (barrier->obstacle != REDLOCK_FORBIDDEN && barrier->obstacle != REDLOCK_INVALID)
        return REDLOCK_OK;
    rl_report_error(barrier->attendant.ask.report, barrier->obstacle, "the lock that opens it: %s",
                    barrier->obstacle_line);
    return barrier->obstacle;
}

/* Time is over. */
static redlock_result find_reason(const struct barrier *barrier)
{
    uint32_t heard = rl_node_set_count(barrier->attendant.heard),
             waiting = rl_attendant_waiting(&barrier->attendant);

    if (heard < rl_quorum(barrier->attendant.ask.talk->node_count))
        return rl_ask_all_result(&barrier->attendant.ask, heard, "have answered");
    if (waiting >= barrier->spec.parties && barrier->obstacle != REDLOCK_OK) {
        rl_report_error(barrier->attendant.ask.report, barrier->obstacle,
                        "all have come, but the lock that opens it was not to be had: %s",
                        barrier->obstacle_line);
        return barrier->obstacle;
    }
    rl_report_error(barrier->attendant.ask.report, REDLOCK_TIMEOUT, "%u of %u parties have come", waiting,
                    barrier->spec.parties);
    return REDLOCK_TIMEOUT;
}

/* Once through. REDLOCK_BUSY: others are still missing. */
static redlock_result look_and_open(struct barrier *barrier)
{
    redlock_result result;

    if (barrier->leaving)
        return come_again(barrier);
    rl_attendant_look(&barrier->attendant, 0);
    result = find_refusal(barrier);
    if (result == REDLOCK_OK && rl_attendant_waiting(&barrier->attendant) >= barrier->spec.parties &&
        !rl_attendance_through(&barrier->attendant.own)) {
        try_to_open(barrier);
        rl_attendant_look(&barrier->attendant, 0);
        result = find_refusal(barrier);
    }
    if (rl_attendance_through(&barrier->attendant.own)) {
        rl_attendant_leave(&barrier->attendant, true);
        return REDLOCK_OK;
    }
    if (result != REDLOCK_OK)
        return give_up(barrier, result);
    return must_come_again(barrier) ? come_again(barrier) : REDLOCK_BUSY;
}

static redlock_result cancel(struct barrier *barrier)
{
    rl_report_error(barrier->attendant.ask.report, REDLOCK_CANCELED, "%u of %u parties have come",
                    rl_attendant_waiting(&barrier->attendant), barrier->spec.parties);
    return give_up(barrier, REDLOCK_CANCELED);
}

static redlock_result wait_for_others(struct barrier *barrier, int64_t wait_ms)
{
    struct rl_talk *talk = barrier->attendant.ask.talk;
    struct rl_time end = wait_ms < 0 ? RL_TIME_NEVER : rl_time_add(rl_talk_now(talk), rl_span_ms(wait_ms));
    int64_t rest_ms = LOOK_FIRST_MS;

    for (;;) {
        redlock_result result = look_and_open(barrier);

        if (result != REDLOCK_BUSY)
            return result;
        if (barrier->spec.waiting != NULL &&
            barrier->spec.waiting(barrier->spec.context, rl_attendant_waiting(&barrier->attendant)) != 0)
            return cancel(barrier);
        if (!rl_time_before(rl_talk_now(talk), end))
            return give_up(barrier, find_reason(barrier));
        struct rl_span left = rl_time_since(end, rl_talk_now(talk));
        struct rl_span rest = left.us < rest_ms * 1000 ? left : rl_span_ms(rest_ms);
        if (!rl_talk_rest(talk, rest))
            return cancel(barrier);
        rest_ms = rest_ms * 2 < LOOK_MOST_MS ? rest_ms * 2 : LOOK_MOST_MS;
    }
}

static redlock_result say(const struct barrier *barrier, redlock_result result)
{
    redlock_report *report = barrier->attendant.ask.report;

    if (result == REDLOCK_OK)
        rl_report_error(report, result, "%u parties have come", barrier->spec.parties);
    else if (result == REDLOCK_SYSTEM)
        rl_report_error(report, result, "the system has no randomness to give");
    if (report == NULL)
        return result;
    report->node_count = barrier->attendant.ask.talk->node_count;
    report->quorum = rl_quorum(report->node_count);
    report->waiting = rl_attendant_waiting(&barrier->attendant);
    return result;
}

/* ---- the call ---- */

static const char *check(redlock_barrier_spec *spec)
{
    if (spec->name != NULL && spec->name_length == 0)
        spec->name_length = strlen(spec->name);
    if (spec->lease_ms == 0)
        spec->lease_ms = DEFAULT_LEASE_MS;
    if (spec->parties < 1 || spec->parties > RL_PARTIES_MAX)
        return "parties is not between 1 and 500";
    if (spec->lease_ms < 1000 || spec->lease_ms > REDLOCK_TTL_MAX_MS)
        return "lease_ms is not between 1000 and 86400000 (one day)";
    return NULL;
}

static void make_lock_name(struct barrier *barrier)
{
    const char *prefix = "barrier:";

    memcpy(barrier->lock_name, prefix, strlen(prefix));
    memcpy(barrier->lock_name + strlen(prefix), barrier->spec.name, barrier->spec.name_length);
    barrier->lock_name_length = strlen(prefix) + barrier->spec.name_length;
}

static redlock_result take_part(struct barrier *barrier, int64_t wait_ms)
{
    const struct rl_host *host = &barrier->attendant.ask.client->engine.host;

    if (barrier->attendant.ask.client->engine.config.key_prefix_length + barrier->spec.name_length + 8 >
        REDLOCK_NAME_MAX) {
        rl_report_error(barrier->attendant.ask.report, REDLOCK_INVALID,
                        "name is too long: prefix and name together may have 1016 bytes");
        return REDLOCK_INVALID;
    }
    make_lock_name(barrier);
    barrier->attendant.parties = barrier->spec.parties;
    barrier->attendant.lease_ms = barrier->spec.lease_ms;
    barrier->attendant.came_ms = host->wall_us(host->context) / 1000;
    return say(barrier, begin_fresh(barrier) ? wait_for_others(barrier, wait_ms) : REDLOCK_SYSTEM);
}

static redlock_result call(redlock_client *client, const redlock_barrier_spec *spec, int64_t wait_ms,
                           redlock_report *report)
{
    struct barrier *barrier;
    redlock_result result = REDLOCK_NOMEM;
    redlock_allocator allocator;

    if (client == NULL) {
        struct rl_ask_all none;

        return rl_ask_all_open(&none, NULL, barriers, "x", 1, report);
    }
    allocator = client->engine.config.allocator;
    barrier = allocator.allocate(allocator.context, sizeof *barrier);
    if (barrier == NULL) {
        rl_report_error(report, result, "out of memory");
        return result;
    }
    memset(barrier, 0, sizeof *barrier);
    result =
        rl_ask_all_open(&barrier->attendant.ask, client, barriers, spec->name, spec->name_length, report);
    if (result == REDLOCK_OK) {
        barrier->spec = *spec;
        result = take_part(barrier, wait_ms);
        rl_ask_all_close(&barrier->attendant.ask);
    }
    allocator.release(allocator.context, barrier, sizeof *barrier);
    return result;
}

redlock_result redlock_barrier(redlock_client *client, const redlock_barrier_spec *spec, int64_t wait_ms,
                               redlock_report *report)
{
    RL_NO_CANCELLATION;
    struct rl_report_frame frame;
    redlock_barrier_spec known;
    const char *wrong;

    if (!rl_report_accept(&frame, report))
        return REDLOCK_INVALID;
    if (spec == NULL || !rl_sized_read(&known, sizeof known, spec))
        wrong = "spec.size is not sizeof(redlock_barrier_spec): start from REDLOCK_BARRIER_SPEC_INIT";
    else
        wrong = check(&known);
    if (wrong == NULL && wait_ms < REDLOCK_WAIT_FOREVER)
        wrong = "wait_ms is below -1: use REDLOCK_WAIT_FOREVER to wait without end";
    if (wrong != NULL) {
        rl_report_error(frame.report, REDLOCK_INVALID, "%s", wrong);
        return rl_report_return(&frame, REDLOCK_INVALID);
    }
    return rl_report_return(&frame, call(client, &known, wait_ms, frame.report));
}
