/*
 * What nodes tell without being asked: that a key has changed, that a lock is handed over, or that a
 * connection came or went; see pushes.h.
 */
#include "engine/pushes.h"

#include <string.h>

#include "engine/acquisition.h"
#include "engine/listing.h"
#include "engine/queue.h"
#include "engine/standing.h"
#include "engine/watching.h"
#include "wire/hand_over.h"
#include "wire/tracking.h"

static struct rl_event event_of(const struct rl_engine *engine, uint32_t node, enum rl_event_kind kind)
{
    return (struct rl_event){.kind = kind, .now = engine->now, .node = node};
}

/* Everybody once, at most: what one is told may end it and others. */
static void tell_all(struct rl_engine *engine, uint32_t node, enum rl_event_kind kind)
{
    struct rl_event event = event_of(engine, node, kind);

    for (uint32_t left = rl_list_length(&engine->watching); left > 0 && !rl_list_empty(&engine->watching);
         left--)
        rl_acquisition_event(RL_CONTAINER(rl_list_turn(&engine->watching), struct rl_operation, watching),
                             &event);
    for (uint32_t left = rl_list_length(&engine->standing); left > 0 && !rl_list_empty(&engine->standing);
         left--)
        rl_standing_event(RL_CONTAINER(rl_list_turn(&engine->standing), struct rl_operation, standing),
                          &event);
}

void rl_pushes_node(struct rl_engine *engine, uint32_t node, enum rl_event_kind kind)
{
    if (kind == RL_EVENT_DOWN) {
        engine->sessions[node].tracking = RL_TRACKING_OFF;
        engine->sessions[node].hearing = RL_HEARING_OFF;
    }
    tell_all(engine, node, kind);
}

/* Those who share do not queue behind each other in here. Linear in those who watch. */
static void tell_sharers(struct rl_engine *engine, uint32_t node, const char *key, size_t key_length)
{
    struct rl_event event = event_of(engine, node, RL_EVENT_CHANGED);
    struct rl_link *link = rl_list_first(&engine->watching);

    while (link != NULL) {
        struct rl_operation *operation = RL_CONTAINER(link, struct rl_operation, watching);
        const redlock_lock *lock = operation->lock;

        link = rl_list_next(&engine->watching, link);
        if (lock->kind->is_shared && lock->key_length == key_length &&
            memcmp(lock->text, key, key_length) == 0)
            rl_acquisition_event(operation, &event);
    }
}

void rl_pushes_take(struct rl_engine *engine, uint32_t node, const char *bytes, size_t length)
{
    struct rl_hand_over handed;
    struct rl_push push;
    const char *key;
    size_t key_length;

    if (rl_hand_over_read(bytes, length, &handed)) {
        rl_standing_handed(engine, node, &handed);
        return;
    }
    if (!rl_push_read(&push, bytes, length))
        return;
    if (push.all) {
        tell_all(engine, node, RL_EVENT_CHANGED);
        rl_listing_changed(engine, NULL, 0);
    }
    while (rl_push_next_key(&push, &key, &key_length)) {
        const redlock_lock *leader = rl_queue_leader(engine, key, key_length, 0);

        if (leader != NULL && rl_operation_acquiring(leader) != NULL && !leader->asking->stands)
            rl_acquisition_event(
                leader->asking,
                &(struct rl_event){.kind = RL_EVENT_CHANGED, .now = engine->now, .node = node});
        tell_sharers(engine, node, key, key_length);
        rl_standing_changed(engine, node, key, key_length);
        rl_listing_changed(engine, key, key_length);
    }
}
