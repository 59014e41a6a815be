/*
 * Interval arithmetic on clock offsets; see clock_watch.h. A verdict is only given when the measurement's own
 * uncertainty cannot explain the difference.
 */
#include "core/clock_watch.h"

enum {
    ANCHOR_AGE_US = 10000000, /* the span over which a rate is measured */
    RATE_SPAN_US = 500000,    /* below this a difference is a step or nothing */
    STEP_MIN_US = 100000,
    SLACK_US = 1000
};

static int64_t distance(int64_t a, int64_t b)
{
    return a > b ? a - b : b - a;
}

static void anchor(struct rl_clock_watch *watch, struct rl_time at)
{
    watch->anchored = true;
    watch->anchor_at = at;
    watch->anchor_offset_us = watch->offset_us;
    watch->anchor_error_us = watch->error_us;
}

/* A step moves the clock by a fair part of the time that passed, or by much in no time; a rate moves it by a
 * little. */
static bool is_step(int64_t excess_us, int64_t span_us)
{
    return excess_us > STEP_MIN_US && excess_us > span_us / 4;
}

static enum rl_clock_state judge(struct rl_clock_watch *watch, int64_t span_us, uint32_t drift_ppm)
{
    int64_t moved_us = watch->offset_us - watch->anchor_offset_us;
    int64_t excess_us = distance(moved_us, 0) - watch->error_us - watch->anchor_error_us - SLACK_US;

    if (is_step(excess_us, span_us)) {
        watch->step_us = moved_us;
        return RL_CLOCK_STEP;
    }
    if (span_us < RATE_SPAN_US)
        return watch->state == RL_CLOCK_RATE ? RL_CLOCK_RATE : RL_CLOCK_GOOD;
    watch->rate_ppm = moved_us * 1000000 / span_us;
    return excess_us > span_us / 1000 * drift_ppm / 2000 ? RL_CLOCK_RATE : RL_CLOCK_GOOD;
}

enum rl_clock_state rl_clock_watch_add(struct rl_clock_watch *watch, struct rl_time sent,
                                       struct rl_time received, int64_t node_us, uint32_t drift_ppm)
{
    int64_t half_us = rl_time_since(received, sent).us / 2;
    struct rl_time middle = rl_time_add(sent, rl_span_us(half_us));
    int64_t span_us;

    watch->offset_us = node_us - middle.us;
    /* Somewhere between question and answer; its clock may have run at its own rate meanwhile. */
    watch->error_us = half_us + half_us * drift_ppm / 2000000 + 1;
    if (!watch->anchored) {
        anchor(watch, middle);
        return watch->state = RL_CLOCK_GOOD;
    }
    span_us = rl_time_since(middle, watch->anchor_at).us;
    watch->state = judge(watch, span_us, drift_ppm);
    if (watch->state == RL_CLOCK_STEP) {
        anchor(watch, middle);
        watch->state = RL_CLOCK_GOOD;
        return RL_CLOCK_STEP;
    }
    /* A blurred look is no ground to measure from: wait for a sharper one, but not for ever. */
    if (span_us > ANCHOR_AGE_US &&
        (watch->error_us <= 2 * watch->anchor_error_us || span_us > 6 * (int64_t)ANCHOR_AGE_US))
        anchor(watch, middle);
    return watch->state;
}

int64_t rl_clock_watch_node_us(const struct rl_clock_watch *watch, struct rl_time at)
{
    return watch->anchored ? at.us + watch->offset_us + watch->error_us : 0;
}
