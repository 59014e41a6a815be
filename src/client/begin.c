/*
 * Calls begin: whatever thread they need is started, then the engine has them.
 */
#include <string.h>

#include "client/client.h"
#include "engine/report.h"

static bool start_threads(redlock_client *client)
{
    return rl_notify_start(client) && rl_driver_start_carrier(client);
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
    *result = REDLOCK_SYSTEM;
    rl_report_error(report, *result, "cannot start a thread: the system refused it");
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

/* It may even have ended already: its callback has not run, for that needs the mutex. */
static struct rl_operation *count(redlock_client *client, struct rl_operation *operation)
{
    if (operation != NULL && operation->request != 0)
        client->async_count++;
    return operation;
}

struct rl_operation *rl_begin_acquire(redlock_client *client, const redlock_spec *spec, struct rl_time began,
                                      int64_t wait_ms, redlock_request request, redlock_result *result,
                                      redlock_report *report)
{
    if (!start_for_spec(client, spec, request))
        return refuse(result, report);
    return count(client,
                 rl_call_acquire_since(&client->engine, spec, began, wait_ms, request, result, report));
}

struct rl_operation *rl_begin_extend(redlock_lock *lock, uint32_t ttl_ms, redlock_request request,
                                     redlock_result *result, redlock_report *report)
{
    redlock_client *client = rl_client_of(lock);

    if (!start_for_request(client, request))
        return refuse(result, report);
    rl_client_now(client);
    return count(client, rl_call_extend(lock, ttl_ms, request, result, report));
}

struct rl_operation *rl_begin_release(redlock_lock *lock, redlock_request request, redlock_result *result,
                                      redlock_report *report)
{
    redlock_client *client = rl_client_of(lock);

    if (!start_for_request(client, request))
        return refuse(result, report);
    rl_client_now(client);
    return count(client, rl_call_release(lock, request, result, report));
}

struct rl_operation *rl_begin_known(redlock_client *client, const struct rl_known_call *call,
                                    redlock_request request, redlock_result *result, redlock_report *report)
{
    redlock_spec checked;

    *result = rl_call_check_spec(&client->engine, call->spec, &checked, report);
    if (*result != REDLOCK_OK)
        return NULL;
    if (!start_for_spec(client, &checked, request))
        return refuse(result, report);
    rl_driver_refresh(client);
    return count(client, rl_call_known(&client->engine, call->kind, &checked, call->owner, call->owner_length,
                                       request, result, report));
}

struct rl_operation *rl_begin_survey(redlock_client *client, const struct rl_survey_call *call,
                                     redlock_request request, redlock_result *result, redlock_report *report)
{
    redlock_spec spec = {.size = sizeof spec, .name = call->name, .name_length = call->name_length};

    if (call->name == NULL)
        spec.name_length = 0;
    else if (call->name_length == 0)
        spec.name_length = strlen(call->name);
    if (!start_for_request(client, request))
        return refuse(result, report);
    rl_driver_refresh(client);
    return count(client,
                 rl_call_survey(&client->engine, call->kind, &spec, call->force, request, result, report));
}

redlock_lock *rl_begin_hand_out(struct rl_operation *operation)
{
    redlock_client *client = rl_client_of(operation->lock);
    redlock_lock *lock;

    rl_client_now(client);
    lock = operation->kind == RL_OPERATION_ADOPT ? rl_call_adopted(operation) : rl_call_hand_out(operation);
    client->refs += lock != NULL;
    return lock;
}
