/*
 * Calls of the API from their beginning to their end: a blocking one waits for its operation and reports it,
 * an asynchronous one leaves as soon as it has begun. Acquiring and releasing while others block is not among
 * them: blocking.c has that.
 */
#ifndef RL_CLIENT_PERFORM_H
#define RL_CLIENT_PERFORM_H

#include "client/begin.h"

/* Without the mutex, of a client that may be NULL, or closed. The report is the caller's. */
redlock_result rl_perform(redlock_client *client, const struct rl_task *task, redlock_report *report);

/* Returns REDLOCK_OK when it is under way: then one of its functions is called with what came of it. */
redlock_result rl_perform_later(redlock_client *client, const struct rl_task *task, redlock_request *request);

#endif
