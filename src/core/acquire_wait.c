/*
 * The half of the acquisition's state machine that waits: watches the key in its way, and begins a round when
 * a quorum seems to be free. The rounds themselves are in acquire.c.
 */
#include "core/acquire_wait.h"

#include <assert.h>

/* A waiter that every node notifies looks again as a safety net only; one that some nodes cannot notify looks
 * more often. Both are spread to twice as much. */
enum { LOOK_AGAIN_MS = 5000, LOOK_BLIND_MS = 1000 };

static struct rl_time later(struct rl_acquire *acquire, struct rl_time now, int64_t least_ms)
{
    int64_t least_us = least_ms * 1000;

    return rl_time_add(now, rl_span_us(rl_prng_between(acquire->prng, least_us, 2 * least_us)));
}

/* A quorum seems to be free. All waiters learn that at the same moment. One that has come in vain before
 * comes after a random time, so that they do not split the votes for ever. */
static enum rl_waited take_chance(struct rl_acquire *acquire, struct rl_time now, struct rl_effects *effects)
{
    struct rl_span delay = rl_span_us(rl_prng_between(acquire->prng, 0, acquire->spread.us));

    assert(acquire->phase == RL_ACQUIRE_WAITING);
    acquire->woken = true;
    effects->watch = 0; /* no longer wanted */
    if (delay.us == 0)
        return RL_WAITED_ENOUGH;
    acquire->phase = RL_ACQUIRE_RESTING;
    acquire->wake_at = rl_time_min(rl_time_add(now, delay), acquire->config.give_up_at);
    effects->rest = rl_time_since(acquire->wake_at, now);
    return RL_WAITED_ON;
}

/* Asks nodes who holds it and to tell when that changes. What they say is both: free now, or told later.
 * There is no gap between the two in which a release could be missed. */
static void watch(struct rl_acquire *acquire, rl_node_set nodes, struct rl_time now,
                  struct rl_effects *effects)
{
    acquire->wait.asked |= nodes;
    acquire->heard_by = rl_time_add(now, acquire->config.node_timeout);
    effects->watch = nodes;
    effects->question = acquire->question;
}

/* What to do next, after anything that was learned while waiting: a round, or sleep until one may be won. */
static enum rl_waited go_on_waiting(struct rl_acquire *acquire, struct rl_time now,
                                    struct rl_effects *effects)
{
    const struct rl_wait *wait = &acquire->wait;
    struct rl_time wake_at = rl_time_min(acquire->look_at, acquire->config.give_up_at);

    assert(acquire->phase == RL_ACQUIRE_WAITING);
    if (!rl_time_before(now, acquire->config.give_up_at)) {
        effects->watch = 0;
        return RL_WAITED_IN_VAIN;
    }
    if (rl_node_set_count(rl_wait_free(wait, now)) >= rl_quorum(acquire->config.node_count))
        return take_chance(acquire, now, effects);
    if (rl_wait_will_tell(wait))
        acquire->poll_at = RL_TIME_NEVER;
    else if (acquire->poll_at.us == RL_TIME_NEVER.us)
        acquire->poll_at = rl_time_add(now, rl_backoff_next(&acquire->backoff, acquire->prng));
    if (wait->asked != 0)
        wake_at = rl_time_min(wake_at, acquire->heard_by);
    wake_at = rl_time_min(wake_at, acquire->poll_at);
    acquire->wake_at = rl_time_min(wake_at, rl_wait_free_at(wait));
    return RL_WAITED_ON;
}

enum rl_waited rl_acquire_begin_wait(struct rl_acquire *acquire, struct rl_time now,
                                     struct rl_effects *effects)
{
    rl_node_set nodes = rl_node_set_all(acquire->config.node_count) & ~acquire->tally.ineligible;

    assert(acquire->config.watch);
    acquire->phase = RL_ACQUIRE_WAITING;
    acquire->woken = false;
    acquire->question++;
    acquire->look_at = later(acquire, now, LOOK_AGAIN_MS);
    acquire->poll_at = RL_TIME_NEVER;
    rl_wait_begin(&acquire->wait, acquire->config.node_count, nodes);
    watch(acquire, nodes, now, effects);
    return go_on_waiting(acquire, now, effects);
}

/* A holder that is known to renew is looked at before it is challenged; others are challenged at once, for
 * most changes of a lock's key are its end. */
static enum rl_waited take_change(struct rl_acquire *acquire, const struct rl_event *event,
                                  struct rl_effects *effects)
{
    rl_node_set one = rl_node_set_one(event->node);

    if (!rl_wait_changed(&acquire->wait, event->node))
        return RL_WAITED_ON;
    if (acquire->wait.renews) {
        acquire->wait.freed &= ~one;
        watch(acquire, one, event->now, effects);
    }
    return go_on_waiting(acquire, event->now, effects);
}

/* Where some nodes will not tell, looking again soon makes up for it. */
static void note_blindness(struct rl_acquire *acquire, struct rl_time now)
{
    if (acquire->wait.asked == 0 && !rl_wait_sees_all(&acquire->wait))
        acquire->look_at = rl_time_min(acquire->look_at, later(acquire, now, LOOK_BLIND_MS));
}

enum rl_waited rl_acquire_count_watch(struct rl_acquire *acquire, const struct rl_event *event,
                                      struct rl_effects *effects)
{
    struct rl_wait *wait = &acquire->wait;
    uint32_t node_count = acquire->config.node_count;

    assert(acquire->phase == RL_ACQUIRE_WAITING);
    if (event->question != acquire->question)
        return RL_WAITED_ON;
    /* What was said long ago and is read only now, because this process was stopped, does not end later for
     * that. */
    rl_wait_answer(wait, event->node, &event->answer, rl_time_min(event->now, acquire->heard_by));
    if (acquire->last[event->node].verdict == RL_DENIED && event->answer.verdict == RL_DENIED)
        acquire->last[event->node] = event->answer;
    if (rl_node_set_count(wait->foreign) > node_count - rl_quorum(node_count)) {
        acquire->outcome = RL_OUTCOME_FOREIGN_TYPE;
        return RL_WAITED_IN_VAIN;
    }
    note_blindness(acquire, event->now);
    return go_on_waiting(acquire, event->now, effects);
}

enum rl_waited rl_acquire_node_event(struct rl_acquire *acquire, const struct rl_event *event,
                                     struct rl_effects *effects)
{
    if (acquire->phase != RL_ACQUIRE_WAITING)
        return RL_WAITED_ON;
    if (event->kind == RL_EVENT_CHANGED)
        return take_change(acquire, event, effects);
    if (event->kind == RL_EVENT_DOWN) {
        rl_wait_down(&acquire->wait, event->node);
        note_blindness(acquire, event->now); /* looking again is also what connects again */
    } else {
        watch(acquire, rl_node_set_one(event->node), event->now, effects);
    }
    return go_on_waiting(acquire, event->now, effects);
}

/* The time for something has come while waiting. */
enum rl_waited rl_acquire_wait_on(struct rl_acquire *acquire, struct rl_time now, struct rl_effects *effects)
{
    assert(acquire->phase == RL_ACQUIRE_WAITING);
    if (acquire->wait.asked != 0 && !rl_time_before(now, acquire->heard_by)) {
        acquire->wait.asked = 0;
        note_blindness(acquire, now);
    }
    if (!rl_time_before(now, acquire->config.give_up_at))
        return RL_WAITED_IN_VAIN;
    if (!rl_time_before(now, acquire->poll_at))
        return RL_WAITED_ENOUGH;
    if (!rl_time_before(now, acquire->look_at))
        return rl_acquire_begin_wait(acquire, now, effects);
    return go_on_waiting(acquire, now, effects);
}
