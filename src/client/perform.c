/*
 * Performs calls; see perform.h.
 */
#include "client/perform.h"

#include "client/driver.h"
#include "client/end.h"
#include "client/leave.h"
#include "client/notify.h"
#include "client/poll.h"
#include "engine/listing.h"
#include "engine/report.h"
#include "engine/sized.h"

/* It may even have ended already: its callback has not run, for that needs the mutex. */
static struct rl_operation *begin(redlock_client *client, const struct rl_task *task, redlock_request request,
                                  redlock_result *result, redlock_report *report)
{
    struct rl_operation *operation = task->begin(client, task, request, result, report);

    if (operation == NULL)
        return NULL;
    operation->acquired = task->acquired;
    operation->finished = task->finished;
    operation->listed = task->listed;
    operation->happened = task->happened;
    operation->told = task->told;
    operation->context = task->context;
    client->async_count += request != 0;
    return operation;
}

/* ---- blocking ---- */

/* A list or a watch ends more than once: what it found is told, then it goes on. */
static void wait_for(redlock_client *client, struct rl_operation *operation)
{
    rl_driver_wait(client, operation, NULL);
    while (operation->listing != NULL) {
        rl_poll_flush(client); /* callbacks may take their time */
        if (!rl_notify_listing(client, operation))
            break;
        rl_driver_wait(client, operation, NULL);
    }
}

static redlock_result conclude(redlock_client *client, const struct rl_task *task,
                               struct rl_operation *operation, redlock_report *report)
{
    redlock_details *own = task->kind == RL_OPERATION_BREAK ? operation->record.details : NULL;
    redlock_result result;

    wait_for(client, operation);
    if (task->adopted != NULL)
        *task->adopted = rl_end_hand_out(operation);
    result = operation->result;
    rl_listing_report(report, operation);
    rl_listing_free(operation);
    rl_operation_free(&client->engine, operation);
    redlock_details_free(own);
    return result;
}

static redlock_result perform(redlock_client *client, const struct rl_task *task, redlock_report *report)
{
    struct rl_operation *operation;
    redlock_result result;

    if (task->wrong != NULL)
        return rl_report_error(report, REDLOCK_INVALID, "%s", task->wrong);
    if (client == NULL || !rl_client_enter(client))
        return rl_begin_misuse(report);
    operation = begin(client, task, 0, &result, report);
    if (operation != NULL)
        result = conclude(client, task, operation, report);
    rl_leave_sending(client);
    return result;
}

redlock_result rl_perform(redlock_client *client, const struct rl_task *task, redlock_report *report)
{
    RL_NO_CANCELLATION;
    struct rl_report_frame frame;

    if (!rl_report_accept(&frame, report))
        return REDLOCK_INVALID;
    if (task->adopted != NULL)
        *task->adopted = NULL;
    return rl_report_return(&frame, perform(client, task, frame.report));
}

/* ---- asynchronous ---- */

redlock_result rl_perform_later(redlock_client *client, const struct rl_task *task, redlock_request *request)
{
    RL_NO_CANCELLATION;
    struct rl_operation *operation;
    redlock_result result;

    if (task->wrong != NULL || (task->acquired == NULL && task->finished == NULL))
        return REDLOCK_INVALID;
    if (client == NULL || !rl_client_enter(client))
        return REDLOCK_MISUSE;
    operation = begin(client, task, ++client->engine.last_request, &result, NULL);
    if (operation != NULL && request != NULL)
        *request = operation->request;
    rl_leave_together(client);
    return operation != NULL ? REDLOCK_OK : result;
}
