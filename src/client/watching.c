/*
 * Watching a lock's key: the nodes are asked to tell when it changes, and what they tell goes to whoever waits for it. Nothing is
 * armed while nobody waits.
 */
#include <string.h>

#include "base/bytes.h"
#include "client/client.h"
#include "wire/resp_reader.h"
#include "wire/tracking.h"

enum { TRACKING_ROOM = 128 };

/* ---- switching it on and off ---- */

static bool switch_tracking(redlock_client *client, uint32_t node, bool on)
{
    struct rl_connection *connection = &client->connections[node];
    struct rl_ticket ticket = {.kind = RL_COMMAND_TRACK, .replies = 1, .sent = client->clock.now};
    struct rl_writer writer;

    if (!rl_connection_reserve(connection, TRACKING_ROOM, &writer))
        return false;
    rl_write_tracking(&writer, on);
    rl_connection_commit(connection, &writer, &ticket);
    connection->tracking = on ? RL_TRACKING_ON : RL_TRACKING_OFF;
    client->dirty |= rl_node_set_one(node);
    return true;
}

static void note_refusal(redlock_client *client, uint32_t node, const char *why)
{
    struct rl_connection *connection = &client->connections[node];

    connection->tracking = RL_TRACKING_REFUSED;
    rl_client_log(client, REDLOCK_LOG_INFO,
                  "node %u %s does not tell when a lock is free, so it is asked now and then: %s", node + 1,
                  connection->url.display, why);
}

/* Only RESP3 has room for what nobody asked for. */
static bool can_tell(redlock_client *client, uint32_t node)
{
    struct rl_connection *connection = &client->connections[node];

    if (!connection->handshake.info.resp3 && connection->tracking == RL_TRACKING_OFF)
        note_refusal(client, node, "it does not speak RESP3");
    return connection->tracking == RL_TRACKING_ON ||
           (connection->tracking == RL_TRACKING_OFF && switch_tracking(client, node, true));
}

bool rl_watching_send(redlock_lock *lock, uint32_t node, uint32_t question)
{
    bool tells = can_tell(lock->client, node);

    if (tells && lock->asking->fair) {
        bool near = rl_place_near(lock->asking, node);

        return rl_place_ask(lock->asking, node, question) &&
               (!near || rl_dispatch_send(lock, node, RL_COMMAND_WATCH, question, NULL, false));
    }
    return rl_dispatch_send(lock, node, tells ? RL_COMMAND_WATCH : RL_COMMAND_PEEK, question, NULL, false);
}

void rl_watching_tracked(redlock_client *client, uint32_t node, const char *bytes, size_t length)
{
    struct rl_resp item;
    size_t offset = 0;
    char words[96];
    struct rl_text text = rl_text_on(words, sizeof words);

    if (rl_resp_next(bytes, length, &offset, &item) != RL_RESP_OK || item.type != RL_RESP_ERROR)
        return;
    rl_text_add_printable(&text, item.text, item.text_length);
    note_refusal(client, node, words);
}

/* ---- who watches ---- */

void rl_watching_begin(struct rl_operation *operation)
{
    if (!rl_link_used(&operation->watching))
        rl_list_append(&operation->lock->client->watching, &operation->watching);
}

/* What was armed and has not been told yet is forgotten with the last who waits, unless the lock was won: then its own
 * doings have set it off. */
void rl_watching_end(struct rl_operation *operation)
{
    redlock_client *client = operation->lock->client;
    bool armed = rl_link_used(&operation->watching) && operation->acquire.outcome != RL_OUTCOME_OK;

    rl_list_remove(&operation->watching);
    if (!armed || !rl_list_empty(&client->watching))
        return;
    for (uint32_t node = 0; node < client->node_count; node++)
        if (client->connections[node].tracking == RL_TRACKING_ON)
            switch_tracking(client, node, false);
}

static void tell(struct rl_operation *operation, uint32_t node, enum rl_event_kind kind)
{
    struct rl_event event = {.kind = kind, .now = operation->lock->client->clock.now, .node = node};

    rl_operation_event(operation, &event);
}

/* Everybody once, at most: what one is told may end it and others. */
static void tell_all(redlock_client *client, uint32_t node, enum rl_event_kind kind)
{
    uint32_t count = 0;

    for (struct rl_link *link = rl_list_first(&client->watching); link != NULL;
         link = rl_list_next(&client->watching, link))
        count++;
    for (; count > 0 && !rl_list_empty(&client->watching); count--) {
        struct rl_link *link = rl_list_first(&client->watching);

        rl_list_remove(link);
        rl_list_append(&client->watching, link);
        tell(RL_CONTAINER(link, struct rl_operation, watching), node, kind);
    }
}

void rl_watching_node(redlock_client *client, uint32_t node, enum rl_event_kind kind)
{
    if (kind == RL_EVENT_DOWN)
        client->connections[node].tracking = RL_TRACKING_OFF;
    tell_all(client, node, kind);
}

static bool is_key(const char *one, size_t one_length, const char *other, size_t other_length)
{
    return one_length == other_length && memcmp(one, other, one_length) == 0;
}

/* Fair waiters do not queue behind each other in here: each has its own place in the nodes' lines. Linear in those who
 * watch. */
static void tell_fair(redlock_client *client, uint32_t node, const char *key, size_t key_length)
{
    struct rl_link *link = rl_list_first(&client->watching);

    while (link != NULL) {
        struct rl_operation *operation = RL_CONTAINER(link, struct rl_operation, watching);
        const redlock_lock *lock = operation->lock;
        char lease[RL_KEY_LINE_MAX];

        link = rl_list_next(&client->watching, link);
        if (!operation->fair)
            continue;
        if (is_key(lease, rl_place_lease_key(operation, lease), key, key_length))
            rl_place_changed(operation, node, true);
        else if (rl_place_near(operation, node) && is_key(lock->text, lock->key_length, key, key_length))
            rl_place_changed(operation, node, false);
    }
}

void rl_watching_push(redlock_client *client, uint32_t node, const char *bytes, size_t length)
{
    struct rl_push push;
    const char *key;
    size_t key_length;

    if (!rl_push_read(&push, bytes, length))
        return;
    if (push.all)
        tell_all(client, node, RL_EVENT_CHANGED);
    while (rl_push_next_key(&push, &key, &key_length)) {
        const redlock_lock *leader = rl_queue_leader(client, key, key_length);

        if (leader != NULL && leader->asking != NULL && leader->asking->kind == RL_OPERATION_ACQUIRE)
            tell(leader->asking, node, RL_EVENT_CHANGED);
        tell_fair(client, node, key, key_length);
    }
}
