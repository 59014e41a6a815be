/*
 * Threads that sleep in blocking calls while another one drives the connections. Whoever drives ends their calls for them;
 * what a call does is in blocking.c, what driving is in driver.c.
 */
#ifndef RL_CLIENT_FOLLOW_H
#define RL_CLIENT_FOLLOW_H

#include "base/list.h"
#include "base/time.h"
#include "redlock.h"

struct rl_call;
struct rl_operation;

/* Whenever the mutex is free: nothing is in `ended` or `woken`; and if nobody drives, the first of `ready` has been roused, or what is
 * due soon is minded by one of `queued`. */
struct rl_followers {
    struct rl_list ready;  /* operations whose threads sleep, and drive if nobody else does */
    struct rl_list queued; /* operations whose threads sleep, and have nothing to read */
    struct rl_list ended;  /* operations that are over, whose calls have to be ended for their threads */
    struct rl_call *woken; /* calls that are, whose threads do not know it yet */
    struct rl_operation
        *minder; /* its thread wakes up at `minded` for what is due by then; NULL nobody does */
    struct rl_time minded;
};

void rl_follow_init(struct rl_followers *followers);

/* Sleeps until the operation has ended, or it has a reason to look itself, or a deadline has come. Results as those of
 * rl_driver_wait(). */
bool rl_follow(redlock_client *client, struct rl_operation *operation, struct rl_call *call);

/* The operation of a sleeping thread has ended. */
void rl_follow_ended(redlock_client *client, struct rl_operation *operation);

/* Its turn in a queue has come; its thread may sleep or not. */
void rl_follow_turned(redlock_client *client, struct rl_operation *operation);

/* Does for the threads of ended operations what is left to do of their calls, all but waking them. */
void rl_follow_settle(redlock_client *client);

/* Before the mutex is let go: ends the calls whose operations have ended, wakes their threads, and sees to it that somebody
 * drives. The second lets go of the mutex in between, so that who is woken need not wait for it. */
void rl_follow_pass_on(redlock_client *client);
void rl_follow_unlock(redlock_client *client);

#endif
