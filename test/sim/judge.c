/*
 * What must hold, checked whenever something changes that could break it: nobody relies on what another
 * relies on, fences rise in the order in which they are handed out, what is lost stays lost, and what was
 * given back does not come back.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/report.h"
#include "sim/world.h"

/* Once or twice somebody may have come at a bad moment, or all may have wanted another name for a while. */
enum { ASKED_ENOUGH = 3 };

static struct sim_holding *holding_of(struct sim_world *world, const struct sim_worker *worker)
{
    return &world->holdings[worker->client * SIM_WORKERS_MAX + worker->index];
}

bool sim_is_lock(const char *key, uint32_t *name, uint32_t *slot)
{
    char *end;

    if (strncmp(key, "lock-", 5) != 0)
        return false;
    *name = (uint32_t)strtoul(key + 5, &end, 10);
    *slot = *end == '#' ? (uint32_t)strtoul(end + 1, NULL, 10) : 0;
    return true;
}

uint32_t sim_attempt_of(const struct sim_world *world, const char *owner)
{
    uint32_t attempt = (uint32_t)strtoull(owner + 16, NULL, 16);

    return attempt < world->attempt_count ? attempt : 0;
}

/* Nobody else may rely on this name now, or on this slot of it. Only the clocks of the holders themselves say
 * how long they do. */
static void check_alone(struct sim_world *world, const struct sim_holding *mine)
{
    for (uint32_t i = 0; i < SIM_CLIENTS_MAX * SIM_WORKERS_MAX; i++) {
        const struct sim_holding *other = &world->holdings[i];

        if (other == mine || !other->active || (other->names & mine->names) == 0 ||
            other->slot != mine->slot || other->until_us <= world->now_us)
            continue;
        if (world->plan.beyond)
            continue;
        if (other->shared && mine->shared) {
            world->stats.together++;
            continue;
        }
        sim_fail(world,
                 "exclusion: client %u.%u and client %u.%u both rely on %c, the other one for %" PRId64
                 " us more",
                 mine->client + 1, mine->worker + 1, other->client + 1, other->worker + 1,
                 'a' + (int)rl_node_set_first(other->names & mine->names), other->until_us - world->now_us);
    }
}

/* What holds whatever clocks do: no fence twice; whoever asks after one was handed out gets a higher one; and
 * on every node that counted for two locks, the one that was held there first has the lower fence. */
static void check_order(struct sim_world *world, const struct sim_grant *mine, const struct sim_grant *other)
{
    unsigned long long lower = mine->fence, higher = other->fence;
    bool alike = mine->slot ==
                 other->slot; /* different slots are different locks, whose numbers come from one place */

    bool shared = mine->shared && other->shared;

    if (mine->fence == other->fence && alike && !shared)
        sim_fail(world, "fence order: %llu was handed out twice", lower);
    if (other->at_us < world->attempts[mine->attempt].asked_us &&
        (mine->fence < other->fence || (mine->fence == other->fence && !shared)))
        sim_fail(world, "fence order: %llu was handed out, asked for after %llu was", lower, higher);
    if (world->plan.bug == SIM_BUG_SAME_OWNER || !alike || shared)
        return; /* it cannot be told when which of its rounds was there */
    for (rl_node_set both = mine->nodes & other->nodes; both != 0; both &= both - 1) {
        uint32_t node = rl_node_set_first(both);

        if ((other->held[node] < mine->held[node]) != (other->fence < mine->fence))
            sim_fail(world, "fence order: %llu and %llu are the wrong way round on node %u", lower, higher,
                     node + 1);
    }
}

static void judge_fence(struct sim_world *world, const struct sim_worker *worker, uint32_t name,
                        const struct rl_operation *operation)
{
    uint32_t kept = world->grant_count < SIM_GRANTS_KEPT ? world->grant_count : SIM_GRANTS_KEPT;
    uint64_t *highest = &world->highest[name][worker->lock->slot];
    uint64_t *alone = &world->highest_alone[name];
    struct sim_grant mine = {.shared = worker->shared,
                             .name = name,
                             .slot = worker->lock->slot,
                             .attempt = sim_attempt_of(world, rl_lock_owner(worker->lock)),
                             .nodes = rl_stand_nodes_at_fence(&operation->stand),
                             .fence = worker->lock->fence,
                             .at_us = world->now_us};

    memcpy(mine.held, world->attempts[mine.attempt].held, sizeof mine.held);
    mine.nodes &= ~world->attempts[mine.attempt].again; /* which of the times counted cannot be told */
    for (uint32_t i = 0; i < kept; i++)
        if (world->grants[i].name == mine.name)
            check_order(world, &mine, &world->grants[i]);
    world->grants[world->grant_count++ % SIM_GRANTS_KEPT] = mine;
    /* Within the bounds nobody is handed out a lock while another is relied upon, so the order is the order
     * of time. */
    uint64_t above = mine.shared ? *alone : *highest;

    if (mine.fence <= above && !world->plan.beyond)
        sim_fail(world, "fence order: client %u.%u got %" PRIu64 " for %c after %" PRIu64 " was handed out",
                 worker->client + 1, worker->index + 1, mine.fence, 'a' + (int)name, above);
    if (mine.fence > *highest)
        *highest = mine.fence;
    if (!mine.shared && mine.fence > *alone)
        *alone = mine.fence;
}

static int64_t end_of_validity_us(struct sim_world *world, const struct sim_worker *worker)
{
    return sim_clock_when(&world->clients[worker->client].clock, worker->lock->lease.valid_until.us);
}

static struct sim_holding *begin_holding(struct sim_world *world, const struct sim_worker *worker)
{
    struct sim_holding *holding = holding_of(world, worker);

    *holding = (struct sim_holding){.active = true,
                                    .shared = worker->shared,
                                    .client = worker->client,
                                    .worker = worker->index,
                                    .names = worker->names,
                                    .slot = worker->lock->slot,
                                    .attempt = sim_attempt_of(world, rl_lock_owner(worker->lock)),
                                    .until_us = end_of_validity_us(world, worker),
                                    .fence = worker->lock->fence};
    if ((worker->lock->slot == 0) != (world->plan.slots[worker->name] == 0) ||
        worker->lock->slot > world->plan.slots[worker->name])
        sim_fail(world, "client %u.%u has slot %u of a semaphore of %u", worker->client + 1,
                 worker->index + 1, worker->lock->slot, world->plan.slots[worker->name]);
    if (holding->until_us <= world->now_us)
        sim_fail(world, "client %u.%u was handed out what is over", worker->client + 1, worker->index + 1);
    check_alone(world, holding);
    return holding;
}

void sim_judge_handed_out(struct sim_world *world, struct sim_worker *worker,
                          const struct rl_operation *operation)
{
    struct sim_holding *holding = begin_holding(world, worker);

    world->attempts[holding->attempt].slot = holding->slot;
    world->stats.grants++;
    world->stats.shared_grants += worker->shared;
    world->stats.hand_overs += worker->waited;
    world->stats.several += (worker->names & (worker->names - 1)) != 0;
    for (uint32_t left = worker->names; left != 0; left &= left - 1) {
        world->granted_us[rl_node_set_first(left)] = world->now_us;
        world->asked[rl_node_set_first(left)] = 0;
    }
    sim_say(world, "client %u.%u has %c with fence %" PRIu64 " for %" PRId64 " us", worker->client + 1,
            worker->index + 1, 'a' + (int)worker->name, holding->fence, holding->until_us - world->now_us);
    for (uint32_t left = world->plan.plain ? 0 : worker->names; left != 0; left &= left - 1)
        judge_fence(world, worker, rl_node_set_first(left), operation);
    sim_stands_handed_out(world, worker, operation);
}

void sim_judge_adopted(struct sim_world *world, struct sim_worker *worker)
{
    const struct sim_holding *holding = begin_holding(world, worker);
    uint32_t had = world->attempts[holding->attempt].slot;

    if (had != 0 && had != holding->slot)
        sim_fail(world, "client %u.%u goes on with slot %u of what was handed out as slot %u",
                 worker->client + 1, worker->index + 1, holding->slot, had);
    sim_say(world, "client %u.%u goes on with %c", worker->client + 1, worker->index + 1,
            'a' + (int)worker->name);
}

void sim_judge_extended(struct sim_world *world, struct sim_worker *worker)
{
    struct sim_holding *holding = holding_of(world, worker);

    world->stats.extensions++;
    if (!holding->active) {
        sim_fail(world, "client %u.%u holds %c again after it was told that it was lost", worker->client + 1,
                 worker->index + 1, 'a' + (int)worker->name);
        return;
    }
    if (holding->until_us < world->now_us)
        sim_fail(world, "client %u.%u extended what was over", worker->client + 1, worker->index + 1);
    holding->until_us = end_of_validity_us(world, worker);
    check_alone(world, holding);
}

static bool has_hold(const struct sim_world *world, uint32_t node, uint32_t attempt)
{
    for (int i = 0; i < SIM_NAMES_MAX * SIM_HOLDS_MAX; i++) {
        const struct sim_sharing *sharing = &world->nodes[node].memory.sharing[i / SIM_HOLDS_MAX];
        const char *owner = sharing->holds[i % SIM_HOLDS_MAX].owner;

        if (owner[0] != '\0' && sim_attempt_of(world, owner) == attempt)
            return true;
    }
    return false;
}

void sim_judge_kept(struct sim_world *world, uint32_t name, uint32_t attempt)
{
    for (uint32_t node = 0; node < world->plan.node_count; node++)
        for (int i = 0; i < SIM_KEYS_MAX; i++) {
            const struct sim_key *key = &world->nodes[node].memory.keys[i];

            if (strncmp(key->key, "lock-", 5) != 0 || key->type != SIM_TEXT ||
                sim_attempt_of(world, key->value) != attempt)
                continue;
            int64_t end_us = sim_clock_when(&world->nodes[node].clock, (key->end_ms + 1) * 1000);
            int64_t *excused_us = &world->excused_us[strtoul(key->key + 5, NULL, 10)];
            *excused_us = end_us > *excused_us ? end_us : *excused_us;
        }
    for (uint32_t node = 0; node < world->plan.node_count; node++)
        if (world->attempts[attempt].hold_end_ms[node] != 0 &&
            (!world->attempts[attempt].given_back || has_hold(world, node, attempt))) {
            int64_t end_ms = world->attempts[attempt].hold_end_ms[node];
            int64_t end_us = sim_clock_when(&world->nodes[node].clock, (end_ms + 1) * 1000);

            if (end_us > world->excused_us[name])
                world->excused_us[name] = end_us;
        }
}

/* An extension that was under way when it ended is carried out behind that. */
static void excuse_extension(struct sim_world *world, const struct sim_worker *worker)
{
    const struct sim_client *client = &world->clients[worker->client];
    const struct rl_lease *lease = &worker->lock->lease;
    int64_t node_timeout_us = world->plan.node_timeout_ms * INT64_C(1000);
    int64_t end_us = world->now_us + node_timeout_us + lease->asked_ttl.us + lease->asked_ttl.us / 8;

    if (rl_time_since(client->engine.now, lease->asked).us < node_timeout_us &&
        end_us > world->excused_us[worker->name])
        world->excused_us[worker->name] = end_us;
}

void sim_judge_left(struct sim_world *world, struct sim_worker *worker)
{
    excuse_extension(world, worker);
    sim_judge_kept(world, worker->name, holding_of(world, worker)->attempt);
    sim_judge_ended(world, worker);
}

void sim_judge_ended(struct sim_world *world, struct sim_worker *worker)
{
    holding_of(world, worker)->active = false;
    for (uint32_t left = worker->names; left != 0; left &= left - 1) {
        world->had_us[rl_node_set_first(left)] = world->now_us;
        world->asked[rl_node_set_first(left)] = 0; /* while it was held nobody could get it */
    }
    sim_say(world, "client %u.%u no longer has %c", worker->client + 1, worker->index + 1,
            'a' + (int)worker->name);
}

/* Votes that its round has so far, be it for a lock or for an extension; and which round that is. */
static rl_node_set votes_of(const struct sim_worker *worker, uint64_t *round)
{
    *round = 0;
    if (worker->stage == SIM_ASKING && !worker->adopts && worker->operation->stands) {
        *round = 2 * (uint64_t)worker->operation->stand.attempts + 1;
        return rl_stand_nodes(&worker->operation->stand, RL_STAND_HAS);
    }
    if (worker->stage == SIM_ASKING && !worker->adopts) {
        *round = 2 * (uint64_t)worker->operation->acquire.round_question + 1;
        return worker->operation->acquire.tally.granted;
    }
    if (worker->stage == SIM_HELD && worker->lock->stage == RL_LOCK_HELD) {
        *round = 2 * (uint64_t)worker->lock->lease.question + 2;
        return worker->lock->lease.tally.granted;
    }
    return 0;
}

void sim_judge_before_reply(struct sim_worker *worker)
{
    worker->granted = votes_of(worker, &worker->round);
}

/* Rule: only the vote of a node that may vote counts, also when that was found out after it had been
 * asked. */
void sim_judge_votes(struct sim_world *world, const struct sim_worker *worker, rl_node_set ineligible)
{
    const struct rl_engine *engine = &world->clients[worker->client].engine;
    uint64_t round;
    rl_node_set counted = votes_of(worker, &round) & ~worker->granted;

    if (round != worker->round || world->plan.plain)
        return;
    for (rl_node_set left = counted & ineligible; left != 0; left &= left - 1)
        if (engine->guards[rl_node_set_first(left)].fitness != RL_FITNESS_FIT)
            sim_fail(world, "client %u.%u counted the vote of node %u, which it knows to be ineligible",
                     worker->client + 1, worker->index + 1, rl_node_set_first(left) + 1);
}

/* A report says what happened, and says it in words. */
void sim_judge_report(struct sim_world *world, const struct rl_operation *operation)
{
    redlock_report report = REDLOCK_REPORT_INIT;

    rl_report_operation(&report, operation);
    world->stats.reports++;
    if (report.result != operation->result || report.node_count != world->plan.node_count ||
        report.granted + report.held + report.free + report.not_held > report.node_count ||
        report.line[0] == '\0')
        sim_fail(world, "a report does not say what happened: %s", report.line);
    if (operation->kind == RL_OPERATION_ACQUIRE && operation->result == REDLOCK_OK &&
        report.granted < report.quorum)
        sim_fail(world, "a report has too few votes for a lock that was won: %s", report.line);
}

/* ---- what is left on nodes ---- */

static bool judges_orphans(const struct sim_world *world)
{
    return !world->plan.beyond && !world->plan.plain && !sim_plan_has(&world->plan, SIM_FAULT_STEP_BACK) &&
           !sim_plan_has(&world->plan, SIM_FAULT_MEMORY) && world->plan.bug != SIM_BUG_SAME_OWNER;
}

static bool is_of(const struct sim_world *world, const redlock_lock *lock, uint32_t attempt)
{
    return lock != NULL && !lock->owner_fixed && sim_attempt_of(world, rl_lock_owner(lock)) == attempt;
}

static uint32_t number_of(const uint8_t *random)
{
    return (uint32_t)random[12] << 24 | (uint32_t)random[13] << 16 | (uint32_t)random[14] << 8 | random[15];
}

/* Whether anybody will still see to what this attempt leaves on a node. */
static bool looked_after(struct sim_world *world, uint32_t attempt, uint32_t node)
{
    struct rl_engine *engine = &world->clients[world->attempts[attempt].client].engine;
    struct rl_exchange *exchange = &engine->sessions[node].exchange;

    for (struct rl_link *link = rl_list_first(&engine->operations); link != NULL;
         link = rl_list_next(&engine->operations, link))
        if (is_of(world, RL_CONTAINER(link, struct rl_operation, link)->lock, attempt))
            return true;
    for (uint32_t i = 0; i < engine->timers.count; i++)
        if (engine->timers.heap[i]->of_lock &&
            is_of(world, RL_CONTAINER(engine->timers.heap[i], redlock_lock, timer), attempt))
            return true;
    for (uint32_t i = 0; i < RL_DEBTS_MAX && engine->debt_count > 0; i++)
        if (engine->debts[i].lock != NULL && engine->debts[i].node == node &&
            number_of(engine->debts[i].random) == attempt)
            return true;
    for (uint32_t i = 0; i < exchange->pending_count; i++)
        if (number_of(rl_exchange_recent(exchange, exchange->pending_count, i)->random) == attempt)
            return true;
    return false;
}

/* Rule: a release travels behind what it undoes. Only what strays from a broken connection may come later,
 * and is released again. */
void sim_judge_released(void *context, struct sim_node *node, const char *owner)
{
    struct sim_world *world = context;

    world->attempts[sim_attempt_of(world, owner)].released |=
        rl_node_set_one((uint32_t)(node - world->nodes));
}

/* Rule: a node is asked once for each owner value, unless it is certain that nothing was carried out. */
void sim_judge_asked(void *context, struct sim_node *node, const char *owner)
{
    struct sim_world *world = context;
    uint32_t place = (uint32_t)(node - world->nodes), attempt = sim_attempt_of(world, owner);

    if (attempt != 0 && rl_node_set_has(world->attempts[attempt].asked, place) &&
        world->plan.bug != SIM_BUG_SAME_OWNER)
        sim_fail(world, "node %u was asked again for what it may have granted to client %u", place + 1,
                 world->attempts[attempt].client + 1);
    world->attempts[attempt].asked |= rl_node_set_one(place);
}

/* Rule: each of those who share a lock has it for as long as it asked for, whatever others ask for. */
static void note_hold(struct sim_world *world, struct sim_node *node, const char *key, const char *owner)
{
    uint32_t place = (uint32_t)(node - world->nodes), mine = sim_attempt_of(world, owner);

    if (node->fresh) {
        if (world->attempts[mine].held[place] != 0)
            world->attempts[mine].again |= rl_node_set_one(place);
        world->attempts[mine].held[place] = ++world->hold_count;
    }
    world->attempts[mine].hold_end_ms[place] = sim_holds_end_ms(node, key, owner);
    for (int i = 0; i < SIM_NAMES_MAX * SIM_HOLDS_MAX; i++) {
        const struct sim_sharing *sharing = &node->memory.sharing[i / SIM_HOLDS_MAX];
        const struct sim_hold *hold = &sharing->holds[i % SIM_HOLDS_MAX];
        uint32_t attempt = hold->owner[0] != '\0' ? sim_attempt_of(world, hold->owner) : mine;

        if (strcmp(sharing->key, key) == 0 && hold->end_ms > world->attempts[attempt].hold_end_ms[place] &&
            attempt != mine)
            sim_fail(world, "node %u keeps the hold of attempt %u for longer than it wanted", place + 1,
                     attempt);
    }
}

/* No key of a lock without an end, none that outlives the longest TTL, none that comes when nobody will
 * remove it. */
void sim_judge_wrote(void *context, struct sim_node *node, const char *key, const char *owner)
{
    struct sim_world *world = context;
    uint32_t place = (uint32_t)(node - world->nodes), attempt;
    int64_t now_us = sim_clock_at(&node->clock, world->now_us), left_ms;
    uint32_t name, slot;

    if (!sim_is_lock(key, &name, &slot))
        return;
    attempt = sim_attempt_of(world, owner);
    if (world->clients[world->attempts[attempt].client].paused_until_us > world->now_us && !node->told)
        sim_stands_excuse(world, node, sim_node_find(node, key));
    if (sim_node_find(node, key)->type == SIM_HOLDS) {
        note_hold(world, node, key, owner);
    } else if (world->held_by[place][name][slot] != attempt) {
        if (world->attempts[attempt].held[place] != 0)
            world->attempts[attempt].again |= rl_node_set_one(place);
        world->attempts[attempt].held[place] = ++world->hold_count;
    }
    world->held_by[place][name][slot] = sim_node_find(node, key)->type == SIM_HOLDS ? 0 : attempt;
    left_ms = sim_node_pttl(node, now_us, key);
    if (sim_node_find(node, key)->type == SIM_HOLDS) {
        /* Others of it may end later, by a clock that was set back, and a hold that is given once more is
         * never shortened. */
        left_ms = sim_holds_end_ms(node, key, owner) - now_us / 1000;
        if (sim_plan_has(&world->plan, SIM_FAULT_STEP_BACK))
            left_ms = left_ms < world->plan.longest_ms ? left_ms : world->plan.longest_ms;
    }
    if (left_ms < 0 || left_ms > world->plan.longest_ms)
        sim_fail(world, "node %u keeps a lock for %" PRId64 " ms", place + 1, left_ms);
    /* A node with an older memory may hand the lock to one that has left its line since: who is told gives it
     * back. */
    if (node->told)
        return;
    if (attempt != 0 && !world->attempts[attempt].left && !world->straying && judges_orphans(world) &&
        rl_node_set_has(world->attempts[attempt].released, place))
        sim_fail(world, "orphan: attempt %u of client %u came to node %u behind its release", attempt,
                 world->attempts[attempt].client + 1, place + 1);
    if (attempt != 0 && !world->attempts[attempt].left && !node->told &&
        !looked_after(world, attempt, place)) {
        world->stats.orphans++;
        if (judges_orphans(world))
            sim_fail(world, "orphan: attempt %u of client %u came to node %u, and nobody will release it",
                     attempt, world->attempts[attempt].client + 1, place + 1);
    }
}

static void check_gone(struct sim_world *world, uint32_t node, uint32_t name, uint32_t slot)
{
    int64_t now_us = sim_clock_at(&world->nodes[node].clock, world->now_us);
    char text[16], key[SIM_KEY_SIZE];
    const char *owner;

    snprintf(text, sizeof text, "lock-%u", name);
    if (slot > 0)
        sim_slot_key(key, text, slot);
    else
        snprintf(key, sizeof key, "%s", text);
    owner = sim_node_get(&world->nodes[node], now_us, key);
    if (sim_node_pttl(&world->nodes[node], now_us, key) != -2 &&
        sim_node_find(&world->nodes[node], key)->type == SIM_HOLDS)
        owner = sim_holds_last(&world->nodes[node], key);
    if (owner != NULL)
        sim_fail(world, "leak: node %u still has %s of %s when all is over", node + 1, key, owner);
}

/* Everybody has stopped, and had the time to clean up. */
static void check_clean(struct sim_world *world)
{
    /* First, for looking at a key that has ended makes its node tell of that. */
    if (world->messages_alive != 0)
        sim_fail(world, "leak: %" PRIu64 " messages under way when all is over", world->messages_alive);
    for (uint32_t node = 0; node < world->plan.node_count; node++)
        for (uint32_t name = 0; name < world->plan.name_count; name++)
            for (uint32_t slot = 0; slot <= SIM_SLOTS_MAX; slot++)
                check_gone(world, node, name, slot);
    sim_stands_end(world);
    for (uint32_t i = 0; i < world->plan.client_count; i++) {
        const struct sim_client *client = &world->clients[i];

        if (client->engine.debt_count != 0)
            sim_fail(world, "leak: client %u still owes %u releases", i + 1, client->engine.debt_count);
        for (uint32_t node = 0; node < world->plan.node_count; node++)
            if (client->engine.sessions[node].exchange.pending_count != 0)
                sim_fail(world, "leak: client %u still waits for node %u", i + 1, node + 1);
        for (uint32_t j = 0; j < world->plan.worker_count; j++)
            if (client->workers[j].stage != SIM_IDLE)
                sim_fail(world, "leak: client %u.%u has not ended", i + 1, j + 1);
    }
}

/* Whether a clock that is in doubt waits for the word of one that was set back by so little that it seems to
 * run wrong, which takes a minute to pass. */
static bool waits_for_witness(const struct sim_world *world, const struct sim_client *client,
                              uint32_t suspect)
{
    bool bad = false;

    for (uint32_t node = 0; node < world->plan.node_count; node++)
        bad = bad || client->engine.guards[node].clock_bad;
    return bad && client->engine.guards[suspect].suspected.us != 0;
}

/* Whether a client that had to wait for such a witness has told the node only lately: its quarantine runs
 * from then. */
static bool was_accused_lately(const struct sim_world *world, uint32_t node)
{
    const struct sim_node *accused = &world->nodes[node];
    int64_t since_us = sim_clock_at(&accused->clock, world->now_us) - accused->accused_us;

    return accused->accused_us != 0 && since_us < world->plan.longest_ms * 2000 + 7000000;
}

/* Whether its clock and somebody's differ by just about what is allowed, so that looks say now this and now
 * that. */
static bool is_at_limit(const struct sim_world *world, uint32_t node)
{
    int64_t most = 0;

    for (uint32_t i = 0; i < world->plan.client_count; i++) {
        int64_t apart = world->clients[i].clock.rate_ppm - world->nodes[node].clock.rate_ppm;

        apart = apart < 0 ? -apart : apart;
        most = apart > most ? apart : most;
    }
    return 2 * most * 10 >= (int64_t)world->plan.drift_ppm * 9;
}

/* Whether a node that lacks a floor cannot be told one: nodes that are gone for good took what they knew of
 * fences with them. */
static bool lacks_tellers(const struct sim_world *world, const struct rl_engine *engine, uint32_t node)
{
    uint32_t tellers = 0;

    if (engine->guards[node].cause != RL_CAUSE_FENCES || world->plan.gone_count == 0)
        return false;
    for (uint32_t i = 0; i < world->plan.node_count; i++)
        tellers += engine->guards[i].fitness == RL_FITNESS_FIT;
    return tellers < rl_quorum(world->plan.node_count);
}

static bool is_anybody_without_tellers(const struct sim_world *world)
{
    for (uint32_t i = 0; i < world->plan.client_count; i++)
        for (uint32_t node = 0; node < world->plan.node_count; node++)
            if (lacks_tellers(world, &world->clients[i].engine, node))
                return true;
    return false;
}

/* All was well for long enough: every node that a client is connected with has its vote back. Not so one
 * whose clock seems to run wrong since it was set back a little: that takes up to a minute of looks. */
void sim_judge_calm(struct sim_world *world)
{
    if (world->plan.beyond || world->plan.plain)
        return;
    for (uint32_t i = 0; i < world->plan.client_count; i++)
        for (uint32_t node = 0; node < world->plan.node_count; node++) {
            const struct rl_engine *engine = &world->clients[i].engine;
            const struct rl_node_guard *guard = &engine->guards[node];

            if (world->nodes[node].up && world->nodes[node].frozen_until_us != INT64_MAX && engine->voting &&
                engine->sessions[node].state == RL_SESSION_READY && !guard->asking && !guard->clock_bad &&
                !is_at_limit(world, node) && !waits_for_witness(world, &world->clients[i], node) &&
                !lacks_tellers(world, engine, node) && !was_accused_lately(world, node) &&
                (guard->fitness != RL_FITNESS_FIT || guard->cause != RL_CAUSE_NONE))
                sim_fail(
                    world,
                    "liveness: node %u does not vote for client %u (cause %d) when all has long been well",
                    node + 1, i + 1, guard->cause);
        }
}

void sim_judge_end(struct sim_world *world)
{
    int64_t calm_us = world->plan.stop_us - world->plan.longest_ms * 2000 - 7000000;

    if (world->plan.beyond)
        return;
    for (uint32_t name = 0; name < world->plan.name_count; name++)
        if (world->granted_us[name] < calm_us && world->asked[name] >= ASKED_ENOUGH &&
            !is_anybody_without_tellers(world))
            sim_fail(world,
                     "liveness: all was well since %" PRId64 " ms, and nobody got %c after %" PRId64 " ms",
                     world->plan.faults_end_us / 1000, 'a' + (int)name, world->granted_us[name] / 1000);
    check_clean(world);
}
