/*
 * Questions out and answers in, as src/engine/dispatch.c and answers.c do it: real bytes on modelled connections, and what
 * comes back goes to the acquisition or the lease that it belongs to.
 */
#include <stdio.h>
#include <string.h>

#include "sim/world.h"

#define NOT_AFTER_NEVER INT64_C(9007199254740991)
enum { REFUSED_PAUSE_MS = 50 };

static struct sim_worker *worker_of(struct sim_client *client, const struct sim_ticket *ticket)
{
    return &client->workers[ticket->worker];
}

/* What a guarded node wants to be told with a question. */
static void add_guard(struct sim_world *world, const struct sim_client *client, uint32_t node,
                      const struct sim_worker *worker, struct rl_lock_command *command)
{
    const struct sim_guard *guard = &client->guards[node];

    command->epoch = guard->epoch;
    command->fence = worker->fence;
    command->not_after_us = guard->watch.anchored ? rl_clock_watch_node_us(&guard->watch, client->now) +
                                                        world->plan.node_timeout_ms * 1000
                                                  : NOT_AFTER_NEVER;
    /* Every time, where the client asks every 10 ms: a promotion takes no time at all here. */
    command->prove = command->kind == RL_COMMAND_ACQUIRE && client->connections[node].replid[0] != '\0';
    command->repair = guard->fitness == RL_FITNESS_FIT && guard->cause == RL_CAUSE_NONE &&
                      (worker->stage == SIM_HELD || worker->stage == SIM_WON);
}

bool sim_dispatch_send(struct sim_world *world, struct sim_client *client, uint32_t node, uint32_t attempt,
                       const struct sim_ticket *asked)
{
    const struct sim_attempt *it = &world->attempts[attempt];
    struct sim_connection *connection = &client->connections[node];
    struct sim_ticket ticket = *asked;
    struct sim_worker *worker = worker_of(client, asked);
    char bytes[4096];
    struct rl_writer writer = rl_writer_on(bytes, sizeof bytes);
    struct rl_lock_command command = {.kind = (enum rl_command_kind)ticket.kind,
                                      .key = it->key,
                                      .key_length = strlen(it->key),
                                      .owner = it->owner,
                                      .owner_length = strlen(it->owner),
                                      .ttl_ms = worker->attempt == attempt ? worker->ttl_ms : it->ttl_ms};

    if (ticket.question == RL_QUESTION_MEND)
        command.ttl_ms = rl_span_ms_up(rl_lease_left(&worker->lease, client->now));
    add_guard(world, client, node, worker, &command);
    ticket.full = ticket.full || (connection->loaded & 1U << ticket.kind) == 0;
    ticket.attempt = attempt;
    ticket.number = worker->fence;
    ticket.proves = command.prove;
    ticket.sent = client->now;
    rl_lock_command_write(&writer, &command, 0, ticket.full);
    if (!sim_connection_send(world, client, node, &writer, &ticket))
        return false;
    connection->loaded |= 1U << ticket.kind;
    return true;
}

bool sim_dispatch_question(struct sim_world *world, struct sim_client *client, struct sim_worker *worker,
                           uint32_t node, enum rl_command_kind kind, uint32_t question)
{
    bool broken = rl_node_set_has(world->attempts[worker->attempt].broken, node);
    struct sim_ticket ticket = {.question = question,
                                .lock = worker->lock,
                                .worker = (uint8_t)worker->index,
                                .kind = (uint8_t)kind,
                                .last = kind == RL_COMMAND_RELEASE && !broken};

    return sim_dispatch_send(world, client, node, worker->attempt, &ticket);
}

/* The answer of a node that cannot be asked. */
static struct rl_answer refusal(const struct sim_client *client, uint32_t node)
{
    struct rl_answer answer = {.verdict = RL_BROKEN, .cause = RL_CAUSE_UNREACHABLE, .ttl_left_ms = -2};

    if (client->connections[node].state == SIM_READY && client->guards[node].cause != RL_CAUSE_NONE) {
        answer.verdict = RL_UNFIT;
        answer.cause = client->guards[node].cause;
    } else if (client->connections[node].state == SIM_READY) {
        answer.cause = RL_CAUSE_SILENT;
    }
    return answer;
}

static void ask_node(struct sim_world *world, struct sim_client *client, struct sim_worker *worker,
                     uint32_t node)
{
    struct sim_connection *connection = &client->connections[node];
    rl_node_set one = rl_node_set_one(node);
    enum sim_right right;

    sim_connection_wake(world, client, node);
    if (connection->state == SIM_RESTING || sim_connection_silent(world, client, node)) {
        worker->instant |= one;
    } else if (connection->state != SIM_READY) {
        *(worker->owed_kind == RL_COMMAND_WATCH ? &worker->instant : &worker->owed) |= one;
    } else if (worker->owed_kind == RL_COMMAND_EXTEND &&
               sim_guard_right(world, client, node) == SIM_MAY_VOTE_SOON) {
        worker->owed |= one;
    } else if (worker->owed_kind == RL_COMMAND_ACQUIRE &&
               (right = sim_guard_right(world, client, node)) != SIM_MAY_VOTE) {
        *(right == SIM_MAY_VOTE_SOON ? &worker->owed : &worker->instant) |= one;
    } else if (worker->owed_kind == RL_COMMAND_WATCH) {
        if (!sim_watching_send(world, client, worker, node, worker->owed_question))
            worker->instant |= one;
    } else if (sim_dispatch_question(world, client, worker, node, worker->owed_kind, worker->owed_question)) {
        worker->touched |= one;
    } else {
        worker->instant |= one;
    }
    if (worker->owed_kind == RL_COMMAND_WATCH && (worker->instant & one) != 0)
        sim_wakes_asked(worker, node, false); /* for want of memory, say: it is polled */
}

void sim_dispatch_ask(struct sim_world *world, struct sim_client *client, struct sim_worker *worker,
                      rl_node_set nodes, enum rl_command_kind kind, uint32_t question)
{
    worker->owed = worker->instant = 0;
    worker->owed_kind = kind;
    worker->owed_question = question;
    worker->rounds = true;
    for (rl_node_set left = nodes; left != 0; left &= left - 1)
        ask_node(world, client, worker, rl_node_set_first(left));
}

void sim_dispatch_mend(struct sim_world *world, struct sim_client *client, struct sim_worker *worker,
                       rl_node_set nodes)
{
    for (rl_node_set left = nodes; left != 0; left &= left - 1) {
        uint32_t node = rl_node_set_first(left);

        sim_connection_wake(world, client, node);
        if (client->connections[node].state != SIM_READY || sim_connection_silent(world, client, node) ||
            sim_guard_right(world, client, node) != SIM_MAY_VOTE ||
            !sim_dispatch_question(world, client, worker, node, RL_COMMAND_EXTEND, RL_QUESTION_MEND))
            continue;
        worker->touched |= rl_node_set_one(node);
        world->stats.mends++;
    }
}

/* A vote that was not a grant, after the round had been won. */
static void take_late_vote(struct sim_world *world, struct sim_client *client, uint32_t node,
                           const struct sim_ticket *ticket, enum rl_verdict verdict)
{
    struct sim_worker *worker = worker_of(client, ticket);

    if (ticket->kind == RL_COMMAND_ACQUIRE && verdict != RL_GRANTED && ticket->lock == worker->lock &&
        ticket->attempt == worker->attempt && (worker->stage == SIM_HELD || worker->stage == SIM_WON))
        sim_lock_event(world, client, worker,
                       &(struct rl_event){.kind = RL_EVENT_MISSED, .now = client->now, .node = node});
}

bool sim_dispatch_take_instant(struct sim_world *world, struct sim_client *client, struct sim_worker *worker,
                               struct rl_event *event)
{
    uint32_t node;

    (void)world;
    if (worker->instant == 0)
        return false;
    node = rl_node_set_first(worker->instant);
    worker->instant &= worker->instant - 1;
    *event = (struct rl_event){.kind = RL_EVENT_ANSWER,
                               .now = client->now,
                               .question = worker->owed_question,
                               .node = node,
                               .answer = refusal(client, node)};
    return true;
}

static void owe_release(struct sim_world *world, struct sim_client *client, struct sim_worker *worker,
                        uint32_t node)
{
    if (rl_node_set_has(worker->touched, node))
        sim_reaper_add(world, client, node, worker->attempt, rl_span_us(0));
}

/* The release went out on another connection than what it undoes: once more when that would come too late. */
static void owe_another(struct sim_world *world, struct sim_client *client, struct sim_worker *worker,
                        uint32_t node)
{
    if (rl_node_set_has(world->attempts[worker->attempt].broken, node))
        sim_reaper_add(world, client, node, worker->attempt, rl_span_ms(world->plan.node_timeout_ms));
}

void sim_dispatch_release(struct sim_world *world, struct sim_client *client, struct sim_worker *worker,
                          rl_node_set nodes, uint32_t question)
{
    worker->owed = worker->instant = 0;
    worker->owed_kind = RL_COMMAND_RELEASE;
    worker->owed_question = question;
    for (rl_node_set left = nodes; left != 0; left &= left - 1) {
        uint32_t node = rl_node_set_first(left);

        if (sim_dispatch_question(world, client, worker, node, RL_COMMAND_RELEASE, question)) {
            owe_another(world, client, worker, node);
            continue;
        }
        sim_connection_wake(world, client, node);
        if (question != 0 && client->connections[node].state != SIM_RESTING) {
            worker->owed |= rl_node_set_one(node);
            continue;
        }
        owe_release(world, client, worker, node);
        if (question != 0)
            worker->instant |= rl_node_set_one(node);
    }
    worker->rounds |= worker->owed != 0;
}

void sim_dispatch_forget_owed(struct sim_world *world, struct sim_client *client, struct sim_worker *worker)
{
    if (worker->owed_kind == RL_COMMAND_RELEASE)
        for (rl_node_set left = worker->owed; left != 0; left &= left - 1)
            owe_release(world, client, worker, rl_node_set_first(left));
    worker->owed = 0;
}

static bool is_current(const struct sim_worker *worker, const struct sim_ticket *ticket)
{
    bool of_lease = ticket->kind == RL_COMMAND_EXTEND || ticket->kind == RL_COMMAND_RELEASE;

    if (ticket->question == 0 || ticket->lock != worker->lock || worker->stage == SIM_IDLE)
        return false;
    return worker->stage == SIM_ASKING ? !of_lease : of_lease;
}

static void deliver(struct sim_world *world, struct sim_client *client, uint32_t node,
                    const struct sim_ticket *ticket, const struct rl_answer *answer)
{
    struct sim_worker *worker = worker_of(client, ticket);
    struct rl_event event = {.kind = RL_EVENT_ANSWER,
                             .now = client->now,
                             .question = ticket->question,
                             .node = node,
                             .answer = *answer};

    if (is_current(worker, ticket))
        sim_lock_event(world, client, worker, &event);
}

/* One worker that waited for this node to become ready or fit; false: it did not. */
static bool settle_worker(struct sim_world *world, struct sim_client *client, struct sim_worker *worker,
                          uint32_t node, enum sim_right right)
{
    bool ready = client->connections[node].state == SIM_READY;
    bool acquire = worker->owed_kind == RL_COMMAND_ACQUIRE;
    struct sim_ticket as_if = {.question = worker->owed_question,
                               .kind = (uint8_t)worker->owed_kind,
                               .lock = worker->lock,
                               .worker = (uint8_t)worker->index};
    struct rl_answer answer;

    if (!worker->rounds || !rl_node_set_has(worker->owed, node) ||
        ((acquire || worker->owed_kind == RL_COMMAND_EXTEND) && right == SIM_MAY_VOTE_SOON))
        return false;
    worker->owed &= ~rl_node_set_one(node);
    if (ready && (!acquire || right == SIM_MAY_VOTE) &&
        sim_dispatch_question(world, client, worker, node, worker->owed_kind, worker->owed_question)) {
        worker->touched |= rl_node_set_one(node);
        if (worker->owed_kind == RL_COMMAND_RELEASE)
            owe_another(world, client, worker, node);
        return true;
    }
    if (worker->owed_kind == RL_COMMAND_RELEASE)
        owe_release(world, client, worker, node);
    answer = refusal(client, node);
    deliver(world, client, node, &as_if, &answer);
    return true;
}

void sim_dispatch_settle(struct sim_world *world, struct sim_client *client, uint32_t node)
{
    enum sim_right right = client->connections[node].state == SIM_READY ? sim_guard_right(world, client, node)
                                                                        : SIM_MAY_NOT_VOTE;

    for (uint32_t i = 0; i < world->plan.worker_count; i++)
        settle_worker(world, client, &client->workers[i], node, right);
    for (uint32_t i = 0; i < world->plan.worker_count && right == SIM_MAY_VOTE; i++) {
        struct sim_worker *worker = &client->workers[i];

        if ((worker->stage == SIM_HELD || worker->stage == SIM_WON) &&
            rl_node_set_has(worker->lease.behind, node) && rl_lease_held(&worker->lease, client->now))
            sim_lock_event(world, client, worker,
                           &(struct rl_event){.kind = RL_EVENT_UP, .now = client->now, .node = node});
    }
}

/* What a reply tells beside the verdict. */
static void learn(struct sim_world *world, struct sim_client *client, uint32_t node,
                  const struct sim_ticket *ticket, struct rl_lock_reply *reply)
{
    struct sim_worker *worker = worker_of(client, ticket);

    if (reply->answer.fence > worker->seen && ticket->lock == worker->lock)
        worker->seen = reply->answer.fence;
    if (reply->answer.cause == RL_CAUSE_EPOCH && !client->guards[node].asking)
        sim_guard_admit(world, client, node, "", false);
    if (reply->node_us == 0 || sim_clocks_look(world, client, node, ticket->sent, reply->node_us) ||
        reply->answer.verdict != RL_GRANTED)
        return;
    reply->answer.verdict = RL_UNFIT;
    reply->answer.cause = RL_CAUSE_CLOCK_STEP;
}

/* Whether the round it belongs to is still under way: once that was undone, sending it again would plant an orphan. */
static bool is_open(const struct sim_client *client, const struct sim_worker *worker,
                    const struct sim_ticket *ticket)
{
    const struct rl_acquire *acquire = &worker->acquire;

    if (!is_current(worker, ticket))
        return false;
    if (ticket->kind == RL_COMMAND_EXTEND && ticket->question == RL_QUESTION_MEND)
        return rl_lease_held(&worker->lease, client->now);
    if (ticket->kind == RL_COMMAND_EXTEND)
        return worker->lease.phase == RL_LEASE_EXTENDING && ticket->question == worker->lease.question;
    if (ticket->kind == RL_COMMAND_ACQUIRE)
        return (acquire->phase == RL_ACQUIRE_ASKING || acquire->phase == RL_ACQUIRE_RAISING) &&
               ticket->question == acquire->round_question;
    return ticket->question == acquire->question;
}

static void send_again(struct sim_world *world, struct sim_client *client, uint32_t node,
                       const struct sim_ticket *ticket)
{
    struct sim_ticket again = *ticket;
    bool wanted = ticket->kind == RL_COMMAND_RELEASE || is_open(client, worker_of(client, ticket), ticket);

    again.full = 1;
    if (wanted && sim_dispatch_send(world, client, node, ticket->attempt, &again))
        return;
    if (ticket->kind == RL_COMMAND_RELEASE)
        sim_reaper_add(world, client, node, ticket->attempt, rl_span_us(0));
}

void sim_answers_reply(struct sim_world *world, struct sim_client *client, uint32_t node,
                       const struct sim_ticket *ticket, const char *bytes, size_t length)
{
    struct rl_lock_reply reply;
    enum rl_reading reading;

    if (ticket->kind == RL_COMMAND_ADMIT) {
        sim_guard_reply(world, client, node, ticket, bytes, length);
        return;
    }
    if (ticket->kind == RL_COMMAND_TRACK) {
        sim_watching_tracked(client, node, bytes, length);
        return;
    }
    reading =
        rl_lock_command_read((enum rl_command_kind)ticket->kind, true, ticket->number, bytes, length, &reply);
    if (reading == RL_READING_NO_SCRIPT && !ticket->full) {
        send_again(world, client, node, ticket);
        return;
    }
    if (ticket->proves != 0 &&
        rl_lock_command_proof(bytes, length, client->connections[node].replid) != RL_PROOF_SAME)
        rl_lock_command_refuse(&reply);
    if (reply.answer.cause == RL_CAUSE_PROTOCOL)
        sim_fail(world, "node %u answered something that was not understood: %.*s", node + 1, (int)length,
                 bytes);
    learn(world, client, node, ticket, &reply);
    if (world->plan.bug == SIM_BUG_ARM_AFTER_LOOK)
        sim_watching_arm_late(world, client, node, ticket, &reply.answer);
    if (ticket->kind == RL_COMMAND_RELEASE && reply.answer.verdict == RL_BROKEN)
        sim_reaper_add(world, client, node, ticket->attempt, rl_span_ms(REFUSED_PAUSE_MS));
    take_late_vote(world, client, node, ticket, reply.answer.verdict);
    deliver(world, client, node, ticket, &reply.answer);
}

static bool looked_after(const struct sim_worker *worker, const struct sim_ticket *ticket)
{
    if (ticket->kind == RL_COMMAND_PEEK || ticket->kind == RL_COMMAND_WATCH)
        return true;
    if (ticket->kind == RL_COMMAND_RELEASE || ticket->attempt != worker->attempt ||
        ticket->lock != worker->lock)
        return false;
    return worker->stage != SIM_IDLE;
}

void sim_answers_dropped(struct sim_world *world, struct sim_client *client, uint32_t node,
                         const struct sim_ticket *ticket)
{
    struct rl_answer answer = {.verdict = RL_BROKEN, .cause = RL_CAUSE_UNREACHABLE, .ttl_left_ms = -2};

    if (ticket->kind == RL_COMMAND_ADMIT) {
        client->guards[node].asking = false;
        return;
    }
    if (ticket->kind == RL_COMMAND_TRACK)
        return;
    world->attempts[ticket->attempt].broken |= rl_node_set_one(node);
    if (!looked_after(worker_of(client, ticket), ticket))
        sim_reaper_add(world, client, node, ticket->attempt, rl_span_us(0));
    take_late_vote(world, client, node, ticket, RL_BROKEN);
    deliver(world, client, node, ticket, &answer);
}
