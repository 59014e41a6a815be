/*
 * Threads that sleep in a blocking call while another thread drives. The driver ends their calls for them, so
 * that a thread that wakes up for its answer needs nothing more of the client, least of all the mutex; only
 * one that is wanted as the next driver, or has a deadline to keep, comes back for it.
 */
#include "client/follow.h"

#include <time.h>

#include "client/attend.h"
#include "client/background.h"
#include "client/crowd.h"
#include "client/end.h"
#include "client/poll.h"
#include "client/sleepers.h"
#include "engine/queue.h"

enum { REST_MS = 2000 }; /* nobody sleeps for longer without looking */

/* ---- waking ---- */

static void end_call(redlock_client *client, struct rl_operation *operation)
{
    struct rl_call *call = operation->call;

    rl_list_remove(&operation->following);
    if (!rl_end_call(client, call, operation)) {
        rl_sleepers_resume(call);
        return;
    }
    call->post.next = (struct rl_post *)client->followers.woken;
    client->followers.woken = call;
    if (--client->callers == 0 && client->engine.closing)
        pthread_cond_broadcast(&client->callers_gone);
}

void rl_follow_settle(redlock_client *client)
{
    struct rl_list *ended = &client->followers.ended;
    bool any = false;

    rl_attend(client);
    while (!rl_list_empty(ended)) {
        any = true;
        end_call(client, RL_CONTAINER(rl_list_first(ended), struct rl_operation, following));
        if (rl_list_empty(ended)) {
            rl_poll_flush(
                client); /* a lock that could not be handed out is released; a broken node ends others */
            rl_attend(client);
        }
    }
    if (any)
        rl_background_nudge(client);
}

/* A caller in a queue has nothing to read, but the lease it waits for may expire. */
static bool is_due_covered(redlock_client *client)
{
    const struct rl_followers *followers = &client->followers;
    struct rl_time due;

    if (client->carrier_running)
        return true;
    due = rl_engine_due(&client->engine);
    if (!rl_time_before(due, rl_time_add(client->engine.now, rl_span_ms(REST_MS))))
        return true;
    return followers->timekeeper != NULL && !rl_time_before(due, followers->timekeeper_wakes);
}

/* Nobody drives: which thread shall look? Of those that queue the last one, for it will go on doing so for
 * longest. */
static struct rl_operation *find_next(redlock_client *client)
{
    struct rl_followers *followers = &client->followers;
    struct rl_link *link = rl_list_first(&followers->ready);

    if (link == NULL && !rl_list_empty(&followers->queued) && !is_due_covered(client))
        link = followers->queued.head.previous;
    return link != NULL ? RL_CONTAINER(link, struct rl_operation, following) : NULL;
}

/* Sees to it that a thread that has a reason to drives. A forked child has none of those threads. */
static atomic_uint *hand_over(redlock_client *client)
{
    struct rl_operation *next;

    if (client->driving || client->inherited)
        return NULL;
    if (client->crowd.wanted) {
        pthread_cond_signal(&client->carrier_wake);
        return NULL;
    }
    next = find_next(client);
    return next != NULL ? rl_sleepers_rouse(next) : NULL;
}

void rl_follow_pass_on(redlock_client *client)
{
    rl_follow_settle(client);
    rl_sleepers_wake(client, hand_over(client));
}

void rl_follow_unlock(redlock_client *client)
{
    rl_follow_settle(client);
    rl_sleepers_unlock(client, hand_over(client));
}

/* ---- sleeping ---- */

/* One of the sleeping threads wakes up for what is due, in case that nobody drives; the others only for their
 * own deadline. */
static struct rl_time sleep_until(redlock_client *client, struct rl_operation *operation)
{
    struct rl_followers *followers = &client->followers;
    struct rl_time until = rl_time_add(client->engine.now, rl_span_ms(REST_MS)),
                   due = rl_engine_due(&client->engine);

    if (operation->timer.place != 0)
        until = rl_time_min(until, operation->timer.at);
    if (followers->timekeeper == NULL || rl_time_before(due, followers->timekeeper_wakes)) {
        until = rl_time_min(until, due);
        followers->timekeeper = operation;
        followers->timekeeper_wakes = until;
    }
    return until;
}

bool rl_follow(redlock_client *client, struct rl_operation *operation, struct rl_call *call)
{
    struct rl_followers *followers = &client->followers;
    struct timespec at = rl_poll_wake_time(client, sleep_until(client, operation));

    rl_crowd_notice(client);
    operation->call = call;
    call->follows = true;
    atomic_store(&call->state, RL_CALL_ASLEEP);
    rl_list_append(rl_queue_holds(operation) ? &followers->queued : &followers->ready, &operation->following);
    rl_follow_unlock(client);
    if (rl_sleepers_sleep(call, &at))
        return true;
    pthread_mutex_lock(&client->mutex);
    rl_sleepers_remove(followers, operation);
    operation->call = NULL;
    if (!operation->done) {
        rl_poll_run_timers(client);
        rl_background_nudge(client);
    }
    return false;
}
