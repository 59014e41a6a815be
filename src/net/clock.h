/*
 * The one clock. It never runs slower than real time as any of the system's clocks knows it: it advances by
 * whichever is larger of CLOCK_BOOTTIME (counts suspend) and CLOCK_MONOTONIC_RAW (is not slewed).
 */
#ifndef RL_NET_CLOCK_H
#define RL_NET_CLOCK_H

#include "base/time.h"

/* One per client; guarded by the client's mutex, since it remembers earlier readings. */
struct rl_clock {
    int64_t boot_us, raw_us; /* both clocks at the last mark */
    struct rl_time mark;     /* our time then */
    struct rl_time now;      /* the latest reading */
};

void rl_clock_start(struct rl_clock *clock);

/* Reads it. Never goes back. */
struct rl_time rl_clock_now(struct rl_clock *clock);

/* Wall clock in microseconds since 1970: for people and fence proposals, never for durations. */
int64_t rl_clock_wall_us(void);

#endif
