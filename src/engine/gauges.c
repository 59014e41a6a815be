/*
 * Looks how things stand; see gauges.h.
 */
#include "engine/gauges.h"

#include "engine/operation.h"
#include "engine/report.h"

static bool is_waiting(const struct rl_operation *operation)
{
    enum rl_acquire_phase phase = operation->acquire.phase;

    if (operation->stands)
        return operation->stand.phase == RL_STAND_RESTING || rl_stand_place(&operation->stand) > 0;
    return phase == RL_ACQUIRE_QUEUED || phase == RL_ACQUIRE_WAITING || phase == RL_ACQUIRE_RESTING;
}

/* Linear in what is under way: nobody asks a thousand times a second. */
static uint64_t count_waiting(struct rl_engine *engine)
{
    uint64_t count = 0;

    for (struct rl_link *link = rl_list_first(&engine->operations); link != NULL;
         link = rl_list_next(&engine->operations, link)) {
        const struct rl_operation *operation = RL_CONTAINER(link, struct rl_operation, link);

        count += operation->kind == RL_OPERATION_ACQUIRE && is_waiting(operation);
    }
    return count;
}

static bool is_connected(const struct rl_engine *engine, uint32_t node)
{
    return engine->sessions[node].state == RL_SESSION_READY;
}

void rl_gauges_client(struct rl_engine *engine)
{
    redlock_stats *stats = &engine->stats;

    stats->waiting = count_waiting(engine);
    stats->connected = stats->eligible = 0;
    for (uint32_t node = 0; node < engine->node_count; node++) {
        stats->connected += is_connected(engine, node);
        stats->eligible += rl_report_eligible(engine, node);
    }
}

/* Our clock counts from no particular day: its distance from the wall clock is part of the offset. */
static int64_t clock_offset_us(const struct rl_engine *engine, uint32_t node)
{
    const struct rl_clock_watch *watch = &engine->guards[node].watch;

    if (!watch->anchored)
        return engine->guards[node].clock_seen ? engine->guards[node].clock_offset_us : INT64_MIN;
    return watch->offset_us + engine->now.us - engine->host.wall_us(engine->host.context);
}

void rl_gauges_node(struct rl_engine *engine, uint32_t node)
{
    redlock_node_stats *stats = &engine->node_stats[node];

    stats->connected = is_connected(engine, node);
    stats->eligible = rl_report_eligible(engine, node);
    stats->clock_offset_us = clock_offset_us(engine, node);
}
