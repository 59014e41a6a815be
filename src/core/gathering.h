/*
 * Who has come to a barrier, by what several nodes say, and who may go on: the decisions of redlock_barrier(). Pure; it asks nobody.
 *
 * The rules, for a barrier of K parties. A party goes on when a quorum of nodes has it in one and the same opening. An opening is written by the
 * holder of the barrier's lock under its fence; at each node for all of its K parties or for none, never below the highest opening that was tried there, and only if
 * none was since the opener looked. The opener takes parties that no node it has heard has in any opening. So of two
 * openings that reach a quorum, the later one has met the earlier one at a node, and shares no party with it: each lets K parties go that nobody else counted.
 */
#ifndef RL_CORE_GATHERING_H
#define RL_CORE_GATHERING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/node_set.h"

enum { RL_PARTY_ID = 16, RL_PARTIES_MAX = 500, RL_GATHERING_MAX = 600 };

struct rl_party {
    char id[RL_PARTY_ID];
    rl_node_set seen_by; /* nodes that it is at */
    bool opening;        /* some node has it in an opening */
};

/* Zeroed: nobody has been heard. */
struct rl_gathering {
    uint32_t node_count;
    rl_node_set heard;
    uint32_t count;
    struct rl_party parties[RL_GATHERING_MAX];
};

/* A node has answered; then, that it has a party there, and in which opening (0 none). More than there is room for are left out. */
void rl_gathering_hear(struct rl_gathering *gathering, uint32_t node);
void rl_gathering_add(struct rl_gathering *gathering, uint32_t node, const char *id, uint64_t opening);

/* How many wait, by the union of what a quorum says; 0 when no quorum was heard. */
uint32_t rl_gathering_waiting(const struct rl_gathering *gathering);

/* Whether a quorum of nodes said the same of one party: counts[i] is what node i said, 0 nothing. */
bool rl_gathering_through(const uint64_t *openings, uint32_t node_count);

/* Whether so few nodes can still have the party in an opening that none can be, or become, one of a quorum: left is where it has left. */
bool rl_gathering_out(rl_node_set left, uint32_t node_count);

/* Chooses `parties` of those who wait, those that most nodes know first; false: too few, or no quorum was heard. */
bool rl_gathering_choose(const struct rl_gathering *gathering, uint32_t parties, const char **ids);

#endif
