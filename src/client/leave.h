/*
 * Leaving a client at the end of a call of the API: the counterparts of rl_client_enter().
 */
#ifndef RL_CLIENT_LEAVE_H
#define RL_CLIENT_LEAVE_H

#include "client/client.h"

/* After nothing was asked for. */
void rl_leave(redlock_client *client);

/* After something was asked or learned: sends what has to be sent, and wakes the threads concerned. */
void rl_leave_sending(redlock_client *client);

/* After an asynchronous call: what it asked for goes out, alone or with others of this turn of a loop. */
void rl_leave_together(redlock_client *client);

#endif
