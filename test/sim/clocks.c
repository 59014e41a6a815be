/*
 * Nodes whose clocks misbehave, as src/engine/clocks.c handles them: they do not vote, and are told when the others agree that
 * it is them. The measuring is the core's.
 */
#include "sim/world.h"

static void begin_suspicion(struct sim_world *world, struct sim_client *client, uint32_t node)
{
    sim_say(world, "client %u > node %u: its clock is off", client->index + 1, node + 1);
    client->guards[node].cause = RL_CAUSE_CLOCK_STEP;
    client->guards[node].suspected = client->now;
    for (uint32_t other = 0; other < world->plan.node_count; other++)
        if (other != node && client->connections[other].state == SIM_READY &&
            client->guards[other].fitness == RL_FITNESS_FIT && !client->guards[other].asking)
            sim_guard_admit(world, client, other, "", false);
}

static uint32_t count_suspected(const struct sim_world *world, const struct sim_client *client)
{
    uint32_t count = 0;

    for (uint32_t node = 0; node < world->plan.node_count; node++)
        count += client->guards[node].suspected.us != 0;
    return count;
}

static uint32_t count_witnesses(const struct sim_world *world, const struct sim_client *client,
                                uint32_t suspect)
{
    uint32_t count = 0;

    for (uint32_t node = 0; node < world->plan.node_count; node++)
        count += node != suspect && client->guards[node].suspected.us == 0 &&
                 !rl_time_before(client->guards[node].seen_good, client->guards[suspect].suspected);
    return count;
}

static void acquit_all(struct sim_world *world, struct sim_client *client)
{
    for (uint32_t node = 0; node < world->plan.node_count; node++) {
        struct sim_guard *guard = &client->guards[node];

        guard->suspected = (struct rl_time){0};
        guard->clock_bad = false;
        guard->watch.anchored = false;
        if (guard->cause == RL_CAUSE_CLOCK_STEP)
            guard->cause = RL_CAUSE_NONE;
    }
}

static void accuse(struct sim_world *world, struct sim_client *client, uint32_t node)
{
    struct sim_guard *guard = &client->guards[node];

    /* One that sits out or lacks a floor goes on doing so. */
    if (guard->fitness == RL_FITNESS_FIT && client->connections[node].state == SIM_READY) {
        if (!sim_guard_admit(world, client, node, "suspect", false))
            return;
        guard->fitness = RL_FITNESS_UNKNOWN;
        guard->again = client->now;
    }
    guard->suspected = (struct rl_time){0};
    if (!guard->clock_bad)
        guard->cause = RL_CAUSE_NONE;
}

static void judge(struct sim_world *world, struct sim_client *client)
{
    uint32_t quorum = rl_quorum(world->plan.node_count);
    uint32_t suspected = count_suspected(world, client);

    if (suspected == 0)
        return;
    if (suspected >= quorum && world->plan.node_count > 1) {
        acquit_all(world, client);
        return;
    }
    for (uint32_t node = 0; node < world->plan.node_count; node++)
        if (client->guards[node].suspected.us != 0 && count_witnesses(world, client, node) + 1 >= quorum)
            accuse(world, client, node);
}

bool sim_clocks_look(struct sim_world *world, struct sim_client *client, uint32_t node, struct rl_time sent,
                     int64_t node_us)
{
    struct sim_guard *guard = &client->guards[node];
    bool was_bad = guard->clock_bad;
    enum rl_clock_state state =
        rl_clock_watch_add(&guard->watch, sent, client->now, node_us, world->plan.drift_ppm);

    guard->clock_bad = state == RL_CLOCK_RATE;
    if (state == RL_CLOCK_GOOD)
        guard->seen_good = sent;
    else if (!was_bad || state == RL_CLOCK_STEP)
        begin_suspicion(world, client, node);
    if (was_bad && state == RL_CLOCK_GOOD && guard->cause == RL_CAUSE_CLOCK_STEP && guard->suspected.us == 0)
        guard->cause = RL_CAUSE_NONE;
    judge(world, client);
    return state == RL_CLOCK_GOOD && guard->suspected.us == 0;
}
