/*
 * The acquisition's state machine; see acquire.h. Straight from the algorithm: ask all, count, check the
 * time, or undo everywhere and wait; how it waits is in acquire_wait.c.
 */
#include "core/acquire.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "core/acquire_wait.h"
#include "core/validity.h"

/* No node has answered. */
static void clear_answers(struct rl_acquire *acquire)
{
    for (uint32_t node = 0; node < acquire->config.node_count; node++)
        acquire->last[node] = (struct rl_answer){.verdict = RL_SILENT, .ttl_left_ms = -2};
}

void rl_acquire_init(struct rl_acquire *acquire, const struct rl_acquire_config *config, struct rl_prng *prng)
{
    assert(config->node_count >= 1);
    assert(config->node_count <= RL_NODES_MAX);
    assert(config->ttl.us > 0);
    memset(acquire, 0, offsetof(struct rl_acquire, last));
    acquire->config = *config;
    acquire->prng = prng;
    acquire->backoff = rl_backoff_between(config->retry_min, config->retry_max);
    acquire->phase = config->queued ? RL_ACQUIRE_QUEUED : RL_ACQUIRE_RESTING;
    acquire->outcome = RL_OUTCOME_BUSY;
    acquire->wake_at = RL_TIME_NEVER;
    acquire->tally = rl_tally_start(config->node_count);
    clear_answers(acquire);
}

static rl_node_set all_nodes(const struct rl_acquire *acquire)
{
    return rl_node_set_all(acquire->config.node_count);
}

/* The caller's wait bounds every question, too. One that wants to wait for less than a single question takes
 * gets that one. */
static struct rl_time within_wait(const struct rl_acquire *acquire, struct rl_time at)
{
    struct rl_time give_up_at = acquire->config.give_up_at;
    struct rl_time once = rl_time_add(acquire->started, acquire->config.node_timeout);

    if (!rl_time_before(acquire->started, give_up_at)) /* it does not wait, but tries once */
        return at;
    return rl_time_min(at, rl_time_max(give_up_at, once));
}

/* Nodes that have not answered the present round by then are silent. */
static struct rl_time answered_by(const struct rl_acquire *acquire)
{
    struct rl_time by = rl_time_add(acquire->asked, acquire->config.node_timeout);

    return acquire->round == 1 ? rl_time_add(by, acquire->config.first_wait) : by;
}

static void begin_round(struct rl_acquire *acquire, struct rl_time now, struct rl_effects *effects)
{
    assert(acquire->phase != RL_ACQUIRE_ENDED);
    acquire->phase = RL_ACQUIRE_ASKING;
    acquire->round++;
    acquire->asked = now;
    acquire->wake_at = within_wait(acquire, answered_by(acquire));
    acquire->round_question = ++acquire->question;
    acquire->tally = rl_tally_start(acquire->config.node_count);
    clear_answers(acquire);
    effects->acquire = all_nodes(acquire);
    effects->question = acquire->question;
}

static void end(struct rl_acquire *acquire, enum rl_outcome outcome, struct rl_effects *effects)
{
    assert(acquire->phase != RL_ACQUIRE_ENDED);
    acquire->phase = RL_ACQUIRE_ENDED;
    acquire->outcome = outcome;
    acquire->wake_at = RL_TIME_NEVER;
    effects->done = true;
}

/* Whether another round could come out better without anybody changing a password or a configuration. */
static bool worth_retrying(enum rl_outcome outcome)
{
    return outcome == RL_OUTCOME_BUSY || outcome == RL_OUTCOME_NO_QUORUM || outcome == RL_OUTCOME_TOO_SLOW ||
           outcome == RL_OUTCOME_QUARANTINE;
}

/* Waits or rests before the next round, or ends when there is to be none. */
static void rest_or_end(struct rl_acquire *acquire, struct rl_time now, struct rl_effects *effects)
{
    struct rl_time give_up_at = acquire->config.give_up_at;

    if (!worth_retrying(acquire->outcome)) {
        end(acquire, acquire->outcome, effects);
        return;
    }
    if (!rl_time_before(now, give_up_at)) {
        bool waited = rl_time_before(acquire->started, give_up_at);

        end(acquire, acquire->outcome == RL_OUTCOME_BUSY && waited ? RL_OUTCOME_TIMEOUT : acquire->outcome,
            effects);
        return;
    }
    if (acquire->config.watch && acquire->outcome == RL_OUTCOME_BUSY) {
        if (rl_acquire_begin_wait(acquire, now, effects) == RL_WAITED_ENOUGH)
            begin_round(acquire, now, effects);
        return;
    }
    acquire->phase = RL_ACQUIRE_RESTING;
    acquire->woken = false;
    acquire->wake_at =
        rl_time_min(rl_time_add(now, rl_backoff_next(&acquire->backoff, acquire->prng)), give_up_at);
    effects->rest = rl_time_since(acquire->wake_at, now);
}

/* Does what waiting came to. */
static void go_on(struct rl_acquire *acquire, enum rl_waited waited, struct rl_time now,
                  struct rl_effects *effects)
{
    if (waited == RL_WAITED_ENOUGH)
        begin_round(acquire, now, effects);
    if (waited == RL_WAITED_IN_VAIN)
        rest_or_end(acquire, now, effects);
}

/* Whether it is worth asking who holds it: once, by a caller that is not going to learn it while it waits,
 * and has time. */
static bool may_peek(const struct rl_acquire *acquire, enum rl_outcome outcome, struct rl_time now)
{
    bool waits = acquire->config.watch && rl_time_before(now, acquire->config.give_up_at);

    return acquire->config.peek && !waits && acquire->round == 1 && outcome == RL_OUTCOME_BUSY &&
           rl_time_before(now, within_wait(acquire, RL_TIME_NEVER));
}

static void begin_peek(struct rl_acquire *acquire, struct rl_time now, struct rl_effects *effects)
{
    assert(acquire->config.peek);
    assert(acquire->round == 1);
    acquire->phase = RL_ACQUIRE_PEEKING;
    acquire->wake_at = within_wait(acquire, rl_time_add(now, acquire->config.node_timeout));
    acquire->second = rl_tally_start(acquire->config.node_count);
    effects->peek = acquire->tally.granted | acquire->tally.denied;
    effects->question = ++acquire->question;
}

/* Others came too. Where somebody has it, not coming all at once is enough; where the votes were split
 * perhaps nobody got it, and all must spread wider. */
static void note_missed_wake(struct rl_acquire *acquire)
{
    bool split = acquire->tally.granted != 0;
    int64_t most_us = acquire->config.retry_max.us;

    if (acquire->spread.us == 0)
        acquire->spread = acquire->config.retry_min;
    else if (split)
        acquire->spread.us = acquire->spread.us < most_us / 2 ? 2 * acquire->spread.us : most_us;
}

/* A round that was not won is undone on all nodes but those that said no, silent ones above all: they may
 * have granted it unheard. */
static void lose_round(struct rl_acquire *acquire, enum rl_outcome outcome, struct rl_time now,
                       struct rl_effects *effects)
{
    assert(outcome != RL_OUTCOME_OK);
    assert(acquire->phase == RL_ACQUIRE_ASKING);
    acquire->outcome = outcome;
    effects->lost = true;
    effects->release = all_nodes(acquire) & ~acquire->tally.denied;
    if (outcome == RL_OUTCOME_BUSY && acquire->woken)
        note_missed_wake(acquire);
    if (may_peek(acquire, outcome, now))
        begin_peek(acquire, now, effects);
    else
        rest_or_end(acquire, now, effects);
}

/* The lock is ours on a quorum. Hand it out only while time is left. */
static void win(struct rl_acquire *acquire, struct rl_time now, struct rl_effects *effects)
{
    assert(rl_node_set_count(acquire->tally.granted) >= rl_quorum(acquire->config.node_count));
    acquire->valid_until = rl_validity_end(acquire->asked, acquire->config.ttl, acquire->config.drift_ppm);
    if (rl_time_before(now, acquire->valid_until))
        end(acquire, RL_OUTCOME_OK, effects);
    else
        lose_round(acquire, RL_OUTCOME_TOO_SLOW, now, effects);
}

/* Whether the nodes that have not answered yet decide why a round is lost: with them others may be at it,
 * without them there may be no quorum. One node that is down, which is known at once, must not make a busy
 * lock look like a missing quorum, nor two and a frozen one a missing quorum like a busy lock. */
static bool reason_open(const struct rl_acquire *acquire)
{
    struct rl_tally tally = acquire->tally;

    tally.denied |= all_nodes(acquire) & ~rl_tally_answered(&tally);
    return rl_tally_reason(&tally) != rl_tally_reason(&acquire->tally);
}

static void count_vote(struct rl_acquire *acquire, const struct rl_event *event, struct rl_effects *effects)
{
    if (!rl_tally_add(&acquire->tally, event->node, &event->answer))
        return;
    acquire->last[event->node] = event->answer;
    switch (rl_tally_decide(&acquire->tally)) {
    case RL_OPEN:
        return;
    case RL_LOST:
        if (!reason_open(acquire))
            lose_round(acquire, rl_tally_reason(&acquire->tally), event->now, effects);
        return;
    case RL_WON:
        /* A wrong configuration is refused as soon as it is known; until then the second name of a server has
         * no vote. */
        if (acquire->tally.duplicate != 0)
            lose_round(acquire, RL_OUTCOME_INVALID, event->now, effects);
        else
            win(acquire, event->now, effects);
    }
}

static void count_peek(struct rl_acquire *acquire, const struct rl_event *event, struct rl_effects *effects)
{
    rl_node_set asked = acquire->tally.granted | acquire->tally.denied;

    if (event->question != acquire->question || !rl_tally_add(&acquire->second, event->node, &event->answer))
        return;
    if (acquire->last[event->node].verdict == RL_DENIED && event->answer.verdict == RL_DENIED)
        acquire->last[event->node] = event->answer;
    if (rl_node_set_count(acquire->second.foreign) >
        acquire->config.node_count - rl_quorum(acquire->config.node_count))
        acquire->outcome = RL_OUTCOME_FOREIGN_TYPE;
    if ((asked & ~rl_tally_answered(&acquire->second)) == 0)
        rest_or_end(acquire, event->now, effects);
}

static void take_answer(struct rl_acquire *acquire, const struct rl_event *event, struct rl_effects *effects)
{
    bool of_round = event->question == acquire->round_question;

    if (acquire->phase == RL_ACQUIRE_ASKING && of_round)
        count_vote(acquire, event, effects);
    else if (acquire->phase == RL_ACQUIRE_PEEKING)
        count_peek(acquire, event, effects);
    else if (acquire->phase == RL_ACQUIRE_WAITING)
        go_on(acquire, rl_acquire_count_watch(acquire, event, effects), event->now, effects);
}

/* Nodes that had no time to answer, for the wait is over, are not missing. What the round before came to says
 * why then, or the queue: of one that got its turn in this process at the last moment the others were in the
 * way. */
static enum rl_outcome reason_of_silence(const struct rl_acquire *acquire, struct rl_time now)
{
    bool waited = acquire->config.queued || acquire->config.again || acquire->round > 1;
    bool cut_short = rl_time_before(now, answered_by(acquire));

    return waited && cut_short && reason_open(acquire) ? acquire->outcome : rl_tally_reason(&acquire->tally);
}

/* The time this phase had is up. */
static void take_timer(struct rl_acquire *acquire, struct rl_time now, struct rl_effects *effects)
{
    if (rl_time_before(now, acquire->wake_at))
        return;
    switch (acquire->phase) {
    case RL_ACQUIRE_ASKING:
        lose_round(acquire, reason_of_silence(acquire, now), now, effects);
        return;
    case RL_ACQUIRE_PEEKING:
    case RL_ACQUIRE_QUEUED:
        rest_or_end(acquire, now, effects);
        return;
    case RL_ACQUIRE_WAITING:
        go_on(acquire, rl_acquire_wait_on(acquire, now, effects), now, effects);
        return;
    case RL_ACQUIRE_RESTING:
        if (!rl_time_before(now, acquire->config.give_up_at))
            rest_or_end(acquire, now, effects);
        else
            begin_round(acquire, now, effects);
        return;
    case RL_ACQUIRE_ENDED:
        return;
    }
}

static void start(struct rl_acquire *acquire, struct rl_time now, struct rl_effects *effects)
{
    assert(acquire->round == 0);
    acquire->started = acquire->config.began.us != 0 ? acquire->config.began : now;
    if (acquire->config.queued)
        acquire->wake_at = acquire->config.give_up_at;
    else
        begin_round(acquire, now, effects);
}

/* Its turn among those of this process. To let other processes come first, it looks before it asks, as one
 * that came in vain. */
static void take_turn(struct rl_acquire *acquire, const struct rl_event *event, struct rl_effects *effects)
{
    if (acquire->phase != RL_ACQUIRE_QUEUED)
        return;
    if (!event->others_first || !rl_time_before(event->now, acquire->config.give_up_at)) {
        begin_round(acquire, event->now, effects);
        return;
    }
    acquire->spread = acquire->config.retry_min;
    go_on(acquire, rl_acquire_begin_wait(acquire, event->now, effects), event->now, effects);
}

void rl_acquire_step(struct rl_acquire *acquire, const struct rl_event *event, struct rl_effects *effects)
{
    assert(event->node < acquire->config.node_count);
    *effects = (struct rl_effects){0};
    if (acquire->phase == RL_ACQUIRE_ENDED)
        return;
    switch (event->kind) {
    case RL_EVENT_START:
        start(acquire, event->now, effects);
        return;
    case RL_EVENT_TURN:
        take_turn(acquire, event, effects);
        return;
    case RL_EVENT_ANSWER:
        take_answer(acquire, event, effects);
        return;
    case RL_EVENT_TIMER:
        take_timer(acquire, event->now, effects);
        return;
    case RL_EVENT_CHANGED:
    case RL_EVENT_UP:
    case RL_EVENT_DOWN:
        go_on(acquire, rl_acquire_node_event(acquire, event, effects), event->now, effects);
        return;
    case RL_EVENT_CANCEL:
        if (acquire->phase == RL_ACQUIRE_ASKING)
            effects->release = all_nodes(acquire) & ~acquire->tally.denied;
        end(acquire, RL_OUTCOME_CANCELED, effects);
        return;
    case RL_EVENT_WATCHED:
    case RL_EVENT_HANDED:
    case RL_EVENT_MISSED:
    case RL_EVENT_EXTEND:
    case RL_EVENT_RELEASE:
    case RL_EVENT_ABANDON:
        assert(!"an acquisition is not a lease");
    }
}
