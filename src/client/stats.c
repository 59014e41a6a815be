/*
 * The calls that read statistics. What is counted is the engine's.
 */
#include "base/histogram.h"
#include "client/client.h"
#include "engine/report.h"

uint64_t redlock_histogram_bound_us(uint32_t bucket)
{
    return rl_histogram_bound(bucket);
}

/* Linear in what is under way: nobody asks a thousand times a second. */
static uint64_t count_waiting(redlock_client *client)
{
    uint64_t count = 0;

    for (struct rl_link *link = rl_list_first(&client->engine.operations); link != NULL;
         link = rl_list_next(&client->engine.operations, link)) {
        const struct rl_operation *operation = RL_CONTAINER(link, struct rl_operation, link);
        enum rl_acquire_phase phase = operation->acquire.phase;

        count += operation->kind == RL_OPERATION_ACQUIRE &&
                 (phase == RL_ACQUIRE_QUEUED || phase == RL_ACQUIRE_WAITING || phase == RL_ACQUIRE_RESTING);
    }
    return count;
}

static bool is_connected(const redlock_client *client, uint32_t node)
{
    return client->engine.sessions[node].state == RL_SESSION_READY;
}

redlock_result redlock_client_stats(redlock_client *client, redlock_stats *stats)
{
    RL_NO_CANCELLATION;
    if (!rl_sized_ok(stats, sizeof *stats))
        return REDLOCK_INVALID;
    if (client == NULL || !rl_client_enter(client))
        return REDLOCK_MISUSE;
    rl_driver_refresh(client); /* answers that came while nobody looked count too */
    client->engine.stats.waiting = count_waiting(client);
    client->engine.stats.connected = client->engine.stats.eligible = 0;
    for (uint32_t node = 0; node < client->engine.node_count; node++) {
        client->engine.stats.connected += is_connected(client, node);
        client->engine.stats.eligible += rl_report_eligible(&client->engine, node);
    }
    rl_sized_write(stats, &client->engine.stats, sizeof client->engine.stats);
    rl_driver_leave(client); /* they may have made others ask on */
    return REDLOCK_OK;
}

/* Our clock counts from no particular day: its distance from the wall clock is part of the offset. */
static int64_t clock_offset_us(redlock_client *client, uint32_t node)
{
    const struct rl_clock_watch *watch = &client->engine.guards[node].watch;

    if (!watch->anchored)
        return client->engine.guards[node].clock_seen ? client->engine.guards[node].clock_offset_us
                                                      : INT64_MIN;
    return watch->offset_us + rl_client_now(client).us - rl_clock_wall_us();
}

redlock_result redlock_client_node_stats(redlock_client *client, uint32_t node, redlock_node_stats *stats)
{
    RL_NO_CANCELLATION;
    redlock_node_stats *ours;

    if (!rl_sized_ok(stats, sizeof *stats))
        return REDLOCK_INVALID;
    if (client == NULL || !rl_client_enter(client))
        return REDLOCK_MISUSE;
    if (node >= client->engine.node_count) {
        rl_client_leave(client);
        return REDLOCK_INVALID;
    }
    rl_driver_refresh(client);
    ours = &client->engine.node_stats[node];
    ours->connected = is_connected(client, node);
    ours->eligible = rl_report_eligible(&client->engine, node);
    ours->clock_offset_us = clock_offset_us(client, node);
    rl_sized_write(stats, ours, sizeof *ours);
    rl_driver_leave(client);
    return REDLOCK_OK;
}
