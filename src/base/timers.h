/*
 * A heap of timers inside the things that wait: the earliest is found at once, changing one costs log n. The
 * array belongs to the caller, who sees to it that there is a place for every timer.
 */
#ifndef RL_BASE_TIMERS_H
#define RL_BASE_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

/* Lives inside whatever waits. Zero-initialised is: not set. */
struct rl_timer {
    struct rl_time at;
    uint32_t place; /* in the heap, from 1; 0 while not set */
    bool of_lock;   /* the owner's mark, to know what it lives in */
};

struct rl_timers {
    struct rl_timer **heap; /* heap[0 .. count) */
    uint32_t count;
    uint32_t capacity;
};

/* Sets, moves or (RL_TIME_NEVER) clears a timer. */
void rl_timers_set(struct rl_timers *timers, struct rl_timer *timer, struct rl_time at);

/* The earliest timer; NULL when none is set. */
struct rl_timer *rl_timers_first(const struct rl_timers *timers);

#endif
