/*
 * A table of locks by their owner values; see owned.h. It begins with places of its own, so that adding a
 * lock cannot fail, and grows when there is memory.
 */
#include "engine/owned.h"

#include <assert.h>
#include <string.h>

#include "base/bytes.h"

void rl_owned_init(struct rl_engine *engine)
{
    struct rl_owned *owned = &engine->owned;

    *owned = (struct rl_owned){.places = owned->first, .place_count = RL_OWNED_PLACES};
    owned->seed = rl_prng_next(&engine->prng);
}

static void release_places(struct rl_engine *engine)
{
    struct rl_owned *owned = &engine->owned;

    if (owned->places != owned->first)
        rl_state_release(engine, owned->places, owned->place_count * sizeof *owned->places);
}

void rl_owned_free(struct rl_engine *engine)
{
    if (engine->owned.places == NULL)
        return;
    release_places(engine);
    engine->owned.places = engine->owned.first;
    engine->owned.place_count = RL_OWNED_PLACES;
}

static redlock_lock **place_of(struct rl_owned *owned, const char *owner, size_t owner_length)
{
    return &owned->places[rl_hash_bytes(owned->seed, owner, owner_length) & (owned->place_count - 1)];
}

static void insert(struct rl_owned *owned, redlock_lock *lock)
{
    redlock_lock **place = place_of(owned, rl_lock_owner(lock), lock->owner_length);

    lock->next_owned = *place;
    *place = lock;
}

/* Twice the places; without memory for them chains grow instead. */
static void grow(struct rl_engine *engine)
{
    struct rl_owned *owned = &engine->owned;
    struct rl_owned larger = *owned;

    larger.place_count *= 2;
    larger.places = rl_state_allocate(engine, larger.place_count * sizeof *larger.places);
    if (larger.places == NULL)
        return;
    memset(larger.places, 0, larger.place_count * sizeof *larger.places);
    for (uint32_t i = 0; i < owned->place_count; i++)
        for (redlock_lock *lock = owned->places[i], *next; lock != NULL; lock = next) {
            next = lock->next_owned;
            insert(&larger, lock);
        }
    release_places(engine);
    memset(owned->first, 0, sizeof owned->first);
    owned->places = larger.places;
    owned->place_count = larger.place_count;
}

void rl_owned_add(redlock_lock *lock)
{
    struct rl_owned *owned = &lock->engine->owned;

    assert(!lock->owned);
    if (owned->count >= owned->place_count)
        grow(lock->engine);
    insert(owned, lock);
    owned->count++;
    lock->owned = true;
}

void rl_owned_remove(redlock_lock *lock)
{
    struct rl_owned *owned = &lock->engine->owned;
    redlock_lock **place;

    if (!lock->owned)
        return;
    place = place_of(owned, rl_lock_owner(lock), lock->owner_length);
    while (*place != lock)
        place = &(*place)->next_owned;
    *place = lock->next_owned;
    lock->next_owned = NULL;
    lock->owned = false;
    owned->count--;
}

redlock_lock *rl_owned_find(struct rl_engine *engine, const char *key, size_t key_length, const char *owner,
                            size_t owner_length)
{
    redlock_lock *lock = *place_of(&engine->owned, owner, owner_length);

    while (lock != NULL &&
           (lock->owner_length != owner_length || memcmp(rl_lock_owner(lock), owner, owner_length) != 0 ||
            !rl_lock_has_key(lock, key, key_length)))
        lock = lock->next_owned;
    return lock;
}
