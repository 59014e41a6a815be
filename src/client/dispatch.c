/*
 * Questions out, answers in: puts a lock's commands on the connections, and brings replies, silences and breaks back to the
 * operation or the lease they belong to. It decides nothing.
 */
#include <assert.h>
#include <string.h>

#include "base/bytes.h"
#include "client/client.h"

enum { LOOK_AGAIN_MS = 1000, REFUSED_PAUSE_MS = 50 };

/* The largest number that Lua keeps exactly. */
#define NOT_AFTER_NEVER INT64_C(9007199254740991)

static struct rl_time now_of(const redlock_client *client)
{
    return client->clock.now;
}

/* The first use of a script on a connection carries it whole; the order of the connection makes it known from then on. */
static bool first_use(struct rl_connection *connection, enum rl_command_kind kind)
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
    command->not_after_us = guard->watch.anchored ? rl_clock_watch_node_us(&guard->watch, now_of(client)) +
                                                        client->config.node_timeout.us
                                                  : NOT_AFTER_NEVER;
    command->repair = guard->fitness == RL_FITNESS_FIT && guard->cause == RL_CAUSE_NONE && lock->handle;
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
    struct rl_ticket ticket = {.subject = lock,
                               .question = question,
                               .kind = (uint8_t)kind,
                               .replies = (uint8_t)rl_lock_command_replies(kind),
                               .sent = now_of(client)};
    struct rl_writer writer;

    if (kind == RL_COMMAND_ADMIT)
        return rl_guard_admit(client, node, "init", lock, full);
    if (!rl_connection_reserve(connection, RL_DISPATCH_ROOM + 3 * (size_t)lock->key_length, &writer))
        return false;
    if (client->config.guarded)
        add_guard(&command, lock, node);
    full = first_use(connection, kind) || full;
    rl_lock_command_write(&writer, &command, connection->handshake.info.features, full);
    memcpy(ticket.random, random, sizeof ticket.random);
    ticket.number = client->config.guarded ? lock->fence : 0;
    ticket.full = full;
    rl_connection_commit(connection, &writer, &ticket);
    rl_lock_ref(lock);
    client->dirty |= rl_node_set_one(node);
    return true;
}

/* Writes down what a node could not even be asked for. */
static void record_refusal(redlock_lock *lock, uint32_t node);

static void count_verdict(redlock_node_stats *stats, enum rl_verdict verdict)
{
    switch (verdict) {
    case RL_SILENT:
        stats->silent++;
        break;
    case RL_GRANTED:
        stats->granted++;
        break;
    case RL_DENIED:
        stats->denied++;
        break;
    case RL_UNFIT:
        stats->unfit++;
        break;
    case RL_BROKEN:
        stats->broken++;
    }
}

/* A node that was not asked because it still owes answers is silent to people, though the round need not wait for it. */
static enum rl_verdict shown_verdict(struct rl_answer answer)
{
    return answer.cause == RL_CAUSE_SILENT ? RL_SILENT : answer.verdict;
}

/* What made a node unfit was learned in the handshake and may have been mended since: greet it anew, now and then. */
static void look_again(redlock_client *client, struct rl_connection *connection)
{
    char why[sizeof connection->error];

    if (connection->state != RL_CONNECTION_READY || connection->ticket_count > 0 ||
        rl_time_before(now_of(client), connection->look_again))
        return;
    rl_text_copy(why, sizeof why, connection->error);
    rl_connection_break(connection, connection->unfit, why, now_of(client));
}

static void ask_node(redlock_lock *lock, uint32_t node, enum rl_command_kind kind, uint32_t question)
{
    redlock_client *client = lock->client;
    struct rl_connection *connection = &client->connections[node];
    rl_node_set one = rl_node_set_one(node);
    enum rl_right right;

    if (connection->unfit != RL_CAUSE_NONE || client->guards[node].by_info)
        look_again(client, connection);
    rl_connection_wake(connection, now_of(client));
    if (connection->state == RL_CONNECTION_RESTING || connection->unfit != RL_CAUSE_NONE ||
        rl_connection_silent(connection, now_of(client))) {
        lock->instant |= one;
    } else if (connection->state != RL_CONNECTION_READY) {
        lock->owed |= one;
    } else if (kind == RL_COMMAND_ACQUIRE && (right = rl_guard_right(client, node)) != RL_MAY_VOTE) {
        *(right == RL_MAY_VOTE_SOON ? &lock->owed : &lock->instant) |= one;
    } else if (rl_dispatch_send(lock, node, kind, question, lock->random, false)) {
        lock->touched |= one;
    } else {
        lock->instant |= one;
    }
    if ((lock->instant & one) != 0) {
        count_verdict(&client->stats.nodes[node], shown_verdict(rl_dispatch_refusal(client, node)));
        record_refusal(lock, node);
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

/* A release that cannot be sent now is the reaper's, where there may be something to release. */
static void owe_release(redlock_lock *lock, uint32_t node)
{
    if ((lock->touched & rl_node_set_one(node)) != 0 || lock->owner_fixed)
        rl_reaper_add(lock, node, lock->random, rl_span_us(0));
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

        if (rl_dispatch_send(lock, node, RL_COMMAND_RELEASE, question, lock->random, false))
            continue;
        rl_connection_wake(&client->connections[node], now_of(client));
        if (question != 0 && client->connections[node].state != RL_CONNECTION_RESTING) {
            lock->owed |= one;
            continue;
        }
        owe_release(lock, node);
        if (question != 0) {
            lock->instant |= one;
            record_refusal(lock, node);
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

/* ---- answers ---- */

/* The record that the lock's present question fills in; NULL when nobody wants it. */
static struct rl_record *find_record(redlock_lock *lock)
{
    struct rl_link *link;

    if (lock->asking != NULL)
        return &lock->asking->record;
    link = rl_list_first(&lock->releasing);
    if (link == NULL)
        link = rl_list_first(&lock->extending);
    return link != NULL ? &RL_CONTAINER(link, struct rl_operation, on_lock)->record : NULL;
}

/* Whether it is connected, but the guard keeps its vote back. */
static bool withheld(const redlock_client *client, uint32_t node)
{
    return client->connections[node].state == RL_CONNECTION_READY &&
           client->guards[node].cause != RL_CAUSE_NONE;
}

struct rl_answer rl_dispatch_refusal(redlock_client *client, uint32_t node)
{
    const struct rl_connection *connection = &client->connections[node];
    struct rl_answer answer = {.verdict = RL_BROKEN, .cause = connection->cause, .ttl_left_ms = -2};

    if (connection->unfit != RL_CAUSE_NONE) {
        answer.verdict = RL_UNFIT;
        answer.cause = connection->unfit;
    } else if (withheld(client, node)) {
        answer.cause = client->guards[node].cause;
        answer.verdict =
            answer.cause == RL_CAUSE_RIGHTS || answer.cause == RL_CAUSE_MEMORY ? RL_BROKEN : RL_UNFIT;
    } else if (connection->state == RL_CONNECTION_READY) {
        answer.cause = rl_connection_silent(connection, now_of(client)) ? RL_CAUSE_SILENT : RL_CAUSE_MEMORY;
    }
    return answer;
}

static const char *refusal_words(const redlock_client *client, const struct rl_connection *connection)
{
    if (connection->state != RL_CONNECTION_READY || connection->unfit != RL_CAUSE_NONE)
        return connection->error;
    if (withheld(client, connection->node))
        return client->guards[connection->node].why;
    if (rl_connection_silent(connection, now_of(client)))
        return "it has not answered earlier questions yet";
    return "too much is waiting to be sent to it, or memory ran out";
}

static void record_refusal(redlock_lock *lock, uint32_t node)
{
    redlock_client *client = lock->client;
    struct rl_record *record = find_record(lock);

    if (record == NULL)
        return;
    record->nodes[node].answer = rl_dispatch_refusal(client, node);
    record->nodes[node].latency_us = -1;
    rl_text_copy(record->nodes[node].detail, sizeof record->nodes[node].detail,
                 refusal_words(client, &client->connections[node]));
}

static void record_holder(struct rl_record *record, uint32_t node, const struct rl_lock_reply *reply)
{
    if (reply->answer.verdict != RL_DENIED)
        return;
    record->holder_ttl_left_ms = reply->answer.ttl_left_ms;
    if (reply->owner == NULL)
        return;
    redlock_holder_parse(reply->owner, reply->owner_length, &record->holder);
    if (record->inspected != NULL) {
        struct rl_text text = rl_text_on(record->inspected->nodes[node].owner, REDLOCK_OWNER_MAX + 1);

        rl_text_add_bytes(&text, reply->owner, reply->owner_length);
    }
}

static void record_reply(redlock_lock *lock, uint32_t node, enum rl_command_kind kind, int64_t latency_us,
                         const struct rl_lock_reply *reply)
{
    struct rl_record *record = find_record(lock);
    struct rl_text detail;

    if (record == NULL)
        return;
    record_holder(record, node, reply);
    /* A peek after a lost round adds to the vote's verdict; it does not replace it. */
    if (kind == RL_COMMAND_PEEK && lock->asking != NULL && lock->asking->kind == RL_OPERATION_ACQUIRE) {
        if (reply->answer.verdict == RL_DENIED)
            record->nodes[node].answer.ttl_left_ms = reply->answer.ttl_left_ms;
    } else {
        record->nodes[node].answer = reply->answer;
        record->nodes[node].latency_us = latency_us;
    }
    detail = rl_text_on(record->nodes[node].detail, sizeof record->nodes[node].detail);
    if (reply->error != NULL && reply->error_length > 0)
        rl_text_add_printable(&detail, reply->error, reply->error_length);
    else if (reply->error != NULL)
        rl_text_add(&detail, "it answered with an empty error");
}

void rl_dispatch_count_silent(redlock_lock *lock, const struct rl_tally *tally)
{
    rl_node_set silent = rl_node_set_all(tally->node_count) & ~rl_tally_answered(tally);
    struct rl_record *record = find_record(lock);

    for (rl_node_set left = silent; left != 0; left &= left - 1)
        lock->client->stats.nodes[rl_node_set_first(left)].silent++;
    if (record != NULL)
        record->timed_out = true;
}

static bool is_current(const redlock_lock *lock, const struct rl_ticket *ticket)
{
    bool of_lease = ticket->kind == RL_COMMAND_EXTEND || ticket->kind == RL_COMMAND_RELEASE;

    if (ticket->question == 0)
        return false;
    if (lock->asking != NULL && lock->asking->kind != RL_OPERATION_ADOPT)
        return !of_lease;
    return of_lease && lock->stage != RL_LOCK_OVER;
}

static void deliver(redlock_lock *lock, uint32_t node, const struct rl_ticket *ticket,
                    const struct rl_answer *answer)
{
    struct rl_event event = {.kind = RL_EVENT_ANSWER,
                             .now = now_of(lock->client),
                             .question = ticket->question,
                             .node = node,
                             .answer = *answer};

    if (!is_current(lock, ticket))
        return;
    if (ticket->kind == RL_COMMAND_EXTEND || ticket->kind == RL_COMMAND_RELEASE)
        rl_holding_event(lock, &event);
    else
        rl_operation_event(lock->asking, &event);
}

/* Nothing was executed; send it again in another form, unless nobody wants it any more. A release is always wanted. */
static void send_again(redlock_lock *lock, uint32_t node, const struct rl_ticket *ticket)
{
    bool wanted = ticket->kind == RL_COMMAND_RELEASE || is_current(lock, ticket);

    if (wanted && rl_dispatch_send(lock, node, (enum rl_command_kind)ticket->kind, ticket->question,
                                   ticket->random, true))
        return;
    if (ticket->kind == RL_COMMAND_RELEASE)
        rl_reaper_add(lock, node, ticket->random, rl_span_us(0));
}

/* Once per request: a node that does not know what it was just told is broken, not forgetful. */
static bool needs_another_form(struct rl_connection *connection, const struct rl_ticket *ticket,
                               enum rl_reading reading)
{
    if (reading == RL_READING_NO_COMMAND) {
        bool was_native = connection->handshake.info.features != 0;

        connection->handshake.info.features = 0;
        return was_native;
    }
    return reading == RL_READING_NO_SCRIPT && !ticket->full;
}

/* The guard takes what it says; whoever asked for it is told whether the node is fit. */
static void on_admission(redlock_client *client, struct rl_connection *connection,
                         const struct rl_ticket *ticket, const char *bytes, size_t length)
{
    redlock_lock *lock = ticket->subject;
    const struct rl_node_guard *guard = &client->guards[connection->node];
    struct rl_answer answer = {.verdict = RL_GRANTED, .ttl_left_ms = -2};

    rl_guard_reply(client, connection->node, ticket, bytes, length);
    if (lock == NULL)
        return;
    if (guard->fitness != RL_FITNESS_FIT || guard->cause != RL_CAUSE_NONE)
        answer = rl_dispatch_refusal(client, connection->node);
    if (is_current(lock, ticket)) {
        record_refusal(lock, connection->node);
        lock->asking->record.nodes[connection->node].answer = answer;
        if (answer.verdict == RL_GRANTED)
            lock->asking->record.nodes[connection->node].detail[0] = '\0';
        deliver(lock, connection->node, ticket, &answer);
    }
    rl_lock_unref(lock);
}

/* What a reply tells beside the verdict: the node's time, its epoch, the highest fence. */
static void learn(redlock_lock *lock, uint32_t node, const struct rl_ticket *ticket,
                  struct rl_lock_reply *reply)
{
    static const char off[] = "its clock cannot be trusted";
    redlock_client *client = lock->client;

    if (reply->answer.fence > lock->seen)
        lock->seen = reply->answer.fence;
    if (reply->answer.cause == RL_CAUSE_EPOCH)
        rl_guard_refused(client, node);
    if (reply->node_us == 0 || rl_guard_clock(client, node, ticket->sent, reply->node_us) ||
        reply->answer.verdict != RL_GRANTED)
        return;
    reply->answer.verdict = RL_UNFIT;
    reply->answer.cause = RL_CAUSE_CLOCK;
    reply->error = off;
    reply->error_length = sizeof off - 1;
}

static void on_reply(void *context, struct rl_connection *connection, const struct rl_ticket *ticket,
                     const char *bytes, size_t length)
{
    redlock_client *client = context;
    redlock_lock *lock = ticket->subject;
    redlock_node_stats *stats = &client->stats.nodes[connection->node];
    struct rl_span latency = rl_time_since(now_of(client), ticket->sent);
    struct rl_lock_reply reply;
    enum rl_reading reading;

    if (!client->looked_away)
        rl_histogram_add((struct rl_histogram *)&stats->latency, latency);
    if (ticket->kind == RL_COMMAND_ADMIT) {
        on_admission(client, connection, ticket, bytes, length);
        return;
    }
    reading = rl_lock_command_read((enum rl_command_kind)ticket->kind, ticket->number, bytes, length, &reply);
    if (needs_another_form(connection, ticket, reading)) {
        send_again(lock, connection->node, ticket);
    } else {
        learn(lock, connection->node, ticket, &reply);
        if (ticket->kind == RL_COMMAND_RELEASE && reply.answer.verdict == RL_BROKEN)
            rl_reaper_add(lock, connection->node, ticket->random,
                          rl_span_ms(REFUSED_PAUSE_MS)); /* it was not executed */
        count_verdict(stats, reply.answer.verdict);
        if (is_current(lock, ticket))
            record_reply(lock, connection->node, (enum rl_command_kind)ticket->kind, latency.us, &reply);
        deliver(lock, connection->node, ticket, &reply.answer);
    }
    rl_lock_unref(lock);
}

/* Whether what an unanswered request may have left on the node still has an owner who will see to it. */
static bool looked_after(const redlock_lock *lock, const struct rl_ticket *ticket)
{
    bool same_owner = memcmp(lock->random, ticket->random, sizeof lock->random) == 0;

    if (ticket->kind == RL_COMMAND_PEEK || ticket->kind == RL_COMMAND_ADMIT)
        return true;
    if (ticket->kind == RL_COMMAND_RELEASE || !same_owner)
        return false;
    return lock->stage != RL_LOCK_OVER || lock->left;
}

static void on_dropped(void *context, struct rl_connection *connection, const struct rl_ticket *ticket)
{
    redlock_client *client = context;
    redlock_lock *lock = ticket->subject;
    struct rl_answer answer = {.verdict = RL_BROKEN, .cause = connection->cause, .ttl_left_ms = -2};

    count_verdict(&client->stats.nodes[connection->node], RL_BROKEN);
    if (ticket->kind == RL_COMMAND_ADMIT)
        rl_guard_dropped(client, connection->node);
    if (lock == NULL)
        return;
    if (!looked_after(lock, ticket))
        rl_reaper_add(lock, connection->node, ticket->random, rl_span_us(0));
    if (is_current(lock, ticket)) {
        record_refusal(lock, connection->node);
        deliver(lock, connection->node, ticket, &answer);
    }
    rl_lock_unref(lock);
}

/* Two nodes with one run_id are one node under two names: counting it twice would break every majority. */
static void refuse_duplicates(redlock_client *client, struct rl_connection *connection)
{
    const char *run_id = connection->handshake.info.run_id;

    connection->unfit = connection->handshake.info.replica ? RL_CAUSE_REPLICA : RL_CAUSE_NONE;
    if (connection->unfit == RL_CAUSE_REPLICA)
        rl_text_copy(connection->error, sizeof connection->error,
                     "it is a replica, and only masters may vote");
    for (uint32_t node = 0; node < client->node_count && run_id[0] != '\0'; node++) {
        struct rl_connection *other = &client->connections[node];
        struct rl_text why;

        if (other == connection || other->state != RL_CONNECTION_READY ||
            strcmp(other->handshake.info.run_id, run_id) != 0)
            continue;
        connection->unfit = RL_CAUSE_DUPLICATE;
        why = rl_text_on(connection->error, sizeof connection->error);
        rl_text_add(&why, "the same server as ");
        rl_text_add(&why, other->url.display);
        rl_client_log(client, REDLOCK_LOG_ERROR,
                      "node %u %s is the same server as node %u %s: name each node once",
                      connection->node + 1, connection->url.display, node + 1, other->url.display);
        return;
    }
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
            rl_dispatch_send(lock, connection->node, lock->owed_kind, lock->owed_question, lock->random,
                             false)) {
            lock->touched |= one;
            continue;
        }
        if (lock->owed_kind == RL_COMMAND_RELEASE)
            owe_release(lock, connection->node);
        answer = rl_dispatch_refusal(client, connection->node);
        count_verdict(&client->stats.nodes[connection->node], shown_verdict(answer));
        record_refusal(lock, connection->node);
        /* Handling it may end this round and others; the list is looked at afresh. */
        rl_lock_ref(lock);
        deliver(lock, connection->node, &as_if, &answer);
        rl_lock_unref(lock);
        link = rl_list_first(&client->rounds);
    }
}

static void on_ready(void *context, struct rl_connection *connection)
{
    redlock_client *client = context;

    client->stats.nodes[connection->node].connects++;
    connection->loaded = 0;
    connection->look_again = rl_time_add(now_of(client), rl_span_ms(LOOK_AGAIN_MS));
    refuse_duplicates(client, connection);
    rl_guard_ready(client, connection->node);
    rl_client_log(client, REDLOCK_LOG_DEBUG, "node %u %s: connected", connection->node + 1,
                  connection->url.display);
    rl_reaper_pay(client, now_of(client));
    rl_dispatch_settle(client, connection->node);
}

static void on_down(void *context, struct rl_connection *connection)
{
    redlock_client *client = context;

    client->stats.nodes[connection->node].disconnects = connection->disconnects;
    connection->unfit = RL_CAUSE_NONE;
    rl_guard_down(client, connection->node);
    rl_client_log(client, REDLOCK_LOG_INFO, "node %u %s: %s", connection->node + 1, connection->url.display,
                  connection->error);
    rl_dispatch_settle(client, connection->node);
}

static void on_push(void *context, struct rl_connection *connection, const char *bytes, size_t length)
{
    (void)context; /* nothing is subscribed to: a push is somebody else's idea */
    (void)connection;
    (void)bytes;
    (void)length;
}

static void *on_allocate(void *context, size_t size)
{
    return rl_client_allocate(context, size);
}

static void on_release(void *context, void *memory, size_t size)
{
    rl_client_release(context, memory, size);
}

void rl_dispatch_users(redlock_client *client)
{
    client->user = (struct rl_connection_user){.ready = on_ready,
                                               .reply = on_reply,
                                               .push = on_push,
                                               .dropped = on_dropped,
                                               .down = on_down,
                                               .allocate = on_allocate,
                                               .release = on_release,
                                               .context = client};
}
