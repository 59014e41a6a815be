/*
 * The calls of operators: lists, watches, waits and breaks, blocking and asynchronous. What they do is
 * decided in the engine.
 */
#include "client/perform.h"
#include "client/poll.h"
#include "engine/details.h"
#include "engine/operator_calls.h"
#include "engine/report.h"
#include "engine/sized.h"

/* ---- lists, watches and waits ---- */

static struct rl_operation *begin_listing(redlock_client *client, const struct rl_task *task,
                                          redlock_request request, redlock_result *result,
                                          redlock_report *report)
{
    if (task->kind == RL_OPERATION_LIST && task->list.name != NULL && task->told == NULL) {
        *result = rl_report_error(report, REDLOCK_INVALID,
                                  "name is for a watch: redlock_inspect() looks at one lock");
        return NULL;
    }
    if (!rl_begin_request(client, request, result, report))
        return NULL;
    rl_poll_refresh(client);
    return rl_call_list(&client->engine, task->kind, &task->list, task->wait_ms, request, result, report);
}

redlock_result redlock_list(redlock_client *client, const redlock_list_spec *spec, redlock_listed_fn listed,
                            void *context, redlock_report *report)
{
    struct rl_task task = {
        .begin = begin_listing, .kind = RL_OPERATION_LIST, .listed = listed, .context = context};

    task.wrong = rl_list_spec_accept(spec, &task.list);
    return listed != NULL ? rl_perform(client, &task, report) : REDLOCK_INVALID;
}

redlock_result redlock_list_async(redlock_client *client, const redlock_list_spec *spec,
                                  redlock_listed_fn listed, redlock_done_fn done, void *context,
                                  redlock_request *request)
{
    struct rl_task task = {.begin = begin_listing,
                           .kind = RL_OPERATION_LIST,
                           .listed = listed,
                           .finished = done,
                           .context = context};

    task.wrong = rl_list_spec_accept(spec, &task.list);
    return listed != NULL ? rl_perform_later(client, &task, request) : REDLOCK_INVALID;
}

redlock_result redlock_inspect_slots_async(redlock_client *client, const char *name, size_t name_length,
                                           redlock_slot_fn told, redlock_done_fn done, void *context,
                                           redlock_request *request)
{
    struct rl_task task = {.begin = begin_listing,
                           .kind = RL_OPERATION_LIST,
                           .list = rl_list_spec_of_name(name, name_length),
                           .told = told,
                           .finished = done,
                           .context = context};

    return told != NULL ? rl_perform_later(client, &task, request) : REDLOCK_INVALID;
}

redlock_result redlock_watch(redlock_client *client, const redlock_list_spec *spec, redlock_event_fn event,
                             void *context, redlock_report *report)
{
    struct rl_task task = {
        .begin = begin_listing, .kind = RL_OPERATION_WATCH, .happened = event, .context = context};

    task.wrong = rl_list_spec_accept(spec, &task.list);
    return event != NULL ? rl_perform(client, &task, report) : REDLOCK_INVALID;
}

redlock_result redlock_watch_async(redlock_client *client, const redlock_list_spec *spec,
                                   redlock_event_fn event, redlock_done_fn done, void *context,
                                   redlock_request *request)
{
    struct rl_task task = {.begin = begin_listing,
                           .kind = RL_OPERATION_WATCH,
                           .happened = event,
                           .finished = done,
                           .context = context};

    task.wrong = rl_list_spec_accept(spec, &task.list);
    return event != NULL ? rl_perform_later(client, &task, request) : REDLOCK_INVALID;
}

redlock_result redlock_wait(redlock_client *client, const char *name, size_t name_length, int64_t wait_ms,
                            redlock_report *report)
{
    struct rl_task task = {.begin = begin_listing,
                           .kind = RL_OPERATION_WAIT,
                           .list = rl_list_spec_of_name(name, name_length),
                           .wait_ms = wait_ms};

    return rl_perform(client, &task, report);
}

redlock_result redlock_wait_async(redlock_client *client, const char *name, size_t name_length,
                                  int64_t wait_ms, redlock_done_fn done, void *context,
                                  redlock_request *request)
{
    struct rl_task task = {.begin = begin_listing,
                           .kind = RL_OPERATION_WAIT,
                           .list = rl_list_spec_of_name(name, name_length),
                           .wait_ms = wait_ms,
                           .finished = done,
                           .context = context};

    return rl_perform_later(client, &task, request);
}

/* ---- breaks ---- */

/* The operation has details of its own. */
static struct rl_operation *begin_break(redlock_client *client, const struct rl_task *task,
                                        redlock_request request, redlock_result *result,
                                        redlock_report *report)
{
    redlock_details *details = rl_details_create(&client->engine.config.allocator, client->engine.node_count);
    struct rl_operation *operation = NULL;

    if (details == NULL) {
        *result = rl_report_error(report, REDLOCK_NOMEM, "out of memory");
        return NULL;
    }
    if (rl_begin_request(client, request, result, report)) {
        rl_poll_refresh(client);
        operation = rl_call_break(&client->engine, &task->broken, details, request, result, report);
    }
    if (operation == NULL)
        redlock_details_free(details);
    return operation;
}

redlock_result redlock_break(redlock_client *client, const redlock_break_spec *spec, redlock_report *report)
{
    struct rl_task task = {.begin = begin_break, .kind = RL_OPERATION_BREAK};

    task.wrong = rl_break_spec_accept(spec, &task.broken);
    return rl_perform(client, &task, report);
}

redlock_result redlock_break_async(redlock_client *client, const redlock_break_spec *spec,
                                   redlock_done_fn done, void *context, redlock_request *request)
{
    struct rl_task task = {
        .begin = begin_break, .kind = RL_OPERATION_BREAK, .finished = done, .context = context};

    task.wrong = rl_break_spec_accept(spec, &task.broken);
    return rl_perform_later(client, &task, request);
}
