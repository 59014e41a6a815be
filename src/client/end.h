/*
 * Calls end: what an operation came to goes to its caller, and it is let go of.
 */
#ifndef RL_CLIENT_END_H
#define RL_CLIENT_END_H

#include "client/client.h"

/* As rl_call_hand_out(), or rl_call_adopted() for an adoption; the handle keeps the client. */
redlock_lock *rl_end_hand_out(struct rl_operation *operation);

/* Reports an operation that has ended, and lets go of it. handed_out: where the lock of a won acquisition goes; NULL: there is none. */
redlock_result rl_end_operation(redlock_client *client, struct rl_operation *operation,
                                redlock_lock **handed_out, redlock_report *report);

/* The same for a blocking call. */
void rl_end_call(redlock_client *client, struct rl_call *call, struct rl_operation *operation);

#endif
