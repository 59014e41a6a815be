/*
 * Answers in: brings replies, silences and breaks of connections back to the operation or the lease they belong to, and sees
 * to what a broken connection may have left behind.
 */
#include <string.h>

#include "base/bytes.h"
#include "client/client.h"

enum { LOOK_AGAIN_MS = 1000, REFUSED_PAUSE_MS = 50 };

static bool is_current(const redlock_lock *lock, const struct rl_ticket *ticket)
{
    bool of_lease = ticket->kind == RL_COMMAND_EXTEND || ticket->kind == RL_COMMAND_RELEASE;

    if (ticket->question == 0)
        return false;
    if (lock->asking != NULL && lock->asking->kind != RL_OPERATION_ADOPT)
        return !of_lease;
    return of_lease && lock->stage != RL_LOCK_OVER;
}

void rl_answers_deliver(redlock_lock *lock, uint32_t node, const struct rl_ticket *ticket,
                        const struct rl_answer *answer)
{
    struct rl_event event = {.kind = RL_EVENT_ANSWER,
                             .now = lock->client->clock.now,
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

/* Whether the round that a question belongs to is still open. A round that has been undone must not be asked for again: its
 * release has gone out already. */
static bool is_open(const redlock_lock *lock, const struct rl_ticket *ticket)
{
    const struct rl_acquire *acquire = lock->asking != NULL ? &lock->asking->acquire : NULL;

    if (!is_current(lock, ticket))
        return false;
    if (ticket->kind == RL_COMMAND_ACQUIRE)
        return acquire != NULL && ticket->question == acquire->round_question &&
               (acquire->phase == RL_ACQUIRE_ASKING || acquire->phase == RL_ACQUIRE_RAISING);
    if (ticket->kind == RL_COMMAND_RAISE)
        return acquire != NULL && acquire->phase == RL_ACQUIRE_RAISING &&
               ticket->question == acquire->question;
    if (ticket->kind == RL_COMMAND_EXTEND)
        return lock->lease.phase == RL_LEASE_EXTENDING && ticket->question == lock->lease.question;
    return true;
}

/* Nothing was executed; send it again in another form, unless nobody wants it any more. A release is always wanted. */
static void send_again(redlock_lock *lock, uint32_t node, const struct rl_ticket *ticket, bool full)
{
    bool wanted = ticket->kind == RL_COMMAND_RELEASE || is_open(lock, ticket);

    if (wanted && rl_dispatch_send(lock, node, (enum rl_command_kind)ticket->kind, ticket->question,
                                   ticket->random, full))
        return;
    if (ticket->kind == RL_COMMAND_RELEASE)
        rl_reaper_add(lock, node, ticket->random, rl_span_us(0));
}

/* Whether an error that a command for several requests got may be no concern of each of them: rights, keys that live apart,
 * an error that only one of them raised. A node that is busy, loading or full would say the same to each. */
static bool may_differ_alone(enum rl_cause cause)
{
    return cause == RL_CAUSE_RIGHTS || cause == RL_CAUSE_CLUSTER || cause == RL_CAUSE_ERROR;
}

/* Once per request: a node that does not know what it was just told is broken, not forgetful. */
static bool needs_another_form(struct rl_connection *connection, const struct rl_ticket *ticket,
                               enum rl_reading reading, enum rl_cause cause)
{
    if (connection->refused_together && ticket->together > 1 && reading != RL_READING_NO_SCRIPT &&
        may_differ_alone(cause)) {
        connection->apart = true;
        /* A script that failed half-way may have granted it: alone it would be told that somebody has it. */
        return ticket->kind != RL_COMMAND_ACQUIRE || cause != RL_CAUSE_ERROR;
    }
    if (reading == RL_READING_NO_COMMAND) {
        connection->handshake.info.features = 0;
        return ticket->native != 0;
    }
    if (reading != RL_READING_NO_SCRIPT || ticket->full)
        return false;
    connection->loaded = 0; /* its scripts were flushed: each goes whole once more */
    return true;
}

/* The guard takes what it says; whoever asked for it is told whether the node is fit. */
static void on_admission(redlock_client *client, struct rl_connection *connection,
                         const struct rl_ticket *ticket, const char *bytes, size_t length)
{
    redlock_lock *lock = ticket->subject;
    const struct rl_node_guard *guard = &client->guards[connection->node];
    struct rl_answer answer = {.verdict = RL_GRANTED, .ttl_left_ms = -2};
    bool heard = rl_guard_reply(client, connection->node, ticket, bytes, length);

    if (lock == NULL)
        return;
    if (guard->fitness != RL_FITNESS_FIT || guard->cause != RL_CAUSE_NONE)
        answer = rl_record_refusal_answer(client, connection->node);
    if (heard && is_current(lock, ticket)) {
        rl_record_refusal(lock, connection->node);
        lock->asking->record.nodes[connection->node].answer = answer;
        if (answer.verdict == RL_GRANTED)
            lock->asking->record.nodes[connection->node].detail[0] = '\0';
        rl_answers_deliver(lock, connection->node, ticket, &answer);
    }
    rl_lock_unref(lock);
}

/* Rule: only the vote of a node that may vote counts, also when that was found out after it had been asked. */
static bool has_lost_its_vote(const redlock_client *client, uint32_t node, const struct rl_ticket *ticket)
{
    return client->config.guarded && ticket->kind == RL_COMMAND_ACQUIRE &&
           client->guards[node].fitness != RL_FITNESS_FIT;
}

static void withhold(struct rl_lock_reply *reply, enum rl_cause cause, const char *why)
{
    reply->answer.verdict = RL_UNFIT;
    reply->answer.cause = cause;
    reply->error = why;
    reply->error_length = strlen(why);
}

/* What a reply tells beside the verdict: the node's time, its epoch, the highest fence. */
static void learn(redlock_lock *lock, uint32_t node, const struct rl_ticket *ticket,
                  struct rl_lock_reply *reply)
{
    redlock_client *client = lock->client;
    bool trusted;

    if (lock->asking != NULL && reply->answer.fence > lock->asking->seen)
        lock->asking->seen = reply->answer.fence;
    if (reply->answer.cause == RL_CAUSE_EPOCH)
        rl_guard_refused(client, node);
    if (reply->answer.cause == RL_CAUSE_REPLICA)
        client->guards[node].proved = (struct rl_time){0};
    trusted = reply->node_us == 0 || rl_guard_clock(client, node, ticket->sent, reply->node_us);
    if (reply->answer.verdict != RL_GRANTED)
        return;
    if (!trusted)
        withhold(reply, client->guards[node].clock_bad ? RL_CAUSE_CLOCK_RATE : RL_CAUSE_CLOCK_STEP,
                 "its clock cannot be trusted");
    else if (has_lost_its_vote(client, node, ticket))
        withhold(reply, RL_CAUSE_EPOCH, "it was found unfit to vote after it had been asked");
    else if (ticket->kind == RL_COMMAND_ACQUIRE && lock->asking != NULL &&
             !rl_guard_in_time(client, node, lock->asking->acquire.asked))
        withhold(reply, RL_CAUSE_EPOCH, "it was admitted too late in this round to vote in it");
}

/* Whether it asked something of the lock itself; the rest is about those who wait. */
static bool is_of_lock(const struct rl_ticket *ticket)
{
    return ticket->kind != RL_COMMAND_LEAVE && ticket->kind != RL_COMMAND_PRESENT &&
           ticket->kind != RL_COMMAND_LINE && ticket->kind != RL_COMMAND_PLACE;
}

static void on_reply(void *context, struct rl_connection *connection, const struct rl_ticket *ticket,
                     const char *bytes, size_t length)
{
    redlock_client *client = context;
    redlock_lock *lock = ticket->subject;
    struct rl_span latency = rl_time_since(client->clock.now, ticket->sent);
    struct rl_lock_reply reply;
    enum rl_reading reading;
    enum rl_proof proof = RL_PROOF_SAME;
    bool voted;

    if (!client->looked_away)
        rl_stats_add(&client->node_stats[connection->node].latency, latency);
    if (ticket->kind == RL_COMMAND_ADMIT) {
        on_admission(client, connection, ticket, bytes, length);
        return;
    }
    if (ticket->kind == RL_COMMAND_TRACK) {
        rl_watching_tracked(client, connection->node, bytes, length);
        return;
    }
    if (!is_of_lock(ticket)) {
        if (ticket->kind == RL_COMMAND_LINE)
            rl_record_line(lock, bytes, length);
        if (ticket->kind == RL_COMMAND_PLACE && is_current(lock, ticket))
            rl_place_told(lock, connection->node, ticket, bytes, length);
        rl_lock_unref(lock);
        return;
    }
    reading = rl_lock_command_read((enum rl_command_kind)ticket->kind, client->config.guarded, ticket->number,
                                   bytes, length, &reply);
    if (ticket->kind == RL_COMMAND_ACQUIRE && ticket->replies == 2)
        proof = rl_proof_read(client, connection->node, bytes, length);
    voted = reply.answer.verdict != RL_BROKEN;
    if (proof == RL_PROOF_SAME && needs_another_form(connection, ticket, reading, reply.answer.cause)) {
        send_again(lock, connection->node, ticket, reading != RL_READING_ANSWER);
    } else {
        if (proof == RL_PROOF_ANOTHER || (proof == RL_PROOF_NONE && voted))
            rl_lock_command_refuse(&reply);
        learn(lock, connection->node, ticket, &reply);
        if (is_current(lock, ticket) && lock->asking != NULL && lock->asking->fair)
            rl_place_answer(lock->asking, connection->node, ticket, &reply);
        if (ticket->kind == RL_COMMAND_RELEASE && reply.answer.verdict == RL_BROKEN)
            rl_reaper_add(lock, connection->node, ticket->random,
                          rl_span_ms(REFUSED_PAUSE_MS)); /* it was not executed */
        rl_record_count(client, connection->node, (enum rl_command_kind)ticket->kind, reply.answer);
        if (is_current(lock, ticket))
            rl_record_reply(lock, connection->node, (enum rl_command_kind)ticket->kind, latency.us, &reply);
        rl_answers_deliver(lock, connection->node, ticket, &reply.answer);
    }
    rl_lock_unref(lock);
    if (proof != RL_PROOF_SAME)
        rl_proof_failed(client, connection->node, proof, voted);
}

/* Whether what an unanswered request may have left on the node still has an owner who will see to it. */
static bool looked_after(const redlock_lock *lock, const struct rl_ticket *ticket)
{
    uint8_t present[RL_OWNER_RANDOM];

    rl_lock_random(lock, present);
    if (ticket->kind == RL_COMMAND_PEEK || ticket->kind == RL_COMMAND_WATCH ||
        ticket->kind == RL_COMMAND_ADMIT || !is_of_lock(ticket))
        return true;
    if (ticket->kind == RL_COMMAND_RELEASE || memcmp(present, ticket->random, sizeof present) != 0)
        return false;
    return lock->stage != RL_LOCK_OVER || lock->left;
}

static void on_dropped(void *context, struct rl_connection *connection, const struct rl_ticket *ticket)
{
    redlock_client *client = context;
    redlock_lock *lock = ticket->subject;
    struct rl_answer answer = {.verdict = RL_BROKEN, .cause = connection->cause, .ttl_left_ms = -2};

    rl_record_count(client, connection->node, (enum rl_command_kind)ticket->kind, answer);
    if (ticket->kind == RL_COMMAND_ADMIT)
        rl_guard_dropped(client, connection->node);
    if (lock == NULL)
        return;
    if (!looked_after(lock, ticket))
        rl_reaper_add(lock, connection->node, ticket->random, rl_span_us(0));
    else if (ticket->kind == RL_COMMAND_ACQUIRE || ticket->kind == RL_COMMAND_EXTEND)
        lock->stray |= rl_node_set_one(connection->node);
    if (is_current(lock, ticket)) {
        rl_record_refusal(lock, connection->node);
        rl_answers_deliver(lock, connection->node, ticket, &answer);
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

static void on_ready(void *context, struct rl_connection *connection)
{
    redlock_client *client = context;

    client->node_stats[connection->node].connects++;
    connection->loaded = 0;
    connection->apart = false;
    connection->look_again = rl_time_add(client->clock.now, rl_span_ms(LOOK_AGAIN_MS));
    refuse_duplicates(client, connection);
    rl_guard_ready(client, connection->node);
    rl_client_log(client, REDLOCK_LOG_DEBUG, "node %u %s: connected", connection->node + 1,
                  connection->url.display);
    rl_reaper_pay(client, client->clock.now);
    rl_dispatch_settle(client, connection->node);
    rl_watching_node(client, connection->node, RL_EVENT_UP);
}

static void on_down(void *context, struct rl_connection *connection)
{
    redlock_client *client = context;

    client->node_stats[connection->node].disconnects = connection->disconnects;
    connection->unfit = RL_CAUSE_NONE;
    rl_guard_down(client, connection->node);
    rl_client_log(client, REDLOCK_LOG_INFO, "node %u %s: %s", connection->node + 1, connection->url.display,
                  connection->error);
    rl_dispatch_settle(client, connection->node);
    rl_watching_node(client, connection->node, RL_EVENT_DOWN);
}

static void on_compose(void *context, struct rl_connection *connection, uint32_t count,
                       struct rl_writer *writer)
{
    (void)context;
    rl_dispatch_compose(connection, count, writer);
}

static void on_push(void *context, struct rl_connection *connection, const char *bytes, size_t length)
{
    rl_watching_push(context, connection->node, bytes, length);
}

static void *on_allocate(void *context, size_t size)
{
    return rl_client_allocate(context, size);
}

static void on_release(void *context, void *memory, size_t size)
{
    rl_client_release(context, memory, size);
}

void rl_answers_connect(redlock_client *client)
{
    client->user = (struct rl_connection_user){.ready = on_ready,
                                               .reply = on_reply,
                                               .compose = on_compose,
                                               .push = on_push,
                                               .dropped = on_dropped,
                                               .down = on_down,
                                               .allocate = on_allocate,
                                               .release = on_release,
                                               .context = client};
}
