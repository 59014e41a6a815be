/*
 * Points and lengths of time in microseconds, as two types that cannot be mixed up, with saturating sums.
 * Reads no clock: src/net/clock does.
 */
#ifndef RL_BASE_TIME_H
#define RL_BASE_TIME_H

#include <stdbool.h>
#include <stdint.h>

/* A point on the client's own clock. Only differences mean anything. */
struct rl_time {
    int64_t us;
};

/* A length of time. */
struct rl_span {
    int64_t us;
};

#define RL_TIME_NEVER ((struct rl_time){INT64_MAX})

static inline struct rl_span rl_span_us(int64_t us)
{
    return (struct rl_span){us};
}

static inline struct rl_span rl_span_ms(int64_t ms)
{
    if (ms > INT64_MAX / 1000)
        return (struct rl_span){INT64_MAX};
    if (ms < INT64_MIN / 1000)
        return (struct rl_span){INT64_MIN};
    return (struct rl_span){ms * 1000};
}

static inline int64_t rl_saturating_add(int64_t a, int64_t b)
{
    if (b > 0 && a > INT64_MAX - b)
        return INT64_MAX;
    if (b < 0 && a < INT64_MIN - b)
        return INT64_MIN;
    return a + b;
}

static inline struct rl_span rl_span_add(struct rl_span a, struct rl_span b)
{
    return (struct rl_span){rl_saturating_add(a.us, b.us)};
}

static inline struct rl_span rl_span_sub(struct rl_span a, struct rl_span b)
{
    return (struct rl_span){rl_saturating_add(a.us, b.us == INT64_MIN ? INT64_MAX : -b.us)};
}

/* The end of time stays the end of time, whatever is added to it. */
static inline struct rl_time rl_time_add(struct rl_time at, struct rl_span span)
{
    if (at.us == INT64_MAX)
        return at;
    return (struct rl_time){rl_saturating_add(at.us, span.us)};
}

static inline struct rl_span rl_time_since(struct rl_time later, struct rl_time earlier)
{
    return rl_span_sub((struct rl_span){later.us}, (struct rl_span){earlier.us});
}

static inline bool rl_time_before(struct rl_time a, struct rl_time b)
{
    return a.us < b.us;
}

static inline struct rl_time rl_time_min(struct rl_time a, struct rl_time b)
{
    return a.us < b.us ? a : b;
}

static inline struct rl_time rl_time_max(struct rl_time a, struct rl_time b)
{
    return a.us > b.us ? a : b;
}

/* Whole milliseconds, rounded against ourselves: what is left goes down, what has passed goes up. */
static inline int64_t rl_span_ms_down(struct rl_span span)
{
    int64_t ms = span.us / 1000;

    return span.us % 1000 < 0 ? ms - 1 : ms;
}

static inline int64_t rl_span_ms_up(struct rl_span span)
{
    int64_t ms = span.us / 1000;

    return span.us % 1000 > 0 ? ms + 1 : ms;
}

#endif
