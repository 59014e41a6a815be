/*
 * What goes wrong and when: each fault of the plan strikes at random until the plan says that all is well
 * again. Whatever was broken is repaired then, so that somebody must get the lock in the end.
 */
#include <string.h>

#include "sim/world.h"

static struct sim_client *any_client(struct sim_world *world)
{
    return &world->clients[sim_draw(world, 0, world->plan.client_count - 1)];
}

static uint32_t any_node(struct sim_world *world)
{
    return (uint32_t)sim_draw(world, 0, world->plan.node_count - 1);
}

static void push_down(struct sim_world *world, struct sim_client *client, uint32_t node)
{
    sim_queue_push(&world->queue, (struct sim_event){.kind = SIM_DOWN,
                                                     .at_us = world->now_us + sim_delay(world),
                                                     .client = client->index,
                                                     .node = node,
                                                     .generation = client->connections[node].generation});
}

/* Some time from now, but not after all is well again. */
static int64_t a_while(struct sim_world *world, int64_t most_us)
{
    int64_t until_us = world->now_us + sim_draw(world, 1000, most_us);

    return until_us < world->plan.faults_end_us ? until_us : world->plan.faults_end_us;
}

/* What lasts longer already is not cut short: what it held up was put off until its end. */
static void lengthen(int64_t *until_us, int64_t to_us)
{
    if (*until_us < to_us)
        *until_us = to_us;
}

enum { TO_NODE = 1, TO_CLIENT = 2 };

static int any_way(struct sim_world *world, bool both)
{
    return both ? TO_NODE | TO_CLIENT : sim_chance(world, 50) ? TO_NODE : TO_CLIENT;
}

static void cut(struct sim_connection *connection, int ways, int64_t until_us)
{
    if ((ways & TO_NODE) != 0)
        lengthen(&connection->to_node.cut_until_us, until_us);
    if ((ways & TO_CLIENT) != 0)
        lengthen(&connection->to_client.cut_until_us, until_us);
}

/* Everybody is on one of two sides; half of the time one side still hears the other. */
static void partition(struct sim_world *world)
{
    rl_node_set nodes = (rl_node_set)sim_draw(world, 0, (1 << world->plan.node_count) - 1);
    uint32_t clients = (uint32_t)sim_draw(world, 0, (1 << world->plan.client_count) - 1);
    int64_t until_us = a_while(world, 8000000);
    bool both = sim_chance(world, 50);

    sim_say(world, "fault partition: nodes %#x and clients %#x are apart from the others", nodes, clients);
    for (uint32_t i = 0; i < world->plan.client_count; i++)
        for (uint32_t node = 0; node < world->plan.node_count; node++) {
            bool here = (clients >> i & 1) != 0;

            if (here != rl_node_set_has(nodes, node))
                cut(&world->clients[i].connections[node],
                    both   ? TO_NODE | TO_CLIENT
                    : here ? TO_NODE
                           : TO_CLIENT,
                    until_us);
        }
}

static void pause(struct sim_world *world, bool suspend)
{
    struct sim_client *client = any_client(world);

    lengthen(&client->paused_until_us, a_while(world, suspend ? 6000000 : 2000 * world->plan.ttl_ms));
    /* Of what is down, nodes know at once: to them it is as if the client had been killed. */
    for (uint32_t node = 0; suspend && node < world->plan.node_count; node++)
        if (world->plan.kills || sim_chance(world, 50)) {
            push_down(world, client, node);
            sim_tracking_forget(&world->nodes[node], client->index + 1);
        }
    sim_stands_stopped(world, client);
    sim_client_plan_wake(world, client);
}

/* A node goes down, with what it will remember decided by the kind of crash, and comes back a little
 * later. */
static void crash(struct sim_world *world, uint32_t index, enum sim_fault how)
{
    struct sim_node *node = &world->nodes[index];

    if (!node->up)
        return;
    node->up = false;
    if (how == SIM_FAULT_WIPE)
        sim_node_flush(node);
    if (how == SIM_FAULT_SNAPSHOT)
        node->memory = node->kept;
    for (uint32_t i = 0; i < world->plan.client_count; i++)
        push_down(world, &world->clients[i], index);
    sim_queue_push(&world->queue,
                   (struct sim_event){.kind = SIM_START,
                                      .at_us = world->now_us +
                                               sim_draw(world, 1000, sim_chance(world, 50) ? 50000 : 3000000),
                                      .node = index});
}

/* It becomes a replica, takes over a whole copy and becomes master again: no vote comes from it meanwhile.
 * That takes longer than a node relies on having looked which master it is, a limit that docs/guarantees.md
 * names; here barely longer. */
static void fail_over(struct sim_world *world, struct sim_node *node)
{
    int64_t least_us = 10000;

    lengthen(&node->frozen_until_us, world->now_us + least_us + least_us / 20);
    sim_node_promote(node, ++world->serial, world->now_us);
}

static void remove_guard_key(struct sim_world *world, struct sim_node *node)
{
    sim_node_remove(node, sim_chance(world, 50) ? RL_KEY_EPOCH : RL_KEY_FLOOR);
}

/* Sometimes everywhere: somebody deletes what looks stuck. */
static void evict_lock(struct sim_world *world, struct sim_node *node)
{
    bool everywhere = sim_chance(world, 30);
    uint32_t name = (uint32_t)sim_draw(world, 0, world->plan.name_count - 1), slots = world->plan.slots[name];
    char text[16], key[SIM_KEY_SIZE];

    snprintf(text, sizeof text, "lock-%u", name);
    snprintf(key, sizeof key, "%s", text);
    if (slots > 0)
        sim_slot_key(key, text, (uint32_t)sim_draw(world, 1, slots));
    for (uint32_t i = 0; i < world->plan.node_count; i++)
        if (everywhere ? world->nodes[i].up : &world->nodes[i] == node)
            sim_node_remove(&world->nodes[i], key);
}

static void step_clock(struct sim_world *world, struct sim_node *node, int64_t low_us, int64_t high_us)
{
    int64_t shown_us = sim_clock_at(&node->clock, world->now_us);
    int64_t step_us = sim_draw(world, low_us, high_us);

    sim_clock_set(&node->clock, world->now_us, shown_us + step_us, node->clock.rate_ppm);
    if (step_us < 0)
        world->set_back_us -= step_us; /* whoever sits out by that clock sits out for so much longer */
}

static void strike_node(struct sim_world *world, enum sim_fault fault, uint32_t index)
{
    struct sim_node *node = &world->nodes[index];
    int64_t shown_us = sim_clock_at(&node->clock, world->now_us);

    switch (fault) {
    case SIM_FAULT_FREEZE:
        lengthen(&node->frozen_until_us, a_while(world, 3000 * world->plan.ttl_ms));
        return;
    case SIM_FAULT_SLOW:
        lengthen(&node->slow_until_us, a_while(world, 3000 * world->plan.ttl_ms));
        return;
    case SIM_FAULT_RESTART:
    case SIM_FAULT_WIPE:
    case SIM_FAULT_SNAPSHOT:
        if (fault == SIM_FAULT_SNAPSHOT && world->plan.promotes)
            fail_over(world, node);
        else
            crash(world, index, fault);
        return;
    case SIM_FAULT_FLUSH:
        sim_node_flush(node);
        return;
    case SIM_FAULT_GUARD_KEY:
        remove_guard_key(world, node);
        return;
    case SIM_FAULT_SCRIPTS:
        node->loaded = 0;
        return;
    case SIM_FAULT_HALF:
        node->half = true;
        return;
    case SIM_FAULT_STEP_BACK:
        step_clock(world, node, sim_chance(world, 80) ? -200000 : -3000000, -1000);
        return;
    case SIM_FAULT_STEP_AHEAD:
        step_clock(world, node, 1000, 10000000);
        return;
    case SIM_FAULT_RATE:
        sim_clock_set(&node->clock, world->now_us, shown_us, sim_draw(world, -300000, 300000));
        return;
    case SIM_FAULT_EVICT:
        evict_lock(world, node);
        return;
    default:
        return;
    }
}

static bool is_any_worker(const struct sim_world *world, enum sim_stage stage, bool adopts)
{
    for (uint32_t i = 0; i < world->plan.client_count; i++)
        for (uint32_t j = 0; j < world->plan.worker_count; j++)
            if (world->clients[i].workers[j].stage == stage ||
                (adopts && world->clients[i].workers[j].adopts))
                return true;
    return false;
}

bool sim_faults_anybody_holds(const struct sim_world *world)
{
    for (uint32_t i = 0; i < SIM_CLIENTS_MAX * SIM_WORKERS_MAX; i++)
        if (world->holdings[i].active)
            return true;
    return is_any_worker(world, SIM_WON, true);
}

/* Only when nobody holds anything, for that is what the operator vouches for. */
static void begin_anew(struct sim_world *world)
{
    /* Grants of before may still be on their way to a worker that asks. */
    if (sim_faults_anybody_holds(world) || is_any_worker(world, SIM_ASKING, false) || world->init_due)
        return;
    sim_say(world, "all nodes begin anew, and the operator vouches for them");
    for (uint32_t node = 0; node < world->plan.node_count; node++)
        crash(world, node, SIM_FAULT_WIPE);
    world->init_due = true;
}

/* What is drawn has a statement of its own: a compiler may work out arguments in any order, and a seed has to
 * mean the same run everywhere. */
static void strike(struct sim_world *world, enum sim_fault fault)
{
    uint32_t node = any_node(world);
    struct sim_client *client;
    int64_t duration_us;
    int way;

    world->stats.faults[fault]++;
    switch (fault) {
    case SIM_FAULT_BREAK:
        client = any_client(world);
        sim_say(world, "fault %s between client %u and node %u", sim_fault_name(fault), client->index + 1,
                node + 1);
        push_down(world, client, node);
        return;
    case SIM_FAULT_CUT:
    case SIM_FAULT_CUT_ONE:
        duration_us = a_while(world, 8000000);
        way = any_way(world, fault == SIM_FAULT_CUT);
        cut(&any_client(world)->connections[node], way, duration_us);
        return;
    case SIM_FAULT_PARTITION:
        partition(world);
        return;
    case SIM_FAULT_ANEW:
        begin_anew(world);
        return;
    case SIM_FAULT_MEMORY:
        duration_us = a_while(world, 3000000);
        lengthen(&any_client(world)->starved_until_us, duration_us);
        return;
    case SIM_FAULT_PAUSE:
    case SIM_FAULT_SUSPEND:
        pause(world, fault == SIM_FAULT_SUSPEND);
        return;
    case SIM_FAULT_WALL:
        client = any_client(world);
        sim_clock_set(&client->wall, world->now_us,
                      INT64_C(1700000000000000) + world->now_us +
                          sim_draw(world, -world->plan.wall_skew_us, world->plan.wall_skew_us),
                      0);
        return;
    default:
        sim_say(world, "fault %s on node %u", sim_fault_name(fault), node + 1);
        strike_node(world, fault, node);
    }
}

static void plan_next(struct sim_world *world)
{
    sim_queue_push(
        &world->queue,
        (struct sim_event){.kind = SIM_FAULT,
                           .at_us = world->now_us + sim_draw(world, 1, 2 * world->plan.fault_every_us)});
}

/* These strike by themselves, where messages are sent and locks are won. */
enum { BY_THEMSELVES = 1 << SIM_FAULT_STRAY | 1 << SIM_FAULT_DELAY | 1 << SIM_FAULT_HAND_OUT };

void sim_faults_start(struct sim_world *world)
{
    if ((world->plan.faults & ~(uint32_t)BY_THEMSELVES) != 0)
        plan_next(world);
}

void sim_faults_event(struct sim_world *world)
{
    enum sim_fault fault;
    uint32_t node = any_node(world);

    if (world->now_us >= world->plan.faults_end_us)
        return;
    do
        fault = (enum sim_fault)sim_draw(world, 0, SIM_FAULTS - 1);
    while (!sim_plan_has(&world->plan, fault) || (BY_THEMSELVES >> fault & 1) != 0);
    strike(world, fault);
    /* What a snapshot would have in it. */
    if (sim_plan_has(&world->plan, SIM_FAULT_SNAPSHOT) && sim_chance(world, 50))
        world->nodes[node].kept = world->nodes[node].memory;
    plan_next(world);
}

/* Of its locks some are given back, others end by themselves. */
static void give_back_foreign(struct sim_world *world, const char *key)
{
    for (uint32_t node = 0; node < world->plan.node_count; node++) {
        const struct sim_key *found = sim_node_find(&world->nodes[node], key);

        if (found != NULL && found->type == SIM_HASH && world->nodes[node].up && !sim_chance(world, 20))
            sim_node_remove(&world->nodes[node], key);
    }
}

/* Another program takes a name wherever that is free, or gives back what it has of it. */
void sim_faults_foreign(struct sim_world *world)
{
    uint32_t name = (uint32_t)sim_draw(world, 0, world->plan.name_count - 1);
    int64_t ttl_ms = sim_draw(world, 10, world->plan.ttl_ms), every_us = 1000 * world->plan.ttl_ms;
    bool takes = sim_chance(world, 50);
    char key[16];

    if (world->now_us >= world->plan.stop_us)
        return;
    snprintf(key, sizeof key, "lock-%u", name);
    if (!takes)
        give_back_foreign(world, key);
    for (uint32_t node = 0; takes && node < world->plan.node_count; node++) {
        struct sim_node *at = &world->nodes[node];
        int64_t now_us = sim_clock_at(&at->clock, world->now_us);

        if (!at->up || at->frozen_until_us > world->now_us ||
            !sim_node_set_hash(at, now_us, key, now_us / 1000 + ttl_ms))
            continue;
        world->stats.foreign_locks++;
        sim_stands_excuse_foreign(world, at, sim_node_find(at, key));
    }
    every_us = sim_draw(world, 1000, every_us);
    sim_queue_push(&world->queue, (struct sim_event){.kind = SIM_FOREIGN, .at_us = world->now_us + every_us});
}

/* It is switched off, or its network is: then nobody is told. */
static void take_away(struct sim_world *world, uint32_t index)
{
    struct sim_node *node = &world->nodes[index];
    bool silent = sim_chance(world, 50);

    sim_say(world, "node %u is %s for good", index + 1, silent ? "not heard" : "switched off");
    if (silent) {
        node->frozen_until_us = INT64_MAX;
        return;
    }
    node->up = false;
    for (uint32_t i = 0; i < world->plan.client_count; i++)
        push_down(world, &world->clients[i], index);
}

void sim_faults_end(struct sim_world *world)
{
    for (uint32_t i = 0; i < world->plan.gone_count; i++)
        take_away(world, (uint32_t)((world->plan.seed + i) % world->plan.node_count));
    for (uint32_t i = 0; i < world->plan.node_count; i++) {
        struct sim_node *node = &world->nodes[i];

        if (sim_plan_has(&world->plan, SIM_FAULT_RATE))
            sim_clock_set(&node->clock, world->now_us, sim_clock_at(&node->clock, world->now_us), 0);
    }
}
