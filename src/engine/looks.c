/*
 * Looks at single locks; see looks.h.
 */
#include "engine/looks.h"

#include <assert.h>
#include <string.h>

#include "engine/finds.h"
#include "engine/picture.h"
#include "engine/survey.h"
#include "wire/guard_command.h"

enum {
    LOOKS_AT_ONCE = 32,
    NOTIFIED_EVERY_MS = 2000, /* safety net where nodes notify */
    HURRY_MAX_MS = 64
};

bool rl_looks_begin_one(struct rl_listing *listing, const struct rl_page_entry *entry)
{
    struct rl_engine *engine = rl_listing_engine(listing);
    size_t prefix = engine->config.key_prefix_length;
    redlock_spec spec = {.size = sizeof spec,
                         .kind = entry->slot > 0 ? REDLOCK_SEMAPHORE : REDLOCK_EXCLUSIVE,
                         .name = entry->key + prefix,
                         .name_length = entry->key_length - prefix,
                         .permits = entry->permits};
    redlock_lock *lock = rl_lock_create(engine, &spec, spec.name_length, "nobody", strlen("nobody"));
    struct rl_operation *look = lock != NULL ? rl_operation_create(engine, RL_OPERATION_INSPECT, lock) : NULL;

    assert(entry->key_length >= prefix);
    if (look == NULL) {
        if (lock != NULL)
            rl_lock_unref(lock);
        return false;
    }
    lock->slot = (uint16_t)entry->slot;
    look->parent = listing->operation;
    look->request = listing->operation->request;
    look->foreign = entry->foreign;
    listing->operation->looking++;
    rl_survey_start(look, listing->alone && entry->slot == 0 ? RL_COMMAND_WATCH : RL_COMMAND_PEEK);
    return true;
}

static enum rl_news note_known(struct rl_listing *listing, const struct rl_page_entry *entry)
{
    struct rl_known *known = rl_knowns_make(rl_listing_engine(listing), &listing->knowns, entry);

    if (known == NULL)
        return RL_NEWS_NO_MEMORY;
    if (known->walk == listing->walk)
        return RL_NEWS_OLD;
    if (known->fresh) /* what was not there at first has come since */
        known->fresh = listing->alone ? !listing->looked : listing->walk == 1;
    known->walk = listing->walk;
    return RL_NEWS_NEW;
}

/* Nodes may name a key twice, and several name the same one. */
static enum rl_news note_key(struct rl_listing *listing, const struct rl_page_entry *entry)
{
    return listing->operation->kind == RL_OPERATION_WATCH
               ? note_known(listing, entry)
               : rl_seen_note(rl_listing_engine(listing), &listing->seen, entry);
}

/* The next lock to look at: of the page, or of those that a walk did not meet. */
static bool next_key(struct rl_listing *listing, struct rl_page_entry *entry)
{
    const struct rl_known *unseen;

    if (!listing->rechecking)
        return rl_page_next(&listing->answer, entry);
    unseen = rl_knowns_unseen(&listing->knowns, listing->walk);
    if (unseen == NULL)
        return false;
    *entry = (struct rl_page_entry){.key = unseen->key,
                                    .key_length = unseen->key_length,
                                    .slot = unseen->slot,
                                    .permits = unseen->permits};
    return true;
}

/* Nodes match patterns, and are not believed more than they have to be. Of one name only its slots are
 * wanted. */
static bool is_ours(const struct rl_listing *listing, const struct rl_page_entry *entry)
{
    const struct rl_engine *engine = rl_listing_engine(listing);
    size_t prefix = engine->config.key_prefix_length, key_length = entry->key_length;
    const char *key = entry->key;

    if (listing->one_name &&
        (entry->slot == 0 || !rl_lock_has_key(listing->operation->lock, key, key_length)))
        return false;
    if (entry->slot > 0 && engine->config.format != REDLOCK_FORMAT_COMMON)
        return false;
    return key_length > prefix && key_length <= REDLOCK_NAME_MAX &&
           memcmp(key, engine->config.key_prefix, prefix) == 0 && !rl_key_reserved(key, key_length);
}

bool rl_looks_begin(struct rl_listing *listing)
{
    struct rl_page_entry entry;

    assert(!listing->alone || listing->among_slots);
    assert(listing->stage == RL_LISTING_LOOKING);
    while (listing->operation->looking < LOOKS_AT_ONCE && next_key(listing, &entry)) {
        enum rl_news news;

        if (!is_ours(listing, &entry))
            continue;
        news = note_key(listing, &entry);
        if (news == RL_NEWS_NO_MEMORY || (news == RL_NEWS_NEW && !rl_looks_begin_one(listing, &entry)))
            return false;
    }
    return true;
}

void rl_looks_stop(struct rl_listing *listing)
{
    struct rl_engine *engine = rl_listing_engine(listing);
    struct rl_event cancel = {.kind = RL_EVENT_CANCEL, .now = engine->now};
    struct rl_link *link = rl_list_first(&engine->operations);

    while (link != NULL && listing->operation->looking > 0) {
        struct rl_operation *look = RL_CONTAINER(link, struct rl_operation, link);

        link = rl_list_next(&engine->operations, link);
        if (look->parent == listing->operation)
            rl_survey_event(look, &cancel);
    }
    rl_finds_drop_all(listing);
}

/* Whether nodes that have the key will notify of a change: then there is no need to ask them often. */
static bool is_notified(const struct rl_operation *look)
{
    uint32_t armed = 0, node_count = look->lock->engine->node_count;

    for (uint32_t node = 0; node < node_count; node++)
        armed += look->record.nodes[node].answer.armed;
    return armed >= rl_quorum(node_count);
}

struct rl_span rl_looks_pause(struct rl_listing *listing, const struct rl_operation *look)
{
    struct rl_span pause = listing->every, notified = rl_span_ms(NOTIFIED_EVERY_MS);
    int64_t left_ms = rl_picture_of(look).ttl_left_ms;

    if (is_notified(look) && notified.us > pause.us)
        pause = notified;
    if (left_ms >= 0 && rl_span_ms(left_ms + 1).us < pause.us)
        pause = rl_span_ms(left_ms + 1);
    if (listing->hurry_ms > 0 && rl_span_ms(listing->hurry_ms).us < pause.us)
        pause = rl_span_ms(listing->hurry_ms);
    listing->hurry_ms = listing->hurry_ms < HURRY_MAX_MS ? 2 * listing->hurry_ms : 0;
    if (listing->again) {
        pause = rl_span_us(0);
        listing->hurry_ms = 1;
    }
    listing->again = false;
    return pause;
}
