/*
 * That no wake-up is lost: when a lock is free on a quorum of nodes that are fit, connected and able to tell,
 * and nobody takes it, whoever waits for it must have noticed within a few message delays, and not only when
 * it looks again out of mistrust.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/world.h"

/* ---- since when a lock is free ---- */

/* The true time at which a key ends by itself. */
static int64_t end_us(const struct sim_node *node, const struct sim_key *key)
{
    return sim_clock_when(&node->clock, (key->end_ms + 1) * 1000);
}

void sim_wakes_removing(void *context, struct sim_node *node, const struct sim_key *key)
{
    struct sim_world *world = context;
    int64_t at_us = world->now_us;
    uint32_t name, slot;

    if (!sim_is_lock(key->key, &name, &slot))
        return;
    if (key->end_ms != 0 && end_us(node, key) < at_us)
        at_us = end_us(node, key);
    world->gone_us[node - world->nodes][name][slot] = at_us;
    world->held_by[node - world->nodes][name][slot] = 0;
}

int64_t sim_wakes_free_since_us(const struct sim_world *world, uint32_t index, uint32_t name, uint32_t slot)
{
    const struct sim_node *node = &world->nodes[index];

    for (int i = 0; i < SIM_KEYS_MAX; i++) {
        const struct sim_key *key = &node->memory.keys[i];
        uint32_t its_name, its_slot;

        if (sim_is_lock(key->key, &its_name, &its_slot) && its_name == name && its_slot == slot)
            return key->end_ms != 0 ? end_us(node, key) : INT64_MAX;
    }
    return world->gone_us[index][name][slot];
}

/* ---- since when a node can be heard ---- */

static int64_t later(int64_t a_us, int64_t b_us)
{
    return a_us > b_us ? a_us : b_us;
}

/* Each of these times is when the latest disturbance of its kind was over. */
int64_t sim_wakes_undisturbed_since_us(const struct sim_world *world, const struct sim_client *client,
                                       uint32_t index)
{
    const struct sim_connection *connection = &client->connections[index];
    const struct sim_node *node = &world->nodes[index];
    int64_t at_us = later(connection->ready_us, later(client->paused_until_us, client->starved_until_us));

    if (connection->ready_us == 0 || !node->up || connection->boot != node->boot)
        return INT64_MAX;
    at_us = later(at_us, later(node->frozen_until_us, node->slow_until_us));
    at_us = later(at_us, node->promoted_us); /* what it copied may have ended long before */
    return later(at_us, later(connection->to_node.cut_until_us, connection->to_client.cut_until_us));
}

/* ---- the waiter ---- */

/* Whoever waits asks it now, or has no excuse. */
void sim_wakes_connected(struct sim_world *world, struct sim_client *client, uint32_t node)
{
    for (uint32_t i = 0; i < world->plan.worker_count; i++)
        client->workers[i].excused &= ~rl_node_set_one(node);
}

/* What a message takes at most. */
int64_t sim_wakes_hop_us(const struct sim_plan *plan)
{
    int64_t timeout_us = plan->node_timeout_ms * 1000;

    return plan->delay_max_us + (sim_plan_has(plan, SIM_FAULT_DELAY) ? 2 * timeout_us : 0) +
           (sim_plan_has(plan, SIM_FAULT_SLOW) ? 3 * timeout_us / 2 : 0);
}

/* It is told, looks at one that renews, and hears that it is gone; or its clock says that it has ended, which
 * goes wrong by as much as clocks differ. One that was stopped before it read what time is left takes it for
 * newer than it is, by as much as an answer may take. */
static int64_t bound_us(const struct sim_plan *plan)
{
    bool stops = sim_plan_has(plan, SIM_FAULT_PAUSE) || sim_plan_has(plan, SIM_FAULT_SUSPEND);

    return 4 * sim_wakes_hop_us(plan) + 5000 + plan->longest_ms * 2 * plan->rate_max_ppm / 1000 +
           (stops ? plan->node_timeout_ms * 1000 : 0);
}

static void check_end(struct sim_world *world, const struct sim_client *client,
                      const struct sim_worker *worker)
{
    int64_t deadline_us = world->now_us - bound_us(&world->plan), since_us = 0;
    rl_node_set slept = 0;

    if (world->plan.beyond)
        return;
    for (uint32_t node = 0; node < world->plan.node_count; node++) {
        int64_t at_us = later(sim_wakes_free_since_us(world, node, worker->name, 0), worker->waits_since_us);

        if (rl_node_set_has(worker->excused | world->plan.untold, node))
            continue;
        at_us = later(at_us, sim_wakes_undisturbed_since_us(world, client, node));
        if (at_us >= deadline_us)
            continue;
        slept |= rl_node_set_one(node);
        since_us = later(since_us, at_us);
    }
    if (rl_node_set_count(slept) >= rl_quorum(world->plan.node_count))
        sim_fail(world,
                 "lost wake-up: client %u.%u waited for %c, which had been free on nodes %x for %" PRId64
                 " us, and %" PRId64 " us are enough to notice",
                 client->index + 1, worker->index + 1, 'a' + (int)worker->name, slept,
                 world->now_us - since_us, bound_us(&world->plan));
}

static void count_end(struct sim_world *world, const struct sim_client *client,
                      const struct rl_acquire *acquire)
{
    struct sim_stats *stats = &world->stats;

    if (acquire->phase == RL_ACQUIRE_WAITING)
        stats->looks++;
    else if (acquire->woken && client->door == RL_EVENT_CHANGED)
        stats->woken_by_push++;
    else if (acquire->woken && client->door == RL_EVENT_TIMER)
        stats->woken_by_timer++;
    else if (acquire->woken)
        stats->woken_by_look++;
    else if (acquire->phase == RL_ACQUIRE_ASKING)
        stats->polls++;
}

/* A node that tells and has been asked has no excuse any more; nor has one that was connected to
 * meanwhile. */
static void note_asked(const struct sim_client *client, struct sim_worker *worker,
                       const struct rl_acquire *acquire)
{
    rl_node_set heard = acquire->wait.watched | acquire->wait.freed;

    for (rl_node_set left = heard; left != 0; left &= left - 1)
        if (client->engine.sessions[rl_node_set_first(left)].tracking == RL_TRACKING_ON)
            worker->excused &= ~rl_node_set_one(rl_node_set_first(left));
}

void sim_wakes_look(struct sim_world *world, struct sim_client *client, struct sim_worker *worker)
{
    const struct rl_acquire *acquire;
    bool waits;

    if (worker->stage != SIM_ASKING || worker->adopts || worker->operation->stands)
        return;
    acquire = &worker->operation->acquire;
    waits = acquire->phase == RL_ACQUIRE_WAITING;
    if (worker->waits && (!waits || acquire->question != worker->question)) {
        check_end(world, client, worker);
        count_end(world, client, acquire);
    }
    if (waits && (!worker->waits || acquire->question != worker->question)) {
        worker->waited = true;
        worker->waits_since_us = world->now_us;
        worker->excused = rl_node_set_all(world->plan.node_count); /* until it could be asked */
    }
    worker->waits = waits;
    worker->question = acquire->question;
    if (waits)
        note_asked(client, worker, acquire);
}
