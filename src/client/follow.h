/*
 * Threads that sleep in blocking calls while another one drives the connections. The driver ends their calls
 * for them; what a call does is in begin.c and end.c, what driving is in driver.c.
 */
#ifndef RL_CLIENT_FOLLOW_H
#define RL_CLIENT_FOLLOW_H

#include "client/client.h"

/* Sleeps until the operation has ended, or it has a reason to look itself, or a deadline has come. Results as
 * those of rl_driver_wait(). */
bool rl_follow(redlock_client *client, struct rl_operation *operation, struct rl_call *call);

/* Does for the threads of ended operations what is left to do of their calls, all but waking them. */
void rl_follow_settle(redlock_client *client);

/* Before the mutex is let go: ends the calls whose operations have ended, wakes their threads, and sees to it
 * that somebody drives. The second lets go of the mutex in between, so that a thread that is woken need not
 * wait for it. */
void rl_follow_pass_on(redlock_client *client);
void rl_follow_unlock(redlock_client *client);

#endif
