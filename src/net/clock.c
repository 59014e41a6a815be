/*
 * Reads the system's clocks; see clock.h. The larger of two advances is taken from mark to mark, not from
 * reading to reading: the moment that passes between looking at the one and at the other would add up.
 */
#include "net/clock.h"

#include <time.h>

enum {
    MARK_EVERY_US = 100000,
    SHARP_US = 20, /* both clocks read within this are taken as read at once */
    SHARP_TRIES = 5
};

static int64_t read_us(clockid_t which)
{
    struct timespec at;

    clock_gettime(which, &at);
    return (int64_t)at.tv_sec * 1000000 + at.tv_nsec / 1000;
}

/* Both at the same moment, unless the system interrupts us every time. */
static void read_both(int64_t *boot_us, int64_t *raw_us)
{
    for (int i = 0; i < SHARP_TRIES; i++) {
        *raw_us = read_us(CLOCK_MONOTONIC_RAW);
        *boot_us = read_us(CLOCK_BOOTTIME);
        if (read_us(CLOCK_MONOTONIC_RAW) - *raw_us <= SHARP_US)
            return;
    }
}

static struct rl_time advance(const struct rl_clock *clock, int64_t boot_us, int64_t raw_us)
{
    int64_t boot_step = boot_us - clock->boot_us, raw_step = raw_us - clock->raw_us;

    return rl_time_add(clock->mark, rl_span_us(boot_step > raw_step ? boot_step : raw_step));
}

void rl_clock_start(struct rl_clock *clock)
{
    read_both(&clock->boot_us, &clock->raw_us);
    clock->mark = clock->now = (struct rl_time){1}; /* not 0, so that a zeroed time is always in the past */
}

struct rl_time rl_clock_now(struct rl_clock *clock)
{
    int64_t boot_us = read_us(CLOCK_BOOTTIME), raw_us = read_us(CLOCK_MONOTONIC_RAW);
    struct rl_time at = advance(clock, boot_us, raw_us);

    if (rl_time_since(at, clock->mark).us >= MARK_EVERY_US) {
        read_both(&boot_us, &raw_us);
        clock->mark = at = advance(clock, boot_us, raw_us);
        clock->boot_us = boot_us;
        clock->raw_us = raw_us;
    }
    clock->now = rl_time_max(clock->now, at);
    return clock->now;
}

int64_t rl_clock_wall_us(void)
{
    return read_us(CLOCK_REALTIME);
}
