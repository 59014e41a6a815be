/*
 * Sends, looks and runs timers; see poll.h.
 */
#include "client/poll.h"

#include <time.h>

#include "client/transfer.h"

enum { REFRESH_AFTER_US = 5000 };

/* In a crowd only the driver writes: what many threads ask for travels together. */
static bool leave_to_driver(redlock_client *client)
{
    if (!client->driving || client->callers < RL_CROWD + client->engine.queues.blocked ||
        pthread_equal(client->driver, pthread_self()))
        return false;
    if (client->pollers > 0 && !client->rung) {
        client->rung = true;
        rl_poller_ring(&client->poller);
    }
    return true;
}

void rl_poll_send(redlock_client *client)
{
    const struct rl_wants *wants = &client->engine.wants;

    do {
        rl_transfer_connect(client);
        client->corked_until = (struct rl_time){0};
        rl_transfer_write(client); /* which may fail */
    } while ((wants->close | wants->open | wants->write) != 0);
}

void rl_poll_flush(redlock_client *client)
{
    rl_transfer_connect(client);
    if (client->engine.wants.write == 0 || !leave_to_driver(client))
        rl_poll_send(client);
}

struct rl_time rl_poll_due(const redlock_client *client)
{
    struct rl_time due = rl_engine_due(&client->engine);

    return client->corked_until.us != 0 ? rl_time_min(due, client->corked_until) : due;
}

/* How long to wait at once. The system's waiting does not count the time that the machine is suspended,
 * leases do: with a lock in hand the clock is looked at every second, so that a loss is told soon after
 * waking up. */
static int64_t rest_us(const redlock_client *client, int64_t left_us)
{
    int64_t most_us = client->engine.stats.held > 0 ? 1000000 : INT64_C(3600) * 1000000;

    return left_us < most_us ? left_us : most_us;
}

struct timespec rl_poll_wake_time(redlock_client *client, struct rl_time until)
{
    struct timespec at;
    int64_t left = rl_time_since(until, rl_client_now(client)).us;

    left = rest_us(client, left);
    clock_gettime(CLOCK_MONOTONIC, &at);
    left = left > 0 ? left : 0;
    at.tv_sec += (time_t)(left / 1000000);
    at.tv_nsec += (long)(left % 1000000 * 1000);
    if (at.tv_nsec >= 1000000000) {
        at.tv_nsec -= 1000000000;
        at.tv_sec++;
    }
    return at;
}

/* ---- the poller ---- */

/* How long nobody has looked at what nodes sent; nothing while another thread is in the poller. */
static struct rl_span find_unseen(const redlock_client *client)
{
    return client->pollers > 0 ? rl_span_us(0) : rl_time_since(client->engine.now, client->last_turn);
}

void rl_poll_plan(redlock_client *client, struct rl_time until, struct rl_polled *polled)
{
    until = rl_time_min(until, rl_poll_due(client));
    polled->timeout = client->broke
                          ? rl_span_us(0)
                          : rl_span_us(rest_us(client, rl_time_since(until, client->engine.now).us));
    polled->awake_at = rl_time_max(until, client->engine.now);
    polled->unseen = find_unseen(client);
    /* Several threads may be in the poller: the one that sleeps longest is woken for something earlier. */
    client->sleep_until = client->pollers++ > 0 ? rl_time_max(client->sleep_until, until) : until;
}

void rl_poll_enter(redlock_client *client, struct rl_polled *polled)
{
    polled->count = rl_poller_wait(&client->poller, polled->timeout, polled->ready, RL_READY_MAX);
}

/* The bell is for the driver, which may be asleep in the poller: another thread that took it down rings it
 * again. */
static void pass_bell_on(redlock_client *client, const struct rl_polled *polled)
{
    if (client->pollers == 0 || (client->driving && pthread_equal(client->driver, pthread_self())))
        return;
    for (int i = 0; i < polled->count; i++)
        if (polled->ready[i].tag == RL_POLLER_BELL)
            rl_poller_ring(&client->poller);
}

static void take(redlock_client *client, const struct rl_polled *polled, struct rl_span unseen)
{
    pass_bell_on(client, polled);
    rl_transfer_ready(client, polled->ready, polled->count, unseen);
    client->last_turn = client->engine.now;
}

void rl_poll_refresh(redlock_client *client)
{
    struct rl_polled polled;
    struct rl_time now = rl_client_now(client);
    struct rl_span unseen = find_unseen(client);

    if (rl_time_before(now, rl_time_add(client->last_turn, rl_span_us(REFRESH_AFTER_US))))
        return;
    client->engine.looked_away = true;
    polled.timeout = rl_span_us(0);
    rl_poll_enter(client, &polled);
    take(client, &polled, unseen);
    client->engine.looked_away = false;
}

/* Answers that came while nobody looked are read first: without them a node would seem silent that is not. As
 * long as nothing is due, what a loop has asked for in this turn waits for the rest of it. */
void rl_poll_run_timers(redlock_client *client)
{
    bool waits;

    rl_poll_refresh(client);
    waits = client->corked_until.us != 0 && rl_time_before(client->engine.now, rl_poll_due(client));
    rl_engine_tick(&client->engine);
    if (!waits)
        rl_poll_flush(client);
}

/* How much later than planned this thread came back from the poller: it was stopped, or had no processor. */
static struct rl_span overslept(redlock_client *client, struct rl_time awake_at)
{
    struct rl_time now = rl_client_now(client);

    return rl_time_before(awake_at, now) ? rl_time_since(now, awake_at) : rl_span_us(0);
}

void rl_poll_return(redlock_client *client, const struct rl_polled *polled)
{
    client->rung = false;
    if (--client->pollers == 0)
        client->sleep_until = (struct rl_time){0};
    take(client, polled, rl_span_add(polled->unseen, overslept(client, polled->awake_at)));
    rl_poll_run_timers(client);
}
