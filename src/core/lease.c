/*
 * The lease's state machine; see lease.h. The one rule behind it: validity only grows through a quorum that answered
 * while the validity before it still lasted.
 */
#include "core/lease.h"

#include <assert.h>
#include <string.h>

#include "core/validity.h"

static struct rl_time hold_limit(const struct rl_lease *lease)
{
    if (lease->config.max_hold.us == 0)
        return RL_TIME_NEVER;
    return rl_time_add(lease->held_since, lease->config.max_hold);
}

bool rl_lease_held(const struct rl_lease *lease, struct rl_time now)
{
    if (lease->phase == RL_LEASE_RELEASING || lease->phase == RL_LEASE_ENDED)
        return false;
    return rl_time_before(now, rl_time_min(lease->valid_until, hold_limit(lease)));
}

static bool may_extend(const struct rl_lease *lease)
{
    return lease->config.max_extensions == 0 || lease->extensions < lease->config.max_extensions;
}

/* Sets the timer for whatever comes first: the end, the round's deadline, the next renewal. */
static void set_timer(struct rl_lease *lease)
{
    struct rl_time at = rl_time_min(lease->valid_until, hold_limit(lease));

    if (lease->phase == RL_LEASE_EXTENDING)
        at = rl_time_min(at, rl_time_add(lease->asked, lease->config.node_timeout));
    if (lease->phase == RL_LEASE_IDLE)
        at = rl_time_min(at, lease->renew_at);
    if (lease->phase == RL_LEASE_RELEASING)
        at = rl_time_add(lease->asked, lease->config.node_timeout);
    lease->wake_at = lease->phase == RL_LEASE_ENDED ? RL_TIME_NEVER : at;
}

void rl_lease_init(struct rl_lease *lease, const struct rl_lease_config *config, struct rl_prng *prng,
                   struct rl_time held_since, struct rl_time valid_until)
{
    assert(config->node_count >= 1);
    assert(config->node_count <= RL_NODES_MAX);
    memset(lease, 0, sizeof *lease);
    lease->config = *config;
    lease->prng = prng;
    lease->backoff = rl_backoff_between(config->retry_min, config->retry_max);
    lease->held_since = held_since;
    lease->valid_until = valid_until;
    lease->renew_at =
        config->renew_every.us > 0 ? rl_time_add(held_since, config->renew_every) : RL_TIME_NEVER;
    set_timer(lease);
}

static void begin_question(struct rl_lease *lease, struct rl_time now, struct rl_effects *effects)
{
    lease->asked = now;
    lease->tally = rl_tally_start(lease->config.node_count);
    effects->question = ++lease->question;
}

static void begin_extension(struct rl_lease *lease, struct rl_span ttl, bool manual, struct rl_time now,
                            struct rl_effects *effects)
{
    lease->phase = RL_LEASE_EXTENDING;
    lease->asked_ttl = ttl;
    lease->manual = manual;
    begin_question(lease, now, effects);
    effects->extend = rl_node_set_all(lease->config.node_count);
    effects->ttl = ttl;
}

/* Lost means: nobody may rely on it from here on. What is left of it at the nodes is released. */
static void lose(struct rl_lease *lease, struct rl_effects *effects)
{
    effects->extended = lease->phase == RL_LEASE_EXTENDING;
    lease->extend_outcome = RL_OUTCOME_LOST;
    lease->phase = RL_LEASE_ENDED;
    lease->lost = true;
    effects->release = rl_node_set_all(lease->config.node_count);
    effects->question = ++lease->question;
    effects->done = true;
}

static void start_wanted(struct rl_lease *lease, struct rl_time now, struct rl_effects *effects)
{
    struct rl_span wanted = lease->wanted;

    lease->wanted = rl_span_us(0);
    if (wanted.us > 0)
        begin_extension(lease, wanted, true, now, effects);
}

/* A quorum has it and answered while validity lasted: the lease grows. Monotone: it never shrinks. */
static void win_extension(struct rl_lease *lease, struct rl_time now, struct rl_effects *effects)
{
    struct rl_time end = rl_validity_end(lease->asked, lease->asked_ttl, lease->config.drift_ppm);

    lease->phase = RL_LEASE_IDLE;
    lease->valid_until = rl_time_max(lease->valid_until, end);
    lease->extensions++;
    lease->extend_outcome = RL_OUTCOME_OK;
    rl_backoff_reset(&lease->backoff);
    if (lease->config.renew_every.us > 0 && lease->renew_at.us != RL_TIME_NEVER.us)
        lease->renew_at =
            may_extend(lease) ? rl_time_add(lease->asked, lease->config.renew_every) : RL_TIME_NEVER;
    effects->extended = true;
    start_wanted(lease, now, effects);
}

/* Too few nodes answered, or too few still have it. When so many deny it that no quorum can be left, it is gone now, not
 * only when validity ends: somebody broke it. Otherwise it is tried again while validity lasts. */
static void lose_extension(struct rl_lease *lease, struct rl_time now, struct rl_effects *effects)
{
    uint32_t quorum = rl_quorum(lease->config.node_count);

    if (rl_node_set_count(lease->tally.denied) > lease->config.node_count - quorum) {
        lose(lease, effects);
        lease->extend_outcome = RL_OUTCOME_NOT_HELD;
        return;
    }
    lease->phase = RL_LEASE_IDLE;
    lease->extend_outcome = rl_tally_reason(&lease->tally);
    if (lease->extend_outcome == RL_OUTCOME_BUSY)
        lease->extend_outcome = RL_OUTCOME_NO_QUORUM;
    if (lease->renew_at.us != RL_TIME_NEVER.us)
        lease->renew_at = rl_time_add(now, rl_backoff_next(&lease->backoff, lease->prng));
    effects->extended = true;
    start_wanted(lease, now, effects);
}

/* Release: deleted or not there is as good an answer; only silence is not. */
static void end_release(struct rl_lease *lease, struct rl_effects *effects)
{
    uint32_t quorum = rl_quorum(lease->config.node_count);
    uint32_t deleted = rl_node_set_count(lease->tally.granted);
    uint32_t absent = rl_node_set_count(lease->tally.denied);

    lease->phase = RL_LEASE_ENDED;
    effects->done = true;
    if (lease->lost)
        lease->release_outcome = RL_OUTCOME_LOST;
    else if (deleted >= quorum)
        lease->release_outcome = RL_OUTCOME_OK;
    else if (deleted + absent >= quorum)
        lease->release_outcome = RL_OUTCOME_NOT_HELD;
    else
        lease->release_outcome = rl_tally_reason(&lease->tally);
}

static bool release_decided(const struct rl_lease *lease)
{
    uint32_t quorum = rl_quorum(lease->config.node_count);
    uint32_t silent = lease->config.node_count - rl_node_set_count(rl_tally_answered(&lease->tally));

    return rl_node_set_count(lease->tally.granted) >= quorum ||
           (rl_node_set_count(lease->tally.granted) + silent < quorum &&
            rl_node_set_count(lease->tally.granted | lease->tally.denied) >= quorum) ||
           silent == 0;
}

static void take_answer(struct rl_lease *lease, const struct rl_event *event, struct rl_effects *effects)
{
    if (event->question != lease->question || !rl_tally_add(&lease->tally, event->node, &event->answer))
        return;
    if (lease->phase == RL_LEASE_RELEASING && release_decided(lease))
        end_release(lease, effects);
    if (lease->phase != RL_LEASE_EXTENDING)
        return;
    if (rl_tally_decide(&lease->tally) == RL_WON)
        win_extension(lease, event->now, effects);
    else if (rl_tally_decide(&lease->tally) == RL_LOST)
        lose_extension(lease, event->now, effects);
}

static void begin_release(struct rl_lease *lease, struct rl_time now, struct rl_effects *effects)
{
    effects->extended = lease->phase == RL_LEASE_EXTENDING;
    lease->extend_outcome = RL_OUTCOME_NOT_HELD;
    lease->phase = RL_LEASE_RELEASING;
    begin_question(lease, now, effects);
    effects->release = rl_node_set_all(lease->config.node_count);
}

static void take_timer(struct rl_lease *lease, struct rl_time now, struct rl_effects *effects)
{
    if (lease->phase == RL_LEASE_RELEASING && !rl_time_before(now, lease->wake_at))
        end_release(lease, effects);
    else if (lease->phase == RL_LEASE_EXTENDING && !rl_time_before(now, lease->wake_at))
        lose_extension(lease, now, effects);
    else if (lease->phase == RL_LEASE_IDLE && !rl_time_before(now, lease->renew_at)) {
        if (may_extend(lease))
            begin_extension(lease, lease->config.ttl, false, now, effects);
        else
            lease->renew_at = RL_TIME_NEVER;
    }
}

static void take_extend(struct rl_lease *lease, const struct rl_event *event, struct rl_effects *effects)
{
    if (!may_extend(lease)) {
        lease->extend_outcome = RL_OUTCOME_DENIED;
        effects->extended = true;
    } else if (lease->phase == RL_LEASE_EXTENDING) {
        lease->wanted = event->ttl.us > lease->wanted.us ? event->ttl : lease->wanted;
    } else {
        begin_extension(lease, event->ttl, true, event->now, effects);
    }
}

void rl_lease_step(struct rl_lease *lease, const struct rl_event *event, struct rl_effects *effects)
{
    bool holding = lease->phase == RL_LEASE_IDLE || lease->phase == RL_LEASE_EXTENDING;

    *effects = (struct rl_effects){0};
    if (lease->phase == RL_LEASE_ENDED)
        return;
    /* Whatever happened, time is looked at first: an answer that comes after the end comes too late. */
    if (holding && !rl_lease_held(lease, event->now)) {
        lease->lost = true;
        if (event->kind != RL_EVENT_RELEASE) {
            lose(lease, effects);
            set_timer(lease);
            return;
        }
    }
    switch (event->kind) {
    case RL_EVENT_START:
    case RL_EVENT_CANCEL:
        break;
    case RL_EVENT_ANSWER:
        take_answer(lease, event, effects);
        break;
    case RL_EVENT_TIMER:
        take_timer(lease, event->now, effects);
        break;
    case RL_EVENT_EXTEND:
        if (holding)
            take_extend(lease, event, effects);
        break;
    case RL_EVENT_RELEASE:
        if (holding)
            begin_release(lease, event->now, effects);
        break;
    case RL_EVENT_ABANDON:
        lease->renew_at = RL_TIME_NEVER;
        break;
    }
    set_timer(lease);
}
