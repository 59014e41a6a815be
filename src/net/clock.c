/*
 * Reads the system's clocks; see clock.h.
 */
#include "net/clock.h"

#include <time.h>

static int64_t read_us(clockid_t which)
{
    struct timespec at;

    clock_gettime(which, &at);
    return (int64_t)at.tv_sec * 1000000 + at.tv_nsec / 1000;
}

void rl_clock_start(struct rl_clock *clock)
{
    clock->boot_us = read_us(CLOCK_BOOTTIME);
    clock->raw_us = read_us(CLOCK_MONOTONIC_RAW);
    clock->now = (struct rl_time){1}; /* not 0, so that a zeroed time is always in the past */
}

struct rl_time rl_clock_now(struct rl_clock *clock)
{
    int64_t boot_us = read_us(CLOCK_BOOTTIME), raw_us = read_us(CLOCK_MONOTONIC_RAW);
    int64_t boot_step = boot_us - clock->boot_us, raw_step = raw_us - clock->raw_us;

    clock->boot_us = boot_us;
    clock->raw_us = raw_us;
    clock->now = rl_time_add(clock->now, rl_span_us(boot_step > raw_step ? boot_step : raw_step));
    return clock->now;
}

int64_t rl_clock_wall_us(void)
{
    return read_us(CLOCK_REALTIME);
}
