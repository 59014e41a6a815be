/*
 * Bucket arithmetic for histogram.h.
 */
#include "base/histogram.h"

/* Whether value >= 2^(half/2), without floating point: compare squares. Values are capped below 2^31 first. */
static int reaches_half_power(uint64_t value, uint32_t half)
{
    return value * value >= UINT64_C(1) << half;
}

uint32_t rl_histogram_bucket(uint64_t value_us)
{
    uint64_t capped = value_us > UINT32_MAX / 2 ? UINT32_MAX / 2 : value_us;
    uint32_t bucket;

    if (capped == 0)
        return 0;
    bucket = 2 * (uint32_t)(63 - __builtin_clzll(capped));
    while (bucket < RL_HISTOGRAM_BUCKETS - 1 && reaches_half_power(capped, bucket))
        bucket++;
    return bucket < RL_HISTOGRAM_BUCKETS - 1 ? bucket : RL_HISTOGRAM_BUCKETS - 1;
}

void rl_histogram_add(struct rl_histogram *histogram, struct rl_span value)
{
    uint64_t us = value.us > 0 ? (uint64_t)value.us : 0;

    histogram->count++;
    histogram->sum_us += us;
    histogram->buckets[rl_histogram_bucket(us)]++;
}
