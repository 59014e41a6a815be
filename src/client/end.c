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

bool rl_end_call(redlock_client *client, struct rl_call *call, struct rl_operation *operation)
{
    if (call->acquired != NULL && operation->result == REDLOCK_OK)
        *call->acquired = rl_end_hand_out(operation);
    if (!operation->done)
        return false;
    call->result = operation->result;
    rl_report_operation(call->report, operation);
    rl_operation_free(&client->engine, operation);
    return true;
}
