/*
 * The times of a caller at guarded nodes; see stand_times.h.
 */
#include "core/stand_times.h"

#include "core/validity.h"

/* A waiter is believed to be there for three seconds; asking again every second or so keeps its place, and
 * finds out about expired locks that nobody else noticed. */
enum {
    KEEP_MS = 1000,
    KEEP_SPREAD_MS = 300,
    WATCH_AFTER_MS = 100 /* a lock that changes hands sooner is not worth watching */
};

struct rl_time rl_stand_next_keep(struct rl_stand *stand, struct rl_time now)
{
    int64_t spread_us = rl_prng_between(stand->prng, 0, KEEP_SPREAD_MS * 1000);

    if (!rl_stand_waits(stand) || RL_PLANTED(&stand->config, RL_PLANTED_PLACE_NOT_KEPT))
        return RL_TIME_NEVER;
    return rl_time_add(now, rl_span_us(KEEP_MS * 1000 + spread_us));
}

/* Rule: a grant that was handed over counts from when the node gave it. By the node's clock that was so long
 * after the last exchange; by ours it was no less than that, but for the drift. */
struct rl_time rl_stand_handed_at(const struct rl_stand *stand, const struct rl_stand_node *node,
                                  const struct rl_event *event)
{
    int64_t passed_us = event->answer.node_us - node->node_us;
    int64_t drift_us = rl_validity_drift(rl_span_us(passed_us), stand->config.drift_ppm).us;
    int64_t least_us = passed_us > drift_us ? passed_us - drift_us : 0;

    if (RL_PLANTED(&stand->config, RL_PLANTED_HANDED_ON_ARRIVAL))
        return event->now;
    /* Whatever its clock says, it was before we heard of it. */
    return rl_time_min(rl_time_add(node->sent, rl_span_us(least_us)), event->now);
}

/* Nodes hand a long one over for a second, for its new owner may have been stopped; a lease that renews
 * itself has that second to do so. None lasts of which half may be over. */
bool rl_stand_lasts(const struct rl_stand *stand, struct rl_span ttl, struct rl_time given,
                    struct rl_time now)
{
    if (ttl.us < stand->config.ttl.us && !stand->config.renews)
        return false;
    return rl_time_since(now, given).us < ttl.us / 2;
}

static bool is_near(const struct rl_stand_node *node)
{
    return node->state == RL_STAND_LINED && node->last.rank <= RL_STAND_NEAR_FRONT;
}

rl_node_set rl_stand_nodes_to_watch(const struct rl_stand *stand)
{
    rl_node_set set = 0;

    /* Of the slots of a semaphore it is the nodes that say when the first of them ends. */
    if (stand->config.slots > 0 || RL_PLANTED(&stand->config, RL_PLANTED_EXPIRY_UNSEEN))
        return 0;
    for (uint32_t number = 0; number < stand->config.node_count; number++)
        if (is_near(&stand->nodes[number]) && !stand->nodes[number].watched)
            set |= rl_node_set_one(number);
    return set;
}

void rl_stand_plan_watch(struct rl_stand *stand, struct rl_time now)
{
    if (stand->phase != RL_STAND_WAITING || rl_stand_nodes_to_watch(stand) == 0)
        stand->watch_at = RL_TIME_NEVER;
    else if (stand->watch_at.us == RL_TIME_NEVER.us)
        stand->watch_at = rl_time_add(now, rl_span_ms(WATCH_AFTER_MS));
}

rl_node_set rl_stand_take_expired(struct rl_stand *stand, struct rl_time now)
{
    rl_node_set set = 0;

    for (uint32_t number = 0; number < stand->config.node_count; number++) {
        struct rl_stand_node *node = &stand->nodes[number];
        bool ended = node->state == RL_STAND_HAS && !rl_time_before(now, node->ends);

        if (ended)
            node->state = RL_STAND_OUT;
        if (ended || !rl_time_before(now, node->look_at))
            set |= rl_node_set_one(number);
    }
    return set;
}

/* The caller's wait bounds every question, too. One that wants to wait for less than a single question takes
 * gets that one. */
struct rl_time rl_stand_deadline(const struct rl_stand *stand)
{
    struct rl_time once = rl_time_add(stand->started, stand->config.node_timeout);
    bool first = stand->attempts == 1 && rl_stand_unheard(stand) != 0;

    if (!rl_stand_waits(stand)) /* it ends with its one question */
        return RL_TIME_NEVER;
    return first ? rl_time_max(stand->config.give_up_at, once) : stand->config.give_up_at;
}

/* Each phase minds its own times. */
void rl_stand_set_wake(struct rl_stand *stand)
{
    struct rl_time at = rl_stand_deadline(stand);

    if (stand->phase == RL_STAND_ENDED)
        return;
    if (stand->phase != RL_STAND_RAISING)
        at = rl_time_min(at, stand->keep_at);
    if (stand->phase != RL_STAND_RESTING)
        at = rl_time_min(at, stand->asked_by);
    if (stand->phase == RL_STAND_WAITING)
        at = rl_time_min(at, rl_time_min(stand->watch_at, stand->split_at));
    for (uint32_t node = 0; node < stand->config.node_count && stand->phase == RL_STAND_WAITING; node++) {
        at = rl_time_min(at, stand->nodes[node].look_at);
        if (stand->nodes[node].state == RL_STAND_HAS)
            at = rl_time_min(at, stand->nodes[node].ends);
    }
    stand->wake_at = at;
}
