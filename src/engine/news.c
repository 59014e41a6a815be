/*
 * Compares what was found with what is known; see news.h.
 */
#include "engine/news.h"

#include "engine/finds.h"
#include "engine/picture.h"

/* Of a single name: whether it is a semaphore, or was one when it was looked at before. */
static void note_slots(struct rl_listing *listing, struct rl_operation *look)
{
    for (uint32_t node = 0; node < rl_listing_engine(listing)->node_count; node++)
        look->slotted = look->slotted || look->record.nodes[node].answer.permits > 0;
    listing->slots_due = look->slotted || rl_knowns_have_slots(&listing->knowns);
}

/* Whether there is something to tell of a look. */
static bool is_news(struct rl_listing *listing, struct rl_operation *look)
{
    const redlock_lock *lock = look->lock;
    struct rl_page_entry entry = {
        .key = lock->text, .key_length = lock->key_length, .slot = lock->slot, .permits = lock->slots};
    int64_t left_ms = lock->slot > 0 ? rl_picture_of(look).ttl_left_ms : -1;

    if (left_ms >= 0 && (listing->slot_left_ms < 0 || left_ms < listing->slot_left_ms))
        listing->slot_left_ms = left_ms;
    if (listing->alone && lock->slot == 0)
        note_slots(listing, look);
    look->known = rl_knowns_make(rl_listing_engine(listing), &listing->knowns, &entry);
    if (look->known == NULL)
        return false;
    if (look->slotted && look->known->owner == 0) {
        look->known->fresh = false; /* neither held nor free */
        return false;
    }
    return rl_known_compare(look->known, look, listing->alone && lock->slot == 0, &look->change);
}

void rl_news_keep(struct rl_listing *listing)
{
    struct rl_link *link = rl_list_first(&listing->operation->looks);

    while (link != NULL) {
        struct rl_operation *look = RL_CONTAINER(link, struct rl_operation, link);

        link = rl_list_next(&listing->operation->looks, link);
        if (is_news(listing, look))
            continue;
        rl_list_remove(&look->link);
        listing->telling = look;
        rl_finds_put_away(listing);
    }
}
