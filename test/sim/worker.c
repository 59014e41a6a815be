/*
 * What the application does with locks: it thinks, asks, holds, extends, gives back, hands on, forgets or
 * loses patience. Everything it does follows from the seed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/guard.h"
#include "engine/holding.h"
#include "engine/operator_calls.h"
#include "engine/report.h"
#include "engine/spec.h"
#include "sim/world.h"

static int64_t now_of(const struct sim_client *client)
{
    return client->engine.now.us;
}

static void become_idle(struct sim_world *world, struct sim_worker *worker)
{
    int64_t think_us = world->now_us < world->plan.faults_end_us ? world->plan.think_max_us : 1000000;

    worker->stage = SIM_IDLE;
    worker->operation = NULL;
    worker->lock = NULL;
    worker->waits = worker->adopts = false;
    worker->alive = true;
    worker->act_us =
        world->stopping ? INT64_MAX : now_of(sim_client_of(world, worker)) + sim_draw(world, 0, think_us);
}

void sim_worker_start(struct sim_world *world, struct sim_worker *worker)
{
    become_idle(world, worker);
    worker->name = worker->index % world->plan.name_count;
    worker->names = 1U << worker->name;
    worker->act_us = now_of(sim_client_of(world, worker)) + sim_draw(world, 0, world->plan.think_max_us);
}

/* ---- asking ---- */

/* Only that there is one is looked at: the simulator runs what it stands for. */
static void on_lost(void *context, redlock_lock *lock, const redlock_report *report)
{
    (void)context;
    (void)lock;
    (void)report;
    abort();
}

static redlock_spec draw_spec(struct sim_world *world, struct sim_worker *worker, char *name, size_t size)
{
    const struct sim_plan *plan = &world->plan;
    redlock_spec spec = REDLOCK_SPEC_INIT, checked;

    snprintf(name, size, "lock-%u", worker->name);
    spec.name = name;
    for (uint32_t left = worker->names & ~(1U << worker->name); left != 0; left &= left - 1) {
        char *text = worker->also_text[spec.also_count];

        snprintf(text, sizeof worker->also_text[0], "lock-%u", rl_node_set_first(left));
        worker->also[spec.also_count++] = (redlock_name){.name = text};
        spec.also = worker->also;
    }
    spec.kind = worker->shared ? REDLOCK_SHARED : worker->fair ? REDLOCK_FAIR : REDLOCK_EXCLUSIVE;
    spec.permits = plan->slots[worker->name];
    if (spec.permits > 0)
        spec.kind = REDLOCK_SEMAPHORE;
    spec.ttl_ms = (uint32_t)plan->ttl_ms;
    if (plan->mixed && sim_chance(world, 50))
        spec.ttl_ms = (uint32_t)plan->terms_ms[worker->client];
    spec.auto_extend = sim_chance(world, 50);
    spec.renew_ms = 1 + spec.ttl_ms / 3;
    spec.max_hold_ms = sim_chance(world, 10) ? 2 * plan->ttl_ms : 0;
    spec.max_extensions = sim_chance(world, 10) ? 2 : 0;
    spec.on_lost = spec.auto_extend != 0 || sim_chance(world, 50) ? on_lost : NULL;
    spec.context = worker;
    spec.keep_on_nodes = worker->index % 3 == 2;
    spec.quick_release = worker->index % 2;
    if (rl_spec_check(&sim_client_of(world, worker)->engine, &spec, &checked, NULL) != REDLOCK_OK) {
        sim_fail(world, "client %u.%u: a spec was refused", worker->client + 1, worker->index + 1);
        return spec;
    }
    return checked;
}

/* A call has begun; NULL: it could not. */
static void take_operation(struct sim_world *world, struct sim_worker *worker, enum sim_stage stage,
                           struct rl_operation *operation)
{
    if (operation == NULL) {
        become_idle(world, worker);
        return;
    }
    operation->context = worker;
    worker->operation = operation;
    worker->stage = stage;
    worker->act_us = INT64_MAX;
}

/* Often the one behind it as well, and sometimes all. */
static uint32_t draw_names(struct sim_world *world, const struct sim_worker *worker)
{
    uint32_t count = world->plan.name_count, names = 1U << worker->name;

    if (world->plan.several_percent == 0 || !sim_chance(world, world->plan.several_percent))
        return names;
    return sim_chance(world, 20) ? (1U << count) - 1 : names | 1U << (worker->name + 1) % count;
}

static void ask(struct sim_world *world, struct sim_worker *worker)
{
    struct sim_client *client = sim_client_of(world, worker);
    bool wait = sim_chance(world, 60), blocks = sim_chance(world, 50);
    int64_t wait_ms = wait ? sim_draw(world, 1, sim_chance(world, 20) ? SIM_WAIT_MAX_MS : 3000) : 0;
    redlock_result result;
    redlock_spec spec;
    char name[16];

    worker->name = (worker->name + (sim_chance(world, 70) ? 1 : 0)) % world->plan.name_count;
    worker->names = draw_names(world, worker);
    worker->fair = !world->plan.plain && sim_chance(world, world->plan.fair_percent);
    worker->shared = world->plan.shared_percent > 0 && sim_chance(world, world->plan.shared_percent) &&
                     (world->plan.older >> worker->client & 1) == 0 && world->plan.slots[worker->name] == 0 &&
                     worker->names == 1U << worker->name;
    worker->request = blocks ? 0 : ++client->last_request;
    worker->waited = worker->waits = worker->split = false;
    worker->asked_us = world->now_us;
    worker->stands_us = worker->settled_us = 0;
    worker->late = worker->refused = false;
    client->binding = worker;
    client->begun = true;
    /* Others may have it whenever a caller that does not wait comes. */
    for (uint32_t left = worker->names; left != 0; left &= left - 1)
        world->asked[rl_node_set_first(left)] += wait_ms != 0;
    spec = draw_spec(world, worker, name, sizeof name);
    take_operation(world, worker, SIM_ASKING,
                   rl_call_acquire(&client->engine, &spec, wait_ms, worker->request, &result, NULL));
    if (worker->stage != SIM_ASKING)
        return;
    if (world->plan.bug == SIM_BUG_NO_DRIFT)
        worker->operation->acquire.config.drift_ppm = worker->operation->stand.config.drift_ppm = 0;
    if (worker->request != 0 && sim_chance(world, 10))
        worker->act_us = now_of(client) + sim_draw(world, 0, 200000); /* when it loses patience */
}

/* ---- looking ---- */

static redlock_details *details_of(struct sim_world *world)
{
    if (world->details == NULL) {
        size_t size = sizeof *world->details + SIM_NODES_MAX * sizeof world->details->nodes[0];

        world->details = calloc(1, size);
        if (world->details == NULL)
            abort();
        world->details->node_capacity = SIM_NODES_MAX;
    }
    return world->details;
}

static void inspect(struct sim_world *world, struct sim_worker *worker)
{
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_spec spec = REDLOCK_SPEC_INIT;
    redlock_result result;
    char name[16];

    snprintf(name, sizeof name, "lock-%u", worker->name);
    spec.name = name;
    spec.name_length = strlen(name);
    report.details = details_of(world);
    world->stats.inspections++;
    take_operation(world, worker, SIM_LOOKING,
                   rl_call_survey(&sim_client_of(world, worker)->engine, RL_OPERATION_INSPECT, &spec, false,
                                  0, &result, &report));
}

/* The operator's word: nothing can be held. */
static void init(struct sim_world *world, struct sim_worker *worker)
{
    struct sim_client *client = sim_client_of(world, worker);
    redlock_spec spec = REDLOCK_SPEC_INIT;
    redlock_result result;

    rl_guard_begin(&client->engine);
    world->stats.inits++;
    take_operation(world, worker, SIM_LOOKING,
                   rl_call_survey(&client->engine, RL_OPERATION_INIT, &spec, false, 0, &result, NULL));
}

/* ---- holding ---- */

/* Where terms are mixed, a long lock is made use of. */
static int64_t hold_max_us(const struct sim_plan *plan, const redlock_lock *lock)
{
    int64_t ttl_us = 1000 * lock->ttl_ms;

    return plan->mixed && plan->hold_max_us < ttl_us ? ttl_us : plan->hold_max_us;
}

static void hold(struct sim_world *world, struct sim_worker *worker, redlock_lock *lock)
{
    struct sim_client *client = sim_client_of(world, worker);

    worker->stage = SIM_HELD;
    worker->lock = lock;
    worker->valid_until = lock->lease.valid_until;
    worker->denied = worker->denied_in = 0;
    worker->give_back_us = now_of(client) + sim_draw(world, 0, hold_max_us(&world->plan, lock));
    worker->act_us = world->stopping ? now_of(client) : worker->give_back_us;
    if (!world->stopping && sim_chance(world, 30)) {
        int64_t sooner = now_of(client) + sim_draw(world, 0, 1000 * world->plan.ttl_ms);

        worker->act_us = sooner < worker->act_us ? sooner : worker->act_us;
    }
}

/* Planted bugs: what is left of validity counts from when the caller gets to run, or is not looked at
 * again. */
static void hide_validity(struct sim_worker *worker)
{
    redlock_lock *lock = worker->operation->lock;

    worker->won_until = lock->lease.valid_until;
    lock->lease.valid_until = lock->lease.wake_at = rl_time_add(lock->engine->now, rl_span_ms(3600000));
    rl_timers_set(&lock->engine->timers, &lock->timer, RL_TIME_NEVER);
}

static void show_validity(const struct sim_world *world, struct sim_worker *worker)
{
    redlock_lock *lock = worker->operation->lock;
    struct rl_span late = rl_time_since(lock->engine->now, (struct rl_time){worker->won_us});

    if (world->plan.bug == SIM_BUG_LATE_HAND_OUT)
        worker->won_until = rl_time_add(worker->won_until, late);
    lock->lease.valid_until = lock->lease.wake_at = worker->won_until;
    rl_timers_set(&lock->engine->timers, &lock->timer, worker->won_until);
}

static bool hides_validity(const struct sim_world *world)
{
    return world->plan.bug == SIM_BUG_LATE_HAND_OUT || world->plan.bug == SIM_BUG_NO_RECHECK;
}

void sim_worker_unhide(struct sim_world *world, struct sim_worker *worker)
{
    if (worker->stage == SIM_WON && hides_validity(world))
        show_validity(world, worker);
}

/* It was too late for the lock, and has time left to wait. */
static void wait_on(struct sim_worker *worker)
{
    worker->stage = SIM_ASKING;
    worker->act_us = INT64_MAX;
    worker->stands_us = worker->settled_us = 0;
    worker->split = false;
}

/* It was won, and its caller gets to run. */
static void hand_out(struct sim_world *world, struct sim_worker *worker)
{
    struct rl_operation *operation = worker->operation;
    struct rl_engine *engine = operation->lock->engine;
    bool hidden = worker->stage == SIM_WON && hides_validity(world);
    redlock_lock *lock = rl_call_hand_out(operation);

    if (lock == NULL) {
        world->stats.too_slow++;
        for (uint32_t left = worker->names; left != 0; left &= left - 1)
            world->had_us[rl_node_set_first(left)] =
                world->now_us; /* until it was over, its caller was about to run */
    }
    if (!operation->done) {
        wait_on(worker);
        return;
    }
    if (hidden)
        show_validity(world, worker);
    if (lock != NULL) {
        hold(world, worker, lock);
        world->stats.fair_grants += worker->fair;
        sim_judge_handed_out(world, worker, operation);
    } else {
        become_idle(world, worker);
    }
    worker->operation = NULL;
    rl_operation_free(engine, operation);
}

static void free_handle(struct sim_world *world, struct sim_worker *worker)
{
    redlock_lock *lock = worker->lock;

    become_idle(world, worker);
    rl_engine_free_handle(lock);
}

/* Another thread, of any client, goes on with a lock by its owner value. */
static struct sim_worker *find_heir(struct sim_world *world, struct sim_worker *worker)
{
    uint32_t first = (uint32_t)sim_draw(world, 0, world->plan.client_count - 1);

    for (uint32_t i = 0; i < world->plan.client_count; i++) {
        struct sim_client *client = &world->clients[(first + i) % world->plan.client_count];

        for (uint32_t j = 0; j < world->plan.worker_count; j++)
            if (client->workers[j].stage == SIM_IDLE && client->paused_until_us <= world->now_us)
                return &client->workers[j];
    }
    return worker;
}

static void adopt(struct sim_world *world, struct sim_worker *heir, uint32_t name, uint32_t names,
                  bool shared, const char *owner)
{
    struct sim_client *client = sim_client_of(world, heir);
    redlock_result result;
    redlock_spec spec;
    char text[16];

    heir->name = name;
    heir->names = names;
    heir->fair = false;
    heir->shared = shared;
    heir->adopts = true;
    client->binding = heir;
    sim_client_look(world, client);
    spec = draw_spec(world, heir, text, sizeof text);
    take_operation(world, heir, SIM_ASKING,
                   rl_call_known(&client->engine, RL_OPERATION_ADOPT, &spec, owner, 0, 0, &result, NULL));
    heir->waits = false;
    if (heir->stage != SIM_ASKING)
        heir->adopts = false;
}

/* Nodes that have not answered a renewal of the lock: it may plant the key again when they carry it out. */
static rl_node_set find_renewing(redlock_lock *lock)
{
    rl_node_set renewing = lock->stray;

    for (uint32_t node = 0; node < lock->engine->node_count; node++) {
        struct rl_exchange *exchange = &lock->engine->sessions[node].exchange;

        for (uint32_t i = 0; i < exchange->pending_count; i++) {
            const struct rl_pending *pending = rl_exchange_recent(exchange, exchange->pending_count, i);

            if (pending->kind == RL_COMMAND_EXTEND && pending->subject == lock)
                renewing |= rl_node_set_one(node);
        }
    }
    return renewing;
}

static void hand_on(struct sim_world *world, struct sim_worker *worker)
{
    struct sim_attempt *attempt;
    char owner[REDLOCK_OWNER_MAX + 1];
    struct sim_worker *heir;
    uint32_t name = worker->name, names = worker->names;
    bool shared = worker->shared;

    snprintf(owner, sizeof owner, "%s", rl_lock_owner(worker->lock));
    attempt = &world->attempts[sim_attempt_of(world, owner)];
    attempt->left = true;
    attempt->replanted |= find_renewing(worker->lock);
    sim_judge_left(world, worker);
    free_handle(world, worker);
    heir = find_heir(world, worker);
    adopt(world, heir, name, names, shared, owner);
    if (heir->client != worker->client)
        sim_client_attend(world, sim_client_of(world, heir));
}

/* An owner value that was given back, of which a node has a key all the same: its memory is an older one.
 * NULL: there is none. */
static const char *find_stale(const struct sim_world *world, uint32_t *name)
{
    for (uint32_t node = 0; node < world->plan.node_count; node++)
        for (int i = 0; i < SIM_KEYS_MAX; i++) {
            const struct sim_key *key = &world->nodes[node].memory.keys[i];

            if (strncmp(key->key, "lock-", 5) != 0 || key->type != SIM_TEXT ||
                !world->attempts[sim_attempt_of(world, key->value)].given_back)
                continue;
            *name = (uint32_t)strtoul(key->key + 5, NULL, 10);
            return key->value;
        }
    return NULL;
}

/* Likewise of one that was shared. */
static const char *find_stale_hold(const struct sim_world *world, uint32_t *name)
{
    for (uint32_t node = 0; node < world->plan.node_count; node++)
        for (int i = 0; i < SIM_NAMES_MAX * SIM_HOLDS_MAX; i++) {
            const struct sim_sharing *sharing = &world->nodes[node].memory.sharing[i / SIM_HOLDS_MAX];
            const struct sim_hold *hold = &sharing->holds[i % SIM_HOLDS_MAX];

            if (hold->owner[0] == '\0' || !world->attempts[sim_attempt_of(world, hold->owner)].given_back)
                continue;
            *name = (uint32_t)strtoul(sharing->key + 5, NULL, 10);
            return hold->owner;
        }
    return NULL;
}

/* Somebody has kept a copy of an owner value, and believes that the lock is still to be had by it. */
static bool adopt_stale(struct sim_world *world, struct sim_worker *worker)
{
    char owner[REDLOCK_OWNER_MAX + 1];
    uint32_t name = 0;
    const char *alone = find_stale(world, &name),
               *stale = alone != NULL ? alone : find_stale_hold(world, &name);
    bool shared = alone == NULL;

    if (stale == NULL || !sim_chance(world, 20))
        return false;
    snprintf(owner, sizeof owner, "%s", stale);
    world->attempts[sim_attempt_of(world, owner)].left = true;
    world->stats.stale_adoptions++;
    adopt(world, worker, name, 1U << name, shared, owner);
    return true;
}

/* Likewise of what was given back last, which mostly no node has any more: that a node has nothing of it does
 * not make it free to be taken by this owner value. */
static bool adopt_copy(struct sim_world *world, struct sim_worker *worker)
{
    uint32_t name = (uint32_t)sim_draw(world, 0, world->plan.name_count - 1);
    struct sim_copy copy = world->copies[name];

    if (copy.owner[0] == '\0' || !sim_chance(world, 5))
        return false;
    world->attempts[sim_attempt_of(world, copy.owner)].left = true;
    world->stats.stale_adoptions++;
    adopt(world, worker, name, copy.names, copy.shared, copy.owner);
    return true;
}

static void give_back(struct sim_world *world, struct sim_worker *worker)
{
    struct rl_operation *operation;
    redlock_result result;

    world->stats.releases++;
    sim_judge_ended(world, worker);
    worker->was_valid = rl_time_before(worker->lock->engine->now, worker->valid_until);
    operation = rl_call_release(worker->lock, 0, &result, NULL);
    worker->act_us = INT64_MAX;
    if (operation == NULL) {
        free_handle(world, worker);
        return;
    }
    operation->context = worker;
    worker->operation = operation;
    worker->stage = SIM_RELEASING;
}

static void extend(struct sim_world *world, struct sim_worker *worker)
{
    uint32_t ttl_ms = (uint32_t)sim_draw(world, REDLOCK_TTL_MIN_MS, world->plan.terms_ms[worker->client]);
    redlock_result result;
    struct rl_operation *operation = rl_call_extend(worker->lock, ttl_ms, 0, &result, NULL);

    worker->act_us = worker->give_back_us;
    if (operation != NULL)
        operation->context = worker;
}

/* What the application does with a lock that it has. */
static void use_lock(struct sim_world *world, struct sim_worker *worker)
{
    struct rl_time now = {now_of(sim_client_of(world, worker))};

    if (world->stopping) {
        give_back(world, worker);
    } else if (now.us < worker->give_back_us) {
        extend(world, worker);
    } else if ((worker->lock->thread != NULL || worker->lock->lease.config.renew_every.us == 0) &&
               sim_chance(world, 5)) {
        world->stats.abandoned++;
        worker->alive = false; /* its thread ended, nobody will give it back */
        worker->act_us = INT64_MAX;
    } else if (sim_chance(world, 5) && rl_lease_held(&worker->lock->lease, now)) {
        hand_on(world, worker); /* not what is over: its release is on its way */
    } else {
        give_back(world, worker);
    }
}

void sim_worker_act(struct sim_world *world, struct sim_worker *worker)
{
    struct sim_client *client = sim_client_of(world, worker);

    worker->act_us = INT64_MAX;
    switch (worker->stage) {
    case SIM_IDLE:
        if (world->init_due && !sim_faults_anybody_holds(world)) {
            world->init_due = false;
            init(world, worker);
        } else if (sim_chance(world, 3)) {
            inspect(world, worker);
        } else if (!adopt_stale(world, worker) && !adopt_copy(world, worker)) {
            ask(world, worker);
        }
        return;
    case SIM_ASKING:
        world->stats.canceled += rl_engine_cancel(&client->engine, worker->request) == REDLOCK_OK;
        return;
    case SIM_WON:
        hand_out(world, worker);
        return;
    case SIM_HELD:
        use_lock(world, worker);
        return;
    case SIM_RELEASING:
    case SIM_LOOKING:
        return;
    }
}

/* ---- what the engine says ---- */

/* Its caller may have to wait for the processor before it knows. */
static void win(struct sim_world *world, struct sim_worker *worker)
{
    bool late = sim_plan_has(&world->plan, SIM_FAULT_HAND_OUT) && !world->stopping && sim_chance(world, 10);
    int64_t now_us = now_of(sim_client_of(world, worker));

    world->stats.faults[SIM_FAULT_HAND_OUT] += late;
    if (!late) {
        hand_out(world, worker);
        return;
    }
    worker->stage = SIM_WON;
    worker->won_us = now_us;
    worker->act_us = now_us + sim_draw(world, 0, 1500 * world->plan.ttl_ms);
    if (hides_validity(world))
        hide_validity(worker);
}

/* What was given back was adopted, and not only by what a renewal planted that its first holder had under way
 * when it left the lock to another process. */
static bool comes_back(const redlock_lock *lock, const struct sim_attempt *attempt)
{
    rl_node_set votes = lock->lease.tally.granted & ~attempt->replanted;

    return attempt->given_back && rl_node_set_count(votes) >= rl_quorum(lock->engine->node_count);
}

static void end_adoption(struct sim_world *world, struct sim_worker *worker, struct rl_operation *operation)
{
    redlock_lock *lock = rl_call_adopted(operation);

    worker->adopts = false;
    if (lock != NULL && comes_back(lock, &world->attempts[sim_attempt_of(world, rl_lock_owner(lock))]))
        sim_fail(world, "client %u.%u adopted %c, which had been given back", worker->client + 1,
                 worker->index + 1, 'a' + (int)worker->name);
    if (lock != NULL) {
        world->stats.adopted++;
        hold(world, worker, lock);
        sim_judge_adopted(world, worker);
    } else {
        sim_judge_kept(world, worker->name, sim_attempt_of(world, rl_lock_owner(operation->lock)));
        become_idle(world, worker);
    }
}

static void note_given_back(struct sim_world *world, const struct sim_worker *worker)
{
    struct sim_copy *copy = &world->copies[worker->name];

    *copy = (struct sim_copy){.names = worker->names, .shared = worker->shared};
    snprintf(copy->owner, sizeof copy->owner, "%s", rl_lock_owner(worker->lock));
    world->attempts[sim_attempt_of(world, copy->owner)].given_back = true;
}

static void end_release(struct sim_world *world, struct sim_worker *worker,
                        const struct rl_operation *operation)
{
    bool confirmed = operation->result == REDLOCK_OK && !worker->lock->lease.config.quick_release;

    if (operation->result == REDLOCK_OK && !worker->was_valid)
        sim_fail(world, "client %u.%u released %c, whose time was up, as if it had been held",
                 worker->client + 1, worker->index + 1, 'a' + (int)worker->name);
    if (confirmed && world->plan.bug != SIM_BUG_SAME_OWNER)
        note_given_back(world, worker);
    free_handle(world, worker);
}

void sim_worker_ended(struct sim_world *world, struct sim_worker *worker, struct rl_operation *operation)
{
    struct rl_engine *engine = operation->lock->engine;
    bool acquired = operation->kind == RL_OPERATION_ACQUIRE && operation->result == REDLOCK_OK;

    if (sim_chance(world, 10))
        sim_judge_report(world, operation);
    sim_stands_ended(world, worker, operation);
    if (acquired) {
        win(world, worker);
        return;
    }
    if (operation->kind == RL_OPERATION_INIT && operation->result != REDLOCK_OK)
        world->init_due = true; /* too few nodes heard it: the operator says it again */
    if (operation == worker->operation && operation->kind == RL_OPERATION_ADOPT)
        end_adoption(world, worker, operation);
    else if (operation == worker->operation && operation->kind == RL_OPERATION_RELEASE)
        end_release(world, worker, operation);
    else if (operation == worker->operation)
        become_idle(world, worker);
    if (worker->operation == operation)
        worker->operation = NULL;
    rl_operation_free(engine, operation);
}

/* Planted bug: what was lost is extended all the same. */
static void revive(struct sim_worker *worker)
{
    redlock_lock *lock = worker->lock;
    struct rl_time now = lock->engine->now;
    struct rl_operation *operation;
    redlock_result result;

    lock->lease.config.renew_every = lock->lease.config.max_hold = rl_span_us(0);
    lock->lease.config.max_extensions = 0;
    rl_holding_start(lock, now, rl_time_add(now, lock->lease.config.ttl));
    worker->valid_until = lock->lease.valid_until;
    worker->revived = true;
    operation = rl_call_extend(lock, 0, 0, &result, NULL);
    if (operation != NULL)
        operation->context = worker;
}

static void lose(struct sim_world *world, struct sim_worker *worker)
{
    bool revives = world->plan.bug == SIM_BUG_EXTEND_RECREATES && !worker->revived && !world->stopping;

    world->stats.losses++;
    if (!worker->revived && (!worker->alive || worker->lock->kept_on_nodes))
        sim_judge_left(world, worker); /* it was abandoned, or is kept for others: nobody releases it */
    else if (!worker->revived)
        sim_judge_ended(world, worker);
    if (revives) {
        revive(worker);
        return;
    }
    worker->revived = false;
    rl_engine_loss_told(worker->lock);
    free_handle(world, worker);
}

void sim_worker_look(struct sim_world *world, struct sim_worker *worker)
{
    redlock_lock *lock = worker->lock;

    if (worker->stage != SIM_HELD)
        return;
    if (lock->stage != RL_LOCK_HELD) {
        lose(world, worker);
    } else if (rl_time_before(worker->valid_until, lock->lease.valid_until)) {
        worker->valid_until = lock->lease.valid_until;
        sim_judge_extended(world, worker);
    }
}

void sim_worker_stop(struct sim_world *world, struct sim_worker *worker)
{
    struct sim_client *client = sim_client_of(world, worker);

    worker->act_us = INT64_MAX;
    if (worker->stage == SIM_WON)
        hand_out(world, worker);
    if (worker->stage == SIM_ASKING && !worker->adopts) {
        worker->operation->request =
            ++client->last_request; /* those that block cannot be canceled otherwise */
        rl_engine_cancel(&client->engine, worker->operation->request);
    }
    if (worker->stage == SIM_HELD)
        give_back(world, worker);
}
