/*
 * What is known of a node's fitness to vote, and the highest fence a node that lost its data has to learn
 * before it votes again. The record of it lives on the node; wire/lua/admit.lua keeps it.
 */
#ifndef RL_CORE_GUARD_H
#define RL_CORE_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/node_set.h"
#include "base/time.h"

enum rl_fitness {
    RL_FITNESS_UNKNOWN, /* not asked yet */
    RL_FITNESS_FIT,
    RL_FITNESS_QUARANTINED, /* until every lock it may have lost has ended */
    RL_FITNESS_FLOORLESS    /* until it learns the highest fence it may have lost */
};

/* No quarantine is longer: a day, the longest lock there is, and more. */
#define RL_QUARANTINE_MAX_MS INT64_C(172800000)

/* The quarantines that clients need for their longest locks, and for how much longer that has to be
 * remembered. The longest first; each of the others is remembered for longer. wire/lua/admit.lua keeps them
 * at the nodes in the same way. */
enum { RL_TERMS_MAX = 4 };
struct rl_term {
    int64_t quarantine_ms, left_ms;
};
struct rl_terms {
    uint32_t count;
    struct rl_term each[RL_TERMS_MAX];
};

/* Two of the shortest become one where there are too many: as long as the longer, remembered as long as the
 * other. */
void rl_terms_add(struct rl_terms *terms, struct rl_term term);

/* Time has passed: terms that need not be remembered any more are dropped. */
void rl_terms_age(struct rl_terms *terms, int64_t passed_ms);

/* One node, as heard after the quarantine of the node that needs a floor was over. */
struct rl_guard_view {
    bool heard;
    enum rl_fitness fitness;
    uint64_t high; /* no fence it stores is above this */
};

/* How long a node that may have lost locks is quarantined: the longest lock, and a little. A lock ends at the
 * node's own clock after its TTL, and validity before that by the drift of its holder: so drift is no part of
 * this, and the hundredth is the same for everybody. */
struct rl_span rl_guard_quarantine(struct rl_span max_ttl);

/* The longest lock that is over by then, in ms. */
int64_t rl_guard_longest_lock_ms(int64_t quarantine_ms);

/* Above this no fence of a node can be: what its clock allows, or its floor. */
uint64_t rl_guard_high(int64_t node_us, uint64_t floor);

/* One node, as heard before the operator's word is given. */
struct rl_guard_clock {
    bool heard;
    int64_t node_us;
    uint64_t floor; /* 0 or 1: none is known */
};

/* The floor that goes with the operator's word: above what any node remembers, and above the nodes' clocks. A
 * clock that is more than an hour ahead of half of them is wrong, and does not count. Nobody else's clock
 * does. */
uint64_t rl_guard_init_floor(const struct rl_guard_clock *clocks, uint32_t node_count);

/* The floor for a node that lost its data. A quorum of nodes that kept theirs has met every fence handed out.
 * Without one (first start, catastrophe) the clocks of all nodes but one must do. false: too few were
 * heard. */
bool rl_guard_floor(const struct rl_guard_view *views, uint32_t node_count, uint64_t *floor);

#endif
