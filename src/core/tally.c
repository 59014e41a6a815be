/*
 * Majority arithmetic on node sets; see tally.h.
 */
#include "core/tally.h"

#include <assert.h>

struct rl_tally rl_tally_start(uint32_t node_count)
{
    assert(node_count >= 1);
    assert(node_count <= RL_NODES_MAX);
    return (struct rl_tally){.node_count = node_count};
}

rl_node_set rl_tally_answered(const struct rl_tally *tally)
{
    return tally->granted | tally->denied | tally->ineligible | tally->failed;
}

static void count_cause(struct rl_tally *tally, rl_node_set one, enum rl_cause cause)
{
    if (rl_cause_forbids(cause))
        tally->rights |= one;
    if (cause == RL_CAUSE_FOREIGN_TYPE)
        tally->foreign |= one;
    if (cause == RL_CAUSE_DUPLICATE)
        tally->duplicate |= one;
}

bool rl_tally_add(struct rl_tally *tally, uint32_t node, const struct rl_answer *answer)
{
    rl_node_set one = rl_node_set_one(node);

    assert(node < tally->node_count);
    if ((rl_tally_answered(tally) & one) != 0)
        return false;
    switch (answer->verdict) {
    case RL_SILENT:
        return true; /* no answer is what every node starts with */
    case RL_GRANTED:
        tally->granted |= one;
        break;
    case RL_DENIED:
        tally->denied |= one;
        break;
    case RL_INELIGIBLE:
        tally->ineligible |= one;
        break;
    case RL_FAILED:
        tally->failed |= one;
        break;
    }
    count_cause(tally, one, answer->cause);
    return true;
}

enum rl_decision rl_tally_decide(const struct rl_tally *tally)
{
    uint32_t quorum = rl_quorum(tally->node_count);
    uint32_t granted = rl_node_set_count(tally->granted);
    uint32_t silent = tally->node_count - rl_node_set_count(rl_tally_answered(tally));

    if (granted >= quorum)
        return RL_WON;
    return granted + silent < quorum ? RL_LOST : RL_OPEN;
}

enum rl_outcome rl_tally_reason(const struct rl_tally *tally)
{
    uint32_t quorum = rl_quorum(tally->node_count);
    uint32_t able = rl_node_set_count(tally->granted | tally->denied);
    uint32_t rights = rl_node_set_count(tally->rights);
    uint32_t ineligible = rl_node_set_count(tally->ineligible);

    assert(tally->node_count >= 1);
    if (tally->duplicate != 0)
        return RL_OUTCOME_INVALID;
    /* Enough nodes that could have voted for us: others are at it. */
    if (able >= quorum)
        return rl_node_set_count(tally->foreign) > tally->node_count - quorum ? RL_OUTCOME_FOREIGN_TYPE
                                                                              : RL_OUTCOME_BUSY;
    /* Otherwise what would have made a quorum of them, had it been right. */
    if (rights > 0 && able + rights >= quorum)
        return RL_OUTCOME_FORBIDDEN;
    if (ineligible > 0 && able + rights + ineligible >= quorum)
        return RL_OUTCOME_QUARANTINE;
    return RL_OUTCOME_NO_QUORUM;
}
