/*
 * Sends the releases that are owed: on the next connection, and once more after the broken connection's last
 * words would be refused as late, in case they reached the node after all.
 */
#include "engine/reaper.h"

#include "engine/debts.h"
#include "engine/send.h"

enum { AGAIN_AFTER_MS = 1000 };

static void pay(struct rl_engine *engine, struct rl_debt *debt, struct rl_time now)
{
    if (!rl_time_before(now, debt->until)) {
        rl_debts_forgive(engine, debt);
        return;
    }
    if (rl_time_before(now, debt->due) || engine->sessions[debt->node].state != RL_SESSION_READY ||
        rl_session_silent(&engine->sessions[debt->node], now))
        return;
    if (!rl_send_command(debt->lock, debt->node, RL_COMMAND_RELEASE, 0, debt->random, false))
        return;
    if (debt->again) {
        debt->again = false;
        debt->due = rl_time_add(now, rl_span_add(engine->config.node_timeout, rl_span_ms(AGAIN_AFTER_MS)));
    } else {
        rl_debts_forgive(engine, debt);
    }
}

void rl_reaper_pay(struct rl_engine *engine, struct rl_time now)
{
    for (uint32_t i = 0; i < RL_DEBTS_MAX && engine->debt_count > 0; i++) {
        struct rl_debt *debt = &engine->debts[i];

        if (debt->lock == NULL)
            continue;
        rl_session_wake(&engine->sessions[debt->node], now);
        if (debt->lock != NULL)
            pay(engine, debt, now);
    }
}
