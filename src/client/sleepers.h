/*
 * Threads that sleep in blocking calls while another one drives the connections: the lists they are in
 * (struct rl_followers) and the words they sleep on. When they sleep, and what they are woken for, is in
 * follow.c.
 */
#ifndef RL_CLIENT_SLEEPERS_H
#define RL_CLIENT_SLEEPERS_H

#include "client/client.h"

void rl_sleepers_init(struct rl_followers *followers);

/* Sleeps until it is roused (false: nobody else ends the call any more), or the call is over (true). Without
 * the mutex. */
bool rl_sleepers_sleep(struct rl_call *call, const struct timespec *until);

/* Its thread does not sleep any more, or is not to be asked to drive. */
void rl_sleepers_remove(struct rl_followers *followers, struct rl_operation *operation);

/* Has its thread look. What to wake it with; NULL: it is on its way already. */
atomic_uint *rl_sleepers_rouse(struct rl_operation *operation);

/* The operation of a sleeping thread has ended. */
void rl_sleepers_ended(redlock_client *client, struct rl_operation *operation);

/* It was taken to be over, and is not: its thread looks to it again. */
void rl_sleepers_resume(struct rl_call *call);

/* Its turn in a queue has come; its thread may sleep or not. */
void rl_sleepers_turned(redlock_client *client, struct rl_operation *operation);

/* Wakes the one that is to look (bell; NULL is fine) and threads whose calls are over; the other one lets go
 * of the mutex first. */
void rl_sleepers_wake(redlock_client *client, atomic_uint *bell);
void rl_sleepers_unlock(redlock_client *client, atomic_uint *bell);

#endif
