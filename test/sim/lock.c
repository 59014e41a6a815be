/*
 * Carries out what the acquisition and the lease want, as src/engine/acquisition.c and holding.c do, and tells the judge what is
 * relied upon. Planted bugs that live in a client are in here.
 */
#include <stdlib.h>
#include <string.h>

#include "core/trace.h"
#include "sim/world.h"

static void say_text(struct sim_world *world, const struct sim_client *client,
                     const struct sim_worker *worker, char *text)
{
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
        sim_say(world, "client %u.%u | %s", client->index + 1, worker->index + 1, line);
}

static void trace_acquire(struct sim_world *world, const struct sim_client *client,
                          const struct sim_worker *worker, const struct rl_event *event,
                          const struct rl_effects *effects)
{
    char bytes[1024], name[] = {(char)('a' + worker->name)};
    struct rl_text text = rl_text_on(bytes, sizeof bytes);

    if (world->transcript == NULL)
        return;
    if (event->kind == RL_EVENT_START)
        rl_trace_acquire_start(&text, name, 1, &worker->acquire);
    rl_trace_acquire(&text, &worker->acquire, event, effects);
    say_text(world, client, worker, bytes);
}

static void trace_lease(struct sim_world *world, const struct sim_client *client,
                        const struct sim_worker *worker, const struct rl_event *event,
                        const struct rl_effects *effects)
{
    char bytes[1024];
    struct rl_text text = rl_text_on(bytes, sizeof bytes);

    if (world->transcript == NULL)
        return;
    rl_trace_lease(&text, &worker->lease, event, effects);
    say_text(world, client, worker, bytes);
}

static uint32_t drift_of(const struct sim_world *world)
{
    return world->plan.bug == SIM_BUG_NO_DRIFT ? 0 : world->plan.drift_ppm;
}

/* ---- the end of a lock, whichever way it came ---- */

static void become_idle(struct sim_world *world, struct sim_client *client, struct sim_worker *worker)
{
    int64_t think_us = world->now_us < world->plan.faults_end_us ? world->plan.think_max_us : 1000000;

    worker->stage = SIM_IDLE;
    worker->rounds = false;
    worker->revived = false;
    worker->act_at =
        world->stopping ? RL_TIME_NEVER : rl_time_add(client->now, rl_span_us(sim_draw(world, 0, think_us)));
}

static void end_holding(struct sim_world *world, struct sim_client *client, struct sim_worker *worker)
{
    sim_dispatch_forget_owed(world, client, worker);
    become_idle(world, client, worker);
    sim_turns_leave(world, client, worker);
}

/* ---- acquisitions ---- */

static uint32_t make_attempt(struct sim_world *world, const struct sim_client *client,
                             const struct sim_worker *worker)
{
    struct sim_attempt *attempt;

    if (world->attempt_count >= world->attempt_capacity) {
        world->attempt_capacity = world->attempt_capacity == 0 ? 1024 : 2 * world->attempt_capacity;
        world->attempts = realloc(world->attempts, world->attempt_capacity * sizeof *world->attempts);
        if (world->attempts == NULL)
            abort();
    }
    attempt = &world->attempts[world->attempt_count];
    *attempt = (struct sim_attempt){
        .client = client->index, .worker = worker->index, .name = worker->name, .ttl_ms = worker->ttl_ms};
    snprintf(attempt->key, sizeof attempt->key, "lock-%u", worker->name % SIM_NAMES_MAX);
    snprintf(attempt->owner, sizeof attempt->owner, "%032x|pid=%u", world->attempt_count, client->index);
    return world->attempt_count++;
}

static void ask_for_lock(struct sim_world *world, struct sim_client *client, struct sim_worker *worker,
                         const struct rl_effects *effects)
{
    int64_t wall_us = sim_clock_at(&client->wall, world->now_us);

    if (world->plan.bug != SIM_BUG_SAME_OWNER || worker->acquire.round == 1)
        worker->attempt = make_attempt(world, client, worker);
    worker->touched = 0;
    worker->asked_us = world->now_us;
    worker->fence = wall_us > 0 ? (uint64_t)wall_us : 0;
    if (worker->fence <= worker->seen)
        worker->fence = worker->seen + 1;
    sim_dispatch_ask(world, client, worker, effects->acquire, RL_COMMAND_ACQUIRE, effects->question);
}

struct rl_lease_terms sim_lock_terms(const struct sim_world *world, struct sim_client *client)
{
    const struct sim_plan *plan = &world->plan;

    return (struct rl_lease_terms){
        .node_count = plan->node_count,
        .drift_ppm = drift_of(world),
        .node_timeout = rl_span_ms(plan->node_timeout_ms),
        .retry_min = rl_span_ms(plan->retry_min_ms),
        .retry_max = rl_span_ms(plan->retry_max_ms),
        .prng = &client->prng,
    };
}

static struct rl_lease_config lease_config(struct sim_world *world, const struct sim_client *client)
{
    const struct sim_plan *plan = &world->plan;
    bool renews = sim_chance(world, 50);

    return (struct rl_lease_config){
        .terms = &client->lease_terms,
        .ttl = rl_span_ms(plan->ttl_ms),
        .renew_every = renews ? rl_span_ms(1 + plan->ttl_ms / 3) : rl_span_us(0),
        .max_hold = sim_chance(world, 10) ? rl_span_ms(2 * plan->ttl_ms) : rl_span_us(0),
        .max_extensions = sim_chance(world, 10) ? 2 : 0,
    };
}

/* It is won. Its caller may have to wait for the processor before it knows. */
static void begin_holding(struct sim_world *world, struct sim_client *client, struct sim_worker *worker)
{
    struct rl_lease_config config = lease_config(world, client);
    bool late = sim_plan_has(&world->plan, SIM_FAULT_HAND_OUT) && !world->stopping && sim_chance(world, 10);

    rl_lease_init(&worker->lease, &config, worker->acquire.asked, worker->acquire.valid_until);
    worker->fence = worker->acquire.fence;
    worker->stage = SIM_WON;
    world->stats.faults[SIM_FAULT_HAND_OUT] += late;
    worker->told_lost = false;
    worker->give_back_at = client->now; /* until it is handed out: when it was won */
    worker->act_at = late
                         ? rl_time_add(client->now, rl_span_us(sim_draw(world, 0, 1500 * world->plan.ttl_ms)))
                         : client->now;
}

static void miss(struct sim_world *world, struct sim_client *client, struct sim_worker *worker,
                 rl_node_set nodes);

static void end_acquisition(struct sim_world *world, struct sim_client *client, struct sim_worker *worker)
{
    const struct rl_tally *tally = &worker->acquire.tally;
    rl_node_set open = worker->touched & ~rl_tally_answered(tally);
    rl_node_set behind = rl_node_set_all(world->plan.node_count) & ~tally->granted & ~open;

    worker->owed = 0;
    worker->rounds = false;
    worker->place = 0;
    sim_watching_end(world, client, worker);
    sim_turns_remember(client, &worker->acquire);
    if (worker->acquire.outcome == RL_OUTCOME_OK) {
        begin_holding(world, client, worker);
        miss(world, client, worker, behind);
        sim_dispatch_mend(world, client, worker, behind & ~rl_tally_answered(tally));
    } else {
        become_idle(world, client, worker);
        sim_turns_leave(world, client, worker);
    }
}

/* It waits, or goes on waiting: nodes are asked who holds it, and to tell when that changes. */
static void watch(struct sim_world *world, struct sim_client *client, struct sim_worker *worker,
                  const struct rl_effects *effects, uint32_t before)
{
    worker->watching = true;
    if (effects->question != before)
        sim_wakes_waits(world, worker);
    sim_dispatch_ask(world, client, worker, effects->watch, RL_COMMAND_WATCH, effects->question);
}

static void step_acquire(struct sim_world *world, struct sim_client *client, struct sim_worker *worker,
                         const struct rl_event *event)
{
    bool waited = worker->acquire.phase == RL_ACQUIRE_WAITING;
    uint32_t question = worker->acquire.question;
    struct rl_effects effects;

    rl_acquire_step(&worker->acquire, event, &effects);
    trace_acquire(world, client, worker, event, &effects);
    if (waited && (worker->acquire.phase != RL_ACQUIRE_WAITING || worker->acquire.question != question)) {
        sim_wakes_ends(world, client, worker);
        sim_wakes_count(world, worker, event, &effects);
    }
    if (effects.release != 0)
        sim_dispatch_release(world, client, worker, effects.release, 0);
    if (effects.acquire != 0)
        ask_for_lock(world, client, worker, &effects);
    if (effects.raise != 0) {
        world->stats.raises++;
        worker->fence = effects.fence;
        if (world->plan.bug == SIM_BUG_NO_SECOND_ROUND) {
            worker->acquire.phase = RL_ACQUIRE_ENDED;
            worker->acquire.outcome = RL_OUTCOME_OK;
            worker->acquire.valid_until =
                rl_time_add(worker->acquire.asked, rl_span_ms(world->plan.ttl_ms * 9 / 10));
            effects.done = true;
        } else {
            sim_dispatch_ask(world, client, worker, effects.raise, RL_COMMAND_RAISE, effects.question);
        }
    }
    if (effects.peek != 0)
        sim_dispatch_ask(world, client, worker, effects.peek, RL_COMMAND_PEEK, effects.question);
    if (effects.watch != 0)
        watch(world, client, worker, &effects, question);
    if (effects.done)
        end_acquisition(world, client, worker);
}

void sim_lock_ask(struct sim_world *world, struct sim_client *client, struct sim_worker *worker, bool wait)
{
    const struct sim_plan *plan = &world->plan;
    struct rl_acquire_config config = {
        .node_count = plan->node_count,
        .ttl = rl_span_ms(plan->ttl_ms),
        .drift_ppm = drift_of(world),
        .node_timeout = rl_span_ms(plan->node_timeout_ms),
        .first_wait = sim_chance(world, 20) ? rl_span_ms(plan->connect_timeout_ms) : rl_span_us(0),
        .give_up_at = client->now,
        .retry_min = rl_span_ms(plan->retry_min_ms),
        .retry_max = rl_span_ms(plan->retry_max_ms),
        .fenced = true,
        .peek = sim_chance(world, 30),
        .trip = client->trip,
        .patience = client->patience,
        .heat = client->heat,
    };

    sim_turns_join(world, client, worker, wait, &config);
    if (wait)
        config.give_up_at = rl_time_add(
            client->now, rl_span_us(sim_draw(world, 0, sim_chance(world, 20) ? 15000000 : 3000000)));
    world->asked[worker->name]++;
    worker->stage = SIM_ASKING;
    worker->lock++;
    worker->seen = 0;
    worker->waited = false;
    worker->ttl_ms = plan->ttl_ms;
    if (config.queued || config.courtesy)
        worker->attempt = make_attempt(world, client, worker); /* it may look before its first round */
    worker->owed = worker->instant = worker->touched = 0;
    worker->act_at = sim_chance(world, 5) ? rl_time_add(client->now, rl_span_us(sim_draw(world, 0, 200000)))
                                          : RL_TIME_NEVER; /* when it loses patience */
    rl_acquire_init(&worker->acquire, &config, &client->prng);
    sim_lock_event(world, client, worker, &(struct rl_event){.kind = RL_EVENT_START, .now = client->now});
}

/* ---- holding ---- */

/* Validity is looked at when the lock is handed out, after everything it took to get here. */
void sim_lock_hand_out(struct sim_world *world, struct sim_client *client, struct sim_worker *worker)
{
    struct rl_span waited = rl_time_since(client->now, worker->give_back_at);

    if (world->plan.bug == SIM_BUG_LATE_HAND_OUT)
        worker->lease.valid_until = rl_time_add(worker->lease.valid_until, waited);
    if (!rl_lease_held(&worker->lease, client->now) && world->plan.bug != SIM_BUG_NO_RECHECK) {
        world->stats.too_slow++;
        sim_dispatch_forget_owed(world, client, worker);
        sim_dispatch_release(world, client, worker, rl_node_set_all(world->plan.node_count), 0);
        become_idle(world, client, worker);
        sim_turns_leave(world, client, worker);
        return;
    }
    worker->stage = SIM_HELD;
    worker->give_back_at = rl_time_add(client->now, rl_span_us(sim_draw(world, 0, world->plan.hold_max_us)));
    worker->act_at = worker->give_back_at;
    if (sim_chance(world, 30))
        worker->act_at =
            rl_time_min(worker->act_at,
                        rl_time_add(client->now, rl_span_us(sim_draw(world, 0, 1000 * world->plan.ttl_ms))));
    sim_judge_handed_out(world, client, worker);
}

/* Planted bug: what was lost is extended all the same. */
static void revive(struct sim_world *world, struct sim_client *client, struct sim_worker *worker)
{
    struct rl_lease_config config = worker->lease.config;

    config.renew_every = config.max_hold = rl_span_us(0);
    config.max_extensions = 0;
    rl_lease_init(&worker->lease, &config, client->now,
                  rl_time_add(client->now, rl_span_ms(world->plan.ttl_ms)));
    worker->revived = true;
    sim_lock_event(world, client, worker,
                   &(struct rl_event){.kind = RL_EVENT_EXTEND, .now = client->now, .ttl = config.ttl});
}

static void end_lease(struct sim_world *world, struct sim_client *client, struct sim_worker *worker,
                      bool was_releasing)
{
    bool lost_held = worker->stage == SIM_HELD && !was_releasing;

    if (lost_held && !worker->revived) {
        world->stats.losses++;
        worker->told_lost = true;
        sim_judge_ended(world, client, worker);
    }
    if (lost_held && !worker->revived && world->plan.bug == SIM_BUG_EXTEND_RECREATES && !world->stopping)
        revive(world, client, worker);
    else
        end_holding(world, client, worker);
}

static void step_lease(struct sim_world *world, struct sim_client *client, struct sim_worker *worker,
                       const struct rl_event *event);

static void miss(struct sim_world *world, struct sim_client *client, struct sim_worker *worker,
                 rl_node_set nodes)
{
    for (rl_node_set left = nodes; left != 0; left &= left - 1)
        step_lease(
            world, client, worker,
            &(struct rl_event){.kind = RL_EVENT_MISSED, .now = client->now, .node = rl_node_set_first(left)});
}

/* Nodes that were not there yet have not been asked. */
static void end_round(struct sim_world *world, struct sim_client *client, struct sim_worker *worker)
{
    rl_node_set unasked = worker->owed;

    worker->rounds = false;
    worker->owed = 0;
    miss(world, client, worker, unasked);
}

static void step_lease(struct sim_world *world, struct sim_client *client, struct sim_worker *worker,
                       const struct rl_event *event)
{
    bool was_releasing = worker->lease.phase == RL_LEASE_RELEASING;
    bool revivable =
        world->plan.bug == SIM_BUG_EXTEND_RECREATES && worker->stage == SIM_HELD && !worker->revived;
    struct rl_effects effects;

    rl_lease_step(&worker->lease, event, &effects);
    trace_lease(world, client, worker, event, &effects);
    if (effects.extended && worker->lease.extend_outcome == RL_OUTCOME_OK && worker->stage == SIM_HELD)
        sim_judge_extended(world, client, worker);
    if (effects.release != 0 && !(revivable && effects.done && !world->stopping))
        sim_dispatch_release(world, client, worker, effects.release, effects.question);
    if (effects.release != 0)
        sim_turns_leave(world, client, worker);
    if (effects.mend != 0)
        sim_dispatch_mend(world, client, worker, effects.mend);
    if (effects.extend != 0) {
        worker->ttl_ms = rl_span_ms_up(effects.ttl);
        sim_dispatch_ask(world, client, worker, effects.extend, RL_COMMAND_EXTEND, effects.question);
    }
    if (effects.done)
        end_lease(world, client, worker, was_releasing);
    else if (worker->lease.phase == RL_LEASE_IDLE)
        end_round(world, client, worker);
}

static void step(struct sim_world *world, struct sim_client *client, struct sim_worker *worker,
                 const struct rl_event *event)
{
    if (event->kind == RL_EVENT_RELEASE && worker->stage == SIM_HELD) {
        world->stats.releases++;
        sim_judge_ended(world, client, worker);
        worker->stage = SIM_OVER;
    }
    if (worker->stage == SIM_ASKING)
        step_acquire(world, client, worker, event);
    else if (worker->stage != SIM_IDLE)
        step_lease(world, client, worker, event);
}

void sim_lock_event(struct sim_world *world, struct sim_client *client, struct sim_worker *worker,
                    const struct rl_event *event)
{
    struct rl_event refusal;
    uint32_t lock = worker->lock;

    step(world, client, worker, event);
    /* Nodes that could not even be asked answer after the question has gone to all the others. */
    while (worker->lock == lock && worker->stage != SIM_IDLE &&
           sim_dispatch_take_instant(world, client, worker, &refusal))
        step(world, client, worker, &refusal);
    worker->instant = 0;
    if (worker->stage == SIM_WON && !rl_time_before(client->now, worker->act_at))
        sim_lock_hand_out(world, client, worker);
}
