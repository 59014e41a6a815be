/*
 * Begins calls; see begin.h.
 */
#include "client/begin.h"

#include <stdatomic.h>

#include "client/background.h"
#include "client/poll.h"
#include "engine/details.h"
#include "engine/operator_calls.h"
#include "engine/report.h"
#include "engine/sized.h"
#include "engine/spec.h"

static bool start_threads(redlock_client *client)
{
    return rl_background_start_notifier(client) && rl_background_start_carrier(client);
}

/* A program with an event loop drives asynchronous calls itself. */
static bool start_for_request(redlock_client *client, redlock_request request)
{
    return request == 0 || client->outer_fd >= 0 || start_threads(client);
}

static bool start_for_spec(redlock_client *client, const redlock_spec *spec, redlock_request request)
{
    bool watched = spec->on_lost != NULL || spec->on_renewed != NULL;

    return start_for_request(client, request) && (!watched || start_threads(client));
}

static struct rl_operation *refuse(redlock_result *result, redlock_report *report)
{
    *result = rl_report_error(report, REDLOCK_SYSTEM, "cannot start a thread: the system refused it");
    return NULL;
}

bool rl_begin_request(redlock_client *client, redlock_request request, redlock_result *result,
                      redlock_report *report)
{
    if (start_for_request(client, request))
        return true;
    refuse(result, report);
    return false;
}

struct rl_operation *rl_begin_acquire(redlock_client *client, const redlock_spec *spec, struct rl_time began,
                                      int64_t wait_ms, redlock_request request, redlock_result *result,
                                      redlock_report *report)
{
    if (!start_for_spec(client, spec, request))
        return refuse(result, report);
    return rl_call_acquire_since(&client->engine, spec, began, wait_ms, request, result, report);
}

struct rl_operation *rl_begin_extend(redlock_client *client, const struct rl_task *task,
                                     redlock_request request, redlock_result *result, redlock_report *report)
{
    rl_poll_refresh(client);
    if (!start_for_request(client, request))
        return refuse(result, report);
    rl_client_now(client);
    return rl_call_extend(task->lock, task->ttl_ms, request, result, report);
}

struct rl_operation *rl_begin_release(redlock_lock *lock, redlock_request request, redlock_result *result,
                                      redlock_report *report)
{
    if (!start_for_request(rl_client_of(lock), request))
        return refuse(result, report);
    rl_client_now(rl_client_of(lock));
    return rl_call_release(lock, request, result, report);
}

struct rl_operation *rl_begin_known(redlock_client *client, const struct rl_task *task,
                                    redlock_request request, redlock_result *result, redlock_report *report)
{
    redlock_spec checked;

    *result = rl_spec_check(&client->engine, task->spec, &checked, report);
    if (*result != REDLOCK_OK)
        return NULL;
    if (!start_for_spec(client, &checked, request))
        return refuse(result, report);
    rl_poll_refresh(client);
    return rl_call_known(&client->engine, task->kind, &checked, task->owner, task->owner_length, request,
                         result, report);
}

struct rl_operation *rl_begin_survey(redlock_client *client, const struct rl_task *task,
                                     redlock_request request, redlock_result *result, redlock_report *report)
{
    redlock_spec nameless = rl_spec_of_name(NULL, 0);
    redlock_report kept = REDLOCK_REPORT_INIT;
    struct rl_operation *operation;

    if (!start_for_request(client, request))
        return refuse(result, report);
    if (request != 0 && task->kind == RL_OPERATION_INSPECT) {
        report = &kept;
        kept.details = rl_details_create(&client->engine.config.allocator, client->engine.node_count);
        *result = REDLOCK_NOMEM;
        if (kept.details == NULL)
            return NULL;
    }
    rl_poll_refresh(client);
    operation = rl_call_survey(&client->engine, task->kind, task->spec != NULL ? task->spec : &nameless,
                               task->force, request, result, report);
    if (operation == NULL)
        redlock_details_free(kept.details);
    return operation;
}

struct rl_operation *rl_begin_call(redlock_client *client, struct rl_call *call)
{
    redlock_spec checked;
    struct rl_time began;

    if (call->post.kind != RL_POST_ACQUIRE)
        return rl_begin_release(call->lock, 0, &call->result, call->report);
    began = rl_client_now(client);
    call->result = rl_spec_check(&client->engine, call->spec, &checked, call->report);
    if (call->result != REDLOCK_OK)
        return NULL;
    return rl_begin_acquire(client, &checked, began, call->wait_ms, 0, &call->result, call->report);
}

/* Threads count from 1 on, and no number comes twice: that of a thread that is gone is nobody's. */
static uint64_t thread_number(void)
{
    static atomic_uint_fast64_t last;
    static _Thread_local uint64_t mine;

    if (mine == 0)
        mine = atomic_fetch_add(&last, 1) + 1;
    return mine;
}

const redlock_spec *rl_begin_identify(const redlock_spec *spec, redlock_spec *copy, bool blocks)
{
    if (spec == NULL || spec->reentrant == 0)
        return spec;
    *copy = *spec;
    copy->reentrant = 1;
    if (blocks && spec->identity == 0) {
        copy->identity = thread_number();
        copy->reentrant = RL_REENTRANT_BY_THREAD;
    }
    return copy;
}

redlock_result rl_begin_misuse(redlock_report *report)
{
    return rl_report_error(report, REDLOCK_MISUSE,
                           "the client is closed, or belongs to the process this one was forked from");
}
