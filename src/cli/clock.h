/*
 * The two clocks of the command: one that counts suspended time, for deadlines, and the wall clock, for people.
 * Deadlines never come from the wall clock.
 */
#ifndef CLI_CLOCK_H
#define CLI_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLI_NEVER INT64_MAX

static inline int64_t cli_clock_read(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Milliseconds on the clock deadlines are measured with. */
static inline int64_t cli_clock_now(void)
{
    return cli_clock_read(CLOCK_BOOTTIME);
}

/* The same in microseconds, for what is measured. */
static inline int64_t cli_clock_now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Milliseconds since 1970. */
static inline int64_t cli_clock_wall(void)
{
    return cli_clock_read(CLOCK_REALTIME);
}

/* Milliseconds to give to poll() so that it returns at a point in time; -1 for never. */
static inline int cli_clock_timeout(int64_t at_ms, int64_t now_ms)
{
    int64_t left = at_ms - now_ms;

    if (at_ms == CLI_NEVER)
        return -1;
    if (left <= 0)
        return 0;
    return left > 3600000 ? 3600000 : (int)left;
}

#endif
