/*
 * Sleeping and waking; see sleepers.h.
 */
#include "client/sleepers.h"

#include <time.h>

#include "client/futex.h"

void rl_sleepers_init(struct rl_followers *followers)
{
    rl_list_init(&followers->ready);
    rl_list_init(&followers->queued);
    rl_list_init(&followers->ended);
    followers->woken = NULL;
    followers->timekeeper = NULL;
}

void rl_sleepers_remove(struct rl_followers *followers, struct rl_operation *operation)
{
    rl_list_remove(&operation->following);
    if (followers->timekeeper == operation)
        followers->timekeeper = NULL;
}

atomic_uint *rl_sleepers_rouse(struct rl_operation *operation)
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

/* A thread that is on its way to the mutex ends its call itself: it may not be left with a client that is
 * gone. */
void rl_sleepers_ended(redlock_client *client, struct rl_operation *operation)
{
    struct rl_call *call = operation->call;
    unsigned asleep = RL_CALL_ASLEEP;

    if (call->looks) {
        ring(rl_sleepers_rouse(operation));
    } else if (atomic_compare_exchange_strong(&call->state, &asleep, RL_CALL_TAKEN)) {
        rl_sleepers_remove(&client->followers, operation);
        rl_list_append(&client->followers.ended, &operation->following);
    }
}

void rl_sleepers_turned(redlock_client *client, struct rl_operation *operation)
{
    if (!rl_link_used(&operation->following))
        return;
    rl_list_remove(&operation->following);
    rl_list_append(&client->followers.ready, &operation->following);
}

static struct rl_call *take_woken(redlock_client *client)
{
    struct rl_call *calls = client->followers.woken;

    client->followers.woken = NULL;
    return calls;
}

/* A call is gone as soon as its thread knows that it is over. */
static void wake_all(struct rl_call *calls)
{
    while (calls != NULL) {
        struct rl_call *call = calls;

        calls = (struct rl_call *)call->post.next;
        atomic_store(&call->state, RL_CALL_OVER);
        ring(&call->state);
    }
}

void rl_sleepers_resume(struct rl_call *call)
{
    atomic_store(&call->state, RL_CALL_AWAKE);
    ring(&call->state);
}

void rl_sleepers_wake(redlock_client *client, atomic_uint *bell)
{
    ring(bell);
    wake_all(take_woken(client));
}

void rl_sleepers_unlock(redlock_client *client, atomic_uint *bell)
{
    struct rl_call *calls = take_woken(client);

    pthread_mutex_unlock(&client->mutex);
    ring(bell);
    wake_all(calls);
}

bool rl_sleepers_sleep(struct rl_call *call, const struct timespec *until)
{
    unsigned state = RL_CALL_ASLEEP;

    rl_futex_sleep(&call->state, RL_CALL_ASLEEP, UINT_MAX, until);
    if (atomic_compare_exchange_strong(&call->state, &state, RL_CALL_AWAKE) || state == RL_CALL_AWAKE)
        return false;
    for (; state == RL_CALL_TAKEN; state = atomic_load(&call->state))
        rl_futex_sleep(&call->state, RL_CALL_TAKEN, UINT_MAX, NULL);
    return state == RL_CALL_OVER;
}
