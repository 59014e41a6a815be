/*
 * The list of held locks that nodes lack; see lagging.h.
 */
#include "engine/lagging.h"

#include <assert.h>

rl_node_set rl_lagging_of(const redlock_lock *lock)
{
    return rl_link_used(&lock->lagging) ? lock->lease.behind : 0;
}

void rl_lagging_note(redlock_lock *lock, rl_node_set before)
{
    struct rl_engine *engine = lock->engine;
    rl_node_set after = lock->stage == RL_LOCK_HELD ? lock->lease.behind : 0;

    for (rl_node_set left = before & ~after; left != 0; left &= left - 1)
        engine->lagging_on[rl_node_set_first(left)]--;
    for (rl_node_set left = after & ~before; left != 0; left &= left - 1)
        engine->lagging_on[rl_node_set_first(left)]++;
    if (after == 0)
        rl_list_remove(&lock->lagging);
    else if (!rl_link_used(&lock->lagging))
        rl_list_append(&engine->lagging, &lock->lagging);
}

bool rl_lagging_on(const struct rl_engine *engine, uint32_t node)
{
    const struct rl_session *session = &engine->sessions[node];

    assert(node < engine->node_count);
    if (engine->lagging_on[node] == 0 || session->state == RL_SESSION_RESTING)
        return false;
    if (session->state == RL_SESSION_READY)
        return engine->guards[node].asking ||
               (session->exchange.pending_count > 0 && !rl_session_silent(session, engine->now));
    return true;
}

bool rl_lagging_any(const struct rl_engine *engine)
{
    for (uint32_t node = 0; node < engine->node_count && !rl_list_empty(&engine->lagging); node++)
        if (rl_lagging_on(engine, node))
            return true;
    return false;
}

struct rl_span rl_lagging_patience(struct rl_engine *engine)
{
    struct rl_span patience = engine->config.connect_timeout;

    for (struct rl_link *link = rl_list_first(&engine->lagging); link != NULL;
         link = rl_list_next(&engine->lagging, link)) {
        int64_t quarter_us = RL_CONTAINER(link, redlock_lock, lagging)->lease.config.ttl.us / 4;

        if (quarter_us < patience.us)
            patience = rl_span_us(quarter_us);
    }
    return patience;
}

bool rl_lagging_worth(struct rl_engine *engine, struct rl_span waited)
{
    int64_t patience_us = rl_lagging_patience(engine).us;

    for (uint32_t node = 0; node < engine->node_count; node++) {
        bool answers = engine->sessions[node].state >= RL_SESSION_GREETING;

        if (rl_lagging_on(engine, node) && waited.us < (answers ? patience_us : patience_us / 4))
            return true;
    }
    return false;
}
