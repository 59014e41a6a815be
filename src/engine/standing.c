/*
 * Carries out what a caller in line wants, and hands the lock to holding.c once it is won; see standing.h.
 */
#include "engine/standing.h"

#include <assert.h>
#include <string.h>

#include "base/bytes.h"
#include "core/trace.h"
#include "engine/dispatch.h"
#include "engine/guard.h"
#include "engine/holding.h"
#include "engine/owned.h"
#include "engine/queue.h"
#include "engine/record.h"
#include "engine/send.h"
#include "engine/vote.h"
#include "engine/watching.h"

/* A waiter that is not heard of for so long is gone: a lot longer than it takes to ask again. A hand-over
 * cannot have happened later than now; so much the node's clock may have gained since it was last looked
 * at. */
enum {
    RECORD_MS = 3000,
    CLOCK_SLACK_US = 1000,
    PROPOSAL_LIFE_US = 30000000 /* nodes take one that is up to a minute old */
};

/* ---- the end ---- */

/* Nodes that do not have the lock. One that has not answered yet most likely has it, and where one node has
 * handed it over the others are about to; if not, that is told later. */
static rl_node_set nodes_without(const redlock_lock *lock, const struct rl_stand *stand)
{
    rl_node_set open = lock->maybe_stored & rl_stand_nodes(stand, RL_STAND_ASKED);
    rl_node_set without = rl_node_set_all(stand->config.node_count) & ~open;

    if (stand->handed)
        without &= ~rl_stand_nodes(stand, RL_STAND_LINED);
    return without & ~rl_stand_votes(stand);
}

/* What became of it, for callers that ask afterwards. */
static void note_result(struct rl_operation *operation)
{
    const struct rl_stand *stand = &operation->stand;
    struct rl_acquire *acquire = &operation->acquire;

    acquire->config = stand->config;
    acquire->phase = RL_ACQUIRE_ENDED;
    acquire->outcome = stand->outcome;
    acquire->started = stand->started;
    acquire->asked = rl_stand_since(stand, operation->lock->engine->now);
    acquire->round = stand->attempts;
    acquire->tally = rl_stand_tally(stand);
    acquire->valid_until = stand->valid_until;
    /* A node that has the lock may have denied a raise since, for it had numbered it higher. */
    for (rl_node_set left = rl_stand_votes(stand); left != 0; left &= left - 1)
        operation->record.nodes[rl_node_set_first(left)].answer.verdict = RL_GRANTED;
}

static void end_standing(struct rl_operation *operation)
{
    redlock_lock *lock = operation->lock;
    const struct rl_stand *stand = &operation->stand;
    rl_node_set behind = nodes_without(lock, stand);

    assert(stand->phase == RL_STAND_ENDED);
    assert(lock->asking == operation);
    note_result(operation);
    rl_operation_stop_asking(operation);
    rl_list_remove(&operation->standing);
    if (operation->watches)
        rl_watching_leave(lock->engine);
    operation->watches = false;
    if (stand->outcome == RL_OUTCOME_OK) {
        lock->fence = stand->fence;
        lock->slot = (uint16_t)stand->slot;
        rl_holding_start(lock, operation->acquire.asked, stand->valid_until);
        rl_holding_missed(lock, behind);
        rl_dispatch_return(lock, rl_stand_others(stand));
        /* Where it stands in line somebody else has it. One that it could not ask before the fence was raised
         * counts as asked here. */
        rl_dispatch_mend(lock, behind & ~rl_stand_nodes(stand, RL_STAND_LINED));
    } else {
        rl_owned_remove(lock);
        lock->stage = RL_LOCK_OVER;
    }
    rl_operation_finish(operation, (redlock_result)stand->outcome);
    if (lock->stage == RL_LOCK_OVER)
        rl_queue_leave(lock);
}

/* ---- asking ---- */

/* Rule: each attempt has a fresh owner, so that nothing left over from an earlier one can count. */
static bool take_fresh_owner(struct rl_operation *operation)
{
    redlock_lock *lock = operation->lock;

    rl_owned_remove(lock);
    rl_operation_clear_record(operation);
    lock->maybe_stored = lock->stray = 0;
    if (!rl_lock_renew_owner(lock))
        return false;
    rl_owned_add(lock);
    return true;
}

static void end_without_randomness(struct rl_operation *operation)
{
    rl_stand_step(&operation->stand,
                  &(struct rl_event){.kind = RL_EVENT_CANCEL, .now = operation->lock->engine->now},
                  &(struct rl_effects){0});
    end_standing(operation);
    operation->result = REDLOCK_SYSTEM;
}

/* Of a semaphore others are given numbers meanwhile. A number above those of all others in line would have
 * each node count on from there by itself, and few of them would be given the same by a quorum. */
static bool keeps_proposal(const struct rl_operation *operation)
{
    const redlock_lock *lock = operation->lock;
    int64_t wall_us = rl_state_wall_us(lock->engine);

    return lock->slots > 0 && operation->stand.question > 1 &&
           wall_us < (int64_t)lock->fence + PROPOSAL_LIFE_US;
}

/* One proposal for all nodes, so that they give the same number, whichever of them are asked again
 * meanwhile. */
static void ask_for_lock(struct rl_operation *operation, const struct rl_effects *effects)
{
    redlock_lock *lock = operation->lock;

    operation->place.ticket = operation->stand.ticket;
    operation->place.settled = operation->stand.settled;
    if (effects->fresh && !take_fresh_owner(operation)) {
        end_without_randomness(operation);
        return;
    }
    if (effects->acquire == rl_node_set_all(lock->engine->node_count) && !keeps_proposal(operation))
        rl_operation_propose_fence(operation);
    if (effects->fresh)
        rl_dispatch_ask(lock, effects->acquire, RL_COMMAND_ACQUIRE, effects->question);
    else
        rl_dispatch_ask_more(lock, effects->acquire, effects->question);
}

/* On each connection the question of the fresh owner goes before the release of the one before it. */
static void change_owner_in_line(struct rl_operation *operation, const struct rl_effects *effects)
{
    struct rl_former former = rl_dispatch_former(operation->lock);

    assert(effects->fresh);
    ask_for_lock(operation, effects);
    rl_dispatch_release_former(operation->lock, effects->release, &former);
}

/* Where it cannot be sent now, the next look at the lock makes up for it. */
static void watch(struct rl_operation *operation, rl_node_set nodes, uint32_t question)
{
    struct rl_engine *engine = operation->lock->engine;

    if (operation->lock->names != NULL)
        /* which of them is in the way differs from node to node, and may change: it asks again every
         * second */
        return;
    if (!operation->watches)
        rl_watching_join(engine);
    operation->watches = true;
    for (rl_node_set left = nodes; left != 0; left &= left - 1) {
        uint32_t node = rl_node_set_first(left);

        if (rl_vote_reachable(engine, node) && !rl_session_silent(&engine->sessions[node], engine->now))
            rl_watching_send(operation->lock, node, question);
    }
}

static void trace_standing(struct rl_operation *operation, const struct rl_event *event,
                           const struct rl_effects *effects)
{
    char bytes[1024];
    struct rl_text text = rl_text_on(bytes, sizeof bytes);

    if (event->kind == RL_EVENT_START) {
        rl_trace_stand_start(&text, operation->lock->text, operation->lock->key_length, &operation->stand);
        rl_text_add(&text, "\n");
    }
    rl_trace_stand(&text, &operation->stand, event, effects);
    rl_state_trace(operation->lock->engine, bytes);
}

/* Nodes whose time to answer is up with this event. */
static rl_node_set find_late(const struct rl_stand *stand, const struct rl_event *event)
{
    bool late = event->kind == RL_EVENT_TIMER && !rl_time_before(event->now, stand->wake_at) &&
                (stand->phase == RL_STAND_WAITING || stand->phase == RL_STAND_RAISING) &&
                (!rl_time_before(event->now, stand->asked_by) ||
                 (rl_stand_waits(stand) && !rl_time_before(event->now, stand->config.give_up_at)));

    return late ? rl_stand_nodes(stand, RL_STAND_ASKED) : 0;
}

static void note_late(redlock_lock *lock, rl_node_set late)
{
    struct rl_tally tally = rl_tally_start(lock->engine->node_count);

    if (late == 0)
        return;
    tally.granted = rl_node_set_all(tally.node_count) & ~late;
    rl_record_silence(lock, &tally);
}

static void step(struct rl_operation *operation, const struct rl_event *event)
{
    redlock_lock *lock = operation->lock;
    rl_node_set late = find_late(&operation->stand, event);
    struct rl_effects effects;

    rl_stand_step(&operation->stand, event, &effects);
    if (lock->engine->host.trace != NULL)
        trace_standing(operation, event, &effects);
    note_late(lock, late);
    if (effects.asks_first)
        change_owner_in_line(operation, &effects);
    else if (effects.release != 0)
        rl_dispatch_release(lock, effects.release, 0);
    if (effects.acquire != 0 && !effects.asks_first)
        ask_for_lock(operation, &effects);
    if (effects.raise != 0)
        rl_dispatch_raise(lock, &effects);
    if (effects.watch != 0)
        watch(operation, effects.watch, operation->stand.question);
    if (operation->done)
        return;
    if (effects.done)
        end_standing(operation);
    else
        rl_timers_set(&lock->engine->timers, &operation->timer, operation->stand.wake_at);
}

void rl_standing_event(struct rl_operation *operation, const struct rl_event *event)
{
    redlock_lock *lock = operation->lock;
    struct rl_event refusal;

    assert(operation->stands);
    if (operation->done)
        return;
    step(operation, event);
    /* Nodes that could not even be asked answer after the question has gone to all the others. */
    while (!operation->done && rl_dispatch_take_refused(lock, &refusal))
        step(operation, &refusal);
    lock->refused_locally = 0;
}

void rl_standing_start(struct rl_operation *operation, const struct rl_acquire_config *config)
{
    struct rl_engine *engine = operation->lock->engine;
    struct rl_event event = {.kind = RL_EVENT_START, .now = engine->now};

    assert(operation->kind == RL_OPERATION_ACQUIRE);
    assert(operation->lock->asking == NULL);
    assert(operation->lock->stage == RL_LOCK_ASKING);
    operation->lock->asking = operation;
    operation->stands = true;
    operation->place.lease_ms = RECORD_MS;
    rl_list_append(&engine->standing, &operation->standing);
    rl_stand_init(&operation->stand, config, &engine->prng);
    rl_standing_event(operation, &event);
}

/* It came long ago, but others of this client were before it: to those of other clients it comes now. */
void rl_standing_turn(struct rl_operation *operation)
{
    struct rl_engine *engine = operation->lock->engine;
    int64_t wall_us = rl_state_wall_us(engine);
    struct rl_acquire_config config = operation->acquire.config;

    assert(!operation->stands);
    assert(operation->acquire.phase == RL_ACQUIRE_QUEUED);
    rl_operation_stop_asking(operation);
    config.first_wait = rl_span_us(0);
    config.ticket = wall_us > 0 ? (uint64_t)wall_us : 1;
    rl_standing_start(operation, &config);
}

/* ---- what is handed over ---- */

/* Rule: what a node hands over counts as its answers do: the node may vote, and its memory is the one that
 * was admitted; that it is still the same master, it has looked at itself. Its clock must not have jumped
 * since the last exchange, for the grant is dated by it. */
static bool is_eligible(const struct rl_operation *operation, uint32_t node,
                        const struct rl_hand_over *handed)
{
    const struct rl_engine *engine = operation->lock->engine;
    const struct rl_node_guard *guard = &engine->guards[node];

    if (RL_PLANTED(engine, RL_PLANTED_HANDED_INELIGIBLE))
        return true;
    return rl_vote_counts(engine, node) && strlen(guard->epoch) == handed->epoch_length &&
           memcmp(guard->epoch, handed->epoch, handed->epoch_length) == 0 &&
           handed->node_us <= rl_clock_watch_node_us(&guard->watch, engine->now) + CLOCK_SLACK_US &&
           rl_guard_in_time(engine, node, rl_stand_since(&operation->stand, engine->now));
}

static void take_standing(struct rl_operation *operation, uint32_t node, const struct rl_hand_over *handed)
{
    struct rl_event event = {
        .kind = RL_EVENT_HANDED,
        .now = operation->lock->engine->now,
        .node = node,
        .ttl =
            rl_span_ms(handed->ttl_ms < operation->lock->ttl_ms ? handed->ttl_ms : operation->lock->ttl_ms),
        /* One of several names is not the lock: it asks for all of them, with this one in hand. */
        .eligible = operation->lock->names == NULL && is_eligible(operation, node, handed),
        .answer = {.fence = handed->fence, .node_us = handed->node_us, .slot = handed->slot}};

    rl_standing_event(operation, &event);
    if (rl_node_set_has(rl_stand_votes(&operation->stand), node))
        operation->record.nodes[node] = (struct rl_node_record){
            .answer = {.verdict = RL_GRANTED, .fence = handed->fence, .ttl_left_ms = -2}, .latency_us = -1};
}

/* Won already, by others: now this node has it, too, if perhaps not for long. */
static void take_held(redlock_lock *lock, uint32_t node, const struct rl_hand_over *handed)
{
    struct rl_time now = lock->engine->now;
    struct rl_event event = {.kind = RL_EVENT_MISSED, .now = now, .node = node};

    if (handed->slot != lock->slot) { /* the node had it in line still, for any slot */
        rl_dispatch_return(lock, rl_node_set_one(node));
        return;
    }
    if (lock->names == NULL && rl_lease_held(&lock->lease, now) &&
        handed->ttl_ms >= rl_span_ms_up(rl_lease_left(&lock->lease, now))) {
        event.kind = RL_EVENT_ANSWER;
        event.question = RL_QUESTION_MEND;
        event.answer.verdict = RL_GRANTED;
    }
    rl_holding_event(lock, &event);
}

void rl_standing_changed(struct rl_engine *engine, uint32_t node, const char *key, size_t key_length)
{
    struct rl_event event = {.kind = RL_EVENT_CHANGED, .now = engine->now, .node = node};
    const redlock_lock *leader = rl_queue_leader(engine, key, key_length, 0);

    /* All others of its name queue behind it, but those who would share it, which stand in line each for
     * itself. */
    if (leader != NULL && rl_operation_in_line(leader) != NULL && leader->asking->watches)
        rl_standing_event(leader->asking, &event);
    /* Without memory for the table nobody leads. */
    for (uint32_t left = rl_list_length(&engine->standing); left > 0 && !rl_list_empty(&engine->standing);
         left--) {
        struct rl_operation *operation =
            RL_CONTAINER(rl_list_turn(&engine->standing), struct rl_operation, standing);
        const redlock_lock *lock = operation->lock;

        if (operation->watches && (leader == NULL || lock->kind->is_shared) &&
            lock->key_length == key_length && memcmp(lock->text, key, key_length) == 0)
            rl_standing_event(operation, &event);
    }
}

void rl_standing_handed(struct rl_engine *engine, uint32_t node, const struct rl_hand_over *handed)
{
    redlock_lock *lock =
        rl_owned_find(engine, handed->key, handed->key_length, handed->owner, handed->owner_length);

    assert(node < engine->node_count);
    /* Rule: a hand-over to an owner that is unknown here is ignored. A caller that gave up has told the node
     * so, or will; one that left a lock to another process may not take it away from there. */
    if (lock == NULL || (handed->slot == 0) != (lock->slots == 0) || handed->slot > lock->slots)
        return;
    engine->sessions[node].pushed = 0; /* it was asked for, so it is part of no flood */
    if (rl_operation_in_line(lock) != NULL)
        take_standing(lock->asking, node, handed);
    else if (lock->stage == RL_LOCK_HELD)
        take_held(lock, node, handed);
}
