/*
 * Starts and wakes; see background.h.
 */
#include "client/background.h"

#include <signal.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "client/poll.h"
#include "client/transfer.h"
#include "engine/debts.h"
#include "engine/lagging.h"
#include "engine/nodes.h"

enum {
    FROZEN_LOOK_MS = 50,
    UNANSWERED_LOOK_MS = 200,
    CORK_MS = 20 /* longer than the turn of a loop that is well */
};

/* ---- the client's own threads ---- */

/* Threads of the library take no signals: those are the program's. */
static bool start_thread(redlock_client *client, pthread_t *thread, void *(*run)(void *))
{
    sigset_t all, before;
    int failed;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = pthread_create(thread, NULL, run, client);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed == 0;
}

bool rl_background_start_carrier(redlock_client *client)
{
    if (!client->carrier_running)
        client->carrier_running = start_thread(client, &client->carrier, client->own_threads.carry);
    return client->carrier_running;
}

bool rl_background_start_notifier(redlock_client *client)
{
    if (!client->notifier_running)
        client->notifier_running = start_thread(client, &client->notifier, client->own_threads.notify);
    return client->notifier_running;
}

void rl_background_stop_carrier(redlock_client *client)
{
    if (!client->carrier_running)
        return;
    pthread_cond_broadcast(&client->carrier_wake);
    rl_poller_ring(&client->poller);
    pthread_mutex_unlock(&client->mutex);
    pthread_join(client->carrier, NULL);
    pthread_mutex_lock(&client->mutex);
    client->carrier_running = false;
}

void rl_background_stop_notifier(redlock_client *client)
{
    if (!client->notifier_running)
        return;
    pthread_cond_broadcast(&client->notifier_wake);
    pthread_mutex_unlock(&client->mutex);
    pthread_join(client->notifier, NULL);
    pthread_mutex_lock(&client->mutex);
    client->notifier_running = false;
}

/* ---- what there is to do ---- */

/* What a loop has asked for in this turn is the loop's to send, until its time for that is over. */
static bool corked(const redlock_client *client)
{
    return client->corked_until.us != 0 && rl_time_before(client->engine.now, client->corked_until);
}

/* A loop that is well sends by itself what a node could not take at once, and hears what nodes say. */
static bool comes_round(const redlock_client *client)
{
    return client->outer_fd >= 0 &&
           rl_time_before(client->engine.now, rl_time_add(client->loop_turn, rl_span_ms(CORK_MS)));
}

/* Something is under way that no caller waits for. */
static bool unfinished(const redlock_client *client)
{
    return rl_lagging_any(&client->engine) || (!corked(client) && rl_nodes_unsent(&client->engine, false)) ||
           rl_debts_awaited(&client->engine);
}

bool rl_background_unattended(const redlock_client *client)
{
    return (client->async_count > 0 && client->outer_fd < 0) || !rl_list_empty(&client->engine.rounds) ||
           (!comes_round(client) && unfinished(client));
}

/* A caller leaves when a quorum has answered. What the others were told is lost if their connections break:
 * somebody has to see that and tell them again, also when nobody calls any more. A loop sees it by itself. */
static bool unheard(const redlock_client *client)
{
    return client->outer_fd < 0 && rl_nodes_unanswered(&client->engine);
}

/* A frozen node is not waited for in the poller, where it would keep callers from driving:
 * it is looked at now and then. So is one that has not answered yet, but not while callers look. */
struct rl_time rl_background_rest(const redlock_client *client)
{
    struct rl_time until = rl_poll_due(client);

    if (unheard(client))
        until = rl_time_min(until, rl_time_add(client->last_turn, rl_span_ms(UNANSWERED_LOOK_MS)));
    if (rl_nodes_unsent(&client->engine, true))
        until = rl_time_min(until, rl_time_add(client->engine.now, rl_span_ms(FROZEN_LOOK_MS)));
    if (comes_round(client) && unfinished(client))
        until = rl_time_min(until, rl_time_add(client->loop_turn, rl_span_ms(CORK_MS)));
    return until;
}

/* ---- event loops ---- */

void rl_background_ring_loop(redlock_client *client)
{
    uint64_t one = 1;

    if (!client->loop_rung)
        client->loop_rung = write(client->ready_fd, &one, sizeof one) == sizeof one;
}

static void set_timer_fd(redlock_client *client)
{
    struct rl_time due = rl_poll_due(client);
    struct itimerspec at = {0};
    int64_t left;

    /* Ringing once too early costs less than setting it every time. */
    if (!rl_time_before(due, client->timer_set) && rl_time_before(client->engine.now, client->timer_set))
        return;
    client->timer_set = due;
    if (due.us != RL_TIME_NEVER.us) {
        left = rl_time_since(due, client->engine.now).us;
        left = left > 0 ? left : 1;
        at.it_value.tv_sec = (time_t)(left / 1000000);
        at.it_value.tv_nsec = (long)(left % 1000000 * 1000);
    }
    timerfd_settime(client->timer_fd, 0, &at, NULL);
}

/* Rings once per turn. The carrier sees to it that nothing waits for a loop that does not come round. */
void rl_background_cork(redlock_client *client)
{
    rl_transfer_connect(client);
    if (client->corked_until.us == 0) {
        if (!rl_background_start_carrier(client)) {
            rl_poll_flush(client);
            return;
        }
        client->corked_until = rl_time_add(client->engine.now, rl_span_ms(CORK_MS));
        rl_background_ring_loop(client);
    }
    rl_background_nudge(client);
}

/* ---- waking ---- */

/* What the carrier is woken for may be over before it runs: a lock that was to be renewed is released. The
 * next one will be due at a similar time, so the carrier keeps this wake-up, and is not woken for each. */
static void wake_carrier(redlock_client *client)
{
    struct rl_time until = rl_background_rest(client);

    if (rl_time_before(until, client->carrier_until))
        client->carrier_until = client->carrier_due = until;
    else if (client->driving || !rl_background_unattended(client))
        return;
    pthread_cond_signal(&client->carrier_wake);
}

void rl_background_nudge(redlock_client *client)
{
    if (client->outer_fd >= 0)
        set_timer_fd(client);
    /* A release that has not reached its node yet must do so although nobody may ever call again, and so must
     * a held lock nodes that come late. */
    if (!client->carrier_running && !client->engine.closing &&
        (client->engine.debt_count > 0 || rl_nodes_unsent(&client->engine, true) || unheard(client) ||
         !rl_list_empty(&client->engine.lagging)))
        rl_background_start_carrier(client);
    if (client->carrier_running && client->carrier_until.us != 0)
        wake_carrier(client);
    if (client->pollers > 0 && rl_time_before(rl_poll_due(client), client->sleep_until))
        rl_poller_ring(&client->poller);
}
