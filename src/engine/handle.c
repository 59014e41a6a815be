/*
 * What a lock handle says of itself: names, owner value, fencing token, slot. None of it changes while its
 * caller has the handle, so nothing is waited for; how long the lock is valid needs a clock, and is the
 * client's.
 */
#include "engine/lock.h"

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

int32_t redlock_lock_slot(const redlock_lock *lock)
{
    return lock != NULL && lock->slot > 0 ? lock->slot - 1 : -1;
}
