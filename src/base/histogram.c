/*
 * Bucket arithmetic for histogram.h.
 */
#include "base/histogram.h"

/* Whether value >= 2^(half/2), without floating point: compare squares, which fit as long as the value is
 * below 2^32. */
static bool reaches_half_power(uint64_t value, uint32_t half)
{
    return half < 64 && value * value >= UINT64_C(1) << half;
}

uint32_t rl_histogram_bucket(uint64_t value_us)
{
    uint32_t bucket;

    if (value_us == 0)
        return 0;
    if (value_us > UINT32_MAX)
        return RL_HISTOGRAM_BUCKETS - 1;
    bucket = 2 * (uint32_t)(63 - __builtin_clzll(value_us));
    while (bucket < RL_HISTOGRAM_BUCKETS - 1 && reaches_half_power(value_us, bucket))
        bucket++;
    return bucket;
}

/* The root of 2^bucket, rounded up: durations are whole microseconds. */
uint64_t rl_histogram_bound(uint32_t bucket)
{
    uint64_t low, high;

    if (bucket >= RL_HISTOGRAM_BUCKETS - 1)
        return UINT64_MAX;
    low = UINT64_C(1) << bucket / 2;
    high = 2 * low;
    if (bucket % 2 == 0)
        return low;
    while (low + 1 < high) {
        uint64_t middle = low + (high - low) / 2;

        if (reaches_half_power(middle, bucket))
            high = middle;
        else
            low = middle;
    }
    return high;
}
