/*
 * The calls of operators: lists, watches, waits and breaks, blocking and asynchronous. What they do is
 * decided in the engine.
 */
#include <string.h>

#include "client/begin.h"
#include "client/driver.h"
#include "client/leave.h"
#include "client/notify.h"
#include "client/poll.h"
#include "engine/details.h"
#include "engine/listing.h"
#include "engine/operator_calls.h"
#include "engine/report.h"
#include "engine/sized.h"

/* ---- what callers give ---- */

static bool accept_list_spec(const redlock_list_spec *given, redlock_list_spec *spec)
{
    *spec = (redlock_list_spec)REDLOCK_LIST_SPEC_INIT;
    if (given != NULL && !rl_sized_read(spec, sizeof *spec, given))
        return false;
    if (spec->glob != NULL && spec->glob_length == 0)
        spec->glob_length = strlen(spec->glob);
    if (spec->name != NULL && spec->name_length == 0)
        spec->name_length = strlen(spec->name);
    return true;
}

static bool accept_break_spec(const redlock_break_spec *given, redlock_break_spec *spec)
{
    if (given == NULL || !rl_sized_read(spec, sizeof *spec, given))
        return false;
    if (spec->name != NULL && spec->name_length == 0)
        spec->name_length = strlen(spec->name);
    if (spec->id != NULL && spec->id_length == 0)
        spec->id_length = strlen(spec->id);
    return true;
}

static redlock_result refuse_spec(redlock_report *report, const char *which)
{
    rl_report_error(
        report, REDLOCK_INVALID,
        "the spec is NULL, has a wrong size or wants what this library does not know: start from %s", which);
    return REDLOCK_INVALID;
}

static redlock_list_spec name_spec(const char *name, size_t name_length)
{
    redlock_list_spec spec = REDLOCK_LIST_SPEC_INIT;

    spec.name = name != NULL ? name : "";
    spec.name_length = name != NULL && name_length == 0 ? strlen(name) : name_length;
    return spec;
}

/* ---- lists, watches and waits ---- */

/* A call, before its operation. */
struct listing_call {
    enum rl_operation_kind kind;
    redlock_list_spec spec;
    int64_t wait_ms;
    redlock_listed_fn listed;
    redlock_event_fn happened;
    redlock_slot_fn told;
    redlock_done_fn done;
    void *context;
};

static struct rl_operation *begin(redlock_client *client, const struct listing_call *call,
                                  redlock_request request, redlock_result *result, redlock_report *report)
{
    struct rl_operation *operation;

    if (call->kind == RL_OPERATION_LIST && call->spec.name != NULL && call->told == NULL) {
        *result = REDLOCK_INVALID;
        rl_report_error(report, *result, "name is for a watch: redlock_inspect() looks at one lock");
        return NULL;
    }
    if (!rl_begin_request(client, request, result, report))
        return NULL;
    rl_poll_refresh(client);
    operation =
        rl_call_list(&client->engine, call->kind, &call->spec, call->wait_ms, request, result, report);
    if (operation == NULL)
        return NULL;
    operation->listed = call->listed;
    operation->happened = call->happened;
    operation->told = call->told;
    operation->finished = call->done;
    operation->context = call->context;
    client->async_count += request != 0;
    return operation;
}

/* Until it has ended for good. */
static redlock_result go_through(redlock_client *client, struct rl_operation *operation,
                                 redlock_report *report)
{
    redlock_result result;

    do {
        rl_driver_wait(client, operation, NULL);
        rl_poll_flush(client); /* callbacks may take their time */
    } while (rl_notify_listing(client, operation));
    result = operation->result;
    rl_listing_report(report, operation);
    rl_listing_free(operation);
    rl_operation_free(&client->engine, operation);
    return result;
}

static redlock_result call_listing(redlock_client *client, const struct listing_call *call,
                                   redlock_report *report)
{
    struct rl_operation *operation;
    redlock_result result;

    if (client == NULL || !rl_client_enter(client))
        return rl_begin_misuse(report);
    operation = begin(client, call, 0, &result, report);
    if (operation != NULL)
        result = go_through(client, operation, report);
    rl_leave_sending(client);
    return result;
}

redlock_result redlock_list(redlock_client *client, const redlock_list_spec *spec, redlock_listed_fn listed,
                            void *context, redlock_report *report)
{
    RL_NO_CANCELLATION;
    struct listing_call call = {.kind = RL_OPERATION_LIST, .listed = listed, .context = context};
    struct rl_report_frame frame;

    if (listed == NULL || !rl_report_accept(&frame, report))
        return REDLOCK_INVALID;
    if (!accept_list_spec(spec, &call.spec))
        return rl_report_return(&frame, refuse_spec(frame.report, "REDLOCK_LIST_SPEC_INIT"));
    return rl_report_return(&frame, call_listing(client, &call, frame.report));
}

redlock_result redlock_watch(redlock_client *client, const redlock_list_spec *spec, redlock_event_fn event,
                             void *context, redlock_report *report)
{
    RL_NO_CANCELLATION;
    struct listing_call call = {.kind = RL_OPERATION_WATCH, .happened = event, .context = context};
    struct rl_report_frame frame;

    if (event == NULL || !rl_report_accept(&frame, report))
        return REDLOCK_INVALID;
    if (!accept_list_spec(spec, &call.spec))
        return rl_report_return(&frame, refuse_spec(frame.report, "REDLOCK_LIST_SPEC_INIT"));
    return rl_report_return(&frame, call_listing(client, &call, frame.report));
}

redlock_result redlock_wait(redlock_client *client, const char *name, size_t name_length, int64_t wait_ms,
                            redlock_report *report)
{
    RL_NO_CANCELLATION;
    struct listing_call call = {
        .kind = RL_OPERATION_WAIT, .spec = name_spec(name, name_length), .wait_ms = wait_ms};
    struct rl_report_frame frame;

    if (!rl_report_accept(&frame, report))
        return REDLOCK_INVALID;
    return rl_report_return(&frame, call_listing(client, &call, frame.report));
}

/* ---- and the asynchronous ones ---- */

static redlock_result list_later(redlock_client *client, const struct listing_call *call,
                                 redlock_request *request)
{
    struct rl_operation *operation;
    redlock_result result = REDLOCK_OK;

    if (call->done == NULL)
        return REDLOCK_INVALID;
    if (client == NULL || !rl_client_enter(client))
        return REDLOCK_MISUSE;
    operation = begin(client, call, ++client->engine.last_request, &result, NULL);
    if (operation != NULL && request != NULL)
        *request = operation->request;
    rl_leave_together(client);
    return operation != NULL ? REDLOCK_OK : result;
}

redlock_result redlock_list_async(redlock_client *client, const redlock_list_spec *spec,
                                  redlock_listed_fn listed, redlock_done_fn done, void *context,
                                  redlock_request *request)
{
    RL_NO_CANCELLATION;
    struct listing_call call = {
        .kind = RL_OPERATION_LIST, .listed = listed, .done = done, .context = context};

    if (listed == NULL || !accept_list_spec(spec, &call.spec))
        return REDLOCK_INVALID;
    return list_later(client, &call, request);
}

redlock_result redlock_watch_async(redlock_client *client, const redlock_list_spec *spec,
                                   redlock_event_fn event, redlock_done_fn done, void *context,
                                   redlock_request *request)
{
    RL_NO_CANCELLATION;
    struct listing_call call = {
        .kind = RL_OPERATION_WATCH, .happened = event, .done = done, .context = context};

    if (event == NULL || !accept_list_spec(spec, &call.spec))
        return REDLOCK_INVALID;
    return list_later(client, &call, request);
}

redlock_result redlock_wait_async(redlock_client *client, const char *name, size_t name_length,
                                  int64_t wait_ms, redlock_done_fn done, void *context,
                                  redlock_request *request)
{
    RL_NO_CANCELLATION;
    struct listing_call call = {.kind = RL_OPERATION_WAIT,
                                .spec = name_spec(name, name_length),
                                .wait_ms = wait_ms,
                                .done = done,
                                .context = context};

    return list_later(client, &call, request);
}

redlock_result redlock_inspect_slots_async(redlock_client *client, const char *name, size_t name_length,
                                           redlock_slot_fn told, redlock_done_fn done, void *context,
                                           redlock_request *request)
{
    RL_NO_CANCELLATION;
    struct listing_call call = {.kind = RL_OPERATION_LIST,
                                .spec = name_spec(name, name_length),
                                .told = told,
                                .done = done,
                                .context = context};

    return told != NULL ? list_later(client, &call, request) : REDLOCK_INVALID;
}

/* ---- breaks ---- */

/* NULL: nothing was begun, and the details are not needed. */
static struct rl_operation *begin_break(redlock_client *client, const redlock_break_spec *spec,
                                        redlock_request request, redlock_result *result,
                                        redlock_report *report)
{
    redlock_details *details = rl_details_create(&client->engine.config.allocator, client->engine.node_count);
    struct rl_operation *operation = NULL;

    *result = REDLOCK_NOMEM;
    if (details == NULL)
        rl_report_error(report, REDLOCK_NOMEM, "out of memory");
    else if (rl_begin_request(client, request, result, report)) {
        rl_poll_refresh(client);
        operation = rl_call_break(&client->engine, spec, details, request, result, report);
    }
    if (operation == NULL)
        redlock_details_free(details);
    else
        client->async_count += request != 0;
    return operation;
}

static redlock_result conclude_break(redlock_client *client, struct rl_operation *operation,
                                     redlock_report *report)
{
    redlock_details *details = operation->record.details;
    redlock_result result;

    rl_driver_wait(client, operation, NULL);
    result = operation->result;
    rl_report_operation(report, operation);
    rl_operation_free(&client->engine, operation);
    redlock_details_free(details);
    return result;
}

static redlock_result call_break(redlock_client *client, const redlock_break_spec *spec,
                                 redlock_report *report)
{
    struct rl_operation *operation;
    redlock_result result;

    if (client == NULL || !rl_client_enter(client))
        return rl_begin_misuse(report);
    operation = begin_break(client, spec, 0, &result, report);
    if (operation != NULL)
        result = conclude_break(client, operation, report);
    rl_leave_sending(client);
    return result;
}

redlock_result redlock_break(redlock_client *client, const redlock_break_spec *spec, redlock_report *report)
{
    RL_NO_CANCELLATION;
    struct rl_report_frame frame;
    redlock_break_spec accepted;

    if (!rl_report_accept(&frame, report))
        return REDLOCK_INVALID;
    if (!accept_break_spec(spec, &accepted))
        return rl_report_return(&frame, refuse_spec(frame.report, "REDLOCK_BREAK_SPEC_INIT"));
    return rl_report_return(&frame, call_break(client, &accepted, frame.report));
}

redlock_result redlock_break_async(redlock_client *client, const redlock_break_spec *spec,
                                   redlock_done_fn done, void *context, redlock_request *request)
{
    RL_NO_CANCELLATION;
    struct rl_operation *operation;
    redlock_break_spec accepted;
    redlock_result result;

    if (done == NULL || !accept_break_spec(spec, &accepted))
        return REDLOCK_INVALID;
    if (client == NULL || !rl_client_enter(client))
        return REDLOCK_MISUSE;
    operation = begin_break(client, &accepted, ++client->engine.last_request, &result, NULL);
    if (operation != NULL) {
        operation->finished = done;
        operation->context = context;
        if (request != NULL)
            *request = operation->request;
    }
    rl_leave_together(client);
    return operation != NULL ? REDLOCK_OK : result;
}
