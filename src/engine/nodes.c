/*
 * Counts nodes; see nodes.h. Linear; there are at most 31.
 */
#include "engine/nodes.h"

#include "engine/guard.h"

enum { BACKLOG = 512 }; /* unanswered questions at one node */

/* Whether a node is connected and, if its vote is wanted, has said whether it may vote. */
static bool has_arrived(struct rl_engine *engine, uint32_t node)
{
    if (engine->sessions[node].state != RL_SESSION_READY)
        return false;
    return !engine->voting || rl_guard_right(engine, node) != RL_MAY_VOTE_SOON;
}

uint32_t rl_nodes_arrived(struct rl_engine *engine, uint32_t *on_the_way)
{
    uint32_t count = 0;

    *on_the_way = 0;
    for (uint32_t node = 0; node < engine->node_count; node++) {
        bool arrived = has_arrived(engine, node);

        count += arrived;
        *on_the_way += !arrived && engine->sessions[node].state != RL_SESSION_RESTING;
    }
    return count;
}

bool rl_nodes_connecting(struct rl_engine *engine)
{
    uint32_t on_the_way;

    return rl_nodes_arrived(engine, &on_the_way) < rl_quorum(engine->node_count) && on_the_way > 0;
}

bool rl_nodes_unsent(const struct rl_engine *engine, bool silent)
{
    for (uint32_t node = 0; node < engine->node_count; node++) {
        const struct rl_session *session = &engine->sessions[node];

        if (session->exchange.out_sent < session->exchange.out_length &&
            (silent || !rl_session_silent(session, engine->now)))
            return true;
    }
    return false;
}

bool rl_nodes_unanswered(const struct rl_engine *engine)
{
    for (uint32_t node = 0; node < engine->node_count; node++)
        if (engine->sessions[node].exchange.pending_count > 0)
            return true;
    return false;
}

bool rl_nodes_backlogged(const struct rl_engine *engine)
{
    uint32_t able = 0;
    bool behind = false;

    for (uint32_t node = 0; node < engine->node_count; node++) {
        const struct rl_session *session = &engine->sessions[node];

        if (session->exchange.pending_count >= BACKLOG)
            behind = true;
        else if (session->state == RL_SESSION_READY && !rl_session_silent(session, engine->now))
            able++;
    }
    return behind && able < rl_quorum(engine->node_count);
}
