/*
 * Questions out: puts a lock's commands on the connections, and remembers whom it could not ask yet. It decides nothing; what
 * comes back is in answers.c.
 */
#include <string.h>

#include "base/bytes.h"
#include "client/client.h"

/* The largest number that Lua keeps exactly. */
#define NOT_AFTER_NEVER INT64_C(9007199254740991)

/* The first use of a script on a connection carries it whole; the order of the connection makes it known from then on. */
enum { LOADED_FAIR = 31 }; /* the fair vote has a script of its own */

static bool first_use(struct rl_connection *connection, uint32_t kind)
{
    unsigned bit = 1U << kind;
    bool first = (connection->loaded & bit) == 0;

    connection->loaded |= bit;
    return first;
}

/* What a guarded node wants to be told with a question: see wire/lua/acquire.lua. */
static void add_guard(struct rl_lock_command *command, redlock_lock *lock, uint32_t node)
{
    redlock_client *client = lock->client;
    const struct rl_node_guard *guard = &client->guards[node];

    command->epoch = guard->epoch;
    command->fence = lock->fence;
    /* Rule: a question that arrives after nobody waits for its answer any more must not be carried out. */
    command->not_after_us = guard->watch.anchored ? rl_clock_watch_node_us(&guard->watch, client->clock.now) +
                                                        client->config.node_timeout.us
                                                  : NOT_AFTER_NEVER;
    command->prove = command->kind == RL_COMMAND_ACQUIRE && rl_guard_proof(client, node) != NULL;
    command->repair = guard->fitness == RL_FITNESS_FIT && guard->cause == RL_CAUSE_NONE && lock->handle;
}

/* Who waits, where the command is about that. */
static void add_place(struct rl_lock_command *command, const struct rl_operation *operation)
{
    if (command->kind == RL_COMMAND_LEAVE || command->kind == RL_COMMAND_PRESENT ||
        (command->kind == RL_COMMAND_ACQUIRE && operation->fair))
        command->place = &operation->place;
}

bool rl_dispatch_send(redlock_lock *lock, uint32_t node, enum rl_command_kind kind, uint32_t question,
                      const uint8_t *random, bool full)
{
    redlock_client *client = lock->client;
    struct rl_connection *connection = &client->connections[node];
    char owner[RL_OWNER_MAX + 1];
    struct rl_lock_command command = {.kind = kind,
                                      .key = lock->text,
                                      .key_length = lock->key_length,
                                      .owner = owner,
                                      .owner_length = rl_lock_owner_text(lock, random, owner),
                                      .ttl_ms = lock->ttl_ms};
    struct rl_ticket ticket = {
        .subject = lock, .question = question, .kind = (uint8_t)kind, .sent = client->clock.now};
    struct rl_writer writer;

    if (kind == RL_COMMAND_ADMIT)
        return rl_guard_admit(client, node, "init", lock, full);
    if (!rl_connection_reserve(connection, RL_DISPATCH_ROOM + 6 * (size_t)lock->key_length, &writer))
        return false;
    if (client->config.guarded)
        add_guard(&command, lock, node);
    if (lock->asking != NULL && lock->asking->kind == RL_OPERATION_ACQUIRE)
        add_place(&command, lock->asking);
    full = first_use(connection, command.place != NULL && kind == RL_COMMAND_ACQUIRE ? LOADED_FAIR : kind) ||
           full;
    rl_lock_command_write(&writer, &command, connection->handshake.info.features, full);
    if (random != NULL)
        memcpy(ticket.random, random, sizeof ticket.random);
    else
        rl_lock_random(lock, ticket.random);
    ticket.number = lock->fence;
    ticket.replies = (uint8_t)rl_lock_command_replies(&command);
    ticket.full = full;
    rl_connection_commit(connection, &writer, &ticket);
    rl_lock_ref(lock);
    client->dirty |= rl_node_set_one(node);
    return true;
}

/* What made a node unfit was learned in the handshake and may have been mended since: greet it anew, now and then. */
static void look_again(redlock_client *client, struct rl_connection *connection)
{
    char why[sizeof connection->error];

    if (connection->state != RL_CONNECTION_READY || connection->ticket_count > 0 ||
        rl_time_before(client->clock.now, connection->look_again))
        return;
    rl_text_copy(why, sizeof why, connection->error);
    rl_connection_break(connection, connection->unfit, why, client->clock.now);
}

static void ask_node(redlock_lock *lock, uint32_t node, enum rl_command_kind kind, uint32_t question)
{
    redlock_client *client = lock->client;
    struct rl_connection *connection = &client->connections[node];
    rl_node_set one = rl_node_set_one(node);
    enum rl_right right;

    if (connection->unfit != RL_CAUSE_NONE || client->guards[node].by_info)
        look_again(client, connection);
    rl_connection_wake(connection, client->clock.now);
    if (connection->state == RL_CONNECTION_RESTING || connection->unfit != RL_CAUSE_NONE ||
        rl_connection_silent(connection, client->clock.now)) {
        lock->instant |= one;
    } else if (connection->state != RL_CONNECTION_READY) {
        *(kind == RL_COMMAND_WATCH ? &lock->instant : &lock->owed) |= one; /* a waiter hears of it again */
    } else if (kind == RL_COMMAND_ACQUIRE && (right = rl_guard_right(client, node)) != RL_MAY_VOTE) {
        *(right == RL_MAY_VOTE_SOON ? &lock->owed : &lock->instant) |= one;
    } else if (kind == RL_COMMAND_WATCH) {
        if (!rl_watching_send(lock, node, question))
            lock->instant |= one;
    } else if (rl_dispatch_send(lock, node, kind, question, NULL, false)) {
        lock->touched |= one;
    } else {
        lock->instant |= one;
    }
    if ((lock->instant & one) != 0 && kind != RL_COMMAND_WATCH) {
        rl_record_count(client, node, rl_record_refusal_answer(client, node));
        rl_record_refusal(lock, node);
    }
}

void rl_dispatch_ask(redlock_lock *lock, rl_node_set nodes, enum rl_command_kind kind, uint32_t question)
{
    lock->owed = lock->instant = 0;
    lock->owed_kind = kind;
    lock->owed_question = question;
    if (!rl_link_used(&lock->link))
        rl_list_append(&lock->client->rounds, &lock->link);
    for (rl_node_set left = nodes; left != 0; left &= left - 1)
        ask_node(lock, rl_node_set_first(left), kind, question);
}

bool rl_dispatch_take_instant(redlock_lock *lock, struct rl_event *event)
{
    uint32_t node;

    if (lock->instant == 0)
        return false;
    node = rl_node_set_first(lock->instant);
    lock->instant &= lock->instant - 1;
    *event = (struct rl_event){.kind = RL_EVENT_ANSWER,
                               .now = lock->client->clock.now,
                               .question = lock->owed_question,
                               .node = node,
                               .answer = rl_record_refusal_answer(lock->client, node)};
    return true;
}

/* A release that cannot be sent now is the reaper's, where there may be something to release. */
static void owe_release(redlock_lock *lock, uint32_t node)
{
    if ((lock->touched & rl_node_set_one(node)) != 0 || lock->owner_fixed)
        rl_reaper_add(lock, node, NULL, rl_span_us(0));
}

/* The release went out on another connection than what it undoes: once more when that would come too late. */
static void owe_another(redlock_lock *lock, uint32_t node)
{
    if ((lock->stray & rl_node_set_one(node)) != 0)
        rl_reaper_add(lock, node, NULL, lock->client->config.node_timeout);
}

/* Rule: release goes to all nodes, answered or not, on the connection that carried the acquire. */
void rl_dispatch_release(redlock_lock *lock, rl_node_set nodes, uint32_t question)
{
    redlock_client *client = lock->client;

    lock->owed = lock->instant = 0;
    lock->owed_kind = RL_COMMAND_RELEASE;
    lock->owed_question = question;
    for (rl_node_set left = nodes; left != 0; left &= left - 1) {
        uint32_t node = rl_node_set_first(left);
        rl_node_set one = rl_node_set_one(node);

        if (rl_dispatch_send(lock, node, RL_COMMAND_RELEASE, question, NULL, false)) {
            owe_another(lock, node);
            continue;
        }
        rl_connection_wake(&client->connections[node], client->clock.now);
        if (question != 0 && client->connections[node].state != RL_CONNECTION_RESTING) {
            lock->owed |= one;
            continue;
        }
        owe_release(lock, node);
        if (question != 0) {
            lock->instant |= one;
            rl_record_refusal(lock, node);
        }
    }
    if (lock->owed != 0 && !rl_link_used(&lock->link))
        rl_list_append(&client->rounds, &lock->link);
}

void rl_dispatch_forget_owed(redlock_lock *lock)
{
    if (lock->owed_kind == RL_COMMAND_RELEASE)
        for (rl_node_set left = lock->owed; left != 0; left &= left - 1)
            owe_release(lock, rl_node_set_first(left));
    lock->owed = 0;
}

void rl_dispatch_settle(redlock_client *client, uint32_t node)
{
    struct rl_connection *connection = &client->connections[node];
    enum rl_right right =
        connection->state == RL_CONNECTION_READY ? rl_guard_right(client, node) : RL_MAY_NOT_VOTE;
    rl_node_set one = rl_node_set_one(node);
    struct rl_link *link = rl_list_first(&client->rounds);

    while (link != NULL) {
        redlock_lock *lock = RL_CONTAINER(link, redlock_lock, link);
        struct rl_ticket as_if = {.question = lock->owed_question, .kind = (uint8_t)lock->owed_kind};
        struct rl_answer answer;

        link = rl_list_next(&client->rounds, link);
        if ((lock->owed & one) == 0 || (lock->owed_kind == RL_COMMAND_ACQUIRE && right == RL_MAY_VOTE_SOON))
            continue;
        lock->owed &= ~one;
        if (connection->state == RL_CONNECTION_READY && connection->unfit == RL_CAUSE_NONE &&
            (lock->owed_kind != RL_COMMAND_ACQUIRE || right == RL_MAY_VOTE) &&
            rl_dispatch_send(lock, connection->node, lock->owed_kind, lock->owed_question, NULL, false)) {
            lock->touched |= one;
            if (lock->owed_kind == RL_COMMAND_RELEASE)
                owe_another(lock, connection->node);
            continue;
        }
        if (lock->owed_kind == RL_COMMAND_RELEASE)
            owe_release(lock, connection->node);
        answer = rl_record_refusal_answer(client, connection->node);
        rl_record_count(client, connection->node, answer);
        rl_record_refusal(lock, connection->node);
        /* Handling it may end this round and others; the list is looked at afresh. */
        rl_lock_ref(lock);
        rl_answers_deliver(lock, connection->node, &as_if, &answer);
        rl_lock_unref(lock);
        link = rl_list_first(&client->rounds);
    }
}
