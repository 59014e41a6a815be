/*
 * The validity rule; see validity.h.
 */
#include "core/validity.h"

#include <assert.h>

enum { DRIFT_FIXED_US = 2000 };

struct rl_span rl_validity_drift(struct rl_span ttl, uint32_t drift_ppm)
{
    int64_t whole, rest;

    assert(ttl.us >= 0);
    assert(drift_ppm <= 1000000);
    /* In two parts, so that a long TTL cannot overflow. */
    whole = ttl.us / 1000000 * drift_ppm;
    rest = (ttl.us % 1000000 * drift_ppm + 999999) / 1000000;
    return rl_span_us(rl_saturating_add(whole + rest, DRIFT_FIXED_US));
}

struct rl_time rl_validity_end(struct rl_time asked, struct rl_span ttl, uint32_t drift_ppm)
{
    return rl_time_add(asked, rl_span_sub(ttl, rl_validity_drift(ttl, drift_ppm)));
}
