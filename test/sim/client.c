/*
 * A client of the simulated world: a real engine, the host it needs, and its timers. What its application
 * does is in worker.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/report.h"
#include "engine/vote.h"
#include "sim/world.h"
#include "wire/node_url.h"

void sim_client_look(struct sim_world *world, struct sim_client *client)
{
    rl_engine_look(&client->engine, (struct rl_time){sim_clock_at(&client->clock, world->now_us)});
}

/* ---- the host ---- */

/* Memory is short for a while, not for every byte. */
static void *allocate(void *context, size_t size)
{
    struct sim_client *client = context;
    void *memory;

    if (client->starved_until_us > client->world->now_us && sim_chance(client->world, 50))
        return NULL;
    memory = malloc(size);
    if (memory == NULL)
        abort();
    client->allocations++;
    return memory;
}

static void release(void *context, void *memory, size_t size)
{
    (void)size;
    ((struct sim_client *)context)->allocations--;
    free(memory);
}

static int64_t wall_us(void *context)
{
    struct sim_client *client = context;

    return sim_clock_at(&client->wall, client->world->now_us);
}

static uint32_t make_attempt(struct sim_client *client)
{
    struct sim_world *world = client->world;

    if (world->attempt_count >= world->attempt_capacity) {
        world->attempt_capacity = world->attempt_capacity == 0 ? 1024 : 2 * world->attempt_capacity;
        world->attempts = realloc(world->attempts, world->attempt_capacity * sizeof *world->attempts);
        if (world->attempts == NULL)
            abort();
    }
    world->attempts[world->attempt_count] =
        (struct sim_attempt){.client = client->index, .asked_us = world->now_us};
    return world->attempt_count++;
}

/* The random part of an owner value is the number of the attempt, so that the judge knows whose it is. */
static bool draw(void *context, uint8_t *bytes, size_t length)
{
    struct sim_client *client = context;
    struct sim_world *world = client->world;

    if (length != RL_OWNER_RANDOM) {
        for (size_t i = 0; i < length; i++)
            bytes[i] = (uint8_t)sim_draw(world, 0, 255);
        return true;
    }
    if (world->plan.bug != SIM_BUG_SAME_OWNER || client->begun || client->attempt == 0)
        client->attempt = make_attempt(client);
    client->begun = false;
    memset(bytes, 0, length);
    for (uint32_t i = 0, number = client->attempt; i < 4; i++, number >>= 8)
        bytes[length - 1 - i] = (uint8_t)number;
    return true;
}

static void trace(void *context, const char *line)
{
    struct sim_client *client = context;

    sim_say(client->world, "client %u | %s", client->index + 1, line);
}

static void write_log(void *context, redlock_log_level level, const char *line)
{
    (void)level;
    trace(context, line);
}

static void *bind_thread(void *context)
{
    struct sim_client *client = context;

    return client->binding;
}

static bool thread_lives(void *context, const void *thread)
{
    (void)context;
    return ((const struct sim_worker *)thread)->alive;
}

static void forget_thread(void *context, void *thread)
{
    (void)context;
    (void)thread;
}

/* ---- beginning and end ---- */

static struct rl_config config_of(const struct sim_plan *plan, uint32_t index)
{
    return (struct rl_config){
        .key_prefix = "",
        .client_name = "sim",
        .host = "h",
        .login = "u",
        .pid = index + 1,
        .guarded = !plan->plain,
        .max_ttl = rl_span_ms(plan->terms_ms[index]),
        .drift_ppm = plan->drift_ppm,
        .connect_timeout = rl_span_ms(plan->connect_timeout_ms),
        .node_timeout = rl_span_ms(plan->node_timeout_ms),
        .retry_min = rl_span_ms(plan->retry_min_ms),
        .retry_max = rl_span_ms(plan->retry_max_ms),
    };
}

static enum rl_planted planted_bug(enum sim_bug bug)
{
    switch (bug) {
    case SIM_BUG_NOT_REARMED:
        return RL_PLANTED_NOT_REARMED;
    case SIM_BUG_INELIGIBLE_VOTE:
        return RL_PLANTED_INELIGIBLE_VOTE;
    case SIM_BUG_ADOPT_QUARANTINED:
        return RL_PLANTED_ADOPT_INELIGIBLE;
    case SIM_BUG_INIT_CLOCK:
        return RL_PLANTED_INIT_CLOCK;
    case SIM_BUG_HIDDEN_LOSS:
        return RL_PLANTED_HIDDEN_LOSS;
    case SIM_BUG_LATE_RELEASE:
        return RL_PLANTED_LATE_RELEASE;
    case SIM_BUG_SILENT_NOT_ASKED:
        return RL_PLANTED_SILENT_NOT_ASKED;
    case SIM_BUG_HANDED_ON_ARRIVAL:
        return RL_PLANTED_HANDED_ON_ARRIVAL;
    case SIM_BUG_HANDED_INELIGIBLE:
        return RL_PLANTED_HANDED_INELIGIBLE;
    case SIM_BUG_NEVER_GIVES_WAY:
        return RL_PLANTED_NEVER_GIVES_WAY;
    case SIM_BUG_LEAVES_TO_GIVE_WAY:
        return RL_PLANTED_LEAVES_TO_GIVE_WAY;
    case SIM_BUG_GIVEN_BACK_COUNTS:
        return RL_PLANTED_GIVEN_BACK_COUNTS;
    case SIM_BUG_PLACE_NOT_KEPT:
        return RL_PLANTED_PLACE_NOT_KEPT;
    case SIM_BUG_EXPIRY_UNSEEN:
        return RL_PLANTED_EXPIRY_UNSEEN;
    case SIM_BUG_SLOTS_COUNTED:
        return RL_PLANTED_SLOTS_COUNTED;
    case SIM_BUG_SLOT_OF_FIRST_VOTE:
        return RL_PLANTED_SLOT_OF_FIRST_VOTE;
    case SIM_BUG_QUEUE_FORGOTTEN:
        return RL_PLANTED_QUEUE_FORGOTTEN;
    default:
        return RL_PLANTED_NONE;
    }
}

static void add_nodes(struct sim_world *world, struct rl_engine *engine)
{
    for (uint32_t node = 0; node < world->plan.node_count; node++) {
        struct rl_node_url url;
        char text[64];
        int length = snprintf(text, sizeof text, "redis://10.0.0.%u:6379%s", node + 1,
                              world->plan.durable ? "?durable=yes" : "");

        if (rl_node_url_parse(text, (size_t)length, &url) != NULL || !rl_engine_add_node(engine, &url))
            abort();
    }
}

static int64_t draw_rate(struct sim_world *world)
{
    int64_t most = world->plan.rate_max_ppm;

    return sim_draw(world, -most, most);
}

void sim_client_start(struct sim_world *world, uint32_t index)
{
    struct sim_client *client = &world->clients[index];
    struct rl_config config = config_of(&world->plan, index);
    struct rl_host host = {.memory = {allocate, release, client},
                           .wall_us = wall_us,
                           .random = draw,
                           .log = world->transcript != NULL ? write_log : NULL,
                           .trace = world->transcript != NULL ? trace : NULL,
                           .thread_bind = bind_thread,
                           .thread_lives = thread_lives,
                           .thread_forget = forget_thread,
                           .context = client};
    int64_t skew = world->plan.wall_skew_us;
    int64_t rate = draw_rate(world); /* drawn in this order by every compiler */

    client->world = world;
    client->index = index;
    sim_clock_set(&client->clock, 0, sim_draw(world, 1000000, INT64_C(1000000000000)), rate);
    sim_clock_set(&client->wall, 0, INT64_C(1700000000000000) + sim_draw(world, -skew, skew), 0);
    client->wake_us = INT64_MAX;
    if (!rl_engine_init(&client->engine, &config, &host, world->plan.node_count))
        abort();
    client->engine.planted = planted_bug(world->plan.bug);
    add_nodes(world, &client->engine);
    if (!rl_engine_seed(&client->engine))
        abort();
    if (world->plan.bug == SIM_BUG_NO_DRIFT)
        client->engine.lease_terms.drift_ppm = 0;
    sim_client_look(world, client);
    rl_engine_start(&client->engine);
    for (uint32_t i = 0; i < world->plan.worker_count; i++) {
        client->workers[i] = (struct sim_worker){.index = i, .client = index};
        sim_worker_start(world, &client->workers[i]);
    }
    sim_client_attend(world, client);
}

void sim_client_end(struct sim_world *world, struct sim_client *client)
{
    struct rl_engine *engine = &client->engine;
    struct rl_link *link;

    client->starved_until_us = 0;
    for (uint32_t i = 0; i < world->plan.worker_count; i++)
        sim_worker_unhide(world, &client->workers[i]);
    world->stats.raises += engine->stats.fence_rounds;
    rl_engine_cancel_all(engine);
    rl_engine_leave_locks(engine);
    while ((link = rl_list_first(&engine->ended)) != NULL)
        rl_operation_free(engine, RL_CONTAINER(link, struct rl_operation, link));
    for (uint32_t i = 0; i < world->plan.worker_count; i++) {
        struct sim_worker *worker = &client->workers[i];

        if (worker->stage == SIM_WON)
            rl_operation_free(engine, worker->operation);
        if (worker->lock != NULL)
            rl_engine_free_handle(worker->lock);
    }
    for (uint32_t node = 0; node < world->plan.node_count; node++)
        sim_network_drop(world, client, node);
    rl_engine_close(engine);
    rl_engine_tear_down(engine);
    rl_engine_free(engine);
    if (client->allocations != 0 && world->failure[0] == '\0')
        sim_fail(world, "leak: client %u has %llu pieces of memory when all is over", client->index + 1,
                 (unsigned long long)client->allocations);
}

/* ---- what comes out ---- */

static bool take_ended(struct sim_world *world, struct sim_client *client)
{
    struct rl_link *link = rl_list_first(&client->engine.ended);

    if (link == NULL)
        return false;
    rl_list_remove(link);
    sim_worker_ended(world, RL_CONTAINER(link, struct rl_operation, link)->context,
                     RL_CONTAINER(link, struct rl_operation, link));
    return true;
}

static bool take_notice(struct sim_world *world, struct sim_client *client)
{
    struct rl_link *link = rl_list_first(&client->engine.notices);
    redlock_lock *lock;

    if (link == NULL)
        return false;
    lock = RL_CONTAINER(link, redlock_lock, notice);
    rl_list_remove(link);
    lock->lost_due = lock->renewed_due = false;
    sim_worker_look(world, lock->context);
    return true;
}

static bool take_turned(struct sim_world *world, struct sim_client *client)
{
    struct rl_link *link = rl_list_first(&client->engine.turned);

    if (link == NULL)
        return false;
    rl_list_remove(link);
    world->stats.queued++;
    return true;
}

static void note_ready(struct sim_world *world, struct sim_client *client)
{
    for (uint32_t node = 0; node < world->plan.node_count; node++)
        if (client->connections[node].ready_us == 0 &&
            client->engine.sessions[node].state == RL_SESSION_READY) {
            client->connections[node].ready_us = world->now_us;
            sim_wakes_connected(world, client, node);
        }
}

static void note_votes(struct sim_world *world, struct sim_client *client)
{
    for (uint32_t node = 0; node < world->plan.node_count; node++) {
        int64_t *votes_us = &client->connections[node].votes_us;

        if (!rl_vote_counts(&client->engine, node))
            *votes_us = INT64_MAX;
        else if (*votes_us == INT64_MAX)
            *votes_us = world->now_us;
    }
}

void sim_client_attend(struct sim_world *world, struct sim_client *client)
{
    do {
        note_ready(world, client);
        note_votes(world, client);
        sim_network_carry(world, client);
        for (uint32_t i = 0; i < world->plan.worker_count; i++) {
            sim_wakes_look(world, client, &client->workers[i]);
            sim_stands_look(world, client, &client->workers[i]);
            sim_worker_look(world, &client->workers[i]);
            sim_losses_look(world, &client->workers[i]);
        }
    } while (take_ended(world, client) || take_notice(world, client) || take_turned(world, client) ||
             (client->engine.wants.close | client->engine.wants.open | client->engine.wants.write) != 0);
    sim_client_plan_wake(world, client);
}

/* ---- timers ---- */

static int64_t next_due_us(const struct sim_world *world, const struct sim_client *client)
{
    int64_t at_us = rl_engine_due(&client->engine).us;

    for (uint32_t i = 0; i < world->plan.worker_count; i++)
        if (client->workers[i].act_us < at_us)
            at_us = client->workers[i].act_us;
    return at_us;
}

void sim_client_run(struct sim_world *world, struct sim_client *client)
{
    struct rl_engine *engine = &client->engine;
    bool burst; /* all threads that have nothing to do ask at once */

    client->door = RL_EVENT_TIMER;
    for (int turn = 0; next_due_us(world, client) <= engine->now.us && world->failure[0] == '\0'; turn++) {
        if (turn > 100) {
            sim_fail(world, "client %u: a timer does not move", client->index + 1);
            return;
        }
        /* A thread may call before anybody has looked at what is due. */
        if (rl_engine_due(engine).us <= engine->now.us && (turn > 0 || !sim_chance(world, 20)))
            rl_engine_tick(engine);
        burst = sim_chance(world, 20);
        for (uint32_t i = 0; i < world->plan.worker_count; i++)
            if (client->workers[i].act_us <= engine->now.us ||
                (burst && client->workers[i].stage == SIM_IDLE && client->workers[i].act_us != INT64_MAX))
                sim_worker_act(world, &client->workers[i]);
        sim_client_attend(world, client);
    }
}

void sim_client_plan_wake(struct sim_world *world, struct sim_client *client)
{
    int64_t due_us = next_due_us(world, client), wake_us;

    if (due_us == INT64_MAX) {
        client->wake_us = INT64_MAX;
        return;
    }
    wake_us = sim_clock_when(&client->clock, due_us);
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
    for (uint32_t i = 0; i < world->plan.worker_count; i++)
        sim_worker_unhide(world, &client->workers[i]);
    sim_client_attend(world, client);
}
