/*
 * Sends the releases that are owed: on the next connection, and once more after the broken connection's last
 * words would be refused as late, in case they reached the node after all.
 */
#include "engine/reaper.h"

#include "engine/debts.h"
#include "engine/send.h"

enum { AGAIN_AFTER_MS = 1000 };

/* Whether it is still owed. */
static bool pay(struct rl_engine *engine, struct rl_debt *debt, struct rl_time now)
{
    struct rl_session *session = &engine->sessions[debt->node];

    if (!rl_time_before(now, debt->until)) {
        rl_debts_forgive(engine, debt);
        return false;
    }
    rl_session_wake(session, now);
    if (rl_time_before(now, debt->due) || session->state != RL_SESSION_READY ||
        rl_session_silent(session, now) ||
        !rl_send_command(debt->lock, debt->node, RL_COMMAND_RELEASE, 0, debt->random, false))
        return true;
    if (!debt->again) {
        rl_debts_forgive(engine, debt);
        return false;
    }
    debt->again = false;
    debt->due = rl_time_add(now, rl_span_add(engine->config.node_timeout, rl_span_ms(AGAIN_AFTER_MS)));
    return true;
}

void rl_reaper_pay(struct rl_engine *engine, struct rl_time now)
{
    if (rl_time_before(now, rl_debts_due(engine)))
        return;
    for (uint32_t i = 0; i < engine->debt_count;)
        if (pay(engine, &engine->debts[i], now))
            i++;
    rl_debts_reckon(engine);
}
