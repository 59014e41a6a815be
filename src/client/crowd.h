/*
 * A crowd: many threads in blocking calls at once. They post their calls to the carrier, the thread that
 * drives the connections, and sleep until theirs is done, without ever taking the client's mutex. What a call
 * does is in begin.c and end.c.
 */
#ifndef RL_CLIENT_CROWD_H
#define RL_CLIENT_CROWD_H

#include "client/client.h"

void rl_crowd_init(struct rl_crowd *crowd);

/* Has the call carried out by the carrier, and sleeps until it is over. false: there is none, nothing
 * happened. Without the mutex. */
bool rl_crowd_call(redlock_client *client, struct rl_call *call);

/* Hands a lock that its caller does not want any more to the carrier; false as above. Without the mutex. */
bool rl_crowd_free(redlock_client *client, redlock_lock *lock);

/* A thread had to sleep in a call: enough of them are a crowd. */
void rl_crowd_notice(redlock_client *client);

/* For the carrier: opens the inbox; says whether it is worth keeping open; takes what is in the inbox and
 * ends what is over; closes it. */
void rl_crowd_open(redlock_client *client);
bool rl_crowd_lasts(redlock_client *client);
void rl_crowd_serve(redlock_client *client);
void rl_crowd_close(redlock_client *client);

/* Around the poller, without the mutex: the threads to be woken; whether to sleep at all. */
struct rl_call *rl_crowd_take_woken(redlock_client *client); /* with the mutex */
void rl_crowd_wake(redlock_client *client, struct rl_call *calls);
bool rl_crowd_may_block(redlock_client *client);
void rl_crowd_left_poller(redlock_client *client);

/* Another thread than the carrier has been in the poller and may have consumed the wake-up. */
void rl_crowd_pass_on(redlock_client *client);

/* No thread posts or wakes the carrier any more; frees what was left in the inbox. The mutex is held. */
void rl_crowd_end(redlock_client *client);

#endif
