/*
 * The lease's state machine; see lease.h. The one rule behind it: validity only grows through a quorum that
 * answered while the validity before it still lasted.
 */
#include "core/lease.h"

#include <assert.h>
#include <string.h>

#include "core/backoff.h"
#include "core/validity.h"

enum { MENDS_MAX = 16, CONFIRM_MS = 50 };

static struct rl_time hold_limit(const struct rl_lease *lease)
{
    if (lease->config.max_hold.us == 0)
        return RL_TIME_NEVER;
    return rl_time_add(lease->held_since, lease->config.max_hold);
}

/* Neither given back nor known to be lost; its time may be up all the same. */
static bool holding(const struct rl_lease *lease)
{
    return lease->phase == RL_LEASE_IDLE || lease->phase == RL_LEASE_EXTENDING;
}

bool rl_lease_held(const struct rl_lease *lease, struct rl_time now)
{
    return holding(lease) && rl_time_before(now, lease->valid_until);
}

static bool may_extend(const struct rl_lease *lease)
{
    return lease->config.max_extensions == 0 || lease->extensions < lease->config.max_extensions;
}

/* Sets the timer for whatever comes first: the end, the round's deadline, the next extension. Never into the
 * past. */
static void set_timer(struct rl_lease *lease, struct rl_time now)
{
    struct rl_time at = lease->valid_until;

    if (lease->phase == RL_LEASE_EXTENDING)
        at = rl_time_min(at, rl_time_add(lease->asked, lease->config.terms->node_timeout));
    if (lease->phase == RL_LEASE_IDLE)
        at = rl_time_min(at, lease->wanted.us > 0 ? now : rl_time_min(lease->renew_at, lease->mend_at));
    if (lease->phase == RL_LEASE_RELEASING)
        at = rl_time_add(lease->asked, lease->config.terms->node_timeout);
    lease->wake_at = lease->phase == RL_LEASE_ENDED ? RL_TIME_NEVER : rl_time_max(at, now);
}

/* A lock that was handed over lasts for a second at first, however long it was asked for. It is renewed soon,
 * so that the holder does not lose by a short pause what was to survive a long one; but not at once, for many
 * are given back sooner than that. */
static void plan_first_renewal(struct rl_lease *lease)
{
    const struct rl_lease_config *config = &lease->config;
    struct rl_time whole = rl_validity_end(lease->held_since, config->ttl, config->terms->drift_ppm);
    struct rl_time soon = rl_time_add(lease->held_since, rl_span_ms(CONFIRM_MS));

    lease->renew_at = RL_TIME_NEVER;
    if (config->renew_every.us == 0)
        return;
    lease->renew_at = rl_time_add(lease->held_since, config->renew_every);
    lease->brief = rl_time_before(lease->valid_until, rl_time_min(whole, hold_limit(lease)));
    if (lease->brief)
        lease->renew_at = rl_time_min(lease->renew_at, soon);
}

void rl_lease_init(struct rl_lease *lease, const struct rl_lease_config *config, struct rl_time held_since,
                   struct rl_time valid_until)
{
    assert(config->terms->node_count >= 1);
    assert(config->terms->node_count <= RL_NODES_MAX);
    memset(lease, 0, sizeof *lease);
    lease->config = *config;
    lease->tally = rl_tally_start(config->terms->node_count);
    lease->mend_at = RL_TIME_NEVER;
    lease->held_since = held_since;
    lease->valid_until = rl_time_min(valid_until, hold_limit(lease));
    plan_first_renewal(lease);
    set_timer(lease, held_since);
}

/* ---- nodes that are behind ---- */

struct rl_span rl_lease_left(const struct rl_lease *lease, struct rl_time now)
{
    struct rl_span left = rl_time_since(lease->valid_until, now);

    assert(lease->config.terms != NULL);
    return rl_span_add(left, rl_validity_drift(left, lease->config.terms->drift_ppm));
}

/* When to try again: soon, then less and less often. What renews itself reaches every node with its
 * renewals. */
static void plan_mending(struct rl_lease *lease, struct rl_time now)
{
    struct rl_span pause = rl_span_us(lease->config.terms->node_timeout.us << lease->mends);
    bool renews = lease->renew_at.us != RL_TIME_NEVER.us;

    if (lease->mends < MENDS_MAX)
        lease->mends++;
    if (!renews && pause.us > lease->config.ttl.us / 4)
        pause = rl_span_us(lease->config.ttl.us / 4);
    if (renews && pause.us > lease->config.renew_every.us / 2)
        lease->mend_at = RL_TIME_NEVER;
    else
        lease->mend_at = rl_time_add(now, pause);
}

/* Rule: a held lock reaches every node that can be reached. Nodes that could not be asked in time, denied it
 * or lost it are asked again while it is valid. That changes nothing for the holder: a key that is planted
 * afterwards is no vote. */
static void note_copy(struct rl_lease *lease, uint32_t node, bool there, struct rl_time now)
{
    rl_node_set before = lease->behind;

    if (there)
        lease->behind &= ~rl_node_set_one(node);
    else
        lease->behind |= rl_node_set_one(node);
    if (lease->behind == 0) {
        lease->mend_at = RL_TIME_NEVER;
        lease->mends = 0;
    } else if (before == 0) {
        plan_mending(lease, now);
    }
}

static void mend(struct rl_lease *lease, rl_node_set nodes, struct rl_effects *effects)
{
    if (lease->phase != RL_LEASE_IDLE || lease->abandoned)
        return; /* the round under way asks them, or nobody wants it any more */
    effects->mend = lease->behind & nodes;
}

static void begin_question(struct rl_lease *lease, struct rl_time now, struct rl_effects *effects)
{
    assert(lease->phase != RL_LEASE_ENDED);
    lease->asked = now;
    lease->tally = rl_tally_start(lease->config.terms->node_count);
    effects->question = ++lease->question;
}

static void begin_extension(struct rl_lease *lease, struct rl_span ttl, bool manual, struct rl_time now,
                            struct rl_effects *effects)
{
    lease->phase = RL_LEASE_EXTENDING;
    lease->asked_ttl = ttl;
    lease->manual = manual;
    begin_question(lease, now, effects);
    effects->extend = rl_node_set_all(lease->config.terms->node_count);
    effects->ttl = ttl;
}

/* Whether so many nodes say that it is not there that no quorum can have it. */
static bool gone_from_quorum(const struct rl_lease *lease)
{
    uint32_t node_count = lease->config.terms->node_count;

    return rl_node_set_count(lease->tally.denied) > node_count - rl_quorum(node_count);
}

/* Whether nothing that is still to come makes it an extension, or a loss that has to be known at once: a node
 * that cannot be reached answers first, and must not hide what the others are about to say. */
static bool extension_failed(const struct rl_lease *lease)
{
    uint32_t node_count = lease->config.terms->node_count;
    uint32_t silent = node_count - rl_node_set_count(rl_tally_answered(&lease->tally));
    uint32_t denied = rl_node_set_count(lease->tally.denied);

    if (rl_tally_decide(&lease->tally) != RL_LOST)
        return false;
    if (RL_PLANTED(lease->config.terms, RL_PLANTED_HIDDEN_LOSS))
        return true;
    return gone_from_quorum(lease) || denied + silent <= node_count - rl_quorum(node_count);
}

static void report_extension(struct rl_lease *lease, enum rl_outcome outcome, struct rl_effects *effects)
{
    lease->extend_outcome = outcome;
    lease->ended_manual = lease->manual;
    lease->ended_question = lease->question;
    effects->extended = true;
}

/* No extension can come of it any more: neither of the round under way nor of the one that waits behind
 * it. */
static void settle_extensions(struct rl_lease *lease, enum rl_outcome outcome, struct rl_effects *effects)
{
    bool under_way = lease->phase == RL_LEASE_EXTENDING;
    bool waiting = lease->wanted.us > 0;

    lease->extend_outcome = outcome;
    lease->ended_manual = waiting || (under_way && lease->manual);
    lease->ended_question = lease->question + 1;
    lease->wanted = rl_span_us(0);
    effects->extended = under_way || waiting;
}

/* Lost means: nobody may rely on it from here on. What is left of it at the nodes is released, unless it was
 * abandoned: then another process may have gone on with it under the same owner. */
static void lose(struct rl_lease *lease, enum rl_outcome outcome, struct rl_effects *effects)
{
    settle_extensions(lease, outcome, effects);
    lease->phase = RL_LEASE_ENDED;
    lease->lost = true;
    effects->release = lease->abandoned ? 0 : rl_node_set_all(lease->config.terms->node_count);
    effects->question = ++lease->question;
    effects->done = true;
}

/* After an extension that counted. One for less than the usual TTL does not put the renewal off. */
static void plan_renewal(struct rl_lease *lease)
{
    if (lease->renew_at.us == RL_TIME_NEVER.us)
        return;
    if (!may_extend(lease))
        lease->renew_at = RL_TIME_NEVER;
    else if (lease->asked_ttl.us >= lease->config.ttl.us)
        lease->renew_at = rl_time_add(lease->asked, lease->config.renew_every);
}

/* A quorum has it and answered while validity lasted: the lease grows. Monotone: it never shrinks. */
static void win_extension(struct rl_lease *lease, struct rl_effects *effects)
{
    struct rl_time end = rl_validity_end(lease->asked, lease->asked_ttl, lease->config.terms->drift_ppm);

    lease->phase = RL_LEASE_IDLE;
    lease->valid_until = rl_time_min(rl_time_max(lease->valid_until, end), hold_limit(lease));
    /* That it lasts for what it was asked for is no extension of it. */
    if (!lease->brief || lease->manual)
        lease->extensions++;
    lease->brief = lease->brief && lease->asked_ttl.us < lease->config.ttl.us;
    lease->last_retry = rl_span_us(0);
    plan_renewal(lease);
    report_extension(lease, RL_OUTCOME_OK, effects);
}

static struct rl_span next_retry(struct rl_lease *lease)
{
    const struct rl_lease_terms *terms = lease->config.terms;
    struct rl_backoff backoff = rl_backoff_between(terms->retry_min, terms->retry_max);

    backoff.last = lease->last_retry;
    lease->last_retry = rl_backoff_next(&backoff, terms->prng);
    return lease->last_retry;
}

/* Too few nodes answered, or too few still have it. When so many deny it that no quorum can be left, it is
 * gone now, not only when validity ends: somebody broke it. Otherwise it is tried again while validity
 * lasts. */
static void lose_extension(struct rl_lease *lease, struct rl_time now, struct rl_effects *effects)
{
    enum rl_outcome reason = rl_tally_reason(&lease->tally);

    if (gone_from_quorum(lease)) {
        lose(lease, RL_OUTCOME_NOT_HELD, effects);
        return;
    }
    lease->phase = RL_LEASE_IDLE;
    if (lease->renew_at.us != RL_TIME_NEVER.us && !lease->manual)
        lease->renew_at = rl_time_add(now, next_retry(lease));
    report_extension(lease, reason == RL_OUTCOME_BUSY ? RL_OUTCOME_NO_QUORUM : reason, effects);
}

/* Release: deleted or not there is as good an answer; only silence is not. Yet when it was missing from so
 * many that no quorum can have had it, the holder has to know. */
static void end_release(struct rl_lease *lease, struct rl_effects *effects)
{
    uint32_t confirmed = rl_node_set_count(lease->tally.granted | lease->tally.denied);

    lease->phase = RL_LEASE_ENDED;
    effects->done = true;
    if (lease->lost)
        lease->release_outcome = RL_OUTCOME_LOST;
    else if (gone_from_quorum(lease))
        lease->release_outcome = RL_OUTCOME_NOT_HELD;
    else if (confirmed >= rl_quorum(lease->config.terms->node_count))
        lease->release_outcome = RL_OUTCOME_OK;
    else
        lease->release_outcome = rl_tally_reason(&lease->tally);
}

/* Decided when the nodes still silent cannot change the outcome. */
static bool release_decided(const struct rl_lease *lease)
{
    uint32_t node_count = lease->config.terms->node_count;
    uint32_t quorum = rl_quorum(node_count);
    uint32_t deleted = rl_node_set_count(lease->tally.granted);
    uint32_t absent = rl_node_set_count(lease->tally.denied);
    uint32_t silent = node_count - rl_node_set_count(rl_tally_answered(&lease->tally));

    if (silent == 0 || deleted >= quorum || gone_from_quorum(lease))
        return true;
    return deleted + absent >= quorum && absent + silent <= node_count - quorum;
}

static void take_answer(struct rl_lease *lease, const struct rl_event *event, struct rl_effects *effects)
{
    bool there = event->answer.verdict == RL_GRANTED || event->answer.planted;

    if (holding(lease) && (event->question == RL_QUESTION_MEND || event->question == lease->question))
        note_copy(lease, event->node, there, event->now);
    if (event->question != lease->question || !rl_tally_add(&lease->tally, event->node, &event->answer))
        return;
    if (lease->phase == RL_LEASE_RELEASING && release_decided(lease))
        end_release(lease, effects);
    if (lease->phase != RL_LEASE_EXTENDING)
        return;
    if (rl_tally_decide(&lease->tally) == RL_WON)
        win_extension(lease, effects);
    else if (extension_failed(lease))
        lose_extension(lease, event->now, effects);
}

/* Of a lock that was lost its holder has to learn what the nodes say; one that is valid was held up to this
 * call, by the clock alone. */
static void begin_release(struct rl_lease *lease, struct rl_time now, struct rl_effects *effects)
{
    settle_extensions(lease, lease->lost ? RL_OUTCOME_LOST : RL_OUTCOME_NOT_HELD, effects);
    lease->phase = RL_LEASE_RELEASING;
    begin_question(lease, now, effects);
    effects->release = rl_node_set_all(lease->config.terms->node_count);
    if (!lease->config.quick_release || lease->lost)
        return;
    lease->phase = RL_LEASE_ENDED;
    lease->release_outcome = RL_OUTCOME_OK;
    effects->done = true;
}

/* An extension the caller asked for; a renewal that is due rides along. */
static void begin_manual(struct rl_lease *lease, struct rl_span ttl, struct rl_time now,
                         struct rl_effects *effects)
{
    bool renewal_due = !rl_time_before(now, lease->renew_at);

    if (renewal_due && ttl.us < lease->config.ttl.us)
        ttl = lease->config.ttl;
    begin_extension(lease, ttl, true, now, effects);
}

/* The extension that waited for the round before it, whose end may have been the last that was allowed. */
static void begin_wanted(struct rl_lease *lease, struct rl_time now, struct rl_effects *effects)
{
    struct rl_span wanted = lease->wanted;

    lease->wanted = rl_span_us(0);
    if (may_extend(lease)) {
        begin_manual(lease, wanted, now, effects);
        return;
    }
    lease->question++;
    lease->manual = true;
    report_extension(lease, RL_OUTCOME_MISUSE, effects);
}

static void begin_renewal(struct rl_lease *lease, struct rl_time now, struct rl_effects *effects)
{
    if (may_extend(lease) || lease->brief)
        begin_extension(lease, lease->config.ttl, false, now, effects);
    else
        lease->renew_at = RL_TIME_NEVER;
}

static void take_timer(struct rl_lease *lease, struct rl_time now, struct rl_effects *effects)
{
    if (rl_time_before(now, lease->wake_at))
        return;
    if (lease->phase == RL_LEASE_RELEASING)
        end_release(lease, effects);
    else if (lease->phase == RL_LEASE_EXTENDING)
        lose_extension(lease, now, effects);
    else if (lease->wanted.us > 0)
        begin_wanted(lease, now, effects);
    else if (!rl_time_before(now, lease->renew_at))
        begin_renewal(lease, now, effects);
    else {
        mend(lease, lease->behind, effects);
        plan_mending(lease, now);
    }
}

/* One round at a time: a caller's extension waits for the round under way. */
static void take_extend(struct rl_lease *lease, const struct rl_event *event, struct rl_effects *effects)
{
    assert(event->ttl.us > 0);
    if (!may_extend(lease)) {
        lease->extend_outcome = RL_OUTCOME_MISUSE;
        lease->ended_manual = true;
        lease->ended_question = 0;
        effects->extended = true;
    } else if (lease->phase == RL_LEASE_EXTENDING || lease->wanted.us > 0) {
        lease->wanted = event->ttl.us > lease->wanted.us ? event->ttl : lease->wanted;
    } else {
        begin_manual(lease, event->ttl, event->now, effects);
    }
}

/* Whether the end has come although no node is to blame: nothing was asked since the last success, the answer
 * comes after the end, or the holder was stopped and has missed what was due. */
static bool came_late(const struct rl_lease *lease, const struct rl_event *event)
{
    if (rl_time_since(event->now, lease->wake_at).us > lease->config.terms->node_timeout.us)
        return true;
    if (lease->phase == RL_LEASE_EXTENDING)
        return event->kind == RL_EVENT_ANSWER && event->question == lease->question &&
               event->answer.verdict == RL_GRANTED;
    return lease->question == 0 || rl_tally_decide(&lease->tally) == RL_WON;
}

/* Its time is up, whatever it was that made us look. A caller that comes too late is told so like one that
 * waited. */
static void take_end(struct rl_lease *lease, const struct rl_event *event, struct rl_effects *effects)
{
    lease->lost = !RL_PLANTED(lease->config.terms, RL_PLANTED_LATE_RELEASE);
    lease->late = came_late(lease, event);
    if (event->kind == RL_EVENT_RELEASE) {
        begin_release(lease, event->now, effects);
        return;
    }
    if (event->kind == RL_EVENT_ABANDON)
        lease->abandoned = true;
    lose(lease, RL_OUTCOME_LOST, effects);
    /* Somebody else may have lengthened it under the same owner; if nobody has, it ends there by itself. */
    if (lease->config.keep_on_nodes)
        effects->release = 0;
    if (event->kind == RL_EVENT_EXTEND)
        effects->extended = lease->ended_manual = true;
}

static void take_event(struct rl_lease *lease, const struct rl_event *event, struct rl_effects *effects)
{
    switch (event->kind) {
    case RL_EVENT_START:
    case RL_EVENT_CANCEL:
    case RL_EVENT_TURN:
    case RL_EVENT_CHANGED:
    case RL_EVENT_DOWN:
    case RL_EVENT_WATCHED:
    case RL_EVENT_HANDED:
        return;
    case RL_EVENT_UP:
        mend(lease, rl_node_set_one(event->node), effects);
        return;
    case RL_EVENT_MISSED:
        if (holding(lease))
            note_copy(lease, event->node, false, event->now);
        return;
    case RL_EVENT_ANSWER:
        take_answer(lease, event, effects);
        return;
    case RL_EVENT_TIMER:
        take_timer(lease, event->now, effects);
        return;
    case RL_EVENT_EXTEND:
        if (holding(lease))
            take_extend(lease, event, effects);
        return;
    case RL_EVENT_RELEASE:
        if (holding(lease))
            begin_release(lease, event->now, effects);
        return;
    case RL_EVENT_ABANDON:
        lease->abandoned = true;
        lease->renew_at = RL_TIME_NEVER;
    }
}

void rl_lease_step(struct rl_lease *lease, const struct rl_event *event, struct rl_effects *effects)
{
    assert(event->node < lease->config.terms->node_count);
    *effects = (struct rl_effects){0};
    if (lease->phase == RL_LEASE_ENDED)
        return;
    /* Time is looked at before anything else: an answer that comes after the end comes too late. */
    if (holding(lease) && !rl_lease_held(lease, event->now))
        take_end(lease, event, effects);
    else
        take_event(lease, event, effects);
    set_timer(lease, event->now);
}
