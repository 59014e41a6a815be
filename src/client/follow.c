/*
 * Threads that sleep in a blocking call while another thread drives. Whoever drives ends their calls for them, so that a thread
 * that wakes up for its answer needs nothing more of the client, least of all the mutex; only who is wanted as the next
 * driver, or has a deadline of its own, comes back for it.
 */
#include <time.h>

#include "client/client.h"
#include "client/futex.h"

enum { FIRST_REST_MS = 1000, REST_MS = 2000 };

/* ---- waking ---- */

void rl_follow_rouse(struct rl_operation *operation)
{
    atomic_store(&operation->call->state, RL_CALL_AWAKE);
    rl_futex_wake(&operation->call->state, UINT_MAX);
}

void rl_follow_ended(redlock_client *client, struct rl_operation *operation)
{
    if (operation->call->looks) {
        rl_follow_rouse(operation);
        return;
    }
    rl_list_remove(&operation->following);
    rl_list_append(&client->ended, &operation->following);
    operation->call->ended = true;
}

/* Does for the threads of ended operations what is left to do of their calls. */
static void settle(redlock_client *client)
{
    struct rl_link *link;

    if (rl_list_empty(&client->ended))
        return;
    while ((link = rl_list_first(&client->ended)) != NULL) {
        struct rl_operation *operation = RL_CONTAINER(link, struct rl_operation, following);
        struct rl_call *call = operation->call;

        rl_list_remove(link);
        rl_blocking_end(client, call, operation);
        call->post.next = (struct rl_post *)client->woken;
        client->woken = call;
        if (--client->callers == 0 && client->closing)
            pthread_cond_broadcast(&client->callers_gone);
    }
    rl_driver_flush(client); /* a lock that could not be handed out is released */
    rl_driver_nudge(client);
}

static struct rl_call *take_woken(redlock_client *client)
{
    struct rl_call *calls = client->woken;

    client->woken = NULL;
    return calls;
}

/* A call is gone as soon as its thread knows that it is over. */
static void wake(struct rl_call *calls)
{
    while (calls != NULL) {
        struct rl_call *call = calls;

        calls = (struct rl_call *)call->post.next;
        atomic_store(&call->state, RL_CALL_OVER);
        rl_futex_wake(&call->state, UINT_MAX);
    }
}

void rl_follow_pass_on(redlock_client *client)
{
    settle(client);
    wake(take_woken(client));
}

void rl_follow_unlock(redlock_client *client)
{
    struct rl_call *calls;

    settle(client);
    if (client->heir != NULL && !client->driving && rl_link_used(&client->heir->following))
        rl_follow_rouse(client->heir);
    client->heir = NULL;
    calls = take_woken(client);
    pthread_mutex_unlock(&client->mutex);
    wake(calls);
}

/* ---- sleeping ---- */

/* The first of those who sleep minds the client's timers in case that nobody drives; the others only their own. */
static struct rl_time sleep_until(redlock_client *client, const struct rl_operation *operation)
{
    bool first = rl_list_empty(&client->followers);
    struct rl_time due = first ? rl_driver_due(client) : RL_TIME_NEVER;

    if (operation->timer.place != 0)
        due = rl_time_min(due, operation->timer.at);
    return rl_time_min(due, rl_time_add(client->clock.now, rl_span_ms(first ? FIRST_REST_MS : REST_MS)));
}

/* Its call was ended while it came for the mutex: who did that has still to say so. */
static void wait_until_over(struct rl_call *call)
{
    unsigned state;

    while ((state = atomic_load(&call->state)) != RL_CALL_OVER)
        rl_futex_sleep(&call->state, state, UINT_MAX, NULL);
}

bool rl_follow(redlock_client *client, struct rl_operation *operation, struct rl_call *call)
{
    struct timespec at = rl_driver_wake_time(client, sleep_until(client, operation));

    rl_crowd_notice(client);
    operation->call = call;
    call->follows = true;
    atomic_store(&call->state, RL_CALL_ASLEEP);
    rl_list_append(&client->followers, &operation->following);
    rl_follow_unlock(client);
    rl_futex_sleep(&call->state, RL_CALL_ASLEEP, UINT_MAX, &at);
    if (atomic_load(&call->state) == RL_CALL_OVER)
        return true;
    pthread_mutex_lock(&client->mutex);
    if (call->ended) {
        pthread_mutex_unlock(&client->mutex);
        wait_until_over(call);
        return true;
    }
    rl_list_remove(&operation->following);
    operation->call = NULL;
    if (!operation->done)
        rl_driver_run_timers(client);
    return false;
}
