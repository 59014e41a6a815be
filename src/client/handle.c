/*
 * Lock handles as callers have them: what they tell, and their end.
 */
#include "client/background.h"
#include "client/close.h"
#include "client/crowd.h"
#include "client/leave.h"
#include "client/poll.h"

int64_t redlock_lock_validity_ms(const redlock_lock *lock)
{
    redlock_client *client = lock != NULL ? rl_client_of(lock) : NULL;
    int64_t left = 0;

    if (client == NULL || !rl_client_enter(client))
        return 0;
    if (lock->stage == RL_LOCK_HELD) {
        struct rl_time now = rl_client_now(client);

        if (rl_lease_held(&lock->lease, now))
            left = rl_span_ms_down(rl_time_since(lock->lease.valid_until, now));
    }
    rl_leave(client);
    return left;
}

uint32_t redlock_lock_entries(const redlock_lock *lock)
{
    redlock_client *client = lock != NULL ? rl_client_of(lock) : NULL;
    uint32_t entries = 0;

    if (client == NULL || !rl_client_enter(client))
        return 0;
    if (lock->stage == RL_LOCK_HELD && rl_lease_held(&lock->lease, rl_client_now(client)))
        entries = lock->reentry != NULL ? lock->reentry->entries : 1;
    rl_leave(client);
    return entries;
}

/* After this no callback of it runs: waits for one that does, unless it is the one calling. */
static void end_callbacks(redlock_lock *lock)
{
    redlock_client *client = rl_client_of(lock);
    bool from_callback = client->notifier_running && pthread_equal(client->notifier, pthread_self());

    while (lock->calling && !from_callback)
        pthread_cond_wait(&client->callback_ended, &client->mutex);
    lock->on_lost = NULL;
    lock->renewal = NULL;
    rl_list_remove(&lock->notice);
    rl_engine_loss_told(lock); /* nobody is left to be told */
}

void redlock_lock_free(redlock_lock *lock)
{
    RL_NO_CANCELLATION;
    redlock_client *client;
    bool matters;

    if (lock == NULL)
        return;
    client = rl_client_of(lock);
    if (lock->reentry == NULL && rl_crowd_free(client, lock))
        return;
    pthread_mutex_lock(&client->mutex);
    if (rl_engine_free_entry(lock)) {
        rl_client_unref(client);
        return;
    }
    matters = lock->stage == RL_LOCK_HELD || lock->let_go != 0;
    if (!client->inherited) {
        rl_client_now(client);
        end_callbacks(lock);
    }
    rl_engine_free_handle(lock);
    if (matters && !client->inherited && !client->engine.closing) {
        rl_poll_flush(client); /* it is released, or the next one asks */
        rl_background_nudge(client);
    }
    rl_client_unref(client); /* lets go of the mutex */
}
