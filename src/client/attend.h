/*
 * What has come out of the engine goes to the threads that wait for it: those whose calls have ended, or that
 * have to run callbacks.
 */
#ifndef RL_CLIENT_ATTEND_H
#define RL_CLIENT_ATTEND_H

#include "client/client.h"

/* Looks at what has come out, and wakes those threads. */
void rl_attend(redlock_client *client);

#endif
