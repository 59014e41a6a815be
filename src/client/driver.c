/*
 * Who does the I/O. A blocking call drives the connections on its own thread when nobody else is at it; others sleep until
 * their answer is there or it is their turn. The carrier thread drives only what must go on when nobody is calling.
 */
#include <signal.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "client/client.h"
#include "client/transfer.h"
#include "engine/lagging.h"
#include "engine/nodes.h"
#include "engine/queue.h"

enum {
    READY_MAX = 32,
    REFRESH_AFTER_US = 5000,
    FROZEN_LOOK_MS = 50,
    UNANSWERED_LOOK_MS = 200,
    CORK_MS = 20 /* longer than the turn of a loop that is well */
};

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

void rl_driver_flush(redlock_client *client)
{
    const struct rl_wants *wants = &client->engine.wants;

    do {
        rl_transfer_connect(client);
        if (wants->write != 0 && leave_to_driver(client))
            return;
        client->corked_until = (struct rl_time){0};
        rl_transfer_write(client); /* which may fail */
    } while ((wants->close | wants->open | wants->write) != 0);
}

/* The next moment at which something has to be done. */
static struct rl_time next_due(const redlock_client *client)
{
    struct rl_time due = rl_engine_due(&client->engine);

    return client->corked_until.us != 0 ? rl_time_min(due, client->corked_until) : due;
}

/* Answers that came while nobody looked are read first: without them a node would seem silent that is not. As long as nothing is
 * due, what a loop has asked for in this turn waits for the rest of it. */
void rl_driver_run_timers(redlock_client *client)
{
    bool waits;

    rl_driver_refresh(client);
    waits = client->corked_until.us != 0 && rl_time_before(client->engine.now, next_due(client));
    rl_engine_tick(&client->engine);
    if (!waits)
        rl_driver_flush(client);
}

/* How long nobody has looked at what nodes sent; nothing while another thread is in the poller. */
static struct rl_span unseen_since(const redlock_client *client)
{
    return client->pollers > 0 ? rl_span_us(0) : rl_time_since(client->engine.now, client->last_turn);
}

/* How much later than planned this thread came back from the poller: it was stopped, or had no processor. */
static struct rl_span overslept(redlock_client *client, struct rl_time awake_at)
{
    struct rl_time now = rl_client_now(client);

    return rl_time_before(awake_at, now) ? rl_time_since(now, awake_at) : rl_span_us(0);
}

/* The bell is for the driver, who may be asleep in the poller: whoever else took it down rings it again. */
static void pass_bell_on(redlock_client *client, const struct rl_ready *ready, int count)
{
    if (client->pollers == 0 || (client->driving && pthread_equal(client->driver, pthread_self())))
        return;
    for (int i = 0; i < count; i++)
        if (ready[i].tag == RL_POLLER_BELL)
            rl_poller_ring(&client->poller);
}

void rl_driver_wake(redlock_client *client, struct rl_operation *operation)
{
    if (operation->call != NULL && !operation->call->follows) {
        rl_crowd_ended(client, operation);
    } else if (!rl_link_used(&operation->following)) {
        if (client->pollers > 0)
            rl_poller_ring(
                &client->poller); /* its thread may be in the poller, and another one took its answer */
    } else {
        rl_follow_ended(client, operation);
    }
}

/* Whether this thread is the one a crowd posts its calls to. */
static bool stands(const redlock_client *client)
{
    return client->crowd.standing && pthread_equal(client->carrier, pthread_self());
}

/* How long to wait at once. The system's waiting does not count the time that the machine is suspended, leases do: with a lock
 * in hand the clock is looked at every second, so that a loss is told soon after waking up. */
static int64_t rest_us(const redlock_client *client, int64_t left_us)
{
    int64_t most_us = client->engine.stats.held > 0 ? 1000000 : INT64_C(3600) * 1000000;

    return left_us < most_us ? left_us : most_us;
}

/* Rule: nobody sleeps without a deadline for something that is not under way. A connection that breaks while this turn sends may
 * have been all that its caller waits for; so then it only looks, and the caller decides anew. */
void rl_driver_turn(redlock_client *client, struct rl_time until)
{
    struct rl_ready ready[READY_MAX];
    struct rl_call *calls;
    struct rl_span timeout, unseen = unseen_since(client);
    bool broke, standing = stands(client);
    struct rl_time awake_at;
    int count;

    client->broke = false;
    do { /* what is sent or handed out may fail, and end calls of others */
        if (standing)
            rl_crowd_serve(client);
        rl_driver_flush(client);
        rl_follow_settle(client);
    } while (standing && !rl_list_empty(&client->crowd.ended));
    calls = rl_crowd_take_woken(client);
    until = rl_time_min(until, next_due(client));
    timeout = rl_span_us(rest_us(client, rl_time_since(until, client->engine.now).us));
    awake_at = rl_time_max(until, client->engine.now);
    broke = client->broke;
    /* Several threads may be in the poller: whoever sleeps longest is the one to be woken for something earlier. */
    client->sleep_until = client->pollers++ > 0 ? rl_time_max(client->sleep_until, until) : until;
    rl_follow_unlock(client);
    rl_crowd_wake(client, calls);
    if (standing && !rl_crowd_doze(client))
        timeout = rl_span_us(0);
    if (broke)
        timeout = rl_span_us(0);
    count = rl_poller_wait(&client->poller, timeout, ready, READY_MAX);
    if (standing)
        rl_crowd_rise(client);
    pthread_mutex_lock(&client->mutex);
    client->rung = false;
    if (--client->pollers == 0)
        client->sleep_until = (struct rl_time){0};
    pass_bell_on(client, ready, count);
    rl_transfer_ready(client, ready, count, rl_span_add(unseen, overslept(client, awake_at)));
    client->last_turn = client->engine.now;
    rl_driver_run_timers(client);
    if (client->crowd.standing && !standing)
        rl_crowd_pass_on(client);
}

void rl_driver_refresh(redlock_client *client)
{
    struct rl_ready ready[READY_MAX];
    struct rl_time now = rl_client_now(client);
    struct rl_span unseen = unseen_since(client);
    int count;

    if (rl_time_before(now, rl_time_add(client->last_turn, rl_span_us(REFRESH_AFTER_US))))
        return;
    client->engine.looked_away = true;
    count = rl_poller_wait(&client->poller, rl_span_us(0), ready, READY_MAX);
    pass_bell_on(client, ready, count);
    rl_transfer_ready(client, ready, count, unseen);
    client->engine.looked_away = false;
    client->last_turn = client->engine.now;
}

/* One turn, as the driver if nobody else is. */
static void take_turn(redlock_client *client, struct rl_time until)
{
    bool drives = !client->driving;

    if (drives) {
        client->driving = true;
        client->driver = pthread_self();
    }
    rl_driver_turn(client, until);
    if (drives)
        client->driving = false;
}

/* A new client gives the slower nodes a moment too, so that its first lock is not on a bare quorum. */
void rl_driver_settle(redlock_client *client, uint32_t wanted, struct rl_time until)
{
    struct rl_time moment = RL_TIME_NEVER, most;
    uint32_t on_the_way, ready;

    rl_driver_refresh(client);
    rl_driver_flush(client); /* which may fail: a node that is lost by that is not waited for */
    most = rl_time_add(client->engine.now, client->engine.config.connect_timeout);
    until = rl_time_min(until, rl_time_add(most, client->engine.config.node_timeout));
    while ((ready = rl_nodes_arrived(&client->engine, &on_the_way)) < client->engine.node_count &&
           on_the_way > 0 && !client->engine.closing && rl_time_before(client->engine.now, until)) {
        if (ready >= wanted && client->engine.settled)
            break;
        if (ready >= wanted && moment.us == RL_TIME_NEVER.us)
            moment =
                rl_time_add(client->engine.now, rl_span_us(client->engine.config.connect_timeout.us / 10));
        if (ready >= wanted && !rl_time_before(client->engine.now, moment))
            break;
        take_turn(client, rl_time_min(moment, until));
        rl_driver_flush(client);
    }
    client->engine.settled = true;
}

struct timespec rl_driver_wake_time(redlock_client *client, struct rl_time until)
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

/* Whether a release is owed to a node that is being connected to. */
static bool debtor_on_the_way(const struct rl_engine *engine)
{
    for (uint32_t i = 0; i < RL_DEBTS_MAX && engine->debt_count > 0; i++) {
        const struct rl_debt *debt = &engine->debts[i];

        if (debt->lock != NULL && engine->sessions[debt->node].state != RL_SESSION_RESTING &&
            engine->sessions[debt->node].state != RL_SESSION_READY)
            return true;
    }
    return false;
}

/* Whether the carrier has I/O to do that no blocking caller looks after. */
static bool unattended(const redlock_client *client)
{
    if ((client->async_count > 0 && client->outer_fd < 0) || rl_lagging_any(&client->engine))
        return true;
    return !rl_list_empty(&client->engine.rounds) || rl_nodes_unsent(&client->engine, false) ||
           debtor_on_the_way(&client->engine);
}

/* A caller leaves when a quorum has answered. What the others were told is lost if their connections break: somebody has to see
 * that and tell them again, also when nobody calls any more. A loop sees it by itself. */
static bool unheard(const redlock_client *client)
{
    return client->outer_fd < 0 && rl_nodes_unanswered(&client->engine);
}

/* Until when the carrier may sleep. A frozen node is not waited for in the poller, where it would keep callers from driving:
 * it is looked at now and then. So is one that has not answered yet, but not while callers look. */
static struct rl_time carrier_rest(const redlock_client *client)
{
    struct rl_time until = next_due(client);

    if (unheard(client))
        until = rl_time_min(until, rl_time_add(client->last_turn, rl_span_ms(UNANSWERED_LOOK_MS)));
    if (rl_nodes_unsent(&client->engine, true))
        until = rl_time_min(until, rl_time_add(client->engine.now, rl_span_ms(FROZEN_LOOK_MS)));
    return until;
}

bool rl_driver_wait(redlock_client *client, struct rl_operation *operation, struct rl_call *call)
{
    struct rl_call look = {.looks = true};

    rl_driver_flush(client);
    while (!operation->done) {
        if (!client->driving && !rl_queue_holds(operation))
            take_turn(client, RL_TIME_NEVER);
        else if (rl_follow(client, operation, call != NULL ? call : &look))
            return true;
    }
    rl_driver_flush(client);
    return false;
}

/* ---- the carrier ---- */

/* Drives for a crowd until it is gone and its last call is over. */
static void stand(redlock_client *client)
{
    client->driving = client->crowd.standing = true;
    client->driver = pthread_self();
    rl_crowd_open(client);
    while (!client->engine.closing && rl_crowd_lasts(client))
        rl_driver_turn(client, RL_TIME_NEVER);
    rl_crowd_close(client);
    while (!client->engine.closing && client->crowd.under_way > 0)
        rl_driver_turn(client, RL_TIME_NEVER);
    rl_crowd_close(client);
    client->driving = client->crowd.standing = client->crowd.wanted = false;
    rl_crowd_wake(client, rl_crowd_take_woken(client));
}

static void *carry(void *context)
{
    redlock_client *client = context;

    pthread_mutex_lock(&client->mutex);
    while (!client->engine.closing) {
        if (!client->driving && client->crowd.wanted) {
            stand(client);
        } else if (!client->driving && unattended(client)) {
            take_turn(client, RL_TIME_NEVER);
        } else {
            struct timespec at;

            rl_follow_pass_on(client);
            client->carrier_until = carrier_rest(client);
            at = rl_driver_wake_time(client, client->carrier_until);
            pthread_cond_timedwait(&client->carrier_wake, &client->mutex, &at);
            client->carrier_until = (struct rl_time){0};
            rl_driver_run_timers(client);
        }
    }
    rl_follow_unlock(client);
    return NULL;
}

/* Threads of the library take no signals: those are the program's. */
bool rl_driver_start_thread(redlock_client *client, pthread_t *thread, void *(*run)(void *))
{
    sigset_t all, before;
    int failed;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = pthread_create(thread, NULL, run, client);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed == 0;
}

bool rl_driver_start_carrier(redlock_client *client)
{
    if (!client->carrier_running)
        client->carrier_running = rl_driver_start_thread(client, &client->carrier, carry);
    return client->carrier_running;
}

void rl_driver_stop(redlock_client *client)
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

/* ---- event loops ---- */

static void set_timer_fd(redlock_client *client)
{
    struct rl_time due = next_due(client);
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
void rl_driver_cork(redlock_client *client)
{
    rl_transfer_connect(client);
    if (client->corked_until.us == 0) {
        if (!rl_driver_start_carrier(client)) {
            rl_driver_flush(client);
            return;
        }
        client->corked_until = rl_time_add(client->engine.now, rl_span_ms(CORK_MS));
        rl_notify_ring(client);
    }
    rl_driver_nudge(client);
}

void rl_driver_nudge(redlock_client *client)
{
    if (client->outer_fd >= 0)
        set_timer_fd(client);
    /* A release that has not reached its node yet must do so although nobody may ever call again, and so must a held lock nodes
     * that come late. */
    if (!client->carrier_running && !client->engine.closing &&
        (client->engine.debt_count > 0 || rl_nodes_unsent(&client->engine, true) || unheard(client) ||
         !rl_list_empty(&client->engine.lagging)))
        rl_driver_start_carrier(client);
    if (client->carrier_running && client->carrier_until.us != 0 &&
        (rl_time_before(carrier_rest(client), client->carrier_until) ||
         (!client->driving && unattended(client))))
        pthread_cond_signal(&client->carrier_wake);
    if (client->pollers > 0 && rl_time_before(next_due(client), client->sleep_until))
        rl_poller_ring(&client->poller);
}

void rl_driver_leave(redlock_client *client)
{
    rl_driver_flush(client);
    rl_driver_nudge(client);
    rl_client_leave(client);
}
