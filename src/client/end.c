/*
 * Ends calls; see end.h.
 */
#include "client/end.h"

#include "engine/report.h"

redlock_lock *rl_end_hand_out(struct rl_operation *operation)
{
    redlock_client *client = rl_client_of(operation->lock);
    redlock_lock *lock;

    rl_client_now(client);
    lock = operation->kind == RL_OPERATION_ADOPT ? rl_call_adopted(operation) : rl_call_hand_out(operation);
    client->refs += lock != NULL;
    return lock;
}

redlock_result rl_end_operation(redlock_client *client, struct rl_operation *operation,
                                redlock_lock **handed_out, redlock_report *report)
{
    redlock_result result;

    if (handed_out != NULL && operation->result == REDLOCK_OK)
        *handed_out = rl_end_hand_out(operation);
    result = operation->result;
    rl_report_operation(report, operation);
    rl_operation_free(&client->engine, operation);
    return result;
}

void rl_end_call(redlock_client *client, struct rl_call *call, struct rl_operation *operation)
{
    call->result = rl_end_operation(client, operation, call->acquired, call->report);
}
