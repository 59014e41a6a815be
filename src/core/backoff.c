/*
 * Decorrelated jitter; see backoff.h.
 */
#include "core/backoff.h"

#include <assert.h>

struct rl_backoff rl_backoff_between(struct rl_span min, struct rl_span max)
{
    assert(min.us > 0);
    assert(min.us <= max.us);
    return (struct rl_backoff){.min = min, .max = max};
}

struct rl_span rl_backoff_next(struct rl_backoff *backoff, struct rl_prng *prng)
{
    int64_t base = backoff->last.us > backoff->min.us ? backoff->last.us : backoff->min.us;
    int64_t high = base > backoff->max.us / 3 ? backoff->max.us : base * 3;

    if (high < backoff->min.us)
        high = backoff->min.us;
    backoff->last = rl_span_us(rl_prng_between(prng, backoff->min.us, high));
    return backoff->last;
}

void rl_backoff_reset(struct rl_backoff *backoff)
{
    backoff->last = rl_span_us(0);
}
