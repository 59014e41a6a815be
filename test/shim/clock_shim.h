/*
 * What the clock shim and the tests that steer it share: a small file in a node's folder, mapped by both.
 */
#ifndef TEST_SHIM_CLOCK_SHIM_H
#define TEST_SHIM_CLOCK_SHIM_H

#include <stdatomic.h>
#include <stdint.h>

#define CLOCK_SHIM_FILE "clock"

/* The wall clock that the node sees: the real one, plus offset, plus rate times what passed since. */
struct clock_shim {
    atomic_uint sequence; /* odd while it is being written */
    _Atomic int64_t offset_us;
    _Atomic int64_t rate_ppm;
    _Atomic int64_t since_us;
};

static inline int64_t clock_shim_shown(struct clock_shim *shim, int64_t real_us)
{
    unsigned before, after;
    int64_t shown_us;

    do {
        before = atomic_load(&shim->sequence);
        shown_us = real_us + atomic_load(&shim->offset_us) +
                   (real_us - atomic_load(&shim->since_us)) * atomic_load(&shim->rate_ppm) / 1000000;
        after = atomic_load(&shim->sequence);
    } while (before != after || before % 2 != 0);
    return shown_us;
}

#endif
