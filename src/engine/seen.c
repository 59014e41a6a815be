/*
 * The set of keys; see seen.h.
 */
#include "engine/seen.h"

#include <string.h>

#include "base/bytes.h"

enum { PLACES_BORN = 1024 };

static uint64_t *find_place(uint64_t *places, uint32_t place_count, uint64_t hash)
{
    uint32_t place = (uint32_t)(hash % place_count);

    while (places[place] != 0 && places[place] != hash)
        place = (place + 1) % place_count;
    return &places[place];
}

static bool grow(struct rl_engine *engine, struct rl_seen *seen)
{
    uint32_t wanted = seen->place_count > 0 ? 2 * seen->place_count : PLACES_BORN;
    uint64_t *places = rl_state_allocate(engine, wanted * sizeof *places);

    if (places == NULL)
        return false;
    memset(places, 0, wanted * sizeof *places);
    for (uint32_t i = 0; i < seen->place_count; i++)
        if (seen->places[i] != 0)
            *find_place(places, wanted, seen->places[i]) = seen->places[i];
    rl_state_release(engine, seen->places, seen->place_count * sizeof *places);
    seen->places = places;
    seen->place_count = wanted;
    return true;
}

enum rl_news rl_seen_note(struct rl_engine *engine, struct rl_seen *seen, const struct rl_page_entry *entry)
{
    uint64_t hash =
        rl_hash_bytes(engine->queues.seed + entry->slot, entry->key, entry->key_length) | 1; /* never 0 */
    uint64_t *place;

    if (2 * seen->count >= seen->place_count && !grow(engine, seen))
        return RL_NEWS_NO_MEMORY;
    place = find_place(seen->places, seen->place_count, hash);
    if (*place != 0)
        return RL_NEWS_OLD;
    *place = hash;
    seen->count++;
    return RL_NEWS_NEW;
}

void rl_seen_free(struct rl_engine *engine, struct rl_seen *seen)
{
    rl_state_release(engine, seen->places, seen->place_count * sizeof *seen->places);
    *seen = (struct rl_seen){0};
}
