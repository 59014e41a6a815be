/*
 * Compares what is seen of locks with what was seen before; see known.h.
 */
#include "engine/known.h"

#include <string.h>

#include "base/bytes.h"
#include "engine/picture.h"

/* Nodes need not end a key at the same moment, and people do not care for less. */
enum { END_SLACK_MS = 20, PROLONGED_MIN_MS = 50, PROLONGED_MAX_MS = 500, PLACES_BORN = 64 };

/* ---- the table ---- */

static uint64_t hash_of(const struct rl_page_entry *entry)
{
    return rl_hash_bytes(entry->slot, entry->key, entry->key_length);
}

struct rl_known *rl_knowns_find(const struct rl_knowns *knowns, const struct rl_page_entry *entry)
{
    uint64_t hash = hash_of(entry);
    struct rl_known *known = knowns->count > 0 ? knowns->places[hash % knowns->place_count] : NULL;

    while (known != NULL &&
           (known->hash != hash || known->slot != entry->slot || known->key_length != entry->key_length ||
            memcmp(known->key, entry->key, entry->key_length) != 0))
        known = known->next;
    return known;
}

static bool grow(struct rl_engine *engine, struct rl_knowns *knowns)
{
    uint32_t wanted = knowns->place_count > 0 ? 2 * knowns->place_count : PLACES_BORN;
    struct rl_known **places = rl_state_allocate(engine, wanted * sizeof(struct rl_known *));

    if (places == NULL)
        return false;
    memset(places, 0, wanted * sizeof(struct rl_known *));
    for (uint32_t i = 0; i < knowns->place_count; i++) {
        struct rl_known *known = knowns->places[i];

        while (known != NULL) {
            struct rl_known *next = known->next;

            known->next = places[known->hash % wanted];
            places[known->hash % wanted] = known;
            known = next;
        }
    }
    rl_state_release(engine, knowns->places, knowns->place_count * sizeof(struct rl_known *));
    knowns->places = places;
    knowns->place_count = wanted;
    return true;
}

struct rl_known *rl_knowns_make(struct rl_engine *engine, struct rl_knowns *knowns,
                                const struct rl_page_entry *entry)
{
    struct rl_known *known = rl_knowns_find(knowns, entry);
    struct rl_known **place;

    if (known != NULL) {
        known->permits = (uint16_t)entry->permits;
        return known;
    }
    if (knowns->count >= knowns->place_count && !grow(engine, knowns))
        return NULL;
    known = rl_state_allocate(engine, sizeof *known + entry->key_length);
    if (known == NULL)
        return NULL;
    memset(known, 0, sizeof *known);
    known->fresh = true;
    known->hash = hash_of(entry);
    known->key_length = (uint16_t)entry->key_length;
    known->slot = (uint16_t)entry->slot;
    known->permits = (uint16_t)entry->permits;
    memcpy(known->key, entry->key, entry->key_length);
    place = &knowns->places[known->hash % knowns->place_count];
    known->next = *place;
    *place = known;
    knowns->count++;
    return known;
}

struct rl_known *rl_knowns_unseen(const struct rl_knowns *knowns, uint32_t walk)
{
    for (uint32_t i = 0; i < knowns->place_count && knowns->count > 0; i++)
        for (struct rl_known *known = knowns->places[i]; known != NULL; known = known->next)
            if (known->walk != walk)
                return known;
    return NULL;
}

bool rl_knowns_have_slots(const struct rl_knowns *knowns)
{
    for (uint32_t i = 0; i < knowns->place_count && knowns->count > 0; i++)
        for (struct rl_known *known = knowns->places[i]; known != NULL; known = known->next)
            if (known->slot > 0 && known->owner != 0)
                return true;
    return false;
}

static void sweep(struct rl_engine *engine, struct rl_knowns *knowns, bool all)
{
    for (uint32_t i = 0; i < knowns->place_count; i++) {
        struct rl_known **place = &knowns->places[i];

        while (*place != NULL) {
            struct rl_known *known = *place;

            if (!all && known->owner != 0) {
                place = &known->next;
                continue;
            }
            *place = known->next;
            knowns->count--;
            rl_state_release(engine, known, sizeof *known + known->key_length);
        }
    }
}

void rl_knowns_sweep(struct rl_engine *engine, struct rl_knowns *knowns)
{
    sweep(engine, knowns, false);
}

void rl_knowns_free(struct rl_engine *engine, struct rl_knowns *knowns)
{
    sweep(engine, knowns, true);
    rl_state_release(engine, knowns->places, knowns->place_count * sizeof(struct rl_known *));
    *knowns = (struct rl_knowns){0};
}

/* ---- comparing ---- */

static redlock_change how_it_ended(const struct rl_known *known, struct rl_time now)
{
    bool over = !rl_time_before(rl_time_add(now, rl_span_ms(END_SLACK_MS)), known->ends_from);

    return over && !known->broken ? REDLOCK_CHANGE_EXPIRED : REDLOCK_CHANGE_RELEASED;
}

static void take_end(struct rl_known *known, const struct rl_picture *picture)
{
    known->ends_from = picture->ends_from;
    known->ends = picture->ends;
}

static void take_holder(struct rl_known *known, uint64_t owner, const redlock_holder *holder)
{
    known->owner = owner;
    known->holder = *holder;
    known->broken = known->lost = false;
}

/* Nobody has it: some keys may be left. */
static bool compare_free(struct rl_known *known, const struct rl_picture *picture, bool alone,
                         redlock_change *change)
{
    redlock_holder nobody = {0};
    bool was_held = known->owner != 0;

    if (was_held && !picture->free && known->lost)
        return false;
    if (was_held && !picture->free) { /* no quorum has it, and no quorum is without a key */
        known->lost = true;
        *change = REDLOCK_CHANGE_LOST;
        return true;
    }
    *change = was_held ? how_it_ended(known, picture->now) : REDLOCK_CHANGE_FREE;
    known->before = known->holder;
    take_holder(known, 0, &nobody);
    return was_held || (known->fresh && alone);
}

/* By how much later a lease has to end to be called prolonged: looks are not of one moment. */
static struct rl_span least_prolonged(const redlock_holder *holder)
{
    int64_t ms = holder->ttl_ms > 0 ? holder->ttl_ms / 10 : PROLONGED_MAX_MS;

    if (ms < PROLONGED_MIN_MS)
        ms = PROLONGED_MIN_MS;
    return rl_span_ms(ms < PROLONGED_MAX_MS ? ms : PROLONGED_MAX_MS);
}

static bool compare_held(struct rl_known *known, const struct rl_picture *picture, redlock_change *change)
{
    bool same = known->owner == picture->owner;
    bool prolonged =
        rl_time_since(picture->ends, known->ends).us > least_prolonged(&known->holder).us || known->lost;

    if (!same) {
        *change = known->fresh ? REDLOCK_CHANGE_HELD : REDLOCK_CHANGE_ACQUIRED;
        if (known->owner != 0)
            *change = REDLOCK_CHANGE_HANDED_ON;
        known->before = known->holder;
        take_holder(known, picture->owner, &picture->holder);
        take_end(known, picture);
        known->broken = picture->broken;
        return true;
    }
    if (picture->broken && !known->broken) {
        known->broken = true;
        take_end(known, picture);
        *change = REDLOCK_CHANGE_BROKEN;
        return true;
    }
    take_end(known, picture);
    known->lost = false;
    *change = REDLOCK_CHANGE_EXTENDED;
    return prolonged && !picture->broken;
}

bool rl_known_compare(struct rl_known *known, const struct rl_operation *look, bool alone,
                      redlock_change *change)
{
    struct rl_picture picture = rl_picture_of(look);
    bool news;

    if (!picture.known) {
        news = !known->unknown;
        known->unknown = true;
        *change = REDLOCK_CHANGE_UNKNOWN;
        return news && alone;
    }
    if (picture.owner == 0)
        news = compare_free(known, &picture, alone, change);
    else
        news = compare_held(known, &picture, change);
    if (known->unknown && !news && alone) { /* it is seen again, and is as it was */
        news = true;
        *change = known->owner != 0 ? REDLOCK_CHANGE_HELD : REDLOCK_CHANGE_FREE;
    }
    known->fresh = known->unknown = false;
    return news;
}
