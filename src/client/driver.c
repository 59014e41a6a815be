/*
 * Drives; see driver.h.
 */
#include "client/driver.h"

#include <time.h>

#include "client/background.h"
#include "client/crowd.h"
#include "client/follow.h"
#include "client/poll.h"
#include "engine/nodes.h"
#include "engine/queue.h"

/* Whether this thread is the carrier, and threads post their calls to it. */
static bool serves_crowd(const redlock_client *client)
{
    return client->crowd.serving && pthread_equal(client->carrier, pthread_self());
}

/* Rule: nobody sleeps without a deadline for something that is not under way. A connection that breaks while
 * this turn sends may have been all that its caller waits for; so then it only looks, and the caller decides
 * anew. */
void rl_driver_turn(redlock_client *client, struct rl_time until)
{
    struct rl_polled polled;
    struct rl_call *calls = NULL;
    bool serves = serves_crowd(client);

    client->broke = false;
    do { /* what is sent or handed out may fail, and end calls of others */
        if (serves)
            rl_crowd_serve(client);
        rl_poll_flush(client);
        rl_follow_settle(client);
    } while (serves && !rl_list_empty(&client->crowd.ended));
    if (serves)
        calls = rl_crowd_take_woken(client);
    rl_poll_plan(client, until, &polled);
    rl_follow_unlock(client);
    if (serves) {
        rl_crowd_wake(client, calls);
        if (!rl_crowd_may_block(client))
            polled.timeout = rl_span_us(0);
    }
    rl_poll_enter(client, &polled);
    if (serves)
        rl_crowd_left_poller(client);
    pthread_mutex_lock(&client->mutex);
    rl_poll_return(client, &polled);
    if (client->crowd.serving && !serves)
        rl_crowd_pass_on(client);
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

    rl_poll_refresh(client);
    rl_poll_flush(client); /* which may fail: a node that is lost by that is not waited for */
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
        rl_poll_flush(client);
    }
    client->engine.settled = true;
}

bool rl_driver_wait(redlock_client *client, struct rl_operation *operation, struct rl_call *call)
{
    struct rl_call look = {.looks = true};

    while (!operation->done) {
        if (!client->driving && !rl_queue_holds(operation)) {
            take_turn(client, RL_TIME_NEVER);
            continue;
        }
        rl_poll_flush(client);
        if (!operation->done && rl_follow(client, operation, call != NULL ? call : &look))
            return true;
    }
    return false;
}

/* ---- the carrier ---- */

/* Drives for a crowd until it is gone and its last call is over. */
static void serve_crowd(redlock_client *client)
{
    client->driving = client->crowd.serving = true;
    client->driver = pthread_self();
    rl_crowd_open(client);
    while (!client->engine.closing && rl_crowd_lasts(client))
        rl_driver_turn(client, RL_TIME_NEVER);
    rl_crowd_close(client);
    while (!client->engine.closing && client->crowd.under_way > 0)
        rl_driver_turn(client, RL_TIME_NEVER);
    rl_crowd_close(client);
    client->driving = client->crowd.serving = client->crowd.wanted = false;
    rl_crowd_wake(client, rl_crowd_take_woken(client));
}

static struct rl_time rest_until(const redlock_client *client)
{
    struct rl_time until = rl_background_rest(client);

    return rl_time_before(client->engine.now, client->carrier_due) ? rl_time_min(until, client->carrier_due)
                                                                   : until;
}

void *rl_driver_carry(void *context)
{
    redlock_client *client = context;

    pthread_mutex_lock(&client->mutex);
    while (!client->engine.closing) {
        if (!client->driving && client->crowd.wanted) {
            serve_crowd(client);
        } else if (!client->driving && rl_background_unattended(client)) {
            take_turn(client, RL_TIME_NEVER);
        } else {
            struct timespec at;

            rl_follow_pass_on(client);
            client->carrier_until = rest_until(client);
            at = rl_poll_wake_time(client, client->carrier_until);
            pthread_cond_timedwait(&client->carrier_wake, &client->mutex, &at);
            client->carrier_until = (struct rl_time){0};
            rl_poll_run_timers(client);
        }
    }
    rl_follow_unlock(client);
    return NULL;
}
