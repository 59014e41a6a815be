/*
 * The guard's arithmetic; see guard.h.
 */
#include "core/guard.h"

#include <assert.h>
#include <string.h>

#include "core/tally.h"
#include "core/validity.h"

enum { MARGIN_MS = 1000, ALLOWANCE_PPM = 10000, AHEAD_US = 5000000 };
#define WRONG_CLOCK_US INT64_C(3600000000)

struct rl_span rl_guard_quarantine(struct rl_span max_ttl)
{
    return rl_span_add(rl_span_add(max_ttl, rl_validity_drift(max_ttl, ALLOWANCE_PPM)),
                       rl_span_ms(MARGIN_MS));
}

int64_t rl_guard_longest_lock_ms(int64_t quarantine_ms)
{
    return (quarantine_ms - MARGIN_MS - 2) * 100 / 101;
}

/* Whether one of them need not be kept beside the other. */
static bool covers(struct rl_term one, struct rl_term other)
{
    return one.quarantine_ms >= other.quarantine_ms && one.left_ms >= other.left_ms;
}

void rl_terms_add(struct rl_terms *terms, struct rl_term term)
{
    struct rl_term kept[RL_TERMS_MAX + 1];
    uint32_t count = 0;
    bool placed = false;

    assert(terms->count <= RL_TERMS_MAX);
    for (uint32_t i = 0; i < terms->count; i++)
        if (covers(terms->each[i], term))
            return;
    for (uint32_t i = 0; i < terms->count; i++) {
        if (covers(term, terms->each[i]))
            continue;
        if (!placed && term.quarantine_ms > terms->each[i].quarantine_ms) {
            kept[count++] = term;
            placed = true;
        }
        kept[count++] = terms->each[i];
    }
    if (!placed)
        kept[count++] = term;
    if (count > RL_TERMS_MAX) {
        count = RL_TERMS_MAX;
        kept[count - 1].left_ms = kept[count].left_ms;
    }
    memcpy(terms->each, kept, count * sizeof kept[0]);
    terms->count = count;
}

void rl_terms_age(struct rl_terms *terms, int64_t passed_ms)
{
    uint32_t count = 0;

    assert(terms->count <= RL_TERMS_MAX);
    assert(passed_ms >= 0);
    for (uint32_t i = 0; i < terms->count; i++) {
        struct rl_term term = terms->each[i];

        term.left_ms -= passed_ms;
        if (term.left_ms > 0)
            terms->each[count++] = term;
    }
    terms->count = count;
}

/* A grant's number is at most 5 s ahead of the node's clock, or it is in the floor: see
 * wire/lua/parts/number.lua. */
uint64_t rl_guard_high(int64_t node_us, uint64_t floor)
{
    uint64_t by_clock = (uint64_t)(node_us > 0 ? node_us : 0) + AHEAD_US;

    return by_clock > floor ? by_clock : floor;
}

/* The one in the middle of those that were heard, or the earlier of the two there; 0 nobody was. */
static int64_t middle_clock(const struct rl_guard_clock *clocks, uint32_t node_count)
{
    int64_t sorted[RL_NODES_MAX];
    uint32_t count = 0;

    for (uint32_t node = 0; node < node_count; node++) {
        uint32_t place = count;

        if (!clocks[node].heard)
            continue;
        for (; place > 0 && sorted[place - 1] > clocks[node].node_us; place--)
            sorted[place] = sorted[place - 1];
        sorted[place] = clocks[node].node_us;
        count++;
    }
    return count > 0 ? sorted[(count - 1) / 2] : 0;
}

uint64_t rl_guard_init_floor(const struct rl_guard_clock *clocks, uint32_t node_count)
{
    int64_t latest = middle_clock(clocks, node_count), most = latest + WRONG_CLOCK_US;
    uint64_t floor = 0;

    for (uint32_t node = 0; node < node_count; node++) {
        if (!clocks[node].heard)
            continue;
        if (clocks[node].node_us > latest && clocks[node].node_us <= most)
            latest = clocks[node].node_us;
        if (clocks[node].floor > floor)
            floor = clocks[node].floor;
    }
    return rl_guard_high(latest, floor);
}

bool rl_guard_floor(const struct rl_guard_view *views, uint32_t node_count, uint64_t *floor)
{
    uint32_t intact = 0, heard = 0;
    uint64_t intact_high = 0, any_high = 0;

    assert(node_count >= 1);
    assert(node_count <= RL_NODES_MAX);
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
