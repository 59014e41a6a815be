/*
 * The calls that read statistics, and what is known of a node. What is counted is the engine's.
 */
#include "client/leave.h"
#include "client/poll.h"
#include "engine/facts.h"
#include "engine/gauges.h"
#include "engine/prometheus.h"
#include "engine/sized.h"

redlock_result redlock_client_stats(redlock_client *client, redlock_stats *stats)
{
    RL_NO_CANCELLATION;
    if (!rl_sized_ok(stats, sizeof *stats))
        return REDLOCK_INVALID;
    if (client == NULL || !rl_client_enter(client))
        return REDLOCK_MISUSE;
    rl_poll_refresh(client); /* answers that came while nobody looked count too */
    rl_gauges_client(&client->engine);
    rl_sized_write(stats, &client->engine.stats, sizeof client->engine.stats);
    rl_leave_sending(client); /* they may have made others ask on */
    return REDLOCK_OK;
}

/* Enters a client that has such a node. */
static redlock_result enter_for_node(redlock_client *client, uint32_t node)
{
    if (client == NULL || !rl_client_enter(client))
        return REDLOCK_MISUSE;
    if (node < client->engine.node_count)
        return REDLOCK_OK;
    rl_leave(client);
    return REDLOCK_INVALID;
}

redlock_result redlock_client_node_stats(redlock_client *client, uint32_t node, redlock_node_stats *stats)
{
    RL_NO_CANCELLATION;
    redlock_result result;

    if (!rl_sized_ok(stats, sizeof *stats))
        return REDLOCK_INVALID;
    result = enter_for_node(client, node);
    if (result != REDLOCK_OK)
        return result;
    rl_poll_refresh(client);
    rl_client_now(client); /* right before the wall clock is read */
    rl_gauges_node(&client->engine, node);
    rl_sized_write(stats, &client->engine.node_stats[node], sizeof *stats);
    rl_leave_sending(client);
    return REDLOCK_OK;
}

redlock_result redlock_client_node_facts(redlock_client *client, uint32_t node, redlock_node_facts *facts)
{
    RL_NO_CANCELLATION;
    redlock_node_facts ours;
    redlock_result result;

    if (!rl_sized_ok(facts, sizeof ours))
        return REDLOCK_INVALID;
    result = enter_for_node(client, node);
    if (result != REDLOCK_OK)
        return result;
    rl_facts_tell(&client->engine, node, &ours);
    ours.certificate_ends_s = rl_stream_certificate_end(&client->connections[node].stream);
    rl_sized_write(facts, &ours, sizeof ours);
    rl_leave(client);
    return REDLOCK_OK;
}

/* ---- as text ---- */

static redlock_result take_snapshot(redlock_client *client, struct rl_snapshot *snapshot)
{
    snapshot->client = (redlock_stats)REDLOCK_STATS_INIT;
    redlock_result result = redlock_client_stats(client, &snapshot->client);

    for (uint32_t node = 0; result == REDLOCK_OK && node < snapshot->node_count; node++) {
        snapshot->nodes[node] = (redlock_node_stats)REDLOCK_NODE_STATS_INIT;
        result = redlock_client_node_stats(client, node, &snapshot->nodes[node]);
    }
    return result;
}

redlock_result redlock_stats_prometheus(redlock_client *client, const redlock_label *labels,
                                        uint32_t label_count, char *bytes, size_t size, size_t *length)
{
    RL_NO_CANCELLATION;
    uint32_t node_count = redlock_client_node_count(client);
    size_t needed = sizeof(struct rl_snapshot) + node_count * sizeof(redlock_node_stats);

    if (length == NULL || (bytes == NULL && size > 0) || !rl_prometheus_labels_ok(labels, label_count))
        return REDLOCK_INVALID;
    *length = 0;
    if (client == NULL)
        return REDLOCK_MISUSE;
    const redlock_allocator *allocator = &client->engine.config.allocator;
    struct rl_snapshot *snapshot = allocator->allocate(allocator->context, needed);
    if (snapshot == NULL)
        return REDLOCK_NOMEM;
    snapshot->engine = &client->engine;
    snapshot->node_count = node_count;
    redlock_result result = take_snapshot(client, snapshot);
    if (result == REDLOCK_OK) {
        *length = rl_prometheus_write(snapshot, labels, label_count, bytes, size);
        result = *length < size ? REDLOCK_OK : REDLOCK_INVALID;
    }
    allocator->release(allocator->context, snapshot, needed);
    return result;
}
