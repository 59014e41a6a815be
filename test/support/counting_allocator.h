/*
 * A redlock_allocator that counts what is alive, fails the n-th request when told to, and notices memory that
 * is released with a wrong size, twice, or after something was written before it. Any thread may use it.
 */
#ifndef TEST_SUPPORT_COUNTING_ALLOCATOR_H
#define TEST_SUPPORT_COUNTING_ALLOCATOR_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "redlock.h"

struct counting_allocator {
    redlock_allocator allocator; /* give its address to redlock_options */
    pthread_mutex_t mutex;
    uint64_t requests; /* so far, failed ones too */
    uint64_t failed;
    uint64_t live_blocks;
    uint64_t live_bytes;
    uint64_t mistakes; /* releases of something that was not allocated that way */
    uint64_t fail_at;  /* the request that fails; 0 none */
    bool fail_after;   /* and all after it */
};

struct allocation_counts {
    uint64_t requests, failed, live_blocks, live_bytes, mistakes;
};

void counting_allocator_init(struct counting_allocator *counting);
void counting_allocator_destroy(struct counting_allocator *counting);

/* Fails the nth request from now on (1: the next one), and with `all` every later one too. 0: none. */
void counting_allocator_fail(struct counting_allocator *counting, uint64_t nth, bool all);

struct allocation_counts counting_allocator_counts(struct counting_allocator *counting);

#endif
