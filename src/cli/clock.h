/*
 * The two clocks of the command: one that counts suspended time, for deadlines, and the wall clock, for
 * people. Deadlines never come from the wall clock.
 */
#ifndef CLI_CLOCK_H
#define CLI_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
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

/* A condition that cli_clock_wait() can wait for. */
static inline void cli_clock_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* With the mutex held: waits until *over is set and told, or for so long. */
static inline void cli_clock_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, const bool *over,
                                  int64_t span_ms)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    span_ms = span_ms < 0 ? 0 : span_ms;
    until.tv_sec += (time_t)(span_ms / 1000);
    until.tv_nsec += (long)(span_ms % 1000 * 1000000);
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    while (!*over && pthread_cond_timedwait(condition, mutex, &until) == 0)
        continue;
}

#endif
