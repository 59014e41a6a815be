/*
 * Counts renewals, verdicts and durations; see stats.h.
 */
#include "engine/stats.h"

#include "base/histogram.h"

void rl_stats_add(redlock_histogram *histogram, struct rl_span value)
{
    uint64_t us = value.us > 0 ? (uint64_t)value.us : 0;

    histogram->count++;
    histogram->sum_us += us;
    histogram->buckets[rl_histogram_bucket(us)]++;
}

void rl_stats_renewal(struct rl_engine *engine, bool fine, struct rl_span took)
{
    *(fine ? &engine->stats.renewed : &engine->stats.renew_failed) += 1;
    rl_stats_add(&engine->stats.renew, took);
}

void rl_stats_validity(struct rl_engine *engine, struct rl_span left)
{
    int64_t left_ms = rl_span_ms_down(left);
    int64_t *lowest = &engine->stats.lowest_validity_ms;

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

void rl_stats_verdict(struct rl_engine *engine, uint32_t node, redlock_verdict verdict, enum rl_cause cause)
{
    redlock_node_stats *stats = &engine->node_stats[node];

    *verdict_count(stats, verdict) += 1;
    if (verdict == REDLOCK_VERDICT_SILENT && cause == RL_CAUSE_NONE)
        cause = RL_CAUSE_TIMED_OUT;
    if (cause != RL_CAUSE_NONE)
        stats->causes[cause]++;
}

uint64_t redlock_histogram_bound_us(uint32_t bucket)
{
    return rl_histogram_bound(bucket);
}
