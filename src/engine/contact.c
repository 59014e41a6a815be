/*
 * Greets and takes leave of nodes; see contact.h.
 */
#include "engine/contact.h"

#include <string.h>

#include "base/bytes.h"
#include "engine/guard.h"
#include "engine/pushes.h"
#include "engine/reaper.h"
#include "engine/state.h"
#include "engine/steps.h"

enum { LOOK_AGAIN_MS = 1000 };

/* Two nodes with one run_id are one node under two names: counting it twice would break every majority. */
static void refuse_duplicates(struct rl_engine *engine, struct rl_session *session)
{
    const char *run_id = session->handshake.info.run_id;

    session->ineligible = session->handshake.info.replica ? RL_CAUSE_REPLICA : RL_CAUSE_NONE;
    if (session->ineligible == RL_CAUSE_REPLICA)
        rl_text_copy(session->error, sizeof session->error, "it is a replica, and only masters may vote");
    for (uint32_t node = 0; node < engine->node_count && run_id[0] != '\0'; node++) {
        struct rl_session *other = &engine->sessions[node];
        struct rl_text why;

        if (other == session || other->state != RL_SESSION_READY ||
            strcmp(other->handshake.info.run_id, run_id) != 0)
            continue;
        session->ineligible = RL_CAUSE_DUPLICATE;
        why = rl_text_on(session->error, sizeof session->error);
        rl_text_add(&why, "the same server as ");
        rl_text_add(&why, other->url.display);
        if (!rl_node_set_has(engine->duplicates, session->node)) /* it is greeted again and again */
            rl_state_log(engine, REDLOCK_LOG_ERROR,
                         "node %u %s is the same server as node %u %s: name each node once",
                         session->node + 1, session->url.display, node + 1, other->url.display);
        engine->duplicates |= rl_node_set_one(session->node);
        return;
    }
    engine->duplicates &= ~rl_node_set_one(session->node);
}

void rl_contact_ready(void *context, struct rl_session *session)
{
    struct rl_engine *engine = context;

    engine->node_stats[session->node].connects++;
    session->carried = 0;
    session->apart = false;
    session->look_again = rl_time_add(engine->now, rl_span_ms(LOOK_AGAIN_MS));
    refuse_duplicates(engine, session);
    rl_guard_ready(engine, session->node);
    rl_state_log(engine, REDLOCK_LOG_DEBUG, "node %u %s: connected", session->node + 1, session->url.display);
    rl_reaper_pay(engine, engine->now);
    engine->changed |= rl_node_set_one(session->node);
    rl_steps_run(engine);
    if (!RL_PLANTED(engine, RL_PLANTED_NOT_REARMED))
        rl_pushes_node(engine, session->node, RL_EVENT_UP);
    rl_steps_run(engine);
}

void rl_contact_down(void *context, struct rl_session *session)
{
    struct rl_engine *engine = context;

    engine->node_stats[session->node].disconnects = session->disconnects;
    session->ineligible = RL_CAUSE_NONE;
    engine->guards[session->node].refused = RL_CAUSE_NONE;
    rl_guard_down(engine, session->node);
    rl_state_log(engine, REDLOCK_LOG_INFO, "node %u %s: %s", session->node + 1, session->url.display,
                 session->error);
    engine->changed |= rl_node_set_one(session->node);
    rl_steps_run(engine);
    rl_pushes_node(engine, session->node, RL_EVENT_DOWN);
    rl_steps_run(engine);
}
