/*
 * What nodes tell without being asked: that a key has changed, or that a connection came or went; see pushes.h.
 */
#include "engine/pushes.h"

#include <string.h>

#include "engine/acquisition.h"
#include "engine/listing.h"
#include "engine/place.h"
#include "engine/queue.h"
#include "engine/watching.h"
#include "wire/tracking.h"

static void tell(struct rl_operation *operation, uint32_t node, enum rl_event_kind kind)
{
    struct rl_event event = {.kind = kind, .now = operation->lock->engine->now, .node = node};

    rl_acquisition_event(operation, &event);
}

/* Everybody once, at most: what one is told may end it and others. */
static void tell_all(struct rl_engine *engine, uint32_t node, enum rl_event_kind kind)
{
    uint32_t count = 0;

    for (struct rl_link *link = rl_list_first(&engine->watching); link != NULL;
         link = rl_list_next(&engine->watching, link))
        count++;
    for (; count > 0 && !rl_list_empty(&engine->watching); count--) {
        struct rl_link *link = rl_list_first(&engine->watching);

        rl_list_remove(link);
        rl_list_append(&engine->watching, link);
        tell(RL_CONTAINER(link, struct rl_operation, watching), node, kind);
    }
}

void rl_pushes_node(struct rl_engine *engine, uint32_t node, enum rl_event_kind kind)
{
    if (kind == RL_EVENT_DOWN)
        engine->sessions[node].tracking = RL_TRACKING_OFF;
    tell_all(engine, node, kind);
}

static bool is_key(const char *one, size_t one_length, const char *other, size_t other_length)
{
    return one_length == other_length && memcmp(one, other, one_length) == 0;
}

static void tell_place(struct rl_operation *operation, uint32_t node, bool moved)
{
    struct rl_event event;

    switch (rl_place_changed(operation, node, moved, &event)) {
    case RL_PLACE_NO_NEWS:
        return;
    case RL_PLACE_LOOK_AGAIN:
        rl_watching_send(operation->lock, node, operation->acquire.question);
        return;
    case RL_PLACE_NEWS:
        rl_acquisition_event(operation, &event);
    }
}

/* Waiters in line, and those who share, do not queue behind each other in here. Linear in those who watch. */
static void tell_each(struct rl_engine *engine, uint32_t node, const char *key, size_t key_length)
{
    struct rl_link *link = rl_list_first(&engine->watching);

    while (link != NULL) {
        struct rl_operation *operation = RL_CONTAINER(link, struct rl_operation, watching);
        const redlock_lock *lock = operation->lock;
        char lease[RL_KEY_LINE_MAX];

        link = rl_list_next(&engine->watching, link);
        if (lock->kind->is_shared) {
            if (is_key(lock->text, lock->key_length, key, key_length))
                tell(operation, node, RL_EVENT_CHANGED);
            continue;
        }
        if (!lock->kind->stands_in_line)
            continue;
        if (is_key(lease, rl_place_lease_key(operation, lease), key, key_length))
            tell_place(operation, node, true);
        else if (rl_place_near(operation, node) && is_key(lock->text, lock->key_length, key, key_length))
            tell_place(operation, node, false);
    }
}

void rl_pushes_take(struct rl_engine *engine, uint32_t node, const char *bytes, size_t length)
{
    struct rl_push push;
    const char *key;
    size_t key_length;

    if (!rl_push_read(&push, bytes, length))
        return;
    if (push.all) {
        tell_all(engine, node, RL_EVENT_CHANGED);
        rl_listing_changed(engine, NULL, 0);
    }
    while (rl_push_next_key(&push, &key, &key_length)) {
        const redlock_lock *leader = rl_queue_leader(engine, key, key_length);

        if (leader != NULL && rl_operation_acquiring(leader) != NULL)
            tell(leader->asking, node, RL_EVENT_CHANGED);
        tell_each(engine, node, key, key_length);
        rl_listing_changed(engine, key, key_length);
    }
}
