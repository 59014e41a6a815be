/*
 * Which nodes to ask, which not yet, and which not at all; see dispatch.h.
 */
#include "engine/dispatch.h"

#include <assert.h>

#include "base/bytes.h"
#include "engine/debts.h"
#include "engine/guard.h"
#include "engine/record.h"
#include "engine/send.h"
#include "engine/vote.h"
#include "engine/watching.h"

/* What made a node ineligible was learned in the handshake and may have been mended since: greet it anew, now
 * and then. */
static void look_again(struct rl_engine *engine, struct rl_session *session)
{
    char why[sizeof session->error];

    if (session->state != RL_SESSION_READY || session->exchange.pending_count > 0 ||
        rl_time_before(engine->now, session->look_again))
        return;
    rl_text_copy(why, sizeof why, session->error);
    rl_session_break(session, session->ineligible, why, engine->now);
}

/* A node that owes an answer is asked nothing more, except what it has just told of: a waiter that did not
 * look into a change for that would miss the end of a lock. */
static bool owes_too_much(const struct rl_engine *engine, const struct rl_session *session,
                          enum rl_command_kind kind)
{
    bool told_now = kind == RL_COMMAND_WATCH && session->heard.us == engine->now.us &&
                    !RL_PLANTED(engine, RL_PLANTED_SILENT_NOT_ASKED);

    return rl_session_silent(session, engine->now) && kind != RL_COMMAND_BREAK && !told_now;
}

static void ask_node(redlock_lock *lock, uint32_t node, enum rl_command_kind kind, uint32_t question)
{
    struct rl_engine *engine = lock->engine;
    struct rl_session *session = &engine->sessions[node];
    rl_node_set one = rl_node_set_one(node);
    enum rl_right right;

    assert(node < engine->node_count);
    if (session->ineligible != RL_CAUSE_NONE || engine->guards[node].by_info)
        look_again(engine, session);
    rl_session_wake(session, engine->now);
    if (session->state == RL_SESSION_RESTING || session->ineligible != RL_CAUSE_NONE ||
        owes_too_much(engine, session, kind)) {
        lock->refused_locally |= one;
    } else if (session->state != RL_SESSION_READY) {
        *(kind == RL_COMMAND_WATCH ? &lock->refused_locally : &lock->owed) |=
            one; /* a waiter hears of it again */
    } else if (kind == RL_COMMAND_EXTEND && rl_guard_right(engine, node) == RL_MAY_VOTE_SOON) {
        lock->owed |= one; /* one that may not vote keeps what it has, and says so */
    } else if (kind == RL_COMMAND_ACQUIRE && (right = rl_guard_right(engine, node)) != RL_MAY_VOTE) {
        *(right == RL_MAY_VOTE_SOON ? &lock->owed : &lock->refused_locally) |= one;
    } else if (kind == RL_COMMAND_WATCH) {
        if (!rl_watching_send(lock, node, question))
            lock->refused_locally |= one;
    } else if (rl_send_command(lock, node, kind, question, NULL, false)) {
        lock->maybe_stored |= one;
    } else {
        lock->refused_locally |= one;
    }
    if ((lock->refused_locally & one) != 0 && kind != RL_COMMAND_WATCH) {
        rl_record_count(engine, node, kind, rl_record_refusal_answer(engine, node));
        rl_record_refusal(lock, node);
    }
}

/* Asynchronous calls may be looked after by a program's own loop, all others are not. */
static struct rl_list *rounds_for(redlock_lock *lock)
{
    bool requested = lock->asking != NULL && lock->asking->request != 0;

    return requested ? &lock->engine->requested : &lock->engine->rounds;
}

static void ask_nodes(redlock_lock *lock, rl_node_set nodes, enum rl_command_kind kind, uint32_t question)
{
    lock->refused_locally = 0;
    lock->owed_kind = kind;
    lock->owed_question = question;
    if (!rl_link_used(&lock->link))
        rl_list_append(rounds_for(lock), &lock->link);
    for (rl_node_set left = nodes; left != 0; left &= left - 1)
        ask_node(lock, rl_node_set_first(left), kind, question);
}

void rl_dispatch_ask(redlock_lock *lock, rl_node_set nodes, enum rl_command_kind kind, uint32_t question)
{
    lock->owed = 0;
    ask_nodes(lock, nodes, kind, question);
}

void rl_dispatch_raise(redlock_lock *lock, const struct rl_effects *effects)
{
    lock->engine->stats.fence_rounds++;
    lock->fence = effects->fence;
    rl_dispatch_ask(lock, effects->raise, RL_COMMAND_RAISE, effects->question);
}

void rl_dispatch_ask_more(redlock_lock *lock, rl_node_set nodes, uint32_t question)
{
    lock->owed = lock->owed_kind == RL_COMMAND_ACQUIRE ? lock->owed & ~nodes : 0;
    ask_nodes(lock, nodes, RL_COMMAND_ACQUIRE, question);
}

void rl_dispatch_mend(redlock_lock *lock, rl_node_set nodes)
{
    struct rl_engine *engine = lock->engine;

    if (!rl_lease_held(&lock->lease, engine->now))
        return; /* its release has gone out already: nothing may be planted behind it */
    for (rl_node_set left = nodes; left != 0; left &= left - 1) {
        uint32_t node = rl_node_set_first(left);
        struct rl_session *session = &engine->sessions[node];

        rl_session_wake(session, engine->now);
        if (!rl_session_silent(session, engine->now) && rl_guard_right(engine, node) == RL_MAY_VOTE &&
            rl_send_command(lock, node, RL_COMMAND_EXTEND, RL_QUESTION_MEND, NULL, false))
            lock->maybe_stored |= rl_node_set_one(node);
    }
}

bool rl_dispatch_take_refused(redlock_lock *lock, struct rl_event *event)
{
    uint32_t node;

    if (lock->refused_locally == 0)
        return false;
    node = rl_node_set_first(lock->refused_locally);
    lock->refused_locally &= lock->refused_locally - 1;
    *event = (struct rl_event){.kind = RL_EVENT_ANSWER,
                               .now = lock->engine->now,
                               .question = lock->owed_question,
                               .node = node,
                               .answer = rl_record_refusal_answer(lock->engine, node)};
    return true;
}

/* A release that cannot be sent now is the reaper's, where there may be something to release. */
static void owe_release(redlock_lock *lock, uint32_t node)
{
    if ((lock->maybe_stored & rl_node_set_one(node)) != 0 || lock->owner_fixed)
        rl_debts_add(lock, node, NULL, rl_span_us(0));
}

/* The release went out on another connection than what it undoes: once more when that would come too late. */
static void owe_another(redlock_lock *lock, uint32_t node)
{
    if ((lock->stray & rl_node_set_one(node)) != 0)
        rl_debts_add(lock, node, NULL, lock->engine->config.node_timeout);
}

/* Whether a node owes answers and was sent nothing that a release would undo. Such releases would pile up on
 * its connection, and when that breaks they would take the places of releases that are really owed. */
static bool is_needless(const redlock_lock *lock, uint32_t node, rl_node_set maybe_stored)
{
    return !rl_node_set_has(maybe_stored, node) && !lock->owner_fixed &&
           rl_session_silent(&lock->engine->sessions[node], lock->engine->now);
}

/* Rule: release goes to all nodes, answered or not, on the connection that carried the acquire. Not to one
 * that is silent and was asked nothing. */
void rl_dispatch_release(redlock_lock *lock, rl_node_set nodes, uint32_t question)
{
    struct rl_engine *engine = lock->engine;

    assert((nodes & ~rl_node_set_all(engine->node_count)) == 0);
    lock->owed = lock->refused_locally = 0;
    lock->owed_kind = RL_COMMAND_RELEASE;
    lock->owed_question = question;
    for (rl_node_set left = nodes; left != 0; left &= left - 1) {
        uint32_t node = rl_node_set_first(left);
        rl_node_set one = rl_node_set_one(node);
        bool needless = is_needless(lock, node, lock->maybe_stored);

        if (!needless && rl_send_command(lock, node, RL_COMMAND_RELEASE, question, NULL, false)) {
            owe_another(lock, node);
            continue;
        }
        rl_session_wake(&engine->sessions[node], engine->now);
        if (!needless && question != 0 && engine->sessions[node].state != RL_SESSION_RESTING) {
            lock->owed |= one;
            continue;
        }
        owe_release(lock, node);
        if (question != 0) {
            lock->refused_locally |= one;
            rl_record_refusal(lock, node);
        }
    }
    if (lock->owed != 0 && !rl_link_used(&lock->link))
        rl_list_append(&engine->rounds, &lock->link);
}

struct rl_former rl_dispatch_former(const redlock_lock *lock)
{
    struct rl_former former = {.maybe_stored = lock->maybe_stored, .stray = lock->stray};

    assert(!lock->owner_fixed);
    rl_lock_random(lock, former.random);
    return former;
}

void rl_dispatch_release_former(redlock_lock *lock, rl_node_set nodes, const struct rl_former *former)
{
    struct rl_engine *engine = lock->engine;

    for (rl_node_set left = nodes; left != 0; left &= left - 1) {
        uint32_t node = rl_node_set_first(left);

        if (is_needless(lock, node, former->maybe_stored))
            continue;
        if (rl_send_command(lock, node, RL_COMMAND_RELEASE, 0, former->random, false)) {
            if (rl_node_set_has(former->stray, node))
                rl_debts_add(lock, node, former->random, engine->config.node_timeout);
        } else {
            rl_session_wake(&engine->sessions[node], engine->now);
            if (rl_node_set_has(former->maybe_stored, node))
                rl_debts_add(lock, node, former->random, rl_span_us(0));
        }
    }
}

/* Where it cannot be sent, the release of the whole lock makes up for it, or the end of the key. */
void rl_dispatch_return(redlock_lock *lock, rl_node_set nodes)
{
    assert(nodes == 0 || lock->slot > 0);
    for (rl_node_set left = nodes; left != 0; left &= left - 1)
        rl_send_command(lock, rl_node_set_first(left), RL_COMMAND_RELEASE, 0, NULL, false);
}

bool rl_dispatch_pay(redlock_lock *lock, uint32_t node)
{
    struct rl_engine *engine = lock->engine;
    rl_node_set one = rl_node_set_one(node);

    assert(rl_node_set_has(lock->owed, node));
    lock->owed &= ~one;
    if (rl_vote_reachable(engine, node) &&
        (lock->owed_kind != RL_COMMAND_ACQUIRE || rl_guard_right(engine, node) == RL_MAY_VOTE) &&
        rl_send_command(lock, node, lock->owed_kind, lock->owed_question, NULL, false)) {
        lock->maybe_stored |= one;
        if (lock->owed_kind == RL_COMMAND_RELEASE)
            owe_another(lock, node);
        return true;
    }
    if (lock->owed_kind == RL_COMMAND_RELEASE)
        owe_release(lock, node);
    rl_record_count(engine, node, lock->owed_kind, rl_record_refusal_answer(engine, node));
    rl_record_refusal(lock, node);
    return false;
}

void rl_dispatch_forget_owed(redlock_lock *lock)
{
    if (lock->owed_kind == RL_COMMAND_RELEASE)
        for (rl_node_set left = lock->owed; left != 0; left &= left - 1)
            owe_release(lock, rl_node_set_first(left));
    lock->owed = 0;
}
