/*
 * Runs one seed from the first event to the last: builds the world, lets things happen in order of true time,
 * ends the faults, stops the clients and has everything judged.
 */
#include "sim/world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void sim_say(struct sim_world *world, const char *format, ...)
{
    va_list arguments;

    if (world->transcript == NULL)
        return;
    fprintf(world->transcript, "[%9.3f] ", (double)world->now_us / 1000);
    va_start(arguments, format);
    vfprintf(world->transcript, format, arguments);
    va_end(arguments);
    fputc('\n', world->transcript);
}

void sim_fail(struct sim_world *world, const char *format, ...)
{
    va_list arguments;

    if (world->failure[0] != '\0')
        return;
    va_start(arguments, format);
    vsnprintf(world->failure, sizeof world->failure, format, arguments);
    va_end(arguments);
    sim_say(world, "FAILED: %s", world->failure);
}

/* The operator's word that nothing can be held on a fleet that has just been set up. */
static void vouch(struct sim_world *world, struct sim_node *node)
{
    const struct sim_plan *plan = &world->plan;
    int64_t now_us = sim_clock_at(&node->clock, 0);
    struct rl_admission admission = {
        .replid = "",
        .fresh_id = "0000000000000001",
        .quarantine_ms = rl_span_ms_up(rl_guard_quarantine(rl_span_ms(plan->max_ttl_ms))),
        .word = "init",
        .floor = rl_guard_high(INT64_C(1700000000000000), 0),
        .known = "",
    };
    char bytes[8192], answer[SIM_REPLY_SIZE];
    struct rl_writer writer = rl_writer_on(bytes, sizeof bytes), reply = rl_writer_on(answer, sizeof answer);

    rl_guard_run(admission.run, node->run_id,
                 world->plan.bug == SIM_BUG_PROMOTION_UNSEEN ? "" : node->replid);
    rl_guard_write_admit(&writer, &admission, true);
    sim_node_run(node, now_us, writer.bytes, writer.length, &reply);
}

static void start_node(struct sim_world *world, uint32_t index)
{
    assert(index < SIM_NODES_MAX);
    struct sim_node *node = &world->nodes[index];
    int64_t skew = world->plan.node_skew_us, most = world->plan.rate_max_ppm;

    node->bug = world->plan.bug;
    node->wrote = sim_judge_wrote;
    node->removing = sim_wakes_removing;
    node->asked = sim_judge_asked;
    node->released = sim_judge_released;
    node->tell = sim_network_tell;
    node->publish = sim_network_publish;
    node->older = world->plan.older << 1; /* peers count from 1 */
    node->own_first = (world->plan.seed + index) % 2 == 0;
    node->arm_late = sim_network_arm_late;
    node->old = rl_node_set_has(world->plan.old, index);
    node->tracking.refused = rl_node_set_has(world->plan.untold, index);
    node->context = world;
    int64_t rate = sim_draw(world, -most, most); /* drawn in this order by every compiler */
    sim_clock_set(&node->clock, 0, INT64_C(1700000000000000) + sim_draw(world, -skew, skew), rate);
    sim_node_start(node, ++world->serial, 0);
    if (world->plan.started_by_hand && !world->plan.plain && !world->plan.init_by_call)
        vouch(world, node);
}

static void happen(struct sim_world *world, const struct sim_event *event)
{
    struct sim_client *client = &world->clients[event->client];

    switch (event->kind) {
    case SIM_WAKE:
        if (event->at_us != client->wake_us)
            return;
        client->wake_us = INT64_MAX;
        if (client->paused_until_us <= world->now_us) {
            sim_client_look(world, client);
            sim_client_run(world, client);
        }
        sim_client_plan_wake(world, client);
        return;
    case SIM_START:
        sim_node_start(&world->nodes[event->node], ++world->serial, world->now_us);
        sim_say(world, "node %u is back", event->node + 1);
        return;
    case SIM_FAULT:
        sim_faults_event(world);
        return;
    case SIM_FOREIGN:
        sim_faults_foreign(world);
        return;
    default:
        sim_network_event(world, event);
    }
}

/* Lets things happen until then. */
static void run_until(struct sim_world *world, int64_t until_us)
{
    struct sim_event event;

    while (world->failure[0] == '\0' && world->queue.count > 0 && world->queue.heap[0].at_us <= until_us) {
        sim_queue_pop(&world->queue, &event);
        world->now_us = event.at_us;
        world->stats.steps++;
        happen(world, &event);
    }
    if (world->failure[0] == '\0')
        world->now_us = until_us;
}

static void begin(struct sim_world *world, const struct sim_plan *plan, FILE *transcript)
{
    struct sim_queue queue = world->queue;
    struct sim_attempt *attempts = world->attempts;
    uint32_t attempt_capacity = world->attempt_capacity;
    struct sim_stats stats = world->stats;
    redlock_details *details = world->details;

    memset(world, 0, sizeof *world);
    world->queue = queue;
    world->queue.count = 0;
    world->queue.serial = 0;
    world->attempts = attempts;
    world->attempt_capacity = attempt_capacity;
    world->attempt_count = 1; /* 0 is nobody's */
    world->stats = stats;
    world->stats.plain_seeds += plan->plain;
    world->stats.older_seeds += plan->older != 0;
    world->stats.mixed_seeds += plan->longest_ms > plan->max_ttl_ms;
    world->details = details;
    world->transcript = transcript;
    world->plan = *plan;
    world->prng = rl_prng_seed(plan->seed ^ UINT64_C(0x5eed));
}

/* Frees what is still under way. */
static void end(struct sim_world *world)
{
    struct sim_event event;

    world->plan.faults &= ~(1U << SIM_FAULT_STRAY);
    world->stopping = true;
    for (uint32_t i = 0; i < world->plan.client_count; i++)
        sim_client_end(world, &world->clients[i]);
    while (sim_queue_pop(&world->queue, &event))
        if (event.kind == SIM_STRAY || event.kind == SIM_ARM)
            sim_network_free(world, event.message);
}

bool sim_run(struct sim_world *world, const struct sim_plan *plan, FILE *transcript)
{
    begin(world, plan, transcript);
    for (uint32_t node = 0; node < world->plan.node_count; node++)
        start_node(world, node);
    world->init_due = world->plan.started_by_hand && world->plan.init_by_call && !world->plan.plain;
    for (uint32_t client = 0; client < world->plan.client_count; client++)
        sim_client_start(world, client);
    sim_faults_start(world);
    if (world->plan.foreign)
        sim_faults_foreign(world);
    run_until(world, world->plan.faults_end_us);
    sim_faults_end(world);
    world->plan.stop_us += world->set_back_us;
    world->plan.end_us += world->set_back_us;
    run_until(world, world->plan.stop_us);
    if (world->failure[0] == '\0')
        sim_judge_calm(world);
    world->stopping = true;
    for (uint32_t client = 0; client < world->plan.client_count && world->failure[0] == '\0'; client++)
        sim_client_stop(world, &world->clients[client]);
    run_until(world, world->plan.end_us);
    world->stats.virtual_us += (uint64_t)world->now_us;
    for (uint32_t node = 0; node < world->plan.node_count; node++) {
        world->stats.batches += world->nodes[node].batches;
        world->stats.mends += world->nodes[node].repairs;
        world->stats.passed_over += world->nodes[node].passed_over;
    }
    if (world->failure[0] == '\0')
        sim_judge_end(world);
    end(world);
    return world->failure[0] == '\0';
}
