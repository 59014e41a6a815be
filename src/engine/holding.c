/*
 * A lock after it was acquired: carries out what its lease wants, ends the calls that wait for it, and sees
 * to it that a loss is told.
 */
#include "engine/holding.h"

#include "base/bytes.h"
#include "core/trace.h"
#include "engine/adopting.h"
#include "engine/dispatch.h"
#include "engine/lagging.h"
#include "engine/notices.h"
#include "engine/operation.h"
#include "engine/owned.h"
#include "engine/queue.h"
#include "engine/record.h"
#include "engine/stats.h"

enum { MEETINGS = 128 }; /* between two renewals of a lease */

struct rl_lease_terms rl_holding_terms(struct rl_engine *engine)
{
    return (struct rl_lease_terms){
        .node_count = engine->node_count,
        .drift_ppm = engine->config.drift_ppm,
        .node_timeout = engine->config.node_timeout,
        .retry_min = engine->config.retry_min,
        .retry_max = engine->config.retry_max,
        .prng = &engine->prng,
        .planted = engine->planted,
    };
}

struct rl_lease_config rl_holding_config(const struct rl_engine *engine, const redlock_spec *spec)
{
    uint32_t ttl_ms = spec->ttl_ms;

    return (struct rl_lease_config){
        .terms = &engine->lease_terms,
        .ttl = rl_span_ms(ttl_ms),
        .renew_every = spec->auto_extend == 0 ? rl_span_us(0) : rl_span_ms(spec->renew_ms),
        .max_hold = rl_span_ms(spec->max_hold_ms),
        .max_extensions = spec->max_extensions,
        .keep_on_nodes = spec->keep_on_nodes != 0,
        .quick_release = spec->quick_release != 0,
    };
}

/* Renewals meet: each is put off to the next of the points in time that all leases of its kind have in
 * common, so that many of them travel in one write per node. Less than a hundredth of its time, and never
 * when validity is short. */
static struct rl_time meeting_point(const redlock_lock *lock)
{
    const struct rl_lease *lease = &lock->lease;
    int64_t apart = lease->config.renew_every.us / MEETINGS;
    struct rl_time point = lease->wake_at;

    if (lease->phase != RL_LEASE_IDLE || lease->wake_at.us != lease->renew_at.us || apart == 0)
        return lease->wake_at;
    point.us += apart - 1 - (point.us + apart - 1) % apart;
    if (rl_time_since(lease->valid_until, point).us < 2 * lease->config.terms->node_timeout.us)
        return lease->wake_at;
    return point;
}

static void set_timer(redlock_lock *lock)
{
    rl_timers_set(&lock->engine->timers, &lock->timer, meeting_point(lock));
}

bool rl_holding_can_wait(const redlock_lock *lock, struct rl_time now)
{
    const struct rl_lease *lease = &lock->lease;

    return lock->stage == RL_LOCK_HELD && lease->phase == RL_LEASE_IDLE && lease->wanted.us == 0 &&
           rl_time_since(lease->valid_until, now).us > 4 * lease->config.terms->node_timeout.us;
}

void rl_holding_start(redlock_lock *lock, struct rl_time asked, struct rl_time valid_until)
{
    struct rl_lease_config config = lock->lease.config;

    rl_lease_init(&lock->lease, &config, asked, valid_until);
    lock->stage = RL_LOCK_HELD;
    lock->engine->stats.held++;
    set_timer(lock);
}

void rl_holding_missed(redlock_lock *lock, rl_node_set nodes)
{
    for (rl_node_set left = nodes; left != 0; left &= left - 1)
        rl_holding_event(lock, &(struct rl_event){.kind = RL_EVENT_MISSED,
                                                  .now = lock->engine->now,
                                                  .node = rl_node_set_first(left)});
}

static void end_holding(redlock_lock *lock)
{
    rl_node_set before = rl_lagging_of(lock);

    if (lock->stage == RL_LOCK_HELD)
        lock->engine->stats.held--;
    lock->stage = RL_LOCK_OVER;
    rl_lagging_note(lock, before);
    rl_timers_set(&lock->engine->timers, &lock->timer, RL_TIME_NEVER);
    rl_list_remove(&lock->link);
    rl_dispatch_forget_owed(lock);
    rl_owned_remove(lock);
    rl_queue_leave(lock);
}

/* An adoption is an extension of a lock that somebody else made. */
static bool waits_for(const struct rl_operation *operation, enum rl_operation_kind kind)
{
    return operation->kind == kind || (operation->kind == RL_OPERATION_ADOPT && kind == RL_OPERATION_EXTEND);
}

/* Ends the calls of a kind that wait for a question up to this one. */
static void end_waiting(redlock_lock *lock, enum rl_operation_kind kind, uint32_t question,
                        redlock_result result)
{
    struct rl_link *link = rl_list_first(&lock->waiting);

    while (link != NULL) {
        struct rl_operation *operation = RL_CONTAINER(link, struct rl_operation, on_lock);

        link = rl_list_next(&lock->waiting, link);
        if (waits_for(operation, kind) && operation->awaits <= question)
            rl_operation_finish(operation, result);
    }
}

/* A release that is under way goes on: it was asked for, and its caller will be told. */
void rl_holding_abandon(redlock_lock *lock)
{
    if (lock->lease.phase == RL_LEASE_RELEASING && !lock->engine->closing)
        return;
    end_holding(lock);
    lock->kept_on_nodes = true;
    end_waiting(lock, RL_OPERATION_EXTEND, UINT32_MAX, REDLOCK_CANCELED);
}

void rl_holding_discard(redlock_lock *lock)
{
    end_holding(lock);
    rl_dispatch_release(lock, rl_node_set_all(lock->engine->node_count), 0);
    end_waiting(lock, RL_OPERATION_EXTEND, UINT32_MAX, REDLOCK_NOT_HELD);
}

/* A call for an extension was just made: which question will settle it? */
static void note_extension(redlock_lock *lock, const struct rl_effects *effects)
{
    struct rl_operation *latest = RL_CONTAINER(lock->waiting.head.previous, struct rl_operation, on_lock);

    if (effects->extended)
        latest->awaits = 0; /* refused at once */
    else
        latest->awaits = effects->extend != 0 ? effects->question : lock->lease.question + 1;
}

static void end_releases(redlock_lock *lock, redlock_result result)
{
    end_waiting(lock, RL_OPERATION_RELEASE, UINT32_MAX, result);
}

static void trace_lease(redlock_lock *lock, const struct rl_event *event, const struct rl_effects *effects)
{
    char bytes[1024];
    struct rl_text text = rl_text_on(bytes, sizeof bytes);

    rl_trace_lease(&text, &lock->lease, event, effects);
    rl_state_trace(lock->engine, bytes);
}

/* Rule: a holder that lost its lock is told before we let anybody else have it. What the loss leaves at the
 * nodes stays there until the callback has returned, or until it ends by itself, for which validity has left
 * a margin. */
void rl_holding_let_go(redlock_lock *lock)
{
    rl_node_set nodes = lock->let_go;

    lock->let_go = 0;
    if (nodes == 0 || lock->engine->closed)
        return;
    rl_dispatch_release(lock, nodes, 0);
}

/* Whether what nodes have of a lock that was lost is left there. The lease says so when others may go on with
 * it. Of a lock that cannot be adopted, one name is a rest that helps nobody, but of several names those that
 * are there may be the whole of somebody's lock. */
static bool is_left_alone(const redlock_lock *lock, const struct rl_effects *effects)
{
    return effects->release == 0 || (lock->names != NULL && lock->owner_fixed && !lock->handle);
}

static void carry_out(redlock_lock *lock, const struct rl_effects *effects, bool was_releasing)
{
    bool lost = effects->done && !was_releasing && lock->lease.lost;

    if (effects->extended && lock->lease.ended_manual)
        end_waiting(lock, RL_OPERATION_EXTEND, lock->lease.ended_question,
                    (redlock_result)lock->lease.extend_outcome);
    else if (effects->extended)
        rl_notices_add_renewal(lock);
    if (lost && is_left_alone(lock, effects)) {
        lock->kept_on_nodes = true;
    } else if (effects->release != 0 && !(lost && rl_notices_wanted(lock))) {
        rl_dispatch_release(lock, effects->release, effects->question);
        rl_queue_leave(lock);
    }
    if (effects->mend != 0)
        rl_dispatch_mend(lock, effects->mend);
    if (effects->extend != 0) {
        lock->ttl_ms = (uint32_t)rl_span_ms_up(effects->ttl);
        rl_dispatch_ask(lock, effects->extend, RL_COMMAND_EXTEND, effects->question);
    }
    if (!effects->done)
        return;
    end_holding(lock);
    if (lost && rl_notices_wanted(lock))
        lock->let_go = effects->release;
    if (lost) {
        end_releases(lock, REDLOCK_LOST);
        rl_notices_add_loss(lock);
    } else {
        end_releases(lock, (redlock_result)lock->lease.release_outcome);
    }
}

static void step(redlock_lock *lock, const struct rl_event *event);

/* The round is over, and nodes that were not there yet have not been asked. */
static void take_unasked(redlock_lock *lock)
{
    rl_node_set unasked = lock->owed;

    lock->owed = 0;
    for (rl_node_set left = unasked; left != 0; left &= left - 1)
        step(lock, &(struct rl_event){
                       .kind = RL_EVENT_MISSED, .now = lock->engine->now, .node = rl_node_set_first(left)});
}

static void step(redlock_lock *lock, const struct rl_event *event)
{
    bool was_releasing = lock->lease.phase == RL_LEASE_RELEASING;
    bool was_asking = was_releasing || lock->lease.phase == RL_LEASE_EXTENDING;
    struct rl_time was_valid_until = lock->lease.valid_until;
    rl_node_set before = rl_lagging_of(lock);
    struct rl_effects effects;

    rl_lease_step(&lock->lease, event, &effects);
    rl_lagging_note(lock, before);
    if (lock->engine->host.trace != NULL)
        trace_lease(lock, event, &effects);
    if (event->kind == RL_EVENT_EXTEND)
        note_extension(lock, &effects);
    if (was_asking && (effects.extended || effects.done))
        lock->timed_out = event->kind == RL_EVENT_TIMER;
    if (event->kind == RL_EVENT_TIMER && was_asking && (effects.extended || effects.done))
        rl_record_silence(lock, &lock->lease.tally);
    if (effects.extended && lock->lease.extend_outcome == RL_OUTCOME_OK && lock->handle)
        rl_stats_validity(lock->engine, rl_time_since(was_valid_until, event->now));
    carry_out(lock, &effects, was_releasing);
    if (lock->stage == RL_LOCK_HELD)
        set_timer(lock);
    if (lock->lease.phase == RL_LEASE_IDLE) {
        rl_list_remove(&lock->link);
        take_unasked(lock);
    }
}

/* A lock bound to a thread that has ended is not renewed any more. */
static bool orphaned(const redlock_lock *lock)
{
    const struct rl_host *host = &lock->engine->host;

    return lock->thread != NULL && !host->thread_lives(host->context, lock->thread);
}

/* The slot that a quorum has is what is adopted: its votes count, those for others do not, and what they are
 * for goes back. */
static void settle_slot(redlock_lock *lock, bool over)
{
    struct rl_slot_choice choice = rl_adopting_choose(lock, over);
    rl_node_set votes = choice.votes | choice.strays;

    if (choice.slot == 0)
        return;
    lock->slot = (uint16_t)choice.slot;
    for (rl_node_set left = choice.votes; left != 0; left &= left - 1)
        step(lock, &(struct rl_event){.kind = RL_EVENT_ANSWER,
                                      .now = lock->engine->now,
                                      .question = choice.question,
                                      .node = rl_node_set_first(left),
                                      .answer = {.verdict = RL_GRANTED, .ttl_left_ms = -2}});
    for (rl_node_set left = votes & ~choice.votes; left != 0; left &= left - 1)
        step(lock, &(struct rl_event){.kind = RL_EVENT_ANSWER,
                                      .now = lock->engine->now,
                                      .question = choice.question,
                                      .node = rl_node_set_first(left),
                                      .answer = {.verdict = RL_DENIED, .ttl_left_ms = -2}});
    if (lock->stage == RL_LOCK_HELD && rl_lease_held(&lock->lease, lock->engine->now))
        rl_dispatch_return(lock, choice.strays);
}

/* Which slot it has is not known yet: votes are kept until it is. */
static void take_slot_vote(redlock_lock *lock, const struct rl_event *event)
{
    struct rl_event counted = *event;

    if (event->kind == RL_EVENT_ANSWER && event->answer.verdict == RL_GRANTED &&
        event->question == lock->lease.question) {
        if (rl_adopting_keep(lock, event))
            return;
        /* It names none: that is no vote. */
        counted.answer =
            (struct rl_answer){.verdict = RL_FAILED, .cause = RL_CAUSE_PROTOCOL, .ttl_left_ms = -2};
    }
    if (event->kind == RL_EVENT_TIMER && !rl_time_before(event->now, lock->lease.wake_at))
        settle_slot(lock, true);
    step(lock, &counted);
}

void rl_holding_event(redlock_lock *lock, const struct rl_event *event)
{
    struct rl_event refusal;

    rl_lock_ref(lock); /* ending a call may let go of the last one */
    if (event->kind == RL_EVENT_TIMER && orphaned(lock)) {
        rl_state_log(
            lock->engine, REDLOCK_LOG_WARNING,
            "%.*s: the thread that acquired it has ended without releasing it: it is renewed no more",
            (int)lock->key_length, lock->text);
        rl_lock_unbind(lock);
        step(lock, &(struct rl_event){.kind = RL_EVENT_ABANDON, .now = event->now});
    }
    if (rl_adopting_is_open(lock))
        take_slot_vote(lock, event);
    else
        step(lock, event);
    while (lock->stage == RL_LOCK_HELD && rl_dispatch_take_refused(lock, &refusal))
        step(lock, &refusal);
    lock->refused_locally = 0;
    if (rl_adopting_is_open(lock))
        settle_slot(lock, false);
    rl_lock_unref(lock);
}

void rl_holding_free(redlock_lock *lock)
{
    if (lock->stage == RL_LOCK_HELD && !lock->engine->inert)
        rl_holding_abandon(lock);
    lock->handle = false;
    rl_lock_unref(lock);
}
