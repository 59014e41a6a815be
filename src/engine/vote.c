/*
 * The right to vote; see vote.h.
 */
#include "engine/vote.h"

#include <assert.h>

const char rl_vote_floorless[] =
    "it lost its fencing tokens, and too few nodes can be reached to learn the highest one (all but one are needed)";

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

/* Nobody gives it one before a lock is asked for: what counts is whether it could be found then. */
bool rl_vote_lacks_floor(const struct rl_engine *engine, uint32_t node)
{
    struct rl_guard_view views[RL_NODES_MAX];
    uint64_t floor;

    if (engine->guards[node].fitness != RL_FITNESS_UNKNOWN ||
        engine->guards[node].looked != RL_FITNESS_FLOORLESS)
        return false;
    for (uint32_t i = 0; i < engine->node_count; i++)
        views[i] = (struct rl_guard_view){.heard = engine->guards[i].looked != RL_FITNESS_UNKNOWN,
                                          .fitness = engine->guards[i].looked,
                                          .high = engine->guards[i].high};
    return !rl_guard_floor(views, engine->node_count, &floor);
}
