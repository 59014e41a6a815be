/*
 * Threads that sleep in a blocking call while another thread drives. Whoever drives ends their calls for them, so that a thread
 * that wakes up for its answer needs nothing more of the client, least of all the mutex; only who is wanted as the next
 * driver, or has a deadline to mind, comes back for it.
 */
#include "client/follow.h"

#include <time.h>

#include "client/client.h"
#include "client/futex.h"
#include "engine/queue.h"

enum { REST_MS = 2000 }; /* nobody sleeps for longer without looking */

void rl_follow_init(struct rl_followers *followers)
{
    rl_list_init(&followers->ready);
    rl_list_init(&followers->queued);
    rl_list_init(&followers->ended);
    followers->woken = NULL;
    followers->minder = NULL;
}

/* ---- waking ---- */

static void forget(struct rl_followers *followers, struct rl_operation *operation)
{
    rl_list_remove(&operation->following);
    if (followers->minder == operation)
        followers->minder = NULL;
}

/* Has its thread look. What to wake it with, which may be done without the mutex; NULL: it is on its way already. */
static atomic_uint *rouse(struct rl_operation *operation)
{
    unsigned asleep = RL_CALL_ASLEEP;

    if (!atomic_compare_exchange_strong(&operation->call->state, &asleep, RL_CALL_AWAKE))
        return NULL;
    return &operation->call->state;
}

static void ring(atomic_uint *bell)
{
    if (bell != NULL)
        rl_futex_wake(bell, UINT_MAX);
}

/* A thread that is on its way to the mutex ends its call itself: it may not be left with a client that is gone. */
void rl_follow_ended(redlock_client *client, struct rl_operation *operation)
{
    struct rl_call *call = operation->call;
    unsigned asleep = RL_CALL_ASLEEP;

    if (call->looks) {
        ring(rouse(operation));
    } else if (atomic_compare_exchange_strong(&call->state, &asleep, RL_CALL_TAKEN)) {
        forget(&client->followers, operation);
        rl_list_append(&client->followers.ended, &operation->following);
    }
}

void rl_follow_turned(redlock_client *client, struct rl_operation *operation)
{
    if (!rl_link_used(&operation->following))
        return;
    rl_list_remove(&operation->following);
    rl_list_append(&client->followers.ready, &operation->following);
}

static void end_call(redlock_client *client, struct rl_operation *operation)
{
    struct rl_call *call = operation->call;

    rl_list_remove(&operation->following);
    rl_blocking_end(client, call, operation);
    call->post.next = (struct rl_post *)client->followers.woken;
    client->followers.woken = call;
    if (--client->callers == 0 && client->engine.closing)
        pthread_cond_broadcast(&client->callers_gone);
}

void rl_follow_settle(redlock_client *client)
{
    struct rl_list *ended = &client->followers.ended;
    bool any = false;

    rl_notify_attend(client);
    while (!rl_list_empty(ended)) {
        any = true;
        end_call(client, RL_CONTAINER(rl_list_first(ended), struct rl_operation, following));
        if (rl_list_empty(ended)) {
            rl_driver_flush(
                client); /* a lock that could not be handed out is released; a broken node ends others */
            rl_notify_attend(client);
        }
    }
    if (any)
        rl_driver_nudge(client);
}

/* Who queues has nothing to read, but the lease it waits for may end by itself. */
static bool is_minded(redlock_client *client)
{
    const struct rl_followers *followers = &client->followers;
    struct rl_time due;

    if (client->carrier_running)
        return true;
    due = rl_engine_due(&client->engine);
    if (!rl_time_before(due, rl_time_add(client->engine.now, rl_span_ms(REST_MS))))
        return true;
    return followers->minder != NULL && !rl_time_before(due, followers->minded);
}

/* Nobody drives: who shall look? Of those who queue the last one, for it will go on doing so for longest. */
static struct rl_operation *find_next(redlock_client *client)
{
    struct rl_followers *followers = &client->followers;
    struct rl_link *link = rl_list_first(&followers->ready);

    if (link == NULL && !rl_list_empty(&followers->queued) && !is_minded(client))
        link = followers->queued.head.previous;
    return link != NULL ? RL_CONTAINER(link, struct rl_operation, following) : NULL;
}

/* Sees to it that somebody drives who has a reason to. A forked child has none of those threads. */
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
    return next != NULL ? rouse(next) : NULL;
}

static struct rl_call *take_woken(redlock_client *client)
{
    struct rl_call *calls = client->followers.woken;

    client->followers.woken = NULL;
    return calls;
}

/* A call is gone as soon as its thread knows that it is over. */
static void wake(struct rl_call *calls)
{
    while (calls != NULL) {
        struct rl_call *call = calls;

        calls = (struct rl_call *)call->post.next;
        atomic_store(&call->state, RL_CALL_OVER);
        ring(&call->state);
    }
}

void rl_follow_pass_on(redlock_client *client)
{
    rl_follow_settle(client);
    ring(hand_over(client));
    wake(take_woken(client));
}

void rl_follow_unlock(redlock_client *client)
{
    struct rl_call *calls;
    atomic_uint *bell;

    rl_follow_settle(client);
    bell = hand_over(client);
    calls = take_woken(client);
    pthread_mutex_unlock(&client->mutex);
    ring(bell);
    wake(calls);
}

/* ---- sleeping ---- */

/* One of those who sleep minds what is due, in case that nobody drives; the others only their own time. */
static struct rl_time sleep_until(redlock_client *client, struct rl_operation *operation)
{
    struct rl_followers *followers = &client->followers;
    struct rl_time until = rl_time_add(client->engine.now, rl_span_ms(REST_MS)),
                   due = rl_engine_due(&client->engine);

    if (operation->timer.place != 0)
        until = rl_time_min(until, operation->timer.at);
    if (followers->minder == NULL || rl_time_before(due, followers->minded)) {
        until = rl_time_min(until, due);
        followers->minder = operation;
        followers->minded = until;
    }
    return until;
}

/* true: the call is over. false: nobody else ends it any more. */
static bool sleep_on(struct rl_call *call, const struct timespec *until)
{
    unsigned state = RL_CALL_ASLEEP;

    rl_futex_sleep(&call->state, RL_CALL_ASLEEP, UINT_MAX, until);
    if (atomic_compare_exchange_strong(&call->state, &state, RL_CALL_AWAKE) || state == RL_CALL_AWAKE)
        return false;
    for (; state != RL_CALL_OVER; state = atomic_load(&call->state))
        rl_futex_sleep(&call->state, RL_CALL_TAKEN, UINT_MAX, NULL);
    return true;
}

bool rl_follow(redlock_client *client, struct rl_operation *operation, struct rl_call *call)
{
    struct rl_followers *followers = &client->followers;
    struct timespec at = rl_driver_wake_time(client, sleep_until(client, operation));

    rl_crowd_notice(client);
    operation->call = call;
    call->follows = true;
    atomic_store(&call->state, RL_CALL_ASLEEP);
    rl_list_append(rl_queue_holds(operation) ? &followers->queued : &followers->ready, &operation->following);
    rl_follow_unlock(client);
    if (sleep_on(call, &at))
        return true;
    pthread_mutex_lock(&client->mutex);
    forget(followers, operation);
    operation->call = NULL;
    if (!operation->done) {
        rl_driver_run_timers(client);
        rl_driver_nudge(client);
    }
    return false;
}
