/*
 * That no hand-over is lost: a lock that is free on a quorum of nodes is given to somebody who stands in line
 * for it before long; once all is well, nobody waits for what nobody has, nobody is passed by a caller that
 * came clearly later, and nothing stays in line in the end.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/queue.h"
#include "sim/world.h"

/* How often a waiter asks again by itself, see core/stand.c; how long a waiter that may have been stopped has
 * a lock. */
enum {
    KEEP_MS = 1300,
    BRIEF_MS = 1000,
    SLACK_MS = 100,
    CALM_MS = 400,
    NEAR_FRONT = 2,
    CLOSE_US = 2000,
    SETTLING_US = 8000000,
    RARE_MAX = 2
};

/* Faults that touch nothing but whether somebody runs. */
enum {
    KILLING = 1 << SIM_FAULT_SUSPEND | 1 << SIM_FAULT_HAND_OUT | 1 << SIM_FAULT_WALL | 1 << SIM_FAULT_SCRIPTS,
    STOPPING = KILLING | 1 << SIM_FAULT_PAUSE
};

static int64_t later(int64_t a_us, int64_t b_us)
{
    return a_us > b_us ? a_us : b_us;
}

/* ---- times ---- */

/* The time from which on a quorum of nodes has been as wanted, when each has been so since `since_us`. */
static int64_t quorum_since_us(const struct sim_world *world, const int64_t *since_us)
{
    int64_t sorted[SIM_NODES_MAX] = {0};

    for (uint32_t node = 0; node < world->plan.node_count; node++) {
        uint32_t place = node;

        for (; place > 0 && sorted[place - 1] > since_us[node]; place--)
            sorted[place] = sorted[place - 1];
        sorted[place] = since_us[node];
    }
    return sorted[rl_quorum(world->plan.node_count) - 1];
}

/* Since when a client and a node hear each other, and the node may vote. */
static int64_t usable_since_us(const struct sim_world *world, const struct sim_client *client, uint32_t node)
{
    return later(sim_wakes_undisturbed_since_us(world, client, node), client->connections[node].votes_us);
}

static int64_t usable_quorum_since_us(const struct sim_world *world, const struct sim_client *client)
{
    int64_t since_us[SIM_NODES_MAX];

    for (uint32_t node = 0; node < world->plan.node_count; node++)
        since_us[node] = usable_since_us(world, client, node);
    return quorum_since_us(world, since_us);
}

/* A waiter asks again in time, perhaps after it rested because too few nodes could be asked; then the node
 * gives the lock to somebody. */
static int64_t bound_us(const struct sim_plan *plan)
{
    int64_t ms =
        KEEP_MS + SLACK_MS + plan->retry_max_ms + plan->connect_timeout_ms + 3 * plan->node_timeout_ms;

    return 1000 * ms + 8 * sim_wakes_hop_us(plan);
}

/* When all are well, those near the front notice at once, but for what clocks differ by and for the time in
 * which a lock is not worth watching; and a split is settled after some looks. */
static int64_t calm_bound_us(const struct sim_plan *plan)
{
    return 1000 * CALM_MS + 16 * plan->delay_max_us + plan->longest_ms * 2 * plan->rate_max_ppm / 1000;
}

/* When everybody has found out that all is well again. */
static int64_t calm_since_us(const struct sim_world *world)
{
    struct rl_span quarantine = rl_guard_quarantine(rl_span_ms(world->plan.longest_ms));

    return world->plan.faults_end_us + 2 * quarantine.us + SETTLING_US;
}

/* ---- rules ---- */

/* Whether it wants several names: it is not told of changes, and may be passed by those who want less. */
static bool is_several(const struct sim_worker *worker)
{
    return (worker->names & (worker->names - 1)) != 0;
}

static bool is_judged(const struct sim_world *world)
{
    return !world->plan.beyond && !sim_plan_has(&world->plan, SIM_FAULT_STEP_BACK) && !world->stopping;
}

/* The first two notice at once that a lock has expired, if they know that they are the first two: those who
 * have moved up since they last asked find out when they ask again. */
static bool knows_to_be_near(const struct sim_worker *worker)
{
    const struct rl_stand *stand = &worker->operation->stand;
    uint32_t known = 0;

    for (uint32_t node = 0; node < stand->config.node_count; node++) {
        uint32_t rank = stand->nodes[node].last.rank;

        if (rank > 0 && rank <= NEAR_FRONT)
            return true;
        known += rank > 0;
    }
    return known == 0;
}

/* Some histories take longer, or change the order, without a mistake: those in front were dropped or have
 * left while others did not know yet that it is their turn; then it is the question by which a place is kept
 * that finds out. Twice in a run they are counted only, and sim_slow_test.c says how seldom that may be.
 * Where a bug is planted each of them counts against it. Among callers that want several names they are not
 * rare: one that is handed a name and finds another one taken gives it back, and two of them may do so to
 * each other. */
static bool is_rare(struct sim_world *world, uint64_t *count)
{
    if (world->plan.several_percent > 0)
        return (++world->stats.late_among_several, world->plan.bug == SIM_BUG_NONE);
    ++*count;
    return ++world->rare <= RARE_MAX && world->plan.bug == SIM_BUG_NONE;
}

static void judge_time(struct sim_world *world, struct sim_worker *worker, int64_t took_us, int64_t usual_us,
                       int64_t most_us, const char *what)
{
    if (took_us <= usual_us || (took_us <= most_us && worker->late))
        return;
    worker->late = true;
    if (took_us > most_us || !is_rare(world, &world->stats.late))
        sim_fail(world,
                 "lost hand-over: client %u.%u stands in line for %c, which %s for %" PRId64
                 " us, and %" PRId64 " us are enough",
                 worker->client + 1, worker->index + 1, 'a' + (int)worker->name, what, took_us, usual_us);
}

/* Waiters of a semaphore do not have its keys watched: what ends early they find out when they ask again. */
static bool is_watching(const struct sim_world *world, const struct sim_worker *worker)
{
    return worker->near && world->plan.slots[worker->name] == 0;
}

static void check_free(struct sim_world *world, const struct sim_client *client, struct sim_worker *worker,
                       uint32_t slot)
{
    const struct sim_plan *plan = &world->plan;
    bool calm = worker->stands_us > calm_since_us(world) && plan->untold == 0 && is_watching(world, worker) &&
                !is_several(worker);
    int64_t since_us[SIM_NODES_MAX], free_us;

    for (uint32_t node = 0; node < plan->node_count; node++) {
        since_us[node] = later(usable_since_us(world, client, node), worker->stands_us);
        for (uint32_t left = worker->names; left != 0; left &= left - 1)
            since_us[node] =
                later(since_us[node], sim_wakes_free_since_us(world, node, rl_node_set_first(left), slot));
    }
    free_us = quorum_since_us(world, since_us);
    if (free_us < world->now_us)
        judge_time(world, worker, world->now_us - free_us, calm ? calm_bound_us(plan) : bound_us(plan),
                   bound_us(plan), "has been free on a quorum");
}

/* Until when somebody last had it, as far as the past goes. */
static int64_t had_until_us(const struct sim_world *world, uint32_t name)
{
    int64_t at_us = world->had_us[name];

    for (uint32_t i = 0; i < SIM_CLIENTS_MAX * SIM_WORKERS_MAX; i++) {
        const struct sim_holding *holding = &world->holdings[i];

        if (holding->active && (holding->names >> name & 1) != 0)
            at_us = later(at_us, holding->until_us < world->now_us ? holding->until_us : world->now_us);
    }
    for (uint32_t i = 0; i < world->plan.client_count; i++)
        for (uint32_t j = 0; j < world->plan.worker_count; j++)
            if (world->clients[i].workers[j].stage == SIM_WON &&
                (world->clients[i].workers[j].names >> name & 1) != 0)
                at_us = world->now_us; /* its caller is about to run */
    return at_us;
}

void sim_stands_excuse_foreign(struct sim_world *world, const struct sim_node *node,
                               const struct sim_key *key)
{
    uint32_t name = (uint32_t)strtoul(key->key + 5, NULL, 10);
    int64_t end_us = sim_clock_when(&node->clock, (key->end_ms + 1) * 1000);

    world->excused_us[name] = later(world->excused_us[name], end_us);
}

/* Somebody who stops with a lock in its hands keeps it from others until it ends; so does one that had just
 * asked when it stopped. */
void sim_stands_excuse(struct sim_world *world, const struct sim_node *node, const struct sim_key *key)
{
    uint32_t name = (uint32_t)strtoul(key->key + 5, NULL, 10);
    int64_t end_us = sim_clock_when(&node->clock, (key->end_ms + 1) * 1000);

    if (strncmp(key->key, "lock-", 5) == 0 &&
        (world->plan.kills || end_us - world->now_us > 1000 * (BRIEF_MS + 1)))
        world->excused_us[name] = later(world->excused_us[name], end_us);
}

void sim_stands_stopped(struct sim_world *world, const struct sim_client *client)
{
    for (uint32_t node = 0; node < world->plan.node_count; node++)
        for (int i = 0; i < SIM_KEYS_MAX; i++) {
            const struct sim_key *key = &world->nodes[node].memory.keys[i];

            if (strncmp(key->key, "lock-", 5) == 0 && key->type == SIM_TEXT &&
                world->attempts[sim_attempt_of(world, key->value)].client == client->index)
                sim_stands_excuse(world, &world->nodes[node], key);
            else if (strncmp(key->key, "lock-", 5) == 0 && key->type == SIM_HOLDS)
                sim_stands_excuse(world, &world->nodes[node], key); /* it may be among them */
        }
}

/* For how long nobody may have what a living waiter stands for; INT64_MAX there is no telling. */
static int64_t idle_bound_us(const struct sim_world *world, const struct sim_worker *worker)
{
    const struct sim_plan *plan = &world->plan;

    if (worker->stands_us > calm_since_us(world))
        return calm_bound_us(plan) + (plan->untold != 0 || !is_watching(world, worker) ? bound_us(plan) : 0);
    if ((plan->faults & ~(uint32_t)KILLING) == 0 && plan->kills && plan->untold == 0)
        return calm_bound_us(plan) + (!is_watching(world, worker) ? bound_us(plan) : 0);
    if ((plan->faults & ~(uint32_t)STOPPING) == 0)
        return bound_us(plan) + 1000 * BRIEF_MS;
    return INT64_MAX;
}

/* Rule: nobody waits for what nobody has. Others that are stopped cost a living waiter about a second,
 * however many they are; those that are killed cost nothing. */
static void check_idle(struct sim_world *world, const struct sim_client *client, struct sim_worker *worker)
{
    int64_t since_us = later(later(had_until_us(world, worker->name), worker->stands_us),
                             later(usable_quorum_since_us(world, client), world->excused_us[worker->name]));
    int64_t idle_us = world->now_us - since_us, most_us = idle_bound_us(world, worker);

    if (most_us == INT64_MAX || idle_us <= 0)
        return;
    if ((uint64_t)idle_us > world->stats.longest_idle_us)
        world->stats.longest_idle_us = (uint64_t)idle_us;
    judge_time(world, worker, idle_us, most_us,
               later(most_us, calm_bound_us(&world->plan) +
                                  (world->plan.several_percent > 0 ? 2 : 1) * bound_us(&world->plan)),
               "nobody has had");
}

static void note_split(struct sim_world *world, struct sim_worker *worker, const struct rl_stand *stand)
{
    bool split =
        stand->phase == RL_STAND_WAITING && (stand->split_at.us != RL_TIME_NEVER.us || stand->looked);

    world->stats.splits += split && !worker->split;
    world->stats.give_ways += worker->split && stand->attempts != worker->attempts;
    worker->split = split;
    worker->attempts = stand->attempts;
}

/* Rule: a caller that waits behind others of its client has somebody to follow, and of a semaphore as many as
 * it has slots. */
static void check_queued(struct sim_world *world, struct sim_client *client, const struct sim_worker *worker)
{
    const redlock_lock *lock = worker->operation->lock;
    const redlock_lock *leader = rl_queue_leader(&client->engine, lock->text, lock->key_length, lock->slots);

    if (rl_queue_holds(worker->operation) && (leader == NULL || leader->fellow_count + 1 < leader->slots))
        sim_fail(world, "forgotten: client %u.%u waits for %c behind %s", client->index + 1,
                 worker->index + 1, 'a' + (int)worker->name, leader == NULL ? "nobody" : "too few");
}

/* A node may say that a question reached it too late, or that a command failed half-way, long after faults
 * have ended. */
static void note_refusals(struct sim_worker *worker, const struct rl_operation *operation)
{
    struct rl_tally tally = operation->stands ? rl_stand_tally(&operation->stand) : operation->acquire.tally;

    worker->refused = worker->refused || (tally.failed | tally.ineligible) != 0;
}

void sim_stands_look(struct sim_world *world, struct sim_client *client, struct sim_worker *worker)
{
    const struct rl_stand *stand;

    if (worker->stage == SIM_ASKING && !worker->adopts && worker->operation != NULL) {
        check_queued(world, client, worker);
        note_refusals(worker, worker->operation);
    }
    if (worker->stage != SIM_ASKING || worker->adopts || !worker->operation->stands ||
        !rl_stand_waits(&worker->operation->stand))
        return;
    stand = &worker->operation->stand;
    if (worker->stands_us == 0)
        worker->stands_us = world->now_us;
    if (stand->phase == RL_STAND_RESTING)
        worker->settled_us = 0; /* too few nodes were there, so it has left its line */
    else if (worker->settled_us == 0 && stand->settled)
        worker->settled_us = world->now_us;
    worker->waited = worker->waited || stand->settled;
    note_split(world, worker, stand);
    if (rl_stand_nodes(stand, RL_STAND_HAS) == 0)
        worker->near = knows_to_be_near(worker); /* before it was given anything */
    if (!is_judged(world) || (world->plan.older >> client->index & 1) != 0)
        return; /* an older version stands in no line: it asks now and then */
    for (uint32_t slot = world->plan.slots[worker->name] > 0; slot <= world->plan.slots[worker->name]; slot++)
        check_free(world, client, worker, slot);
    if (!is_several(worker))
        check_idle(world, client, worker);
}

/* Those that queue are told what the one in front of them was. */
static bool was_refused(const struct sim_client *client, const struct sim_worker *worker)
{
    bool refused = worker->refused;

    for (uint32_t i = 0; i < SIM_WORKERS_MAX; i++)
        refused = refused || (client->workers[i].refused && client->workers[i].name == worker->name);
    return refused;
}

/* Rule: while a quorum of nodes is there, all is well, and no node says that it cannot vote, nobody is told
 * that a quorum is missing; also not when its time is over while a question is under way. Votes that end
 * before silent nodes are given up are none: a TTL that short is excused. */
static void check_reason(struct sim_world *world, struct sim_worker *worker,
                         const struct rl_operation *operation)
{
    if (operation->kind != RL_OPERATION_ACQUIRE || operation->result != REDLOCK_NO_QUORUM ||
        world->plan.ttl_ms <= world->plan.node_timeout_ms)
        return;
    note_refusals(worker, operation);
    if (!was_refused(&world->clients[worker->client], worker) && is_judged(world) &&
        worker->asked_us > calm_since_us(world) &&
        usable_quorum_since_us(world, &world->clients[worker->client]) < worker->asked_us)
        sim_fail(world, "reason: client %u.%u was told that a quorum is missing for %c, and it is there",
                 worker->client + 1, worker->index + 1, 'a' + (int)worker->name);
}

void sim_stands_ended(struct sim_world *world, struct sim_worker *worker,
                      const struct rl_operation *operation)
{
    check_reason(world, worker, operation);
    if (operation->kind != RL_OPERATION_ACQUIRE || !operation->stands)
        return;
    world->stats.handed_over += operation->result == REDLOCK_OK && operation->stand.handed;
    worker->settled_us = 0;
}

/* Tickets that are so close are sorted as they are: see parts/take_in.lua. */
static bool are_close(const struct rl_operation *a, const struct rl_operation *b)
{
    int64_t apart = (int64_t)a->stand.ticket - (int64_t)b->stand.ticket;

    return a->stands && apart <= CLOSE_US && apart >= -CLOSE_US;
}

/* Those that want slots, and came that closely, come in as nodes choose: see parts/slots_hand_on.lua. Tickets
 * may be ahead of a node's clock by as much again, and by what clocks of nodes differ. */
static int64_t slack_us(const struct sim_world *world, const struct sim_worker *worker)
{
    return world->plan.slots[worker->name] > 1 ? 2 * SIM_SLOT_CLOSE_US + world->plan.node_skew_us : 0;
}

/* Slots that are given back at the same time reach the nodes in different orders: the first in line may have
 * some votes for each of them, of which it may not have heard yet, and the second one its slot before the
 * first has settled on one. */
static bool is_settling(const struct sim_world *world, const struct sim_worker *worker)
{
    const struct rl_stand *stand = &worker->operation->stand;
    uint32_t slots = world->plan.slots[worker->name];
    uint32_t attempt = sim_attempt_of(world, rl_lock_owner(worker->operation->lock));

    for (uint32_t node = 0; node < world->plan.node_count; node++)
        for (uint32_t slot = 1; slot <= slots; slot++)
            if (world->held_by[node][worker->name][slot] == attempt)
                return true;
    return slots > 0 && (stand->only || rl_stand_nodes(stand, RL_STAND_HAS) != 0 || stand->attempts > 1);
}

/* Rule: nobody who stands in line is passed by a caller that came clearly later. */
static void check_order(struct sim_world *world, const struct sim_worker *winner,
                        const struct rl_operation *operation, const struct sim_worker *other)
{
    const struct sim_client *client = &world->clients[other->client];
    int64_t margin_us = 2000 + 2 * sim_wakes_hop_us(&world->plan) + slack_us(world, other);

    /* Those who share it come in together: who hears of it first is a matter of luck. */
    if (other->stage != SIM_ASKING || other->adopts || is_several(other) ||
        (winner->names >> other->name & 1) == 0 || (winner->shared && other->shared) ||
        other->settled_us == 0 || other->settled_us < calm_since_us(world) ||
        winner->asked_us < other->settled_us + margin_us || are_close(operation, other->operation) ||
        (world->plan.older >> winner->client & 1) != 0 || (world->plan.older >> other->client & 1) != 0 ||
        usable_quorum_since_us(world, client) > other->stands_us || is_settling(world, other) ||
        is_rare(world, &world->stats.overtaken))
        return;
    sim_fail(world,
             "order: client %u.%u has %c, and asked for it %" PRId64
             " us after client %u.%u stood in line for it",
             winner->client + 1, winner->index + 1, 'a' + (int)winner->name,
             winner->asked_us - other->settled_us, other->client + 1, other->index + 1);
}

void sim_stands_handed_out(struct sim_world *world, const struct sim_worker *worker,
                           const struct rl_operation *operation)
{
    /* Nodes that cannot tell hand a lock to one that may not ask before it is over. */
    if (!is_judged(world) || world->plan.plain || world->plan.untold != 0)
        return;
    for (uint32_t i = 0; i < world->plan.client_count; i++)
        for (uint32_t j = 0; j < world->plan.worker_count; j++)
            if (&world->clients[i].workers[j] != worker)
                check_order(world, worker, operation, &world->clients[i].workers[j]);
}

/* ---- the end ---- */

void sim_stands_end(struct sim_world *world)
{
    for (uint32_t index = 0; index < world->plan.node_count; index++) {
        const struct sim_node *node = &world->nodes[index];
        int64_t now_ms = sim_clock_at(&node->clock, world->now_us) / 1000;

        for (int line = 0; line < SIM_LINES_MAX; line++)
            for (int i = 0; i < SIM_STANDERS_MAX; i++) {
                const struct sim_stander *stander = &node->memory.standing[line].standers[i];

                if (stander->id[0] != '\0' && stander->in_line && stander->record_end_ms >= now_ms)
                    sim_fail(world, "leak: %s is still in line at node %u when all is over", stander->id,
                             index + 1);
            }
    }
}
