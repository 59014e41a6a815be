/*
 * Where durations are counted: buckets that grow by the square root of two. Bucket i is for what is below
 * 2^(i/2) microseconds and not below the bound of the bucket before it; the last one is for all the rest. It
 * keeps no counts.
 */
#ifndef RL_BASE_HISTOGRAM_H
#define RL_BASE_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

enum { RL_HISTOGRAM_BUCKETS = 66 }; /* the last bound but one is 2^32 us, more than an hour */

/* The bucket for a value, from 0. */
uint32_t rl_histogram_bucket(uint64_t value_us);

/* The smallest value that is not in this bucket or an earlier one; UINT64_MAX for the last. */
uint64_t rl_histogram_bound(uint32_t bucket);

#endif
