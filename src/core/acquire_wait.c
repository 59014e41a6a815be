/*
 * The half of the acquisition's state machine that waits: watches the key in its way, and begins a round when a quorum seems
 * to be free. The rounds themselves are in acquire.c.
 */
#include "core/acquire_wait.h"

#include <assert.h>

/* A waiter that every node will tell looks again only out of mistrust; one that some will not tell, more often. Both are
 * spread to twice as much. */
enum { LOOK_AGAIN_MS = 5000, LOOK_BLIND_MS = 1000, KEEP_PLACE_MS = 2000, SHOW_AGAIN_MS = 10000 };

/* Free again within so many trips is hot. Who stays away does so for 2^(DOZE_SHIFT + heat) trips, but not too long. */
enum {
    HOT_TRIPS = 16,
    DOZE_SHIFT = 6,
    DOZE_MOST_MS = 20,
    DOZE_OLD_MS = 30, /* who has waited for so long (and a while more where trips are long) */
    DOZE_OLD_SHIFT = 2,
    DOZE_MOST_OLD_MS = 40,
    DOZE_MOST_TRIPS = 64
};

static struct rl_time spread(struct rl_acquire *acquire, struct rl_time now, int64_t least_ms)
{
    int64_t least_us = least_ms * 1000;

    return rl_time_add(now, rl_span_us(rl_prng_between(acquire->prng, least_us, 2 * least_us)));
}

/* Up to how long it waits once more. Who has waited long already comes sooner than others: half as late for every four times
 * as long, so that nobody is unlucky for ever. */
static struct rl_span window(const struct rl_acquire *acquire, struct rl_time now)
{
    int64_t us = acquire->patience > 0 ? acquire->trip.us << (acquire->patience - 1) : 0;
    int64_t waited_us = rl_time_since(now, acquire->started).us;

    if (acquire->config.in_line)
        return rl_span_us(0);
    for (waited_us /= 4; waited_us > us && us > 4 * acquire->trip.us; waited_us /= 4)
        us /= 2;
    return rl_span_us(us < acquire->config.retry_max.us ? us : acquire->config.retry_max.us);
}

/* A quorum seems to be free. All who wait learn that at the same moment: in a crowd each comes after a random time, so that
 * they do not split the votes, and most of them come late enough to be told that somebody has it. */
static enum rl_waited take_chance(struct rl_acquire *acquire, struct rl_time now, struct rl_effects *effects)
{
    struct rl_span delay = rl_span_us(rl_prng_between(acquire->prng, 0, window(acquire, now).us));

    assert(acquire->phase == RL_ACQUIRE_WAITING);
    acquire->quick = rl_time_since(now, acquire->watching_since).us <= HOT_TRIPS * acquire->trip.us;
    if (!acquire->quick)
        acquire->heat = 0;
    if (acquire->heat > 0)
        delay.us = 0; /* whoever has it asks for it again at once, and others are away */
    acquire->woken = true;
    effects->watch = 0; /* no longer wanted */
    if (delay.us == 0)
        return RL_WAITED_ENOUGH;
    acquire->phase = RL_ACQUIRE_RESTING;
    acquire->wake_at = rl_time_min(rl_time_add(now, delay), acquire->config.give_up_at);
    effects->rest = rl_time_since(acquire->wake_at, now);
    return RL_WAITED_ON;
}

/* Asks nodes who holds it and to tell when that changes. What they say is both: free now, or told later. There is no gap
 * between the two in which a release could be missed. */
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
    if (!rl_time_before(now, acquire->show_at)) {
        acquire->show_at = rl_time_add(now, rl_span_ms(SHOW_AGAIN_MS));
        effects->present = true;
    }
    if (rl_wait_will_tell(wait))
        acquire->poll_at = RL_TIME_NEVER;
    else if (acquire->poll_at.us == RL_TIME_NEVER.us)
        acquire->poll_at = rl_time_add(now, rl_backoff_next(&acquire->backoff, acquire->prng));
    if (wait->asked != 0)
        wake_at = rl_time_min(wake_at, acquire->heard_by);
    wake_at = rl_time_min(wake_at, rl_time_min(acquire->poll_at, acquire->show_at));
    acquire->wake_at = rl_time_min(wake_at, rl_wait_free_at(wait));
    return RL_WAITED_ON;
}

enum rl_waited rl_acquire_begin_wait(struct rl_acquire *acquire, struct rl_time now,
                                     struct rl_effects *effects)
{
    rl_node_set nodes = rl_node_set_all(acquire->config.node_count) & ~acquire->tally.ineligible;

    assert(acquire->config.watch);
    acquire->phase = RL_ACQUIRE_WAITING;
    acquire->woken = acquire->dozes = false;
    acquire->watching_since = now;
    acquire->question++;
    acquire->look_at = spread(acquire, now, LOOK_AGAIN_MS);
    acquire->poll_at = RL_TIME_NEVER;
    rl_wait_begin(&acquire->wait, acquire->config.node_count, nodes);
    watch(acquire, nodes, now, effects);
    return go_on_waiting(acquire, now, effects);
}

/* Longer each time that it came too late. Who has waited for a while comes much sooner, but backs off too, and further: where very
 * many wait they all have. */
static struct rl_span doze_time(const struct rl_acquire *acquire, struct rl_time now)
{
    int64_t trip_us = acquire->trip.us, least_us = DOZE_MOST_TRIPS * trip_us;
    bool old = rl_time_since(now, acquire->started).us > rl_span_ms(DOZE_OLD_MS).us + least_us / 2;
    int64_t most_us = rl_span_ms(old ? DOZE_MOST_OLD_MS : DOZE_MOST_MS).us;
    int64_t us = trip_us << ((old ? DOZE_OLD_SHIFT : DOZE_SHIFT) + acquire->heat);

    if (most_us < least_us)
        most_us = least_us;
    if (us > most_us)
        us = most_us;
    us = rl_prng_between(acquire->prng, us / 2, us + us / 2);
    return rl_span_us(us < acquire->config.retry_max.us ? us : acquire->config.retry_max.us);
}

/* A lock that is held for moments only, and asked for again at once by who just had it, changes hands best in longer turns: if
 * all others raced for it whenever it is free for a moment, most of what the nodes do would be saying no. So who came too late
 * stays away for a while, without being told of anything, and then is the only one who comes. */
void rl_acquire_doze(struct rl_acquire *acquire, struct rl_time now, struct rl_effects *effects)
{
    assert(acquire->heat > 0);
    assert(!acquire->config.in_line);
    acquire->phase = RL_ACQUIRE_RESTING;
    acquire->woken = false;
    acquire->dozes = true;
    acquire->wake_at = rl_time_min(rl_time_add(now, doze_time(acquire, now)), acquire->config.give_up_at);
    effects->rest = rl_time_since(acquire->wake_at, now);
}

enum rl_waited rl_acquire_return(struct rl_acquire *acquire, struct rl_time now, struct rl_effects *effects)
{
    assert(acquire->dozes);
    effects->returned = true;
    return rl_acquire_begin_wait(acquire, now, effects);
}

/* A holder that is known to renew is looked at before it is challenged; others are challenged at once, for most changes of
 * a lock's key are its end. In a line only the first two are told, and only asking tells them their place. */
static enum rl_waited take_change(struct rl_acquire *acquire, const struct rl_event *event,
                                  struct rl_effects *effects)
{
    rl_node_set one = rl_node_set_one(event->node);

    if (!rl_wait_changed(&acquire->wait, event->node))
        return RL_WAITED_ON;
    if (acquire->wait.renews && !acquire->config.in_line) {
        acquire->wait.freed &= ~one;
        watch(acquire, one, event->now, effects);
    }
    return go_on_waiting(acquire, event->now, effects);
}

/* Where some nodes will not tell, looking again soon makes up for it. In a line, asking again keeps the place, and finds out
 * when somebody in front has died. */
static void note_blindness(struct rl_acquire *acquire, struct rl_time now)
{
    bool in_line = acquire->config.in_line;

    if (acquire->wait.asked == 0 && (in_line || !rl_wait_sees_all(&acquire->wait)))
        acquire->look_at =
            rl_time_min(acquire->look_at, spread(acquire, now, in_line ? KEEP_PLACE_MS : LOOK_BLIND_MS));
}

enum rl_waited rl_acquire_count_watch(struct rl_acquire *acquire, const struct rl_event *event,
                                      struct rl_effects *effects)
{
    struct rl_wait *wait = &acquire->wait;
    uint32_t node_count = acquire->config.node_count;

    assert(acquire->phase == RL_ACQUIRE_WAITING);
    if (event->question != acquire->question)
        return RL_WAITED_ON;
    /* What was said long ago and is read only now, because this process was stopped, does not end later for that. */
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
    if (!rl_time_before(now, acquire->poll_at) ||
        (acquire->config.in_line && !rl_time_before(now, acquire->look_at)))
        return RL_WAITED_ENOUGH;
    if (!rl_time_before(now, acquire->look_at))
        return rl_acquire_begin_wait(acquire, now, effects);
    return go_on_waiting(acquire, now, effects);
}
