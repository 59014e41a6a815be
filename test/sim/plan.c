/*
 * Draws a plan from a seed; see plan.h. Swarm style: a run with few kinds of faults goes deeper into each
 * than one with all.
 */
#include "sim/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/prng.h"
#include "core/guard.h"

static const char *const fault_names[SIM_FAULTS] = {
    "break",   "stray",  "delay",     "cut",     "cut-one",    "partition", "freeze", "slow",      "pause",
    "suspend", "memory", "hand-out",  "restart", "wipe",       "snapshot",  "flush",  "guard-key", "scripts",
    "half",    "anew",   "step-back", "wall",    "step-ahead", "rate",      "evict",
};

static const char *const bug_names[SIM_BUGS] = {
    "none",
    "no-guard",
    "no-second-round",
    "raise-unowned",
    "release-unordered",
    "late-hand-out",
    "no-recheck",
    "no-drift",
    "extend-recreates",
    "fence-or-floor",
    "same-owner",
    "arm-after-look",
    "push-dropped",
    "not-rearmed",
    "promotion-unseen",
    "ineligible-vote",
    "init-clock",
    "adopt-quarantined",
    "own-term",
    "hidden-loss",
    "late-release",
    "silent-not-asked",
    "never-brief",
    "stopped-not-passed",
    "deaf-not-passed",
    "handed-on-arrival",
    "handed-ineligible",
    "never-gives-way",
    "leaves-to-give-way",
    "given-back-counts",
    "place-not-kept",
    "expiry-unseen",
    "shared-beside",
    "holds-unseen",
    "holds-as-one",
    "slots-counted",
    "slot-of-first-vote",
    "slot-below-others",
    "queue-forgotten",
    "some-names",
    "names-kept",
};

const char *sim_fault_name(enum sim_fault fault)
{
    return fault_names[fault];
}

const char *sim_bug_name(enum sim_bug bug)
{
    return bug_names[bug];
}

static int64_t pick(struct rl_prng *prng, const int64_t *choices, uint32_t count)
{
    return choices[rl_prng_between(prng, 0, count - 1)];
}

#define PICK(prng, ...) \
    pick(prng, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static bool chance(struct rl_prng *prng, int percent)
{
    return rl_prng_between(prng, 1, 100) <= percent;
}

enum {
    FORGETTING = 1 << SIM_FAULT_ANEW | 1 << SIM_FAULT_WIPE | 1 << SIM_FAULT_SNAPSHOT | 1 << SIM_FAULT_FLUSH |
                 1 << SIM_FAULT_GUARD_KEY,
    BEYOND = 1 << SIM_FAULT_STEP_AHEAD | 1 << SIM_FAULT_RATE | 1 << SIM_FAULT_EVICT,
    EVERYTHING = (1 << SIM_FAULTS) - 1
};

static uint32_t draw_some(struct rl_prng *prng, uint32_t among, int percent)
{
    uint32_t some = 0;

    for (int fault = 0; fault < SIM_FAULTS; fault++)
        if ((among >> fault & 1) != 0 && chance(prng, percent))
            some |= 1U << fault;
    return some;
}

/* What is promised nothing about when it comes together. */
static void keep_promises_apart(struct sim_plan *plan)
{
    /* What a node forgot is made up for by waiting, which wild clocks cut short. */
    if (plan->beyond)
        plan->faults &= ~(uint32_t)FORGETTING;
    /* Whoever declares a node durable vouches that it does not come back with an older memory. */
    if (plan->durable)
        plan->faults &= ~(1U << SIM_FAULT_SNAPSHOT);
    /* Nodes that forget are not promised anything without the guard. */
    if (plan->plain) {
        plan->faults &= ~(uint32_t)(FORGETTING | 1 << SIM_FAULT_ANEW | BEYOND);
        plan->beyond = false;
    }
    if (plan->wide || (plan->faults & (FORGETTING | 1U << SIM_FAULT_RESTART)) == 0)
        return;
    /* A term that nobody else was told yet is gone when all nodes forget at once, and one node is all. */
    if (plan->node_count == 1)
        plan->mixed = false;
    /* A node whose clock was set back may hold fences above what its clock now vouches for. */
    plan->faults &= ~(1U << SIM_FAULT_STEP_BACK);
    /* Where too few intact nodes can be heard, clocks tell the floor: they must be closer than a quarantine
     * is long. */
    if (plan->node_skew_us > 50000)
        plan->node_skew_us = 50000;
}

static void draw_faults(struct sim_plan *plan, struct rl_prng *prng)
{
    int theme = (int)rl_prng_between(prng, 1, 100);

    plan->started_by_hand = chance(prng, 70);
    plan->durable = chance(prng, theme <= 20 ? 10 : 50);
    plan->fault_every_us = PICK(prng, 100000, 400000, 1500000);
    plan->beyond = theme > 85;
    plan->faults = draw_some(prng, EVERYTHING & ~BEYOND, (int)PICK(prng, 10, 25, 50));
    /* Few nodes that forget much, and clients that disagree about the time: what floors are for. */
    if (theme <= 20) {
        plan->faults |= draw_some(prng, FORGETTING, 60);
        plan->node_count = (uint32_t)PICK(prng, 1, 2, 3, 3);
        plan->wall_skew_us = 3000000;
    }
    /* What terms are for. */
    if (plan->mixed)
        plan->faults |= draw_some(prng, FORGETTING, 60);
    if (plan->beyond)
        plan->faults |= draw_some(prng, BEYOND, 60);
    /* Locks that vanish all the time, while a fence is being agreed on: what the second round has to
     * stand. */
    if (theme > 96) {
        plan->faults = 1U << SIM_FAULT_EVICT | 1U << SIM_FAULT_DELAY;
        plan->fault_every_us = 3000;
    }
    keep_promises_apart(plan);
}

/* Whether the others go on without them is what liveness is about. Nodes that forgot, or whose clocks were
 * set back, may need more than a majority to learn their floor, and then nothing is promised. */
static void draw_gone(struct sim_plan *plan, struct rl_prng *prng)
{
    uint32_t needs_floors = FORGETTING | 1U << SIM_FAULT_RESTART | 1U << SIM_FAULT_STEP_BACK;

    if (plan->started_by_hand && (plan->faults & needs_floors) == 0)
        plan->gone_count = (uint32_t)rl_prng_between(prng, 0, (plan->node_count - 1) / 2);
    /* Two clocks that err by a quarter each, in opposite ways, differ by a little more than the half that is
     * allowed. */
    if (plan->gone_count > 0 && plan->rate_max_ppm > plan->drift_ppm / 5)
        plan->rate_max_ppm = plan->drift_ppm / 5;
}

static void draw_times(struct sim_plan *plan, struct rl_prng *prng)
{
    plan->delay_min_us = PICK(prng, 20, 200, 2000);
    plan->delay_max_us = plan->delay_min_us * PICK(prng, 2, 5, 20);
    plan->ttl_ms = PICK(prng, 60, 150, 400, 1000, 2000);
    if (plan->ttl_ms * 1000 < 10 * plan->delay_max_us)
        plan->ttl_ms = 10 * plan->delay_max_us / 1000; /* else every round would be too slow */
    plan->max_ttl_ms = plan->ttl_ms * PICK(prng, 1, 2);
    plan->node_timeout_ms = PICK(prng, 10, 50, 200);
    if (plan->node_timeout_ms * 1000 < 4 * plan->delay_max_us)
        plan->node_timeout_ms = 4 * plan->delay_max_us / 1000;
    plan->connect_timeout_ms = 2 * plan->node_timeout_ms;
    plan->retry_min_ms = PICK(prng, 5, 20, 50);
    plan->retry_max_ms = plan->retry_min_ms * PICK(prng, 4, 20);
    plan->think_max_us = PICK(prng, 20000, 200000, 600000);
    plan->hold_max_us = plan->ttl_ms * PICK(prng, 100, 500, 2500);
    plan->drift_ppm = (uint32_t)PICK(prng, 1000, 10000, 10000, 50000);
    plan->rate_max_ppm = (uint32_t)PICK(prng, 0, plan->drift_ppm / 8, plan->drift_ppm / 4);
    plan->wall_skew_us = PICK(prng, 50, 50000, 3000000, 20000000);
    plan->node_skew_us = PICK(prng, 50, 50000, 3000000, 20000000);
}

/* From a generator of its own: whether terms are mixed changes nothing else. */
static void draw_terms(struct sim_plan *plan)
{
    struct rl_prng prng = rl_prng_seed(plan->seed ^ UINT64_C(0x7e4));

    for (uint32_t i = 0; i < plan->client_count; i++) {
        int64_t term_ms = plan->max_ttl_ms * (plan->mixed ? PICK(&prng, 1, 1, 3, 8) : 1);

        plan->terms_ms[i] = term_ms < 8000 ? term_ms : 8000;
        if (plan->longest_ms < plan->terms_ms[i])
            plan->longest_ms = plan->terms_ms[i];
    }
}

/* Likewise: whether locks are shared. */
static void draw_shared(struct sim_plan *plan)
{
    struct rl_prng prng = rl_prng_seed(plan->seed ^ UINT64_C(0x5a4ed));
    bool planted = plan->bug == SIM_BUG_SHARED_BESIDE || plan->bug == SIM_BUG_HOLDS_UNSEEN ||
                   plan->bug == SIM_BUG_HOLDS_AS_ONE;

    if (!plan->plain && (plan->bug == SIM_BUG_NONE || planted))
        plan->shared_percent = (int)(planted ? 50 : PICK(&prng, 0, 0, 30, 60, 90));
    if (plan->bug == SIM_BUG_LEAVES_TO_GIVE_WAY) /* few writers among many readers */
        plan->shared_percent = 90;
}

static void draw_length(struct sim_plan *plan, struct rl_prng *prng)
{
    struct rl_span quarantine = rl_guard_quarantine(rl_span_ms(plan->longest_ms));

    plan->faults_end_us = plan->fault_every_us < 10000 ? 2000000 : PICK(prng, 2000000, 5000000, 12000000);
    /* Connections that hang are given up, nodes sit out, fetch a floor, and somebody's back-off ends. */
    plan->stop_us = plan->faults_end_us + 2 * quarantine.us + 15000000 + plan->longest_ms * 2000;
    /* Then the last waits end, what is held is given back, and what is owed to nodes that are gone may last
     * for the longest lock. */
    plan->end_us =
        plan->stop_us + SIM_WAIT_MAX_MS * 1000 + 8000000 + plan->hold_max_us + plan->longest_ms * 2000;
}

/* Mostly all of them tell. */
static void draw_untold(struct sim_plan *plan, struct rl_prng *prng)
{
    if (!chance(prng, 25))
        return;
    for (uint32_t node = 0; node < plan->node_count; node++)
        if (chance(prng, 40)) {
            plan->untold |= 1U << node;
            if (chance(prng, 50))
                plan->old |= 1U << node;
        }
}

/* Bugs that need a rare history are looked for where it is not rare. The plan keeps every promise all the
 * same: without the bug it has to pass. */
/* Some of those who wait for one name are stopped, or killed, and it is worth a lot of time. */
static void aim_at_stopped(struct sim_plan *plan)
{
    plan->faults = 1U << (plan->bug == SIM_BUG_DEAF_NOT_PASSED ? SIM_FAULT_SUSPEND : SIM_FAULT_PAUSE);
    plan->client_count = SIM_CLIENTS_MAX;
    plan->worker_count = 2;
    plan->name_count = 1;
    plan->ttl_ms = plan->max_ttl_ms = 6000;
    plan->hold_max_us = 100000;
    plan->fault_every_us = plan->bug == SIM_BUG_STOPPED_NOT_PASSED ? 400000 : 1500000;
    plan->fair_percent = 0;
    plan->plain = plan->beyond = plan->mixed = false;
}

static void aim_at_arrivals(struct sim_plan *plan)
{
    /* Locks are short and used to their end, some messages are late, and there is so much going on that
     * nobody has to ask whether a node is the master. */
    plan->faults = 1U << SIM_FAULT_DELAY;
    plan->node_count = 1;
    plan->client_count = SIM_CLIENTS_MAX;
    plan->worker_count = SIM_WORKERS_MAX;
    plan->name_count = 2;
    plan->delay_min_us = 20;
    plan->delay_max_us = 100;
    plan->node_timeout_ms = 10;
    plan->ttl_ms = plan->max_ttl_ms = 60;
    plan->think_max_us = 20000;
    plan->hold_max_us = 150000;
    plan->drift_ppm = 1000;
    plan->rate_max_ppm = 0;
    plan->plain = plan->beyond = plan->mixed = false;
}

static void aim_at_splits(struct sim_plan *plan)
{
    /* Many ask at once, and reach an even number of nodes in different orders. */
    plan->faults = 1U << SIM_FAULT_DELAY;
    plan->node_count = 4;
    plan->client_count = SIM_CLIENTS_MAX;
    plan->worker_count = SIM_WORKERS_MAX;
    plan->name_count = 1;
    plan->ttl_ms = plan->max_ttl_ms = 2000;
    plan->hold_max_us = 20000;
    plan->wall_skew_us = 50;
    if (plan->bug == SIM_BUG_LEAVES_TO_GIVE_WAY) /* no message is so late that it excuses a wrong order */
        plan->faults = 1U << SIM_FAULT_SCRIPTS;
    if (plan->bug == SIM_BUG_SLOT_OF_FIRST_VOTE) { /* some nodes keep another slot than the others */
        plan->faults |= 1U << SIM_FAULT_BREAK | 1U << SIM_FAULT_CUT;
        plan->node_count = 3;
    }
    plan->plain = plan->beyond = plan->mixed = false;
}

static void aim(struct sim_plan *plan)
{
    if (plan->bug == SIM_BUG_FENCE_OR_FLOOR) {
        /* One node with an older memory, and clients whose clocks differ by more than it sits out for. */
        plan->node_count = 1;
        plan->faults =
            1U << SIM_FAULT_SNAPSHOT | 1U << SIM_FAULT_SCRIPTS; /* it is copied when something else happens */
        plan->fault_every_us = 1000000;
    } else if (plan->bug == SIM_BUG_PROMOTION_UNSEEN) {
        plan->faults = 1U << SIM_FAULT_SNAPSHOT | 1U << SIM_FAULT_SCRIPTS;
    } else if (plan->bug == SIM_BUG_HANDED_INELIGIBLE) {
        /* Many stand in the line that a promoted node remembers. */
        plan->faults = 1U << SIM_FAULT_SNAPSHOT | 1U << SIM_FAULT_SCRIPTS;
        plan->node_count = plan->name_count = 1;
        plan->fault_every_us = 200000;
    } else if (plan->bug == SIM_BUG_OWN_TERM) {
        /* Nodes forget a long lock one after the other, and would be back before it ends. */
        plan->node_count = 3;
        plan->faults = 1U << SIM_FAULT_WIPE;
        plan->fault_every_us = 400000;
        plan->mixed = true;
        plan->ttl_ms = plan->max_ttl_ms = 400;
    } else if (plan->bug == SIM_BUG_HIDDEN_LOSS) {
        /* A lock is deleted where it is while one node is down. */
        plan->faults = 1U << SIM_FAULT_EVICT | 1U << SIM_FAULT_RESTART;
        plan->fault_every_us = 400000;
        plan->plain = plan->durable = false;
        plan->beyond = true;
        return;
    } else if (plan->bug == SIM_BUG_NEVER_BRIEF || plan->bug == SIM_BUG_STOPPED_NOT_PASSED ||
               plan->bug == SIM_BUG_DEAF_NOT_PASSED) {
        aim_at_stopped(plan);
        return;
    } else if (plan->bug == SIM_BUG_HANDED_ON_ARRIVAL) {
        aim_at_arrivals(plan);
        return;
    } else if (plan->bug == SIM_BUG_NEVER_GIVES_WAY || plan->bug == SIM_BUG_LEAVES_TO_GIVE_WAY ||
               plan->bug == SIM_BUG_SLOTS_COUNTED || plan->bug == SIM_BUG_SLOT_OF_FIRST_VOTE ||
               plan->bug == SIM_BUG_SLOT_BELOW_OTHERS) {
        aim_at_splits(plan);
        return;
    } else if (plan->bug == SIM_BUG_SOME_NAMES || plan->bug == SIM_BUG_NAMES_KEPT) {
        plan->faults = 1U << SIM_FAULT_DELAY | 1U << SIM_FAULT_BREAK;
        plan->name_count = 3;
        plan->plain = plan->beyond = false;
        return;
    } else if (plan->bug == SIM_BUG_NOT_REARMED) {
        plan->faults = 1U << SIM_FAULT_BREAK;
        plan->fault_every_us = 100000;
        plan->plain = true;
        plan->beyond = false;
        return;
    } else if (plan->bug == SIM_BUG_SILENT_NOT_ASKED) {
        /* One slow node, waiters that rely on being told, and questions of others that it owes answers to. */
        plan->node_count = 1;
        plan->worker_count = plan->name_count = SIM_WORKERS_MAX;
        plan->faults = 1U << SIM_FAULT_SLOW;
        plan->fault_every_us = 400000;
        plan->retry_min_ms = 500;
        plan->retry_max_ms = 2000;
        plan->plain = true;
        plan->beyond = false;
        return;
    } else {
        return;
    }
    plan->plain = plan->beyond = plan->durable = false;
    plan->wall_skew_us = 3000000;
    plan->node_skew_us = 50000;
}

static bool has_slots(const struct sim_plan *plan)
{
    for (uint32_t name = 0; name < SIM_NAMES_MAX; name++)
        if (plan->slots[name] > 0)
            return true;
    return false;
}

/* Every fifth seed has semaphores, and enough callers for all of their slots to be taken. From a generator of
 * its own. */
static void draw_slots(struct sim_plan *plan)
{
    struct rl_prng prng = rl_prng_seed(plan->seed ^ UINT64_C(0x510));
    bool planted = plan->bug == SIM_BUG_SLOTS_COUNTED || plan->bug == SIM_BUG_SLOT_OF_FIRST_VOTE ||
                   plan->bug == SIM_BUG_SLOT_BELOW_OTHERS;

    if (plan->plain ||
        (!planted && (plan->seed % 5 != 3 || plan->seed % 8 == 5 || plan->bug != SIM_BUG_NONE)))
        return;
    plan->client_count = (uint32_t)PICK(&prng, 3, 4, SIM_CLIENTS_MAX);
    plan->worker_count = (uint32_t)PICK(&prng, 1, 2, 2, SIM_WORKERS_MAX);
    for (uint32_t name = 0; name < SIM_NAMES_MAX; name++)
        if (planted || chance(&prng, 70))
            plan->slots[name] =
                (uint32_t)rl_prng_between(&prng, planted ? 2 : 1, planted ? 2 : SIM_SLOTS_MAX);
}

void sim_plan_draw(struct sim_plan *plan, uint64_t seed, enum sim_bug bug, bool wide)
{
    struct rl_prng prng = rl_prng_seed(seed);

    *plan = (struct sim_plan){.seed = seed, .bug = bug, .wide = wide};
    plan->node_count = (uint32_t)PICK(&prng, 1, 2, 3, 3, 3, 3, 4, 5, 5, 7);
    plan->client_count = (uint32_t)PICK(&prng, 2, 2, 3, 4);
    plan->worker_count = (uint32_t)PICK(&prng, 1, 1, 2, 2, 4);
    plan->name_count = (uint32_t)PICK(&prng, 1, 1, 2, 4);
    plan->plain = chance(&prng, 12);
    plan->mixed = chance(&prng, 20);
    plan->init_by_call = chance(&prng, 30);
    plan->fair_percent = (int)PICK(&prng, 0, 0, 20, 100);
    draw_times(plan, &prng);
    draw_faults(plan, &prng);
    aim(plan);
    draw_slots(plan);
    draw_terms(plan);
    draw_gone(plan, &prng);
    plan->promotes = (seed % 3 == 0 || bug == SIM_BUG_PROMOTION_UNSEEN || bug == SIM_BUG_HANDED_INELIGIBLE) &&
                     sim_plan_has(plan, SIM_FAULT_SNAPSHOT);
    draw_length(plan, &prng);
    draw_untold(plan, &prng);
    plan->kills = (seed % 2 == 0 || bug == SIM_BUG_DEAF_NOT_PASSED) && sim_plan_has(plan, SIM_FAULT_SUSPEND);
    if (seed % 8 == 5 && !plan->plain)
        plan->older = seed % 16 == 5 ? 1 : 3;
    else if ((seed % 4 == 2 || bug == SIM_BUG_SOME_NAMES || bug == SIM_BUG_NAMES_KEPT) && !plan->plain &&
             plan->name_count > 1 && !has_slots(plan))
        plan->several_percent = seed % 8 == 2 ? 30 : 80;
    plan->foreign = seed % 8 == 2 && !plan->plain && !has_slots(plan);
    draw_shared(plan);
}

static void add_faults(const struct sim_plan *plan, char *text, int size)
{
    int length = 0;

    text[0] = '\0';
    for (int fault = 0; fault < SIM_FAULTS && length < size; fault++)
        if (sim_plan_has(plan, (enum sim_fault)fault))
            length += snprintf(text + length, (size_t)(size - length), " %s", fault_names[fault]);
}

void sim_plan_describe(const struct sim_plan *plan, char *text, int size)
{
    char faults[256];

    add_faults(plan, faults, sizeof faults);
    snprintf(
        text, (size_t)size,
        "seed %" PRIu64
        ": bug=%s nodes=%u clients=%u workers=%u names=%u several=%d gone=%u untold=%x%s%s%s%s delay=%" PRId64
        "-%" PRId64 "us ttl=%" PRId64 "ms max-ttl=%" PRId64 "-%" PRId64 "ms node-timeout=%" PRId64
        "ms slots=%u,%u,%u,%u retry=%" PRId64 "-%" PRId64 "ms think=%" PRId64 "us hold=%" PRId64
        "us drift=%uppm rates=%uppm wall=%" PRId64 "us node-clocks=%" PRId64 "us until=%" PRId64
        "ms faults every %" PRId64 "ms until %" PRId64 "ms:%s",
        plan->seed, bug_names[plan->bug], plan->node_count, plan->client_count, plan->worker_count,
        plan->name_count, plan->several_percent, plan->gone_count, plan->untold,
        plan->beyond ? " beyond" : "", plan->started_by_hand ? " by-hand" : "",
        plan->durable ? " durable" : "", plan->promotes ? " promotes" : "", plan->delay_min_us,
        plan->delay_max_us, plan->ttl_ms, plan->max_ttl_ms, plan->longest_ms, plan->node_timeout_ms,
        plan->slots[0], plan->slots[1], plan->slots[2], plan->slots[3], plan->retry_min_ms,
        plan->retry_max_ms, plan->think_max_us, plan->hold_max_us, plan->drift_ppm, plan->rate_max_ppm,
        plan->wall_skew_us, plan->node_skew_us, plan->end_us / 1000, plan->fault_every_us / 1000,
        plan->faults_end_us / 1000, faults);
}
