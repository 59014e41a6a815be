/*
 * The end of a client.
 */
#ifndef RL_CLIENT_CLOSE_H
#define RL_CLIENT_CLOSE_H

#include "client/client.h"

/* Gives back what only a working client needs. Lock handles may live on after this. */
void rl_client_tear_down(redlock_client *client);

void rl_client_unref(redlock_client *client); /* unlocks it, and frees it with the last reference */

#endif
