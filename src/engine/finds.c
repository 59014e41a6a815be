/*
 * What was found, in the words of the API; see finds.h.
 */
#include "engine/finds.h"

#include "engine/picture.h"

void rl_finds_drop(struct rl_engine *engine, struct rl_operation *look)
{
    if (look != NULL)
        rl_operation_free(engine, look);
}

/* What was told of is not needed any more, but for a name that is watched alone: when to look next depends on
 * it. */
void rl_finds_put_away(struct rl_listing *listing)
{
    if (listing->telling == NULL)
        return;
    if (listing->alone && listing->telling->lock->slot == 0) {
        rl_finds_drop(rl_listing_engine(listing), listing->latest);
        listing->latest = listing->telling;
    } else {
        rl_finds_drop(rl_listing_engine(listing), listing->telling);
    }
    listing->telling = NULL;
}

void rl_finds_drop_all(struct rl_listing *listing)
{
    struct rl_link *link;

    while ((link = rl_list_first(&listing->operation->looks)) != NULL)
        rl_finds_drop(rl_listing_engine(listing), RL_CONTAINER(link, struct rl_operation, link));
    rl_finds_put_away(listing);
}

static void describe(const struct rl_listing *listing, const struct rl_operation *look,
                     redlock_listed *listed)
{
    const redlock_lock *lock = look->lock;
    const struct rl_engine *engine = lock->engine;
    size_t prefix = engine->config.key_prefix_length;
    struct rl_picture picture = rl_picture_of(look);

    *listed = (redlock_listed){.size = sizeof *listed,
                               .name = lock->text + prefix,
                               .name_length = lock->key_length - prefix,
                               .kind = lock->slot > 0   ? REDLOCK_SEMAPHORE
                                       : picture.shared ? REDLOCK_SHARED
                                                        : REDLOCK_EXCLUSIVE,
                               .foreign = look->foreign,
                               .votes = picture.votes,
                               .node_count = engine->node_count,
                               .quorum = rl_quorum(engine->node_count),
                               .waiting = look->record.waiting,
                               .ttl_left_ms = picture.ttl_left_ms,
                               .fence = picture.fence};
    if (picture.owner != 0 || listing->partial)
        listed->holder = picture.holder;
    if (lock->slot > 0) {
        listed->holder.permits = lock->slots;
        listed->holder.slot = lock->slot - 1U;
    }
}

static bool is_listed(const struct rl_listing *listing, const redlock_listed *listed)
{
    if (listing->operation->kind == RL_OPERATION_WATCH)
        return true;
    return listed->votes >= listed->quorum || (listing->partial && listed->votes > 0);
}

/* That a walk failed, or that one came to its end again, concerns no lock in particular. */
static void describe_sight(struct rl_listing *listing, redlock_event *event)
{
    listing->sight_due = false;
    event->change = listing->blind ? REDLOCK_CHANGE_UNKNOWN : REDLOCK_CHANGE_SEEN;
    event->lock = (redlock_listed){.size = sizeof event->lock,
                                   .name = "",
                                   .node_count = rl_listing_engine(listing)->node_count,
                                   .quorum = rl_quorum(rl_listing_engine(listing)->node_count),
                                   .ttl_left_ms = -2};
}

bool rl_finds_next(struct rl_operation *operation, redlock_event *event)
{
    struct rl_listing *listing = operation->listing;
    struct rl_link *link;

    *event =
        (redlock_event){.size = sizeof *event, .at_ms = rl_state_wall_us(rl_listing_engine(listing)) / 1000};
    rl_finds_put_away(listing);
    if (listing->stopped || listing->stage == RL_LISTING_OVER)
        return false;
    if (listing->sight_due) {
        describe_sight(listing, event);
        return true;
    }
    while ((link = rl_list_first(&listing->operation->looks)) != NULL) {
        struct rl_operation *look = RL_CONTAINER(link, struct rl_operation, link);

        rl_list_remove(link);
        describe(listing, look, &event->lock);
        if (!is_listed(listing, &event->lock)) {
            rl_finds_drop(rl_listing_engine(listing), look);
            continue;
        }
        listing->telling = look;
        event->change = look->change;
        if (look->known != NULL)
            event->before = look->known->before;
        if (look->known != NULL && event->lock.kind == REDLOCK_SEMAPHORE && event->before.id[0] != '\0') {
            event->before.permits = event->lock.holder.permits;
            event->before.slot = event->lock.holder.slot;
        }
        return true;
    }
    return false;
}

static bool tell_slot(const struct rl_operation *operation, const redlock_listed *lock)
{
    redlock_slot slot = {.size = sizeof slot,
                         .slot = lock->holder.slot,
                         .votes = lock->votes,
                         .ttl_left_ms = lock->ttl_left_ms,
                         .holder = lock->holder};

    return operation->told(operation->context, &slot) == 0;
}

bool rl_finds_tell(const struct rl_operation *operation, const redlock_event *event)
{
    if (operation->told != NULL)
        return tell_slot(operation, &event->lock);
    if (operation->kind == RL_OPERATION_WATCH)
        return operation->happened(operation->context, event) == 0;
    return operation->listed(operation->context, &event->lock) == 0;
}
