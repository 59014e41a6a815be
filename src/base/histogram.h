/*
 * Counts durations in buckets that grow by the square root of two: bucket i holds what is below 2^(i/2)
 * microseconds and not below the bucket before it; the last one holds all the rest.
 */
#ifndef RL_BASE_HISTOGRAM_H
#define RL_BASE_HISTOGRAM_H

#include <stdint.h>

#include "base/time.h"

enum { RL_HISTOGRAM_BUCKETS = 40 };

struct rl_histogram {
    uint64_t count;
    uint64_t sum_us;
    uint64_t buckets[RL_HISTOGRAM_BUCKETS];
};

void rl_histogram_add(struct rl_histogram *histogram, struct rl_span value);

/* The bucket for a value, from 0. */
uint32_t rl_histogram_bucket(uint64_t value_us);

#endif
