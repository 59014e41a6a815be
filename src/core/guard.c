/*
 * The guard's arithmetic; see guard.h.
 */
#include "core/guard.h"

#include "core/tally.h"
#include "core/validity.h"

enum { MARGIN_MS = 1000, AHEAD_US = 5000000 };

struct rl_span rl_guard_quarantine(struct rl_span max_ttl, uint32_t drift_ppm)
{
    return rl_span_add(rl_span_add(max_ttl, rl_validity_drift(max_ttl, drift_ppm)), rl_span_ms(MARGIN_MS));
}

/* A grant's number is at most 5 s ahead of the node's clock, or it is in the floor: see wire/lua/acquire.lua. */
uint64_t rl_guard_high(int64_t node_us, uint64_t floor)
{
    uint64_t by_clock = (uint64_t)(node_us > 0 ? node_us : 0) + AHEAD_US;

    return by_clock > floor ? by_clock : floor;
}

bool rl_guard_floor(const struct rl_guard_view *views, uint32_t node_count, uint64_t *floor)
{
    uint32_t intact = 0, heard = 0;
    uint64_t intact_high = 0, any_high = 0;

    for (uint32_t node = 0; node < node_count; node++) {
        if (!views[node].heard)
            continue;
        heard++;
        any_high = views[node].high > any_high ? views[node].high : any_high;
        if (views[node].fitness != RL_FITNESS_FIT)
            continue;
        intact++;
        intact_high = views[node].high > intact_high ? views[node].high : intact_high;
    }
    if (intact >= rl_quorum(node_count)) {
        *floor = intact_high;
        return true;
    }
    *floor = any_high;
    return heard > 0 && heard + 1 >= node_count;
}
