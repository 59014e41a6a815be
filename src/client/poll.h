/*
 * The connections, as any thread that has the mutex may use them: to send, to see what came, to run timers; a
 * thread waits here only after it has let go of the mutex. Which one waits for nodes is the driver's
 * business.
 */
#ifndef RL_CLIENT_POLL_H
#define RL_CLIENT_POLL_H

#include "client/client.h"

/* A stay in the poller, and what that had to say. */
enum { RL_READY_MAX = 32 };

struct rl_polled {
    struct rl_span timeout;  /* it lasts no longer than that */
    struct rl_time awake_at; /* when the thread means to be back */
    struct rl_span unseen;   /* how long nobody had looked at what nodes sent when it began */
    int count;
    struct rl_ready ready[RL_READY_MAX];
};

/* Before a stay: until then, or until something is due. The thread counts among client->pollers from here
 * on. */
void rl_poll_plan(redlock_client *client, struct rl_time until, struct rl_polled *polled);

/* The one place where a thread is in the poller; without the mutex. */
void rl_poll_enter(redlock_client *client, struct rl_polled *polled);

/* After it: takes what the poller said, and runs timers. */
void rl_poll_return(redlock_client *client, const struct rl_polled *polled);

/* Sees what happened while nobody drove, so that a question is not put to a connection that is known to be
 * dead. */
void rl_poll_refresh(redlock_client *client);

/* Sends what there is to send. In a crowd that is left to the driver, but not by rl_poll_send(). */
void rl_poll_flush(redlock_client *client);
void rl_poll_send(redlock_client *client);
void rl_poll_run_timers(redlock_client *client);

/* The next moment at which something has to be done. */
struct rl_time rl_poll_due(const redlock_client *client);

/* The same for a thread that sleeps elsewhere, on the clock that it sleeps by. */
struct timespec rl_poll_wake_time(redlock_client *client, struct rl_time until);

#endif
