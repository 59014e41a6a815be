/*
 * The calls that return when it is done. Each begins an operation and drives the connections, or sleeps,
 * until it has ended.
 */
#include "client/crowd.h"
#include "client/driver.h"
#include "client/end.h"
#include "client/leave.h"
#include "client/perform.h"
#include "client/poll.h"
#include "engine/guard.h"
#include "engine/reentrant.h"
#include "engine/report.h"
#include "engine/sized.h"
#include "engine/spec.h"

/* Waits for a call's operation, unless there is none, and ends the call, unless another thread does; then
 * leaves the client. */
static redlock_result finish(redlock_client *client, struct rl_operation *operation, struct rl_call *call)
{
    while (operation != NULL) {
        if (rl_driver_wait(client, operation, call))
            return call->result;
        if (rl_end_call(client, call, operation))
            break;
    }
    rl_leave_sending(client); /* a lock that could not be handed out is released */
    return call->result;
}

/* ---- acquire and release: on this thread, or by the carrier in a crowd ---- */

/* Until when a new client may wait for its connections: it tries once at least. */
static struct rl_time settle_by(const redlock_client *client, const struct rl_call *call)
{
    struct rl_span wait = rl_span_ms(call->wait_ms), once = client->engine.config.node_timeout;

    if (call->wait_ms <= 0)
        return RL_TIME_NEVER;
    return rl_time_add(client->engine.now, wait.us > once.us ? wait : once);
}

static struct rl_operation *begin_acquire(redlock_client *client, struct rl_call *call)
{
    redlock_spec checked;
    struct rl_time began = rl_client_now(client);

    call->result = rl_spec_check(&client->engine, call->spec, &checked, call->report);
    if (call->result != REDLOCK_OK)
        return NULL;
    if (checked.reentrant != 0 && rl_reentrant_find(&client->engine, &checked) != NULL)
        return rl_begin_acquire(client, &checked, began, call->wait_ms, 0, &call->result, call->report);
    rl_guard_begin(&client->engine);
    rl_driver_settle(client, rl_quorum(client->engine.node_count), settle_by(client, call));
    if (client->engine.closing) { /* meanwhile: what is under way was cancelled already */
        call->result = rl_report_error(call->report, REDLOCK_CANCELED, "the client was closed");
        return NULL;
    }
    return rl_begin_acquire(client, &checked, began, call->wait_ms, 0, &call->result, call->report);
}

/* A lock that ends with its thread has to be asked for by that thread. */
static bool is_bound(const redlock_spec *spec)
{
    return spec == NULL || (spec->auto_extend != 0 && spec->unbound == 0);
}

static redlock_result acquire(redlock_client *client, struct rl_call *call)
{
    *call->acquired = NULL;
    if (client != NULL && !is_bound(call->spec) && rl_crowd_call(client, call))
        return call->result;
    if (client == NULL || !rl_client_enter(client))
        return rl_begin_misuse(call->report);
    return finish(client, begin_acquire(client, call), call);
}

redlock_result redlock_acquire(redlock_client *client, const redlock_spec *spec, int64_t wait_ms,
                               redlock_lock **lock, redlock_report *report)
{
    RL_NO_CANCELLATION;
    struct rl_report_frame frame;
    redlock_spec copy;
    struct rl_call call = {.post.kind = RL_POST_ACQUIRE, .wait_ms = wait_ms, .acquired = lock};

    if (lock == NULL || !rl_report_accept(&frame, report))
        return REDLOCK_INVALID;
    call.spec = rl_begin_identify(rl_spec_accept(spec, &copy), &copy, true);
    call.report = frame.report;
    return rl_report_return(&frame, acquire(client, &call));
}

redlock_result redlock_try_acquire(redlock_client *client, const redlock_spec *spec, redlock_lock **lock,
                                   redlock_report *report)
{
    return redlock_acquire(client, spec, 0, lock, report);
}

static redlock_result release(redlock_lock *lock, redlock_report *report)
{
    struct rl_call call = {.post.kind = RL_POST_RELEASE, .lock = lock, .report = report};
    redlock_client *client = rl_client_of(lock);
    struct rl_operation *operation;

    if (rl_crowd_call(client, &call))
        return call.result;
    if (!rl_client_enter(client))
        return rl_begin_misuse(report);
    rl_poll_refresh(client);
    operation = rl_begin_release(lock, 0, &call.result, report);
    if (operation != NULL && operation->done) /* a quick one: the process may end when it returns */
        rl_poll_send(client);
    return finish(client, operation, &call);
}

redlock_result redlock_release(redlock_lock *lock, redlock_report *report)
{
    RL_NO_CANCELLATION;
    struct rl_report_frame frame;

    if (lock == NULL || !rl_report_accept(&frame, report))
        return REDLOCK_INVALID;
    return rl_report_return(&frame, release(lock, frame.report));
}

/* ---- the others ---- */

redlock_result redlock_extend(redlock_lock *lock, uint32_t ttl_ms, redlock_report *report)
{
    struct rl_task task = {
        .begin = rl_begin_extend, .kind = RL_OPERATION_EXTEND, .lock = lock, .ttl_ms = ttl_ms};

    return lock != NULL ? rl_perform(rl_client_of(lock), &task, report) : REDLOCK_INVALID;
}

redlock_result redlock_adopt(redlock_client *client, const redlock_spec *spec, const char *owner,
                             size_t owner_length, redlock_lock **lock, redlock_report *report)
{
    redlock_spec copy;
    struct rl_task task = {.begin = rl_begin_known,
                           .kind = RL_OPERATION_ADOPT,
                           .spec = rl_begin_identify(rl_spec_accept(spec, &copy), &copy, true),
                           .owner = owner,
                           .owner_length = owner_length,
                           .adopted = lock};

    return lock != NULL ? rl_perform(client, &task, report) : REDLOCK_INVALID;
}

redlock_result redlock_release_owner(redlock_client *client, const char *name, size_t name_length,
                                     const char *owner, size_t owner_length, redlock_report *report)
{
    redlock_spec spec = rl_spec_of_name(name, name_length);
    struct rl_task task = {.begin = rl_begin_known,
                           .kind = RL_OPERATION_RELEASE,
                           .spec = &spec,
                           .owner = owner,
                           .owner_length = owner_length};

    return rl_perform(client, &task, report);
}

redlock_result redlock_release_spec(redlock_client *client, const redlock_spec *spec, const char *owner,
                                    size_t owner_length, redlock_report *report)
{
    redlock_spec copy, which;
    struct rl_task task = {.begin = rl_begin_known,
                           .kind = RL_OPERATION_RELEASE,
                           .spec = rl_spec_which(rl_spec_accept(spec, &copy), &which),
                           .owner = owner,
                           .owner_length = owner_length};

    return rl_perform(client, &task, report);
}

redlock_result redlock_inspect(redlock_client *client, const char *name, size_t name_length,
                               redlock_report *report)
{
    redlock_spec spec = rl_spec_of_name(name, name_length);
    struct rl_task task = {.begin = rl_begin_survey, .kind = RL_OPERATION_INSPECT, .spec = &spec};

    return report != NULL ? rl_perform(client, &task, report) : REDLOCK_INVALID;
}

redlock_result redlock_examine(redlock_client *client, redlock_report *report)
{
    struct rl_task task = {.begin = rl_begin_survey, .kind = RL_OPERATION_EXAMINE};

    return rl_perform(client, &task, report);
}

redlock_result redlock_init_nodes(redlock_client *client, int force, redlock_report *report)
{
    struct rl_task task = {.begin = rl_begin_survey, .kind = RL_OPERATION_INIT, .force = force != 0};

    return rl_perform(client, &task, report);
}
