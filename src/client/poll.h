/*
 * The connections, as any thread that has the mutex may use them: to send, to see what came, to run timers; nothing waits here but who
 * lets go of the mutex to do so. Who is to wait for nodes is the driver's business.
 */
#ifndef RL_CLIENT_POLL_H
#define RL_CLIENT_POLL_H

#include "client/client.h"

/* What the poller had to say. */
enum { RL_READY_MAX = 32 };

struct rl_polled {
    int count;
    struct rl_ready ready[RL_READY_MAX];
};

/* The one place where a thread is in the poller. A thread that waits there has counted itself among client->pollers,
 * and let go of the mutex. */
void rl_poll_enter(redlock_client *client, struct rl_span timeout, struct rl_polled *polled);

/* Takes what the poller said, which nobody looked at for so long. */
void rl_poll_take(redlock_client *client, const struct rl_polled *polled, struct rl_span unseen);

/* How long nobody has looked at what nodes sent; nothing while another thread is in the poller. */
struct rl_span rl_poll_unseen(const redlock_client *client);

/* Sees what happened while nobody drove, so that a question is not put to a connection that is known to be dead. */
void rl_poll_refresh(redlock_client *client);

void rl_poll_flush(redlock_client *client);
void rl_poll_run_timers(redlock_client *client);

/* The next moment at which something has to be done. */
struct rl_time rl_poll_due(const redlock_client *client);

/* How long to wait at once for something that is so far away, and until when on the clock that threads sleep by. */
int64_t rl_poll_rest_us(const redlock_client *client, int64_t left_us);
struct timespec rl_poll_wake_time(redlock_client *client, struct rl_time until);

#endif
