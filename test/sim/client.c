/*
 * A client's clock and timers, and what its application does with locks: it thinks, asks, holds, extends, gives back, forgets
 * or loses patience. Everything it does follows from the seed.
 */
#include <string.h>

#include "sim/world.h"

void sim_client_look(struct sim_world *world, struct sim_client *client)
{
    client->now.us = sim_clock_at(&client->clock, world->now_us);
}

static int64_t draw_rate(struct sim_world *world)
{
    int64_t most = world->plan.rate_max_ppm;

    return sim_draw(world, -most, most);
}

void sim_client_start(struct sim_world *world, uint32_t index)
{
    struct sim_client *client = &world->clients[index];
    int64_t skew = world->plan.wall_skew_us;

    client->index = index;
    client->prng = rl_prng_seed(rl_prng_next(&world->prng));
    client->lease_terms = sim_lock_terms(world, client);
    int64_t rate = draw_rate(world); /* drawn in this order by every compiler */
    sim_clock_set(&client->clock, 0, sim_draw(world, 1000000, INT64_C(1000000000000)), rate);
    sim_clock_set(&client->wall, 0, INT64_C(1700000000000000) + sim_draw(world, -skew, skew), 0);
    client->wake_us = INT64_MAX;
    sim_turns_init(client);
    sim_client_look(world, client);
    for (uint32_t i = 0; i < world->plan.worker_count; i++) {
        struct sim_worker *worker = &client->workers[i];

        worker->index = i;
        worker->client = index;
        worker->act_at = rl_time_add(client->now, rl_span_us(sim_draw(world, 0, world->plan.think_max_us)));
    }
    sim_client_plan_wake(world, client);
}

static bool due(const struct sim_client *client, struct rl_time at)
{
    return !rl_time_before(client->now, at);
}

static bool lease_runs(const struct sim_world *world, const struct sim_worker *worker)
{
    return worker->stage == SIM_HELD || worker->stage == SIM_OVER ||
           (worker->stage == SIM_WON && world->plan.bug != SIM_BUG_LATE_HAND_OUT &&
            world->plan.bug != SIM_BUG_NO_RECHECK);
}

static struct rl_time worker_due(const struct sim_world *world, const struct sim_worker *worker)
{
    struct rl_time at = worker->stage == SIM_OVER ? RL_TIME_NEVER : worker->act_at;

    if (worker->stage == SIM_ASKING)
        at = rl_time_min(at, worker->acquire.wake_at);
    if (lease_runs(world, worker))
        at = rl_time_min(at, worker->lease.wake_at);
    return at;
}

/* What the application does with a lock that it has. */
static void use_lock(struct sim_world *world, struct sim_client *client, struct sim_worker *worker)
{
    struct rl_event event = {.kind = RL_EVENT_RELEASE, .now = client->now};

    if (rl_time_before(client->now, worker->give_back_at) && !world->stopping) {
        worker->act_at = worker->give_back_at;
        event.kind = RL_EVENT_EXTEND;
        event.ttl = rl_span_ms(sim_draw(world, 1, world->plan.max_ttl_ms));
    } else if (!world->stopping && sim_chance(world, 5)) {
        event.kind = RL_EVENT_ABANDON; /* its thread ended, nobody will give it back */
        worker->act_at = RL_TIME_NEVER;
    }
    sim_lock_event(world, client, worker, &event);
}

static void act(struct sim_world *world, struct sim_client *client, struct sim_worker *worker)
{
    switch (worker->stage) {
    case SIM_IDLE:
        worker->name = (worker->name + (sim_chance(world, 70) ? 1 : 0)) % world->plan.name_count;
        sim_lock_ask(world, client, worker, sim_chance(world, 60));
        return;
    case SIM_ASKING:
        sim_lock_event(world, client, worker,
                       &(struct rl_event){.kind = RL_EVENT_CANCEL, .now = client->now});
        return;
    case SIM_WON:
        sim_lock_hand_out(world, client, worker);
        return;
    case SIM_HELD:
        use_lock(world, client, worker);
        return;
    case SIM_OVER:
        return;
    }
}

static void run_worker(struct sim_world *world, struct sim_client *client, struct sim_worker *worker)
{
    struct rl_event timer = {.kind = RL_EVENT_TIMER, .now = client->now};

    for (int turn = 0; due(client, worker_due(world, worker)); turn++) {
        if (turn > 100) {
            sim_fail(world, "client %u.%u: a timer does not move", client->index + 1, worker->index + 1);
            return;
        }
        if (worker->stage == SIM_ASKING && due(client, worker->acquire.wake_at))
            sim_lock_event(world, client, worker, &timer);
        else if (lease_runs(world, worker) && due(client, worker->lease.wake_at))
            sim_lock_event(world, client, worker, &timer);
        else
            act(world, client, worker);
    }
}

void sim_client_run(struct sim_world *world, struct sim_client *client)
{
    for (uint32_t i = 0; i < world->plan.worker_count; i++)
        run_worker(world, client, &client->workers[i]);
    for (uint32_t node = 0; node < world->plan.node_count; node++)
        if (due(client, sim_connection_due(world, client, node)))
            sim_connection_break(world, client, node);
    sim_reaper_pay(world, client);
}

void sim_client_plan_wake(struct sim_world *world, struct sim_client *client)
{
    struct rl_time at = sim_reaper_due(world, client);
    int64_t wake_us;

    for (uint32_t i = 0; i < world->plan.worker_count; i++)
        at = rl_time_min(at, worker_due(world, &client->workers[i]));
    for (uint32_t node = 0; node < world->plan.node_count; node++)
        at = rl_time_min(at, sim_connection_due(world, client, node));
    if (at.us == RL_TIME_NEVER.us) {
        client->wake_us = INT64_MAX;
        return;
    }
    wake_us = sim_clock_when(&client->clock, at.us);
    if (wake_us <= world->now_us)
        wake_us = world->now_us + 1; /* no process runs twice in one microsecond */
    if (wake_us < client->paused_until_us)
        wake_us = client->paused_until_us;
    if (wake_us == client->wake_us)
        return;
    client->wake_us = wake_us;
    sim_queue_push(&world->queue,
                   (struct sim_event){.kind = SIM_WAKE, .at_us = wake_us, .client = client->index});
}

void sim_client_stop(struct sim_world *world, struct sim_client *client)
{
    sim_client_look(world, client);
    for (uint32_t i = 0; i < world->plan.worker_count; i++) {
        struct sim_worker *worker = &client->workers[i];
        struct rl_event event = {.kind = RL_EVENT_CANCEL, .now = client->now};

        worker->act_at = worker->stage == SIM_IDLE ? RL_TIME_NEVER : client->now;
        if (worker->stage == SIM_ASKING)
            sim_lock_event(world, client, worker, &event);
        else if (worker->stage == SIM_WON || worker->stage == SIM_HELD)
            act(world, client, worker);
        if (worker->stage == SIM_HELD) /* it was won a moment ago */
            act(world, client, worker);
    }
    sim_client_plan_wake(world, client);
}
