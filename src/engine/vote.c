/*
 * The right to vote; see vote.h.
 */
#include "engine/vote.h"

#include <assert.h>

bool rl_vote_reachable(const struct rl_engine *engine, uint32_t node)
{
    const struct rl_session *session = &engine->sessions[node];

    assert(node < engine->node_count);
    return session->state == RL_SESSION_READY && session->ineligible == RL_CAUSE_NONE;
}

bool rl_vote_counts(const struct rl_engine *engine, uint32_t node)
{
    const struct rl_node_guard *guard = &engine->guards[node];

    return rl_vote_reachable(engine, node) &&
           (!engine->config.guarded || (guard->fitness == RL_FITNESS_FIT && guard->cause == RL_CAUSE_NONE));
}

enum rl_cause rl_vote_obstacle(const struct rl_engine *engine, uint32_t node)
{
    const struct rl_session *session = &engine->sessions[node];

    assert(node < engine->node_count);
    if (session->state != RL_SESSION_READY)
        return session->cause != RL_CAUSE_NONE ? session->cause : RL_CAUSE_CONNECTING;
    return session->ineligible != RL_CAUSE_NONE ? session->ineligible : engine->guards[node].cause;
}
