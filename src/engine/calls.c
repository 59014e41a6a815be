/*
 * Checks arguments, begins operations, and hands locks out; see calls.h.
 */
#include "engine/calls.h"

#include <string.h>

#include "base/bytes.h"
#include "base/format.h"
#include "core/validity.h"
#include "engine/acquisition.h"
#include "engine/dispatch.h"
#include "engine/guard.h"
#include "engine/holding.h"
#include "engine/listing.h"
#include "engine/nodes.h"
#include "engine/queue.h"
#include "engine/report.h"
#include "engine/settling.h"
#include "engine/standing.h"
#include "engine/steps.h"

enum { DEFAULT_TTL_MS = 15000, PROBE_NAME_MAX = 40 };

static bool makes_reserved_key(const struct rl_engine *engine, const redlock_spec *spec)
{
    char key[REDLOCK_NAME_MAX];
    size_t prefix = engine->config.key_prefix_length;

    memcpy(key, engine->config.key_prefix, prefix);
    memcpy(key + prefix, spec->name, spec->name_length);
    return rl_key_reserved(key, prefix + spec->name_length);
}

static const char *check_name(const struct rl_engine *engine, const redlock_spec *spec)
{
    if (spec->name == NULL || spec->name_length == 0)
        return "name is empty: give the lock a name";
    if (engine->config.key_prefix_length + spec->name_length > REDLOCK_NAME_MAX)
        return "name is too long: prefix and name together may have 1024 bytes";
    if (makes_reserved_key(engine, spec))
        return "names that make a key beginning with redlock-guard:, -fence:, -line: or -mark: are reserved";
    return NULL;
}

/* A lease that cannot be renewed before it ends would be lost every time. */
static const char *check_renewal(const struct rl_engine *engine, const redlock_spec *spec)
{
    struct rl_span ttl = rl_span_ms(spec->ttl_ms);
    struct rl_span drift = rl_validity_drift(ttl, engine->config.drift_ppm);

    if (spec->auto_extend != 0 && spec->on_lost == NULL)
        return "auto_extend needs on_lost: a renewed lock can still be lost, and you have to know";
    if (spec->auto_extend != 0 && rl_span_ms(spec->renew_ms).us >= rl_span_sub(ttl, drift).us)
        return "renew_ms is not below the validity of ttl_ms: the lock would be lost before it is renewed";
    return NULL;
}

static const char *check_times(const struct rl_engine *engine, const redlock_spec *spec)
{
    if (spec->ttl_ms < REDLOCK_TTL_MIN_MS)
        return "ttl_ms is below 50: a lease that short leaves no time to use it";
    if (spec->ttl_ms > REDLOCK_TTL_MAX_MS)
        return "ttl_ms is above 86400000 (one day): keep it short and renew it";
    if (engine->config.guarded && rl_span_ms(spec->ttl_ms).us > engine->config.max_ttl.us)
        return "ttl_ms is above max_ttl_ms of the client: shorten it and renew, or raise max_ttl_ms";
    if (spec->max_hold_ms < 0)
        return "max_hold_ms is negative";
    return check_renewal(engine, spec);
}

static const char *check_kind(const struct rl_engine *engine, const redlock_spec *spec)
{
    const struct rl_kind *kind = rl_lock_kind(engine, spec->kind);

    if (kind == NULL && spec->kind == REDLOCK_FAIR)
        return "REDLOCK_FAIR does not exist in Redisson's format: redlock does not join its queue";
    if (kind == NULL && spec->kind == REDLOCK_SHARED)
        return "REDLOCK_SHARED needs REDLOCK_FORMAT_REDISSON in this version";
    if (kind == NULL && spec->kind == REDLOCK_SEMAPHORE)
        return "kind: REDLOCK_SEMAPHORE does not exist in this version";
    if (kind == NULL)
        return "kind is none of REDLOCK_EXCLUSIVE, REDLOCK_FAIR, REDLOCK_SHARED and REDLOCK_SEMAPHORE";
    if (spec->permits != 0 && spec->kind != REDLOCK_SEMAPHORE)
        return "permits is for REDLOCK_SEMAPHORE: leave it 0 for other kinds";
    return engine->config.guarded ? NULL : kind->not_plain;
}

static const char *check_reentrant(const redlock_spec *spec)
{
    if (spec->reentrant != 0)
        return "reentrant does not exist in this version: leave it 0";
    if (spec->identity != 0)
        return "identity is for reentrant locks: leave it 0 for others";
    return NULL;
}

static const char *check_also(const redlock_spec *spec)
{
    if (spec->also != NULL || spec->also_count != 0)
        return "also does not exist in this version: leave also and also_count 0";
    return NULL;
}

static const char *check_tag(const redlock_spec *spec)
{
    if (spec->tag_length > REDLOCK_TAG_MAX)
        return "tag_length is above 128: keep the tag short, it travels with every command";
    if (spec->tag_length > 0 && spec->tag == NULL)
        return "tag is NULL and tag_length is not 0";
    return NULL;
}

/* A lease that nobody chose the length of: the usual one, or the longest there may be if that is shorter. A release by its owner value
 * alone names none either. */
static uint32_t default_ttl_ms(const struct rl_engine *engine)
{
    int64_t most_ms = rl_span_ms_up(engine->config.max_ttl);

    return engine->config.guarded && most_ms < DEFAULT_TTL_MS ? (uint32_t)most_ms : DEFAULT_TTL_MS;
}

redlock_result rl_call_check_spec(struct rl_engine *engine, const redlock_spec *spec, redlock_spec *checked,
                                  redlock_report *report)
{
    const char *wrong = NULL;

    if (spec == NULL) {
        wrong =
            "spec.size is not sizeof(redlock_spec), or a newer spec wants what this library does not know: "
            "start from REDLOCK_SPEC_INIT";
    } else {
        *checked = *spec;
        if (checked->name != NULL && checked->name_length == 0)
            checked->name_length = strlen(checked->name);
        checked->ttl_ms = spec->ttl_ms != 0 ? spec->ttl_ms : default_ttl_ms(engine);
        checked->renew_ms = spec->renew_ms != 0 ? spec->renew_ms : checked->ttl_ms / 3;
        wrong = check_name(engine, checked);
        if (wrong == NULL)
            wrong = check_times(engine, checked);
        if (wrong == NULL)
            wrong = check_kind(engine, checked);
        if (wrong == NULL)
            wrong = check_tag(checked);
        if (wrong == NULL)
            wrong = check_reentrant(checked);
        if (wrong == NULL)
            wrong = check_also(checked);
    }
    if (wrong == NULL)
        return REDLOCK_OK;
    rl_report_error(report, REDLOCK_INVALID, "%s", wrong);
    return REDLOCK_INVALID;
}

static struct rl_operation *refuse(redlock_result *result, redlock_report *report, redlock_result why,
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
        .fenced = engine->config.guarded,
        .peek =
            !engine->config.guarded && (peek || wait_ms != 0), /* guarded nodes tell it with their denial */
    };
}

/* A caller that waits at guarded nodes stands in their lines. */
static struct rl_stand_config stand_config(struct rl_engine *engine, const redlock_spec *spec,
                                           struct rl_time began, int64_t wait_ms)
{
    int64_t came_us = rl_state_wall_us(engine) - rl_time_since(engine->now, began).us;

    return (struct rl_stand_config){
        .node_count = engine->node_count,
        .ttl = rl_span_ms(spec->ttl_ms),
        .drift_ppm = engine->config.drift_ppm,
        .node_timeout = engine->config.node_timeout,
        .first_wait = rl_nodes_connecting(engine) ? engine->config.connect_timeout : rl_span_us(0),
        .began = began,
        .give_up_at = wait_ms < 0 ? RL_TIME_NEVER : rl_time_add(began, rl_span_ms(wait_ms)),
        .retry_min = engine->config.retry_min,
        .retry_max = engine->config.retry_max,
        .ticket = came_us > 0 ? (uint64_t)came_us : 1,
        .renews = spec->auto_extend != 0,
        .planted = engine->planted,
    };
}

static void start(struct rl_operation *operation, const redlock_spec *spec, int64_t wait_ms, bool peek)
{
    struct rl_engine *engine = operation->lock->engine;
    struct rl_acquire_config config;

    config = acquire_config(engine, spec, operation->started, wait_ms, peek);
    if (operation->lock->kind->is_shared)
        config.watch = true;
    else
        rl_queue_join(operation, wait_ms != 0, &config);
    if (!operation->lock->kind->stands_in_line || wait_ms == 0) {
        rl_acquisition_start(operation, &config);
        return;
    }
    /* Behind others of this client it waits as any acquisition does; the first of them stands in line. */
    operation->stand.config = stand_config(engine, spec, operation->started, wait_ms);
    if (config.queued)
        rl_acquisition_start(operation, &config);
    else
        rl_standing_start(operation);
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

/* A fleet in which one server stands twice tolerates less than its operator thinks: say so instead of going on. */
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

struct rl_operation *rl_call_acquire_since(struct rl_engine *engine, const redlock_spec *spec,
                                           struct rl_time began, int64_t wait_ms, redlock_request request,
                                           redlock_result *result, redlock_report *report)
{
    struct rl_operation *operation = NULL;
    redlock_lock *lock;

    if (wait_ms < REDLOCK_WAIT_FOREVER)
        return refuse(result, report, REDLOCK_INVALID,
                      "wait_ms is below -1: use REDLOCK_WAIT_FOREVER to wait without end");
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
        return refuse(result, report, REDLOCK_NOMEM, "out of memory");
    }
    operation->request = request;
    operation->started = began;
    start(operation, spec, wait_ms, report != NULL || request != 0);
    rl_steps_run(engine);
    return operation;
}

redlock_lock *rl_call_hand_out(struct rl_operation *operation)
{
    redlock_lock *lock = operation->lock;
    struct rl_engine *engine = lock->engine;

    bool closing = engine->closing && operation->kind == RL_OPERATION_ACQUIRE; /* nobody could release it */

    /* Rule: validity is looked at when the lock is handed out, after everything it took to get here. */
    if (lock->stage != RL_LOCK_HELD || !rl_lease_held(&lock->lease, engine->now) || closing) {
        if (lock->stage == RL_LOCK_HELD)
            rl_holding_discard(lock);
        rl_steps_run(engine);
        operation->result = closing ? REDLOCK_CANCELED : REDLOCK_TOO_SLOW;
        return NULL;
    }
    lock->handle = true;
    rl_lock_ref(lock);
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
        return refuse(result, report, REDLOCK_NOMEM, "out of memory");
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
        return refuse(result, report, REDLOCK_INVALID, "ttl_ms is not between 50 and 86400000 (one day)");
    if (lock->engine->config.guarded && rl_span_ms(ttl_ms).us > lock->engine->config.max_ttl.us)
        return refuse(result, report, REDLOCK_INVALID, "ttl_ms is above max_ttl_ms of the client");
    *result = not_held(lock);
    if (*result != REDLOCK_OK)
        return refuse(result, report, *result,
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

struct rl_operation *rl_call_release(redlock_lock *lock, redlock_request request, redlock_result *result,
                                     redlock_report *report)
{
    struct rl_event event = {.kind = RL_EVENT_RELEASE, .now = lock->engine->now};
    struct rl_operation *operation;

    *result = not_held(lock);
    if (*result != REDLOCK_OK)
        return refuse(result, report, *result,
                      *result == REDLOCK_LOST ? "the lock was lost before it was released"
                                              : "the lock was released already");
    operation = begin_on_lock(lock, RL_OPERATION_RELEASE, request, result, report);
    if (operation == NULL) {
        rl_holding_discard(lock); /* it goes out all the same; only nobody will hear how it went */
        rl_steps_run(lock->engine);
        return NULL;
    }
    rl_list_append(&lock->waiting, &operation->on_lock);
    rl_holding_event(lock, &event);
    rl_steps_run(lock->engine);
    return operation;
}

/* An operation on a lock of its own, whose only reference it takes; NULL: no memory, and the lock is gone too. */
static struct rl_operation *begin_on_own(struct rl_engine *engine, enum rl_operation_kind kind,
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
        return refuse(result, report, REDLOCK_INVALID, "owner is empty or longer than 511 bytes");
    operation =
        begin_on_own(engine, kind, rl_call_make_lock(engine, spec, owner, owner_length, request), request);
    if (operation == NULL)
        return refuse(result, report, REDLOCK_NOMEM, "out of memory");
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

/* Room for what nodes say of themselves, when that is asked for the first time. */
static bool make_facts(struct rl_engine *engine)
{
    if (engine->facts == NULL)
        engine->facts = rl_state_allocate(engine, engine->node_capacity * sizeof *engine->facts);
    if (engine->facts == NULL)
        return false;
    memset(engine->facts, 0, engine->node_capacity * sizeof *engine->facts);
    return true;
}

/* A name that no lock has, to try rights on; 0: the host has no randomness. */
static size_t make_probe_name(struct rl_engine *engine, char name[PROBE_NAME_MAX])
{
    struct rl_text text = rl_text_on(name, PROBE_NAME_MAX);
    uint8_t random[8];
    char digits[2 * sizeof random];

    if (!rl_state_random(engine, random, sizeof random))
        return 0;
    rl_hex_write(digits, random, sizeof random);
    rl_text_add(&text, "redlock-doctor:");
    rl_text_add_bytes(&text, digits, sizeof digits);
    return text.length;
}

struct rl_operation *rl_call_survey(struct rl_engine *engine, enum rl_operation_kind kind,
                                    const redlock_spec *spec, bool force, redlock_request request,
                                    redlock_result *result, redlock_report *report)
{
    bool inspects = kind == RL_OPERATION_INSPECT;
    struct rl_operation *operation;
    char probe[PROBE_NAME_MAX];
    redlock_spec named;

    if (kind == RL_OPERATION_INIT && !engine->config.guarded)
        return refuse(result, report, REDLOCK_MISUSE, "a plain client has no guard to admit nodes to");
    if (kind == RL_OPERATION_EXAMINE) {
        named = *spec;
        named.name = probe;
        named.name_length = make_probe_name(engine, probe);
        spec = &named;
        if (named.name_length == 0 || !make_facts(engine))
            return refuse(result, report, REDLOCK_NOMEM, "out of memory");
    }
    if (engine->config.key_prefix_length + spec->name_length > REDLOCK_NAME_MAX)
        return refuse(result, report, REDLOCK_INVALID,
                      "name is too long: prefix and name together may have 1024 bytes");
    if (kind == RL_OPERATION_INIT)
        rl_guard_begin(engine);
    operation = begin_on_own(
        engine, kind, rl_lock_create(engine, spec, spec->name_length, "nobody", strlen("nobody")), request);
    if (operation == NULL)
        return refuse(result, report, REDLOCK_NOMEM, "out of memory");
    operation->record.details = inspects && report != NULL ? report->details : NULL;
    rl_details_forget(operation->record.details);
    operation->force = force;
    rl_settling_begin(operation, engine->node_count);
    rl_steps_run(engine);
    return operation;
}

static const char *check_break(const struct rl_engine *engine, const redlock_break_spec *spec)
{
    redlock_spec named = {.name = spec->name, .name_length = spec->name_length};

    if (spec->id == NULL || spec->id_length == 0)
        return "id is empty: name the holder, by its id from an inspection or by its owner value";
    if (spec->id_length > REDLOCK_OWNER_MAX)
        return "id is longer than 511 bytes";
    if (spec->grace_ms < REDLOCK_BREAK_NOW || spec->grace_ms > REDLOCK_TTL_MAX_MS)
        return "grace_ms is neither REDLOCK_BREAK_NOW nor between 0 and 86400000 (one day)";
    return check_name(engine, &named);
}

struct rl_operation *rl_call_break(struct rl_engine *engine, const redlock_break_spec *spec,
                                   redlock_details *details, redlock_request request, redlock_result *result,
                                   redlock_report *report)
{
    redlock_spec named = {.size = sizeof named, .name = spec->name, .name_length = spec->name_length};
    const char *wrong = check_break(engine, spec);
    struct rl_operation *operation;

    if (wrong != NULL)
        return refuse(result, report, REDLOCK_INVALID, wrong);
    operation =
        begin_on_own(engine, RL_OPERATION_INSPECT,
                     rl_lock_create(engine, &named, named.name_length, spec->id, spec->id_length), request);
    if (operation == NULL)
        return refuse(result, report, REDLOCK_NOMEM, "out of memory");
    operation->breaks = true;
    operation->any_grace = spec->grace_ms == 0;
    if (spec->grace_ms > 0)
        operation->grace_ms = (uint32_t)spec->grace_ms;
    operation->record.details = details;
    rl_details_forget(details);
    rl_settling_begin(operation, engine->node_count);
    rl_steps_run(engine);
    return operation;
}

static const char *check_list(const struct rl_engine *engine, enum rl_operation_kind kind,
                              const redlock_list_spec *spec)
{
    redlock_spec named = {.name = spec->name, .name_length = spec->name_length};

    if (spec->glob_length > REDLOCK_NAME_MAX)
        return "glob is too long: it may have 1024 bytes";
    if (kind == RL_OPERATION_LIST && spec->name != NULL)
        return "name is for a watch: redlock_inspect() looks at one lock";
    return spec->name != NULL || kind == RL_OPERATION_WAIT ? check_name(engine, &named) : NULL;
}

static struct rl_operation *make_listing(struct rl_engine *engine, enum rl_operation_kind kind,
                                         const redlock_list_spec *spec, redlock_request request)
{
    redlock_spec named = {.size = sizeof named, .name = spec->name, .name_length = spec->name_length};
    struct rl_operation *operation = begin_on_own(
        engine, kind, rl_lock_create(engine, &named, named.name_length, "nobody", strlen("nobody")), request);

    if (operation == NULL || rl_listing_create(operation, spec))
        return operation;
    rl_operation_free(engine, operation);
    return NULL;
}

struct rl_operation *rl_call_list(struct rl_engine *engine, enum rl_operation_kind kind,
                                  const redlock_list_spec *spec, int64_t wait_ms, redlock_request request,
                                  redlock_result *result, redlock_report *report)
{
    const char *wrong = check_list(engine, kind, spec);
    struct rl_operation *operation;

    if (wrong == NULL && wait_ms < REDLOCK_WAIT_FOREVER)
        wrong = "wait_ms is below -1: use REDLOCK_WAIT_FOREVER to wait without end";
    if (wrong != NULL)
        return refuse(result, report, REDLOCK_INVALID, wrong);
    operation = make_listing(engine, kind, spec, request);
    if (operation == NULL)
        return refuse(result, report, REDLOCK_NOMEM, "out of memory");
    if (wait_ms >= 0)
        operation->listing->give_up_at = rl_time_add(engine->now, rl_span_ms(wait_ms));
    operation->listing->nonblocking = wait_ms == 0;
    rl_settling_begin(operation, engine->node_count);
    rl_steps_run(engine);
    return operation;
}
