/*
 * Runs the callers' callbacks, without the mutex, one at a time, each exactly once: on the notifier thread,
 * or inside redlock_client_process(). A slow callback holds up other callbacks, never a renewal.
 */
#ifndef RL_CLIENT_NOTIFY_H
#define RL_CLIENT_NOTIFY_H

#include "client/client.h"

bool rl_notify_run(redlock_client *client, bool completions, bool notices); /* false: nothing to do */

/* Tells the caller of a list or a watch what was found so far, and has it go on; false: it has ended. */
bool rl_notify_listing(redlock_client *client, struct rl_operation *operation);

void *rl_notify_loop(void *client); /* what the notifier thread runs */

#endif
