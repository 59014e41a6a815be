/*
 * Answers in: brings replies, silences and breaks of connections back to the operation or the lease they
 * belong to, and sees to what a broken connection may have left behind.
 */
#include "engine/answers.h"

#include <assert.h>
#include <string.h>

#include "engine/clocks.h"
#include "engine/contact.h"
#include "engine/debts.h"
#include "engine/dispatch.h"
#include "engine/guard.h"
#include "engine/hearing.h"
#include "engine/holding.h"
#include "engine/listing.h"
#include "engine/proof.h"
#include "engine/pushes.h"
#include "engine/record.h"
#include "engine/send.h"
#include "engine/stats.h"
#include "engine/steps.h"
#include "engine/vote.h"
#include "engine/watching.h"

enum { REFUSED_PAUSE_MS = 50 };

/* Whether a caller at guarded nodes still wants the answer: its present owner asked for it. */
static bool is_wanted_in_line(const struct rl_stand *stand, const struct rl_pending *pending)
{
    if (stand->phase != RL_STAND_WAITING && stand->phase != RL_STAND_RAISING)
        return false;
    return pending->kind == RL_COMMAND_RAISE ? pending->question == stand->question
                                             : pending->question >= stand->attempt;
}

/* Whether the round that a question belongs to is still open. A round that has been undone must not be asked
 * for again: its release has gone out already. */
static bool is_open(const redlock_lock *lock, const struct rl_pending *pending)
{
    const struct rl_acquire *acquire = lock->asking != NULL ? &lock->asking->acquire : NULL;

    if (!rl_steps_current(lock, pending))
        return false;
    if (rl_operation_in_line(lock) != NULL)
        return is_wanted_in_line(&lock->asking->stand, pending);
    if (pending->kind == RL_COMMAND_ACQUIRE)
        return acquire != NULL && pending->question == acquire->round_question &&
               acquire->phase == RL_ACQUIRE_ASKING;
    if (pending->kind == RL_COMMAND_EXTEND && pending->question == RL_QUESTION_MEND)
        return rl_lease_held(&lock->lease, lock->engine->now);
    if (pending->kind == RL_COMMAND_EXTEND)
        return lock->lease.phase == RL_LEASE_EXTENDING && pending->question == lock->lease.question;
    return true;
}

/* Nothing was executed; send it again in another form, unless nobody wants it any more. A release is always
 * wanted. */
static void send_again(redlock_lock *lock, uint32_t node, const struct rl_pending *pending, bool full)
{
    bool returns = rl_send_is_return(lock, pending);
    bool wanted = returns ? rl_lease_held(&lock->lease, lock->engine->now)
                          : pending->kind == RL_COMMAND_RELEASE || is_open(lock, pending);

    if (wanted && rl_send_command(lock, node, (enum rl_command_kind)pending->kind, pending->question,
                                  pending->random, full))
        return;
    if (pending->kind == RL_COMMAND_RELEASE && !returns)
        rl_debts_add(lock, node, pending->random, rl_span_us(0));
}

/* Whether an error that a command for several requests got may be no concern of each of them: rights, keys
 * that live apart, an error that only one of them raised. A node that is busy, loading or full would say the
 * same to each. */
static bool may_differ_alone(enum rl_cause cause)
{
    return cause == RL_CAUSE_RIGHTS || cause == RL_CAUSE_CLUSTER || cause == RL_CAUSE_ERROR;
}

/* Once per request: a node that does not know what it was just told is broken, not forgetful. */
static bool needs_another_form(struct rl_session *session, const struct rl_pending *pending,
                               enum rl_reading reading, enum rl_cause cause)
{
    if (session->exchange.refused_together && pending->together > 1 && reading != RL_READING_NO_SCRIPT &&
        may_differ_alone(cause)) {
        session->apart = true;
        /* A script that failed half-way may have granted it: alone it would be told that somebody has it. */
        return pending->kind != RL_COMMAND_ACQUIRE || cause != RL_CAUSE_ERROR;
    }
    if (reading == RL_READING_NO_COMMAND) {
        session->handshake.info.features = 0;
        return pending->native != 0;
    }
    if (reading != RL_READING_NO_SCRIPT || pending->full)
        return false;
    session->carried = 0; /* its scripts were flushed: each goes whole once more */
    return true;
}

/* A native release knows nothing of the mark that a break leaves in place of the owner: the script looks at
 * what it did not find. That is rare: nodes that denied a round are not asked to undo it. */
static bool may_be_broken(const struct rl_pending *pending, enum rl_verdict verdict)
{
    return pending->native != 0 && verdict == RL_DENIED;
}

/* The guard takes what it says; the one that asked for it is told whether the node is fit. */
static void on_admission(struct rl_engine *engine, struct rl_session *session,
                         const struct rl_pending *pending, const char *bytes, size_t length)
{
    redlock_lock *lock = pending->subject;
    struct rl_answer answer = {.verdict = RL_GRANTED, .ttl_left_ms = -2};
    bool heard = rl_guard_reply(engine, session->node, pending, bytes, length);

    if (lock == NULL)
        return;
    if (!rl_vote_counts(engine, session->node))
        answer = rl_record_refusal_answer(engine, session->node);
    if (heard && rl_steps_current(lock, pending)) {
        rl_record_refusal(lock, session->node);
        lock->asking->record.nodes[session->node].answer = answer;
        if (answer.verdict == RL_GRANTED)
            lock->asking->record.nodes[session->node].detail[0] = '\0';
        rl_steps_deliver(lock, session->node, pending, &answer);
    }
}

/* Rule: only the vote of a node that may vote counts, also when that was found out after it had been
 * asked. */
static bool has_lost_its_vote(const struct rl_engine *engine, uint32_t node, const struct rl_pending *pending)
{
    bool votes = pending->kind == RL_COMMAND_ACQUIRE || pending->kind == RL_COMMAND_RAISE ||
                 pending->kind == RL_COMMAND_EXTEND;

    return votes && !rl_vote_counts(engine, node) && !RL_PLANTED(engine, RL_PLANTED_INELIGIBLE_VOTE) &&
           !(pending->kind == RL_COMMAND_EXTEND && RL_PLANTED(engine, RL_PLANTED_ADOPT_INELIGIBLE));
}

static void withhold(struct rl_lock_reply *reply, enum rl_cause cause, const char *why)
{
    reply->answer.verdict = RL_INELIGIBLE;
    reply->answer.cause = cause;
    reply->error = why;
    reply->error_length = strlen(why);
}

/* What a reply tells beside the verdict: the node's time, its epoch, the highest fence. */
static void learn(redlock_lock *lock, uint32_t node, const struct rl_pending *pending,
                  struct rl_lock_reply *reply)
{
    struct rl_engine *engine = lock->engine;
    bool trusted;

    if (lock->asking != NULL && reply->answer.fence > lock->asking->seen)
        lock->asking->seen = reply->answer.fence;
    if (reply->answer.cause == RL_CAUSE_EPOCH)
        rl_guard_refused(engine, node);
    trusted = reply->node_us == 0 || rl_clocks_look(engine, node, pending->sent, reply->node_us);
    if (pending->kind == RL_COMMAND_SEARCH && reply->node_us != 0)
        engine->guards[node].heard =
            (struct rl_guard_clock){.heard = true, .node_us = reply->node_us, .floor = reply->answer.fence};
    if (reply->answer.verdict != RL_GRANTED || pending->kind == RL_COMMAND_SEARCH)
        return;
    if (!trusted)
        withhold(reply, engine->guards[node].clock_bad ? RL_CAUSE_CLOCK_RATE : RL_CAUSE_CLOCK_STEP,
                 "its clock cannot be trusted");
    else if (has_lost_its_vote(engine, node, pending))
        withhold(reply, RL_CAUSE_EPOCH, "it was found ineligible to vote after it had been asked");
    else if (pending->kind == RL_COMMAND_ACQUIRE && rl_operation_in_line(lock) != NULL &&
             !rl_guard_in_time(engine, node, rl_stand_since(&lock->asking->stand, pending->sent)))
        withhold(reply, RL_CAUSE_EPOCH, "it was admitted too late in this round to vote in it");
}

/* A vote that comes after the round was won changes nothing, but a node that did not grant it has to be given
 * it. */
static void take_late_vote(redlock_lock *lock, uint32_t node, const struct rl_pending *pending,
                           const struct rl_answer *answer)
{
    uint8_t present[RL_OWNER_RANDOM];
    bool granted = answer->verdict == RL_GRANTED, same = answer->slot == lock->slot;

    if (pending->kind != RL_COMMAND_ACQUIRE || lock->stage != RL_LOCK_HELD || (granted && same))
        return;
    rl_lock_random(lock, present);
    if (memcmp(present, pending->random, sizeof present) != 0)
        return;
    rl_holding_missed(lock, rl_node_set_one(node));
    if (granted) /* another slot than the one it has won */
        rl_dispatch_return(lock, rl_node_set_one(node));
}

/* A vote for another slot than the one that it goes on with does not count, and what it is for goes back. */
static void check_slot(redlock_lock *lock, uint32_t node, const struct rl_pending *pending,
                       struct rl_answer *answer)
{
    if (pending->kind != RL_COMMAND_EXTEND || answer->verdict != RL_GRANTED || lock->slot == 0 ||
        answer->slot == 0 || answer->slot == lock->slot)
        return;
    answer->verdict = RL_DENIED;
    if (lock->stage == RL_LOCK_HELD && rl_lease_held(&lock->lease, lock->engine->now))
        rl_dispatch_return(lock, rl_node_set_one(node));
}

/* Whether somebody waits for what is said: a node that is brought up to date says it to nobody. */
static bool is_reported(const redlock_lock *lock, const struct rl_pending *pending)
{
    return rl_steps_current(lock, pending) && pending->question != RL_QUESTION_MEND;
}

/* Whether it asked something of the lock itself; the rest is about waiters, or about all locks. */
static bool is_of_lock(const struct rl_pending *pending)
{
    return pending->kind != RL_COMMAND_LINE && pending->kind != RL_COMMAND_FENCE &&
           pending->kind != RL_COMMAND_EXAMINE && pending->kind != RL_COMMAND_PAGE;
}

/* What a node said of itself. */
static void take_examination(redlock_lock *lock, uint32_t node, const struct rl_pending *pending,
                             const char *bytes, size_t length)
{
    struct rl_engine *engine = lock->engine;
    struct rl_examine_command command = rl_send_examine_command(lock);
    struct rl_answer answer = {.verdict = RL_GRANTED, .ttl_left_ms = -2};
    struct rl_span latency = rl_time_since(engine->now, pending->sent);

    rl_examine_read(&command, bytes, length, &engine->facts[node]);
    if (engine->sessions[node].hearing_right != NULL)
        rl_examine_advise(&engine->facts[node], engine->sessions[node].hearing_right);
    rl_record_inability(engine, node,
                        &(struct rl_lock_reply){.answer.cause = engine->facts[node].refused,
                                                .error = engine->facts[node].refusal,
                                                .error_length = strlen(engine->facts[node].refusal)});
    if (engine->facts[node].node_us != 0)
        rl_clocks_note(engine, node, latency, engine->facts[node].node_us);
    if (!rl_steps_current(lock, pending))
        return;
    lock->asking->record.nodes[node].answer = answer;
    lock->asking->record.nodes[node].latency_us = latency.us;
    rl_steps_deliver(lock, node, pending, &answer);
}

/* What a node said of waiters, or of all its locks. */
static void take_line(redlock_lock *lock, uint32_t node, const struct rl_pending *pending, const char *bytes,
                      size_t length)
{
    if (pending->kind == RL_COMMAND_LINE)
        rl_record_line(lock, bytes, length);
    if (pending->kind == RL_COMMAND_PAGE && lock->asking != NULL)
        rl_listing_page(lock->asking, node, pending, bytes, length);
    if (pending->kind == RL_COMMAND_FENCE && lock->asking != NULL)
        lock->asking->record.nodes[node].fence = rl_lock_reply_fence(bytes, length);
}

/* What a caller in line wants to know of an answer beside the verdict. */
static void tell_more(const struct rl_engine *engine, uint32_t node, struct rl_lock_reply *reply)
{
    reply->answer.node_us = reply->node_us;
    reply->answer.armed = rl_hearing_channel(engine, node)[0] != '\0';
    if (reply->owner != NULL && reply->owner_length > 0)
        reply->answer.holder = rl_lock_answer_holder(reply);
}

/* Of several names: which one was in the way, or is gone. */
static void note_name(redlock_lock *lock, const struct rl_answer *answer)
{
    if (lock->names != NULL && answer->name >= 1 && answer->name <= lock->names->keys.count)
        lock->name_number = lock->names->keys.keys[answer->name - 1].given + 1;
}

/* The answer to a question about the lock counts: writes it down and brings it to the one that asked. */
static void take_answer(redlock_lock *lock, uint32_t node, const struct rl_pending *pending,
                        struct rl_span latency, struct rl_lock_reply *reply)
{
    assert(lock != NULL);
    assert(node < lock->engine->node_count);
    learn(lock, node, pending, reply);
    note_name(lock, &reply->answer);
    check_slot(lock, node, pending, &reply->answer);
    if (reply->answer.cause == RL_CAUSE_BROKEN && lock->stage == RL_LOCK_HELD)
        lock->broken_on |= rl_node_set_one(node);
    if (pending->kind == RL_COMMAND_ACQUIRE)
        tell_more(lock->engine, node, reply);
    if (pending->kind == RL_COMMAND_RELEASE && reply->answer.verdict == RL_FAILED &&
        !rl_send_is_return(lock, pending))
        rl_debts_add(lock, node, pending->random, rl_span_ms(REFUSED_PAUSE_MS)); /* it was not executed */
    rl_record_count(lock->engine, node, (enum rl_command_kind)pending->kind, reply->answer);
    if (pending->kind == RL_COMMAND_ACQUIRE ||
        (pending->kind == RL_COMMAND_PEEK && rl_lock_is_nameless(lock)))
        rl_record_inability(lock->engine, node, reply);
    if (is_reported(lock, pending))
        rl_record_reply(lock, node, (enum rl_command_kind)pending->kind, latency.us, reply);
    take_late_vote(lock, node, pending, &reply->answer);
    rl_steps_deliver(lock, node, pending, &reply->answer);
}

static void take_reply(struct rl_engine *engine, struct rl_session *session, const struct rl_pending *pending,
                       const char *bytes, size_t length)
{
    redlock_lock *lock = pending->subject;
    enum rl_proof proof = RL_PROOF_SAME;
    struct rl_lock_command command = {
        .kind = (enum rl_command_kind)pending->kind,
        .lock_kind = lock->kind,
        .slots = lock->slots,
        .names = lock->names != NULL ? &lock->names->keys : NULL,
        .epoch = engine->config.guarded ? engine->guards[session->node].epoch : NULL,
        .fence = pending->number,
        .nameless = pending->kind == RL_COMMAND_PEEK && rl_lock_is_nameless(lock)};
    struct rl_lock_reply reply;
    enum rl_reading reading = rl_lock_reply_read(&command, bytes, length, &reply);
    bool voted;

    if (pending->kind == RL_COMMAND_EXTEND && pending->replies == 2)
        proof = rl_proof_read(engine, session->node, bytes, length);
    voted = reply.answer.verdict != RL_FAILED;
    if (proof == RL_PROOF_SAME && needs_another_form(session, pending, reading, reply.answer.cause)) {
        send_again(lock, session->node, pending, reading != RL_READING_ANSWER);
    } else if (may_be_broken(pending, reply.answer.verdict)) {
        send_again(lock, session->node, pending, true);
    } else {
        if (proof == RL_PROOF_ANOTHER || (proof == RL_PROOF_NONE && voted))
            rl_lock_reply_refuse(&reply);
        take_answer(lock, session->node, pending, rl_time_since(engine->now, pending->sent), &reply);
    }
    if (proof != RL_PROOF_SAME)
        rl_proof_failed(engine, session->node, proof, voted);
}

static void on_reply(void *context, struct rl_session *session, const struct rl_pending *pending,
                     const char *bytes, size_t length)
{
    struct rl_engine *engine = context;
    redlock_lock *lock = pending->subject;

    if (!engine->looked_away && pending->kind != RL_COMMAND_EXAMINE)
        rl_stats_add(&engine->node_stats[session->node].latency, rl_time_since(engine->now, pending->sent));
    if (pending->kind == RL_COMMAND_ADMIT)
        on_admission(engine, session, pending, bytes, length);
    else if (pending->kind == RL_COMMAND_SUBSCRIBE)
        rl_hearing_reply(engine, session->node, bytes, length);
    else if (pending->kind == RL_COMMAND_TRACK)
        rl_watching_tracked(engine, session->node, bytes, length);
    else if (is_of_lock(pending))
        take_reply(engine, session, pending, bytes, length);
    else if (pending->kind == RL_COMMAND_EXAMINE)
        take_examination(lock, session->node, pending, bytes, length);
    else
        take_line(lock, session->node, pending, bytes, length);
    if (lock != NULL)
        rl_lock_unref(lock);
    rl_steps_run(engine);
}

/* Whether what an unanswered request may have left on the node still has an owner that will see to it. */
static bool looked_after(const redlock_lock *lock, const struct rl_pending *pending)
{
    uint8_t present[RL_OWNER_RANDOM];

    rl_lock_random(lock, present);
    if (pending->kind == RL_COMMAND_PEEK || pending->kind == RL_COMMAND_WATCH ||
        pending->kind == RL_COMMAND_SEARCH || pending->kind == RL_COMMAND_ADMIT || !is_of_lock(pending))
        return true;
    if (pending->kind == RL_COMMAND_RELEASE || memcmp(present, pending->random, sizeof present) != 0)
        return false;
    return lock->stage != RL_LOCK_OVER || lock->kept_on_nodes;
}

static void on_dropped(void *context, struct rl_session *session, const struct rl_pending *pending)
{
    struct rl_engine *engine = context;
    redlock_lock *lock = pending->subject;
    struct rl_answer answer = {.verdict = RL_FAILED, .cause = session->cause, .ttl_left_ms = -2};

    rl_record_count(engine, session->node, (enum rl_command_kind)pending->kind, answer);
    if (pending->kind == RL_COMMAND_ADMIT)
        rl_guard_dropped(engine, session->node);
    if (lock == NULL)
        return;
    if (!looked_after(lock, pending) && !rl_send_is_return(lock, pending))
        rl_debts_add(lock, session->node, pending->random, rl_span_us(0));
    else if (pending->kind == RL_COMMAND_ACQUIRE || pending->kind == RL_COMMAND_EXTEND)
        lock->stray |= rl_node_set_one(session->node);
    if (is_reported(lock, pending))
        rl_record_refusal(lock, session->node);
    take_late_vote(lock, session->node, pending, &answer);
    rl_steps_deliver(lock, session->node, pending, &answer);
    rl_lock_unref(lock);
}

static void on_push(void *context, struct rl_session *session, const char *bytes, size_t length)
{
    rl_pushes_take(context, session->node, bytes, length);
    rl_steps_run(context);
}

struct rl_session_user rl_answers_user(struct rl_engine *engine)
{
    return (struct rl_session_user){.ready = rl_contact_ready,
                                    .reply = on_reply,
                                    .compose = rl_send_compose,
                                    .push = on_push,
                                    .dropped = on_dropped,
                                    .down = rl_contact_down,
                                    .context = engine};
}
