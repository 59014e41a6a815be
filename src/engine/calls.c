/*
 * Operations on a lock begin, and locks are handed out; see calls.h.
 */
#include "engine/calls.h"

#include <string.h>

#include "base/bytes.h"
#include "base/format.h"
#include "engine/acquisition.h"
#include "engine/dispatch.h"
#include "engine/guard.h"
#include "engine/holding.h"
#include "engine/nodes.h"
#include "engine/queue.h"
#include "engine/reentrant.h"
#include "engine/report.h"
#include "engine/settling.h"
#include "engine/standing.h"
#include "engine/steps.h"

struct rl_operation *rl_call_refuse(redlock_result *result, redlock_report *report, redlock_result why,
                                    const char *words)
{
    *result = why;
    rl_report_error(report, why, "%s", words);
    return NULL;
}

redlock_lock *rl_call_make_lock(struct rl_engine *engine, const redlock_spec *spec, const char *owner,
                                size_t owner_length, redlock_request request)
{
    redlock_lock *lock = rl_lock_create(engine, spec, spec->name_length, owner, owner_length);

    if (lock == NULL)
        return NULL;
    lock->ttl_ms = spec->ttl_ms;
    lock->lease.config = rl_holding_config(engine, spec);
    if (spec->auto_extend != 0 && spec->unbound == 0 && request == 0) {
        lock->thread = engine->host.thread_bind(engine->host.context);
        if (lock->thread == NULL) {
            rl_lock_unref(lock);
            return NULL;
        }
    }
    return lock;
}

static struct rl_acquire_config acquire_config(struct rl_engine *engine, const redlock_spec *spec,
                                               struct rl_time began, int64_t wait_ms, bool peek)
{
    int64_t came_us = rl_state_wall_us(engine) - rl_time_since(engine->now, began).us;

    return (struct rl_acquire_config){
        .node_count = engine->node_count,
        .ttl = rl_span_ms(spec->ttl_ms),
        .drift_ppm = engine->config.drift_ppm,
        .node_timeout = engine->config.node_timeout,
        .first_wait = rl_nodes_connecting(engine) ? engine->config.connect_timeout : rl_span_us(0),
        .began = began,
        .give_up_at = wait_ms < 0 ? RL_TIME_NEVER : rl_time_add(began, rl_span_ms(wait_ms)),
        .retry_min = engine->config.retry_min,
        .retry_max = engine->config.retry_max,
        .peek = peek || wait_ms != 0,
        .ticket = came_us > 0 ? (uint64_t)came_us : 1,
        .slots = spec->permits,
        .several = spec->also_count > 0,
        .renews = spec->auto_extend != 0,
        .planted = engine->planted,
    };
}

/* At guarded nodes a caller that waits stands in line, and one that does not asks in the same way, once.
 * Behind others of this client both kinds of nodes are waited for alike. */
static void start_asking(struct rl_operation *operation, struct rl_acquire_config config)
{
    const struct rl_kind *kind = operation->lock->kind;
    bool waits = !config.once && rl_time_before(config.began, config.give_up_at);

    config.watch = config.queued = false;
    config.wish = 0;
    operation->acquire.config = config; /* should it have to ask again */
    if (kind->is_shared && !kind->has_slots)
        config.watch = true;
    else if (operation->lock->names == NULL) /* one with several names stands in line for itself */
        rl_queue_join(operation, waits, &config);
    if (kind->stands_in_line && !config.queued)
        rl_standing_start(operation, &config);
    else
        rl_acquisition_start(operation, &config);
}

static void start(struct rl_operation *operation, const redlock_spec *spec, int64_t wait_ms, bool peek)
{
    struct rl_acquire_config config =
        acquire_config(operation->lock->engine, spec, operation->started, wait_ms, peek);

    /* A semaphore's caller that does not wait is refused after a question that finds no slot; one whose votes
     * are split asks once more. */
    config.once = operation->lock->kind->has_slots && wait_ms == 0;
    if (config.once)
        config.give_up_at =
            rl_time_add(config.began, rl_span_add(config.first_wait, rl_span_us(2 * config.node_timeout.us)));
    start_asking(operation, config);
}

/* With each node, so that the caller can tell it from other things that are invalid. */
static void refuse_duplicate(const struct rl_engine *engine, uint32_t node, redlock_report *report)
{
    const struct rl_session *session = &engine->sessions[node];
    struct rl_text line;

    if (report == NULL)
        return;
    rl_report_open(report, engine);
    report->result = REDLOCK_INVALID;
    line = rl_text_on(report->line, sizeof report->line);
    rl_text_format(&line, "node %u %s is %s: name each node once", node + 1, session->url.display,
                   session->error);
}

/* A fleet in which one server stands twice tolerates less than its operator thinks: say so instead of going
 * on. */
static bool has_duplicate(const struct rl_engine *engine, redlock_report *report)
{
    for (uint32_t node = 0; node < engine->node_count; node++) {
        const struct rl_session *session = &engine->sessions[node];

        if (session->ineligible != RL_CAUSE_DUPLICATE)
            continue;
        refuse_duplicate(engine, node, report);
        return true;
    }
    return false;
}

struct rl_operation *rl_call_acquire(struct rl_engine *engine, const redlock_spec *spec, int64_t wait_ms,
                                     redlock_request request, redlock_result *result, redlock_report *report)
{
    return rl_call_acquire_since(engine, spec, engine->now, wait_ms, request, result, report);
}

/* Rule: a lock that was lost is lost for all its entries, and for those who would enter. */
static struct rl_operation *enter_again(redlock_lock *lock, redlock_request request, redlock_result *result,
                                        redlock_report *report)
{
    struct rl_operation *operation = NULL;

    if (lock->stage != RL_LOCK_HELD || !rl_lease_held(&lock->lease, lock->engine->now))
        return rl_call_refuse(result, report, REDLOCK_LOST,
                              "its owner was inside when it was lost: leave it, and acquire it anew");
    operation = rl_reentrant_begin(lock, request);
    if (operation == NULL)
        return rl_call_refuse(result, report, REDLOCK_NOMEM, "out of memory");
    rl_steps_run(lock->engine);
    return operation;
}

struct rl_operation *rl_call_acquire_since(struct rl_engine *engine, const redlock_spec *spec,
                                           struct rl_time began, int64_t wait_ms, redlock_request request,
                                           redlock_result *result, redlock_report *report)
{
    struct rl_operation *operation = NULL;
    redlock_lock *lock;

    if (wait_ms < REDLOCK_WAIT_FOREVER)
        return rl_call_refuse(result, report, REDLOCK_INVALID,
                              "wait_ms is below -1: use REDLOCK_WAIT_FOREVER to wait without end");
    lock = spec->reentrant != 0 ? rl_reentrant_find(engine, spec) : NULL;
    if (lock != NULL)
        return enter_again(lock, request, result, report);
    rl_guard_begin(engine);
    if (has_duplicate(engine, report)) {
        *result = REDLOCK_INVALID;
        return NULL;
    }
    lock = rl_call_make_lock(engine, spec, NULL, 0, request);
    if (lock != NULL)
        operation = rl_operation_create(engine, RL_OPERATION_ACQUIRE, lock);
    if (operation == NULL) {
        if (lock != NULL)
            rl_lock_unref(lock);
        return rl_call_refuse(result, report, REDLOCK_NOMEM, "out of memory");
    }
    operation->request = request;
    operation->started = began;
    start(operation, spec, wait_ms, report != NULL || request != 0);
    rl_steps_run(engine);
    return operation;
}

/* It was too slow to take the lock that it had won, and is ready to wait for longer. */
static bool asks_again(struct rl_operation *operation)
{
    struct rl_engine *engine = operation->lock->engine;
    struct rl_acquire_config config = operation->acquire.config;
    redlock_lock *lock;

    if (operation->kind != RL_OPERATION_ACQUIRE || engine->closing ||
        !rl_time_before(engine->now, config.give_up_at))
        return false;
    lock = rl_lock_again(operation->lock);
    if (lock == NULL)
        return false;
    rl_operation_begin_again(operation, lock);
    config.first_wait = rl_span_us(0);
    config.again = true;
    start_asking(operation, config);
    return true;
}

redlock_lock *rl_call_hand_out(struct rl_operation *operation)
{
    redlock_lock *lock = operation->lock;
    struct rl_engine *engine = lock->engine;

    bool closing = engine->closing && operation->kind == RL_OPERATION_ACQUIRE; /* nobody could release it */

    /* Rule: validity is looked at when the lock is handed out, after everything it took to get here. */
    if (lock->stage != RL_LOCK_HELD || !rl_lease_held(&lock->lease, engine->now) || closing) {
        if (!rl_reentrant_miss(operation) && lock->stage == RL_LOCK_HELD)
            rl_holding_discard(lock);
        operation->result = closing ? REDLOCK_CANCELED : operation->enters ? REDLOCK_LOST : REDLOCK_TOO_SLOW;
        if (!operation->enters)
            (void)asks_again(operation);
        rl_steps_run(engine);
        return NULL;
    }
    lock->handle = true;
    rl_lock_ref(lock);
    rl_reentrant_enter(operation);
    if (lock->owner_fixed) /* from now on it may be planted where it was missing */
        rl_dispatch_mend(lock, lock->lease.behind);
    return lock;
}

/* An operation on a lock that the caller has. */
static struct rl_operation *begin_on_lock(redlock_lock *lock, enum rl_operation_kind kind,
                                          redlock_request request, redlock_result *result,
                                          redlock_report *report)
{
    struct rl_engine *engine = lock->engine;
    struct rl_operation *operation;

    operation = rl_operation_create(engine, kind, lock);
    if (operation == NULL)
        return rl_call_refuse(result, report, REDLOCK_NOMEM, "out of memory");
    rl_lock_ref(lock);
    operation->request = request;
    return operation;
}

/* What to say of a lock that is no longer held; REDLOCK_OK when it is. */
static redlock_result not_held(const redlock_lock *lock)
{
    if (lock->stage == RL_LOCK_HELD && lock->lease.phase != RL_LEASE_RELEASING)
        return REDLOCK_OK;
    return lock->lease.lost ? REDLOCK_LOST : REDLOCK_NOT_HELD;
}

struct rl_operation *rl_call_extend(redlock_lock *lock, uint32_t ttl_ms, redlock_request request,
                                    redlock_result *result, redlock_report *report)
{
    struct rl_event event = {.kind = RL_EVENT_EXTEND, .now = lock->engine->now};
    struct rl_operation *operation;

    if (ttl_ms == 0)
        ttl_ms = (uint32_t)rl_span_ms_up(lock->lease.config.ttl);
    if (ttl_ms < REDLOCK_TTL_MIN_MS || ttl_ms > REDLOCK_TTL_MAX_MS)
        return rl_call_refuse(result, report, REDLOCK_INVALID,
                              "ttl_ms is not between 50 and 86400000 (one day)");
    if (lock->engine->config.guarded && rl_span_ms(ttl_ms).us > lock->engine->config.max_ttl.us)
        return rl_call_refuse(result, report, REDLOCK_INVALID, "ttl_ms is above max_ttl_ms of the client");
    *result = not_held(lock);
    if (*result != REDLOCK_OK)
        return rl_call_refuse(result, report, *result,
                              *result == REDLOCK_LOST ? "the lock was lost: acquire it anew"
                                                      : "the lock was released already");
    operation = begin_on_lock(lock, RL_OPERATION_EXTEND, request, result, report);
    if (operation == NULL)
        return NULL;
    event.ttl = rl_span_ms(ttl_ms);
    rl_list_append(&lock->waiting, &operation->on_lock);
    rl_holding_event(lock, &event);
    rl_steps_run(lock->engine);
    return operation;
}

/* Others of its entries are left: the nodes need not know. */
static struct rl_operation *leave_again(redlock_lock *lock, redlock_request request, redlock_result *result,
                                        redlock_report *report)
{
    struct rl_operation *operation;

    *result = not_held(lock);
    if (*result == REDLOCK_OK && !rl_lease_held(&lock->lease, lock->engine->now))
        *result = REDLOCK_LOST;
    if (*result != REDLOCK_OK) {
        rl_reentrant_leave(lock);
        return rl_call_refuse(result, report, *result, "the lock was lost before it was released");
    }
    operation = begin_on_lock(lock, RL_OPERATION_RELEASE, request, result, report);
    if (operation == NULL)
        return NULL;
    rl_reentrant_leave(lock);
    operation->enters = true;
    rl_operation_finish(operation, REDLOCK_OK);
    rl_steps_run(lock->engine);
    return operation;
}

struct rl_operation *rl_call_release(redlock_lock *lock, redlock_request request, redlock_result *result,
                                     redlock_report *report)
{
    struct rl_event event = {.kind = RL_EVENT_RELEASE, .now = lock->engine->now};
    struct rl_operation *operation;

    if (lock->reentry != NULL && lock->reentry->entries > 1)
        return leave_again(lock, request, result, report);
    *result = not_held(lock);
    if (*result != REDLOCK_OK)
        rl_reentrant_leave(lock);
    if (*result != REDLOCK_OK)
        return rl_call_refuse(result, report, *result,
                              *result == REDLOCK_LOST ? "the lock was lost before it was released"
                                                      : "the lock was released already");
    operation = begin_on_lock(lock, RL_OPERATION_RELEASE, request, result, report);
    if (operation == NULL) {
        rl_reentrant_leave(lock);
        rl_holding_discard(lock); /* it goes out all the same; only nobody will hear how it went */
        rl_steps_run(lock->engine);
        return NULL;
    }
    rl_reentrant_leave(lock);
    rl_list_append(&lock->waiting, &operation->on_lock);
    rl_holding_event(lock, &event);
    rl_steps_run(lock->engine);
    return operation;
}

struct rl_operation *rl_call_begin_on_own(struct rl_engine *engine, enum rl_operation_kind kind,
                                          redlock_lock *lock, redlock_request request)
{
    struct rl_operation *operation = lock != NULL ? rl_operation_create(engine, kind, lock) : NULL;

    if (operation != NULL)
        operation->request = request;
    else if (lock != NULL)
        rl_lock_unref(lock);
    return operation;
}

struct rl_operation *rl_call_known(struct rl_engine *engine, enum rl_operation_kind kind,
                                   const redlock_spec *spec, const char *owner, size_t owner_length,
                                   redlock_request request, redlock_result *result, redlock_report *report)
{
    struct rl_operation *operation;

    if (owner != NULL && owner_length == 0)
        owner_length = strlen(owner);
    if (owner == NULL || owner_length == 0 || owner_length > REDLOCK_OWNER_MAX)
        return rl_call_refuse(result, report, REDLOCK_INVALID, "owner is empty or longer than 511 bytes");
    operation = rl_call_begin_on_own(engine, kind,
                                     rl_call_make_lock(engine, spec, owner, owner_length, request), request);
    if (operation == NULL)
        return rl_call_refuse(result, report, REDLOCK_NOMEM, "out of memory");
    if (kind == RL_OPERATION_ADOPT)
        rl_guard_begin(engine); /* nodes that are quarantined do not count */
    rl_settling_begin(operation, rl_quorum(engine->node_count));
    rl_steps_run(engine);
    return operation;
}

redlock_lock *rl_call_adopted(struct rl_operation *operation)
{
    redlock_lock *lock = operation->lock;

    if (operation->result == REDLOCK_OK)
        return rl_call_hand_out(operation);
    if (lock->stage == RL_LOCK_HELD)
        rl_holding_abandon(lock); /* the nodes could not be asked: it is not ours to end */
    if (operation->result == REDLOCK_LOST)
        operation->result = REDLOCK_NOT_HELD;
    return NULL;
}
