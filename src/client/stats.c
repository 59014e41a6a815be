/*
 * What a client counts: how calls ended, how long they took, what each node answered; and the calls that read it. Nothing here
 * changes what happens.
 */
#include <string.h>

#include "base/histogram.h"
#include "client/client.h"

_Static_assert((int)REDLOCK_HISTOGRAM_BUCKETS == (int)RL_HISTOGRAM_BUCKETS,
               "one histogram, seen from two sides");
_Static_assert((int)RL_CAUSE_CLOCK_RATE < REDLOCK_CAUSES, "every cause has its count");

void rl_stats_add(redlock_histogram *histogram, struct rl_span value)
{
    uint64_t us = value.us > 0 ? (uint64_t)value.us : 0;

    histogram->count++;
    histogram->sum_us += us;
    histogram->buckets[rl_histogram_bucket(us)]++;
}

uint64_t redlock_histogram_bound_us(uint32_t bucket)
{
    return rl_histogram_bound(bucket);
}

/* ---- how calls ended ---- */

static uint64_t *acquisition_count(redlock_stats *stats, redlock_result result)
{
    switch (result) {
    case REDLOCK_OK:
        return &stats->acquired;
    case REDLOCK_BUSY:
        return &stats->busy;
    case REDLOCK_TIMEOUT:
        return &stats->timeouts;
    case REDLOCK_CANCELED:
        return &stats->canceled;
    case REDLOCK_NO_QUORUM:
        return &stats->no_quorum;
    case REDLOCK_TOO_SLOW:
        return &stats->too_slow;
    case REDLOCK_QUARANTINE:
        return &stats->quarantined;
    case REDLOCK_FORBIDDEN:
        return &stats->forbidden;
    default:
        return &stats->failed;
    }
}

void rl_stats_operation(redlock_client *client, const struct rl_operation *operation)
{
    redlock_stats *stats = &client->stats;
    struct rl_span took = rl_time_since(client->clock.now, operation->started);
    bool fine = operation->result == REDLOCK_OK;

    if (operation->kind == RL_OPERATION_ACQUIRE) {
        stats->rounds += operation->acquire.round;
        *acquisition_count(stats, operation->result) += 1;
        rl_stats_add(fine ? &stats->acquire_ok : &stats->acquire_failed, took);
    }
    if (operation->kind == RL_OPERATION_EXTEND) {
        *(fine ? &stats->extended : &stats->extend_failed) += 1;
        rl_stats_add(&stats->extend, took);
    }
    if (operation->kind == RL_OPERATION_RELEASE) {
        *(fine ? &stats->released : &stats->release_failed) += 1;
        rl_stats_add(&stats->release, took);
    }
}

void rl_stats_renewal(redlock_client *client, bool fine, struct rl_span took)
{
    *(fine ? &client->stats.renewed : &client->stats.renew_failed) += 1;
    rl_stats_add(&client->stats.renew, took);
}

void rl_stats_validity(redlock_client *client, struct rl_span left)
{
    int64_t left_ms = rl_span_ms_down(left);
    int64_t *lowest = &client->stats.lowest_validity_ms;

    if (*lowest < 0 || left_ms < *lowest)
        *lowest = left_ms > 0 ? left_ms : 0;
}

/* ---- what nodes answered ---- */

static uint64_t *verdict_count(redlock_node_stats *stats, redlock_verdict verdict)
{
    switch (verdict) {
    case REDLOCK_VERDICT_GRANTED:
        return &stats->granted;
    case REDLOCK_VERDICT_HELD:
        return &stats->held;
    case REDLOCK_VERDICT_FREE:
        return &stats->free;
    case REDLOCK_VERDICT_NOT_HELD:
        return &stats->not_held;
    case REDLOCK_VERDICT_INELIGIBLE:
        return &stats->ineligible;
    case REDLOCK_VERDICT_FAILED:
        return &stats->failed;
    case REDLOCK_VERDICT_SILENT:
    case REDLOCK_VERDICT_PENDING:
        break;
    }
    return &stats->silent;
}

void rl_stats_verdict(redlock_client *client, uint32_t node, redlock_verdict verdict, enum rl_cause cause)
{
    redlock_node_stats *stats = &client->node_stats[node];

    *verdict_count(stats, verdict) += 1;
    if (verdict == REDLOCK_VERDICT_SILENT && cause == RL_CAUSE_NONE)
        cause = RL_CAUSE_TIMED_OUT;
    if (cause != RL_CAUSE_NONE)
        stats->causes[cause]++;
}

/* ---- reading ---- */

/* Linear in what is under way: nobody asks a thousand times a second. */
static uint64_t count_waiting(redlock_client *client)
{
    uint64_t count = 0;

    for (struct rl_link *link = rl_list_first(&client->operations); link != NULL;
         link = rl_list_next(&client->operations, link)) {
        const struct rl_operation *operation = RL_CONTAINER(link, struct rl_operation, link);
        enum rl_acquire_phase phase = operation->acquire.phase;

        count += operation->kind == RL_OPERATION_ACQUIRE && !operation->done &&
                 (phase == RL_ACQUIRE_QUEUED || phase == RL_ACQUIRE_WAITING || phase == RL_ACQUIRE_RESTING);
    }
    return count;
}

static bool is_connected(const redlock_client *client, uint32_t node)
{
    return client->connections[node].state == RL_CONNECTION_READY;
}

redlock_result redlock_client_stats(redlock_client *client, redlock_stats *stats)
{
    RL_NO_CANCELLATION;
    if (!rl_sized_ok(stats, sizeof *stats))
        return REDLOCK_INVALID;
    if (client == NULL || !rl_client_enter(client))
        return REDLOCK_MISUSE;
    rl_driver_refresh(client); /* answers that came while nobody looked count too */
    client->stats.waiting = count_waiting(client);
    client->stats.connected = client->stats.eligible = 0;
    for (uint32_t node = 0; node < client->node_count; node++) {
        client->stats.connected += is_connected(client, node);
        client->stats.eligible += rl_report_eligible(client, node);
    }
    rl_sized_write(stats, &client->stats, sizeof client->stats);
    rl_driver_leave(client); /* they may have made others ask on */
    return REDLOCK_OK;
}

/* Our clock counts from no particular day: its distance from the wall clock is part of the offset. */
static int64_t clock_offset_us(redlock_client *client, uint32_t node)
{
    const struct rl_clock_watch *watch = &client->guards[node].watch;

    if (!watch->anchored)
        return INT64_MIN;
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
    if (node >= client->node_count) {
        rl_client_leave(client);
        return REDLOCK_INVALID;
    }
    rl_driver_refresh(client);
    ours = &client->node_stats[node];
    ours->connected = is_connected(client, node);
    ours->eligible = rl_report_eligible(client, node);
    ours->clock_offset_us = clock_offset_us(client, node);
    rl_sized_write(stats, ours, sizeof *ours);
    rl_driver_leave(client);
    return REDLOCK_OK;
}
