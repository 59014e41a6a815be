/*
 * Goes on with locks: brings answers to the operation or the lease that they are for, and does what one step
 * made possible for another; see steps.h.
 */
#include "engine/steps.h"

#include <assert.h>

#include "engine/acquisition.h"
#include "engine/dispatch.h"
#include "engine/guard.h"
#include "engine/holding.h"
#include "engine/listing.h"
#include "engine/queue.h"
#include "engine/record.h"
#include "engine/settling.h"
#include "engine/standing.h"
#include "engine/survey.h"

enum { GIVEN_AT_ONCE = 512 }; /* unanswered questions at one node */

void rl_steps_operation(struct rl_operation *operation, const struct rl_event *event)
{
    if (operation->stands)
        rl_standing_event(operation, event);
    else if (operation->kind == RL_OPERATION_ACQUIRE)
        rl_acquisition_event(operation, event);
    else if (rl_link_used(&operation->settling) && event->kind == RL_EVENT_TIMER)
        rl_settling_start(operation);
    else if (operation->listing != NULL)
        rl_listing_event(operation, event);
    else
        rl_survey_event(operation, event);
}

bool rl_steps_current(const redlock_lock *lock, const struct rl_pending *pending)
{
    bool of_lease = pending->kind == RL_COMMAND_EXTEND || pending->kind == RL_COMMAND_RELEASE;

    if (pending->question == 0)
        return false;
    if (lock->asking != NULL)
        return !of_lease;
    return of_lease && lock->stage != RL_LOCK_OVER;
}

void rl_steps_deliver(redlock_lock *lock, uint32_t node, const struct rl_pending *pending,
                      const struct rl_answer *answer)
{
    struct rl_event event = {.kind = RL_EVENT_ANSWER,
                             .now = lock->engine->now,
                             .question = pending->question,
                             .node = node,
                             .answer = *answer,
                             .sent = pending->sent};

    assert(node < lock->engine->node_count);
    if (!rl_steps_current(lock, pending))
        return;
    /* To a caller in line it is no vote that a lock seems to be free. */
    if (rl_operation_in_line(lock) != NULL &&
        (pending->kind == RL_COMMAND_WATCH || pending->kind == RL_COMMAND_PEEK))
        event.kind = RL_EVENT_WATCHED;
    if (pending->kind == RL_COMMAND_EXTEND || pending->kind == RL_COMMAND_RELEASE)
        rl_holding_event(lock, &event);
    else
        rl_steps_operation(lock->asking, &event);
}

static bool needs_right(enum rl_command_kind kind)
{
    return kind == RL_COMMAND_ACQUIRE || kind == RL_COMMAND_EXTEND;
}

/* Brings held locks to a node that has come. That neither ends them nor takes them off the list. As many as a
 * node can answer in good time: the rest comes by itself, later. */
static void give_held_locks(struct rl_engine *engine, uint32_t node)
{
    struct rl_event event = {.kind = RL_EVENT_UP, .now = engine->now, .node = node};
    struct rl_link *link = engine->lagging_on[node] > 0 ? rl_list_first(&engine->lagging) : NULL;

    while (link != NULL && engine->sessions[node].exchange.pending_count < GIVEN_AT_ONCE) {
        redlock_lock *lock = RL_CONTAINER(link, redlock_lock, lagging);

        link = rl_list_next(&engine->lagging, link);
        if (rl_node_set_has(lock->lease.behind, node) && rl_lease_held(&lock->lease, event.now))
            rl_holding_event(lock, &event);
    }
}

/* A node became ready or fit, or it is certain that it will not: brings locks that wait for it up to date. */
static void settle(struct rl_engine *engine, struct rl_list *rounds, uint32_t node)
{
    enum rl_right right = rl_guard_right(engine, node);
    struct rl_link *link = rl_list_first(rounds);

    assert(node < engine->node_count);
    while (link != NULL) {
        redlock_lock *lock = RL_CONTAINER(link, redlock_lock, link);
        struct rl_pending as_if = {.question = lock->owed_question, .kind = (uint8_t)lock->owed_kind};
        struct rl_answer answer;

        link = rl_list_next(rounds, link);
        if (!rl_node_set_has(lock->owed, node) ||
            (needs_right(lock->owed_kind) && right == RL_MAY_VOTE_SOON) || rl_dispatch_pay(lock, node))
            continue;
        answer = rl_record_refusal_answer(engine, node);
        /* Handling it may end this round and others; the list is looked at afresh. */
        rl_lock_ref(lock);
        rl_steps_deliver(lock, node, &as_if, &answer);
        rl_lock_unref(lock);
        link = rl_list_first(rounds);
    }
    if (right == RL_MAY_VOTE)
        give_held_locks(engine, node);
}

static bool take_turn(struct rl_engine *engine)
{
    struct rl_event event = {.kind = RL_EVENT_TURN, .now = engine->now};
    struct rl_operation *operation = rl_queue_next(engine, &event.others_first);

    if (operation != NULL && operation->lock->kind->stands_in_line)
        rl_standing_turn(operation);
    else if (operation != NULL)
        rl_acquisition_event(operation, &event);
    return operation != NULL;
}

/* After most replies there is nothing: they are counted, and no more. */
static bool is_anything_noted(struct rl_engine *engine)
{
    return engine->changed != 0 || !rl_list_empty(&engine->settling) ||
           !rl_list_empty(&engine->queues.turns) || !rl_list_empty(&engine->listings);
}

/* One may end at once and make room for the next: in a loop, not in each other. */
void rl_steps_run(struct rl_engine *engine)
{
    if (engine->stepping || !is_anything_noted(engine))
        return;
    engine->stepping = true;
    do {
        while (engine->changed != 0) {
            uint32_t node = rl_node_set_first(engine->changed);

            engine->changed &= engine->changed - 1;
            settle(engine, &engine->rounds, node);
            settle(engine, &engine->requested, node);
        }
    } while (rl_settling_check(engine) || take_turn(engine) || rl_listing_check(engine) ||
             engine->changed != 0);
    engine->stepping = false;
}
