/*
 * Watches one node's clock through the times in its answers: how far it is from ours, whether it runs at
 * another rate, and whether it stepped. Knows that an answer's time is only known to lie between question and
 * answer.
 */
#ifndef RL_CORE_CLOCK_WATCH_H
#define RL_CORE_CLOCK_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

enum rl_clock_state {
    RL_CLOCK_GOOD,
    RL_CLOCK_RATE, /* its rate is off by more than half the drift setting */
    RL_CLOCK_STEP  /* it jumped; said once, then it is watched anew */
};

struct rl_clock_watch {
    bool anchored;
    enum rl_clock_state state;
    struct rl_time anchor_at;
    int64_t anchor_offset_us; /* node time less our time */
    int64_t anchor_error_us;
    int64_t offset_us; /* the latest */
    int64_t error_us;  /* it may be off by that much */
    int64_t rate_ppm;  /* measured at the last look, for people */
    int64_t step_us;   /* size of the last step */
};

/* A node's time, told in an answer received at `received` to a question sent at `sent`. */
enum rl_clock_state rl_clock_watch_add(struct rl_clock_watch *watch, struct rl_time sent,
                                       struct rl_time received, int64_t node_us, uint32_t drift_ppm);

/* The latest that the node's clock may show when ours shows `at`; 0 when nothing is known of it. */
int64_t rl_clock_watch_node_us(const struct rl_clock_watch *watch, struct rl_time at);

#endif
