/*
 * Calls end: what an operation came to goes to its caller, and it is let go of.
 */
#ifndef RL_CLIENT_END_H
#define RL_CLIENT_END_H

#include "client/client.h"

/* As rl_call_hand_out(), or rl_call_adopted() for an adoption; the handle keeps the client. */
redlock_lock *rl_end_hand_out(struct rl_operation *operation);

/* Reports an operation that has ended to a blocking call, which gets the lock that was won, and lets go of
 * it. false: it goes on waiting, since it was too late for that lock. */
bool rl_end_call(redlock_client *client, struct rl_call *call, struct rl_operation *operation);

#endif
