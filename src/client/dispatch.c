/*
 * Questions out: puts a lock's commands on the connections, and remembers whom it could not ask yet. It decides nothing; what
 * comes back is in answers.c.
 */
#include <string.h>

#include "base/bytes.h"
#include "client/client.h"
#include "core/validity.h"
#include "wire/many_command.h"

/* The largest number that Lua keeps exactly. */
#define NOT_AFTER_NEVER INT64_C(9007199254740991)

/* The first use of a script on a connection carries it whole; the order of the connection makes it known from then on. What
 * is not told by its kind alone has a bit of its own. */
enum { LOADED_ACQUIRE_MANY = 29, LOADED_RELEASE_MANY = 30, LOADED_FAIR = 31 };

static bool first_use(struct rl_connection *connection, uint32_t script)
{
    unsigned bit = 1U << script;
    bool first = (connection->loaded & bit) == 0;

    connection->loaded |= bit;
    return first;
}

/* What a guarded node wants to be told with a question: see wire/lua/acquire.lua. */
static void add_guard(struct rl_lock_command *command, const redlock_lock *lock, uint32_t node,
                      const struct rl_ticket *ticket)
{
    redlock_client *client = lock->client;
    const struct rl_node_guard *guard = &client->guards[node];

    command->epoch = guard->epoch;
    command->fence = ticket->number;
    /* Rule: a question that arrives after nobody waits for its answer any more must not be carried out. */
    command->not_after_us = guard->watch.anchored ? rl_clock_watch_node_us(&guard->watch, ticket->sent) +
                                                        client->config.node_timeout.us
                                                  : NOT_AFTER_NEVER;
    command->repair = guard->fitness == RL_FITNESS_FIT && guard->cause == RL_CAUSE_NONE && lock->handle;
}

/* The acquisition that asks for it; NULL none does. */
static const struct rl_operation *acquisition_of(const redlock_lock *lock)
{
    return lock->asking != NULL && lock->asking->kind == RL_OPERATION_ACQUIRE ? lock->asking : NULL;
}

/* Who waits, where the command is about that. */
static void add_place(struct rl_lock_command *command, const redlock_lock *lock)
{
    const struct rl_operation *acquisition = acquisition_of(lock);

    if (acquisition != NULL && (command->kind == RL_COMMAND_LEAVE || command->kind == RL_COMMAND_PRESENT ||
                                (command->kind == RL_COMMAND_ACQUIRE && acquisition->fair)))
        command->place = &acquisition->place;
}

/* The command of a ticket; its owner value goes into `owner`. */
static struct rl_lock_command make_command(const struct rl_ticket *ticket, uint32_t node,
                                           char owner[RL_OWNER_MAX + 1])
{
    const redlock_lock *lock = ticket->subject;
    struct rl_lock_command command = {.kind = (enum rl_command_kind)ticket->kind,
                                      .key = lock->text,
                                      .key_length = lock->key_length,
                                      .owner = owner,
                                      .owner_length = rl_lock_owner_text(lock, ticket->random, owner),
                                      .ttl_ms = lock->ttl_ms};

    if (lock->client->config.guarded)
        add_guard(&command, lock, node, ticket);
    add_place(&command, lock);
    return command;
}

static void write_alone(struct rl_connection *connection, struct rl_ticket *ticket, bool prove,
                        struct rl_writer *writer)
{
    char owner[RL_OWNER_MAX + 1];
    struct rl_lock_command command = make_command(ticket, connection->node, owner);
    bool fair = command.place != NULL && command.kind == RL_COMMAND_ACQUIRE;

    command.prove = prove;
    if (first_use(connection, fair ? LOADED_FAIR : ticket->kind))
        ticket->full = true;
    ticket->replies = (uint8_t)rl_lock_command_replies(&command);
    ticket->native = ticket->kind == RL_COMMAND_RELEASE && connection->handshake.info.features != 0;
    rl_lock_command_write(writer, &command, connection->handshake.info.features, ticket->full);
}

/* Of one of several requests as much as its keys need. */
static struct rl_lock_command name_command(const struct rl_ticket *ticket)
{
    const redlock_lock *lock = ticket->subject;

    return (struct rl_lock_command){
        .kind = (enum rl_command_kind)ticket->kind, .key = lock->text, .key_length = lock->key_length};
}

static void write_together(struct rl_connection *connection, uint32_t count, struct rl_writer *writer)
{
    enum rl_command_kind kind = (enum rl_command_kind)rl_connection_recent(connection, count, 0)->kind;
    bool full = first_use(connection, kind == RL_COMMAND_ACQUIRE ? LOADED_ACQUIRE_MANY : LOADED_RELEASE_MANY);
    char owner[RL_OWNER_MAX + 1];
    struct rl_lock_command command;

    rl_many_write_head(writer, kind, count, full);
    for (uint32_t i = 0; i < count; i++) {
        struct rl_ticket *ticket = rl_connection_recent(connection, count, i);

        ticket->together = (uint8_t)count;
        ticket->full = full;
        command = name_command(ticket);
        rl_many_write_fence(writer, &command);
    }
    for (uint32_t i = 0; i < count; i++) {
        command = name_command(rl_connection_recent(connection, count, i));
        rl_many_write_key(writer, &command);
    }
    for (uint32_t i = 0; i < count; i++) {
        command = make_command(rl_connection_recent(connection, count, i), connection->node, owner);
        if (i == 0)
            rl_many_write_common(writer, &command); /* the first was asked first, and is too late first */
        rl_many_write_arguments(writer, &command);
    }
}

void rl_dispatch_compose(struct rl_connection *connection, uint32_t count, struct rl_writer *writer)
{
    if (count == 1)
        write_alone(connection, rl_connection_recent(connection, 1, 0), false, writer);
    else
        write_together(connection, count, writer);
}

/* Whether it can go in one command with others that are asked for before the connection is written to. */
static bool can_go_together(const redlock_lock *lock, const struct rl_connection *connection,
                            enum rl_command_kind kind)
{
    const struct rl_operation *acquisition = acquisition_of(lock);

    if (connection->apart)
        return false;
    if (kind == RL_COMMAND_RELEASE)
        return connection->handshake.info.features == 0;
    return kind == RL_COMMAND_ACQUIRE && acquisition != NULL && lock->client->config.guarded &&
           !acquisition->fair && !rl_proof_due(lock->client, connection->node);
}

static bool send_together(struct rl_connection *connection, const redlock_lock *lock,
                          const struct rl_ticket *ticket)
{
    size_t size = RL_MANY_EACH + lock->owner_length + 2 * (size_t)lock->key_length;

    if (connection->enlisted == RL_MANY_MAX ||
        (connection->enlisted > 0 && rl_connection_recent(connection, 1, 0)->kind != ticket->kind))
        rl_connection_compose(connection);
    return rl_connection_enlist(connection, connection->enlisted == 0 ? RL_MANY_HEAD + size : size, ticket);
}

static bool send_alone(struct rl_connection *connection, const redlock_lock *lock, struct rl_ticket *ticket)
{
    bool prove = ticket->kind == RL_COMMAND_ACQUIRE && lock->client->config.guarded &&
                 rl_proof_due(lock->client, connection->node);
    struct rl_writer writer;

    if (!rl_connection_reserve(connection, RL_DISPATCH_ROOM + 6 * (size_t)lock->key_length, &writer))
        return false;
    write_alone(connection, ticket, prove, &writer);
    rl_connection_commit(connection, &writer, ticket);
    if (prove)
        rl_proof_asked(lock->client, connection->node);
    return true;
}

/* Rule: a key is never shortened. So the longest that was asked for counts, by the slowest clock that a node may have. */
static void note_key(redlock_lock *lock, enum rl_command_kind kind)
{
    struct rl_span ttl = rl_span_ms(lock->ttl_ms);
    struct rl_span slow = rl_validity_drift(ttl, lock->client->config.drift_ppm);

    if (kind == RL_COMMAND_ACQUIRE || kind == RL_COMMAND_EXTEND)
        lock->kept_until =
            rl_time_max(lock->kept_until, rl_time_add(lock->client->clock.now, rl_span_add(ttl, slow)));
}

bool rl_dispatch_send(redlock_lock *lock, uint32_t node, enum rl_command_kind kind, uint32_t question,
                      const uint8_t *random, bool full)
{
    redlock_client *client = lock->client;
    struct rl_connection *connection = &client->connections[node];
    struct rl_ticket ticket = {.subject = lock,
                               .question = question,
                               .kind = (uint8_t)kind,
                               .replies = 1,
                               .full = full,
                               .number = lock->fence,
                               .sent = client->clock.now};
    bool sent;

    if (kind == RL_COMMAND_ADMIT)
        return rl_guard_admit(client, node, "init", lock, full);
    /* Rule: a term is announced before it is used. */
    if ((kind == RL_COMMAND_ACQUIRE || kind == RL_COMMAND_EXTEND) && !rl_guard_announce(client, node))
        return false;
    if (random != NULL)
        memcpy(ticket.random, random, sizeof ticket.random);
    else
        rl_lock_random(lock, ticket.random);
    if (!full && can_go_together(lock, connection, kind))
        sent = send_together(connection, lock, &ticket);
    else
        sent = send_alone(connection, lock, &ticket);
    if (!sent)
        return false;
    note_key(lock, kind);
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
        rl_record_count(client, node, kind, rl_record_refusal_answer(client, node));
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
        rl_record_count(client, connection->node, lock->owed_kind, answer);
        rl_record_refusal(lock, connection->node);
        /* Handling it may end this round and others; the list is looked at afresh. */
        rl_lock_ref(lock);
        rl_answers_deliver(lock, connection->node, &as_if, &answer);
        rl_lock_unref(lock);
        link = rl_list_first(&client->rounds);
    }
}
