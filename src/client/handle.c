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

uint64_t redlock_lock_fence(const redlock_lock *lock)
{
    return lock != NULL ? lock->fence : 0;
}

const char *redlock_lock_name(const redlock_lock *lock, size_t *length)
{
    size_t prefix = lock != NULL ? lock->engine->config.key_prefix_length : 0;

    if (length != NULL)
        *length = lock != NULL ? lock->key_length - prefix : 0;
    return lock != NULL ? lock->text + prefix : NULL;
}

const char *redlock_lock_owner(const redlock_lock *lock, size_t *length)
{
    if (length != NULL)
        *length = lock != NULL ? lock->owner_length : 0;
    return lock != NULL ? rl_lock_owner(lock) : NULL;
}

uint32_t redlock_lock_name_count(const redlock_lock *lock)
{
    if (lock == NULL)
        return 0;
    return lock->names != NULL ? lock->names->keys.count : 1;
}

/* As it was given; they are kept in another order. */
static const struct rl_name_key *find_name(const redlock_lock *lock, uint32_t number)
{
    const struct rl_name_key *key = lock->names->keys.keys;

    while (key->given != number)
        key++;
    return key;
}

const char *redlock_lock_name_at(const redlock_lock *lock, uint32_t number, size_t *length)
{
    size_t prefix = lock != NULL ? lock->engine->config.key_prefix_length : 0;
    const struct rl_name_key *key;

    if (number == 0 || number >= redlock_lock_name_count(lock))
        return redlock_lock_name(number == 0 ? lock : NULL, length);
    key = find_name(lock, number);
    if (length != NULL)
        *length = key->length - prefix;
    return key->key + prefix;
}

/* One number for all of them: it is above all that was handed out for any of them. */
uint64_t redlock_lock_fence_at(const redlock_lock *lock, uint32_t number)
{
    return number < redlock_lock_name_count(lock) ? lock->fence : 0;
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

int32_t redlock_lock_slot(const redlock_lock *lock)
{
    return lock != NULL && lock->slot > 0 ? lock->slot - 1 : -1;
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
