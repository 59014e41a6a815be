/*
 * Counts one round's verdicts and says, as early as can be known, whether it is won or lost.
 * It does not know what was asked, nor anything of time.
 */
#ifndef RL_CORE_TALLY_H
#define RL_CORE_TALLY_H

#include "core/event.h"
#include "core/outcome.h"

enum rl_decision { RL_OPEN, RL_WON, RL_LOST };

struct rl_tally {
    uint32_t node_count;
    rl_node_set granted;
    rl_node_set denied;
    rl_node_set ineligible;
    rl_node_set failed;
    rl_node_set rights;    /* of the failed: refused for want of rights */
    rl_node_set foreign;   /* of the denied: another type of key */
    rl_node_set duplicate; /* of the ineligible: a server that is there twice */
};

/* The smallest majority. Two of them always share a node. */
static inline uint32_t rl_quorum(uint32_t node_count)
{
    return node_count / 2 + 1;
}

struct rl_tally rl_tally_start(uint32_t node_count);

/* Counts an answer. The first one of a node stands; false when it had one already. */
bool rl_tally_add(struct rl_tally *tally, uint32_t node, const struct rl_answer *answer);

/* Nodes that have answered in any way. */
rl_node_set rl_tally_answered(const struct rl_tally *tally);

/* Won at quorum; lost once the nodes still silent can no longer make one. */
enum rl_decision rl_tally_decide(const struct rl_tally *tally);

/* Why a round with this tally was not won. */
enum rl_outcome rl_tally_reason(const struct rl_tally *tally);

#endif
