/*
 * The list of releases that are owed; see debts.h. Linear; there are few, and at most RL_DEBTS_MAX.
 */
#include "engine/debts.h"

#include <assert.h>
#include <string.h>

void rl_debts_forgive(struct rl_engine *engine, struct rl_debt *debt)
{
    redlock_lock *lock = debt->lock;

    assert(lock != NULL);
    assert(engine->debt_count > 0);
    debt->lock = NULL;
    engine->debt_count--;
    rl_lock_unref(lock);
}

/* One that is over gives way, also before the reaper has come to it. NULL: all are still owed. */
static struct rl_debt *free_place(struct rl_engine *engine)
{
    for (uint32_t i = 0; i < RL_DEBTS_MAX; i++)
        if (engine->debts[i].lock == NULL)
            return &engine->debts[i];
    for (uint32_t i = 0; i < RL_DEBTS_MAX; i++)
        if (!rl_time_before(engine->now, engine->debts[i].until)) {
            rl_debts_forgive(engine, &engine->debts[i]);
            return &engine->debts[i];
        }
    return NULL;
}

static struct rl_debt *find(struct rl_engine *engine, const redlock_lock *lock, uint32_t node,
                            const uint8_t *random)
{
    for (uint32_t i = 0; engine->debt_count > 0 && i < RL_DEBTS_MAX; i++)
        if (engine->debts[i].lock == lock && engine->debts[i].node == node &&
            memcmp(engine->debts[i].random, random, RL_OWNER_RANDOM) == 0)
            return &engine->debts[i];
    return NULL;
}

/* When the key is gone by itself at the latest. How long somebody else's lives is not known; what was sent
 * last may still arrive. */
static struct rl_time end_of_key(const redlock_lock *lock)
{
    const struct rl_engine *engine = lock->engine;
    struct rl_time end = rl_time_add(engine->now, rl_span_ms(lock->ttl_ms));

    if (lock->owner_fixed)
        end = rl_time_max(end, rl_time_add(engine->now, engine->config.max_ttl));
    return rl_time_max(end, lock->kept_until);
}

void rl_debts_add(redlock_lock *lock, uint32_t node, const uint8_t *random, struct rl_span pause)
{
    struct rl_engine *engine = lock->engine;
    uint8_t present[RL_OWNER_RANDOM];
    struct rl_debt *debt;
    bool fresh;

    assert(node < engine->node_count);
    if (engine->closed)
        return;
    if (random == NULL) {
        rl_lock_random(lock, present);
        random = present;
    }
    debt = find(engine, lock, node, random);
    fresh = debt == NULL;
    rl_lock_ref(lock); /* what gives way may be the last that keeps it */
    if (fresh)
        debt = free_place(engine);
    if (debt == NULL) {
        rl_lock_unref(lock);
        rl_state_log(engine, REDLOCK_LOG_WARNING,
                     "node %u %s: too many releases wait for it: a key stays there until its TTL ends",
                     node + 1, engine->sessions[node].url.display);
        return;
    }
    debt->due = rl_time_add(engine->now, pause);
    debt->again = true;
    // cppcheck-suppress internalAstError ; it does not know this form of a literal
    debt->until = rl_time_max(end_of_key(lock), fresh ? (struct rl_time){0} : debt->until);
    if (!fresh) {
        rl_lock_unref(lock); /* the debt has one */
        return;
    }
    debt->lock = lock;
    debt->node = node;
    memcpy(debt->random, random, sizeof debt->random);
    engine->debt_count++;
}

bool rl_debts_waits(const struct rl_engine *engine, uint32_t node)
{
    for (uint32_t i = 0; i < RL_DEBTS_MAX && engine->debt_count > 0; i++)
        if (engine->debts[i].lock != NULL && engine->debts[i].node == node && engine->debts[i].again)
            return true;
    return false;
}

bool rl_debts_awaited(const struct rl_engine *engine)
{
    for (uint32_t i = 0; i < RL_DEBTS_MAX && engine->debt_count > 0; i++) {
        const struct rl_debt *debt = &engine->debts[i];

        if (debt->lock != NULL && engine->sessions[debt->node].state != RL_SESSION_RESTING &&
            engine->sessions[debt->node].state != RL_SESSION_READY)
            return true;
    }
    return false;
}

/* When somebody should look again: a debt is due, over, or its node may be tried anew. */
struct rl_time rl_debts_due(const struct rl_engine *engine)
{
    struct rl_time due = RL_TIME_NEVER;

    for (uint32_t i = 0; i < RL_DEBTS_MAX && engine->debt_count > 0; i++) {
        const struct rl_debt *debt = &engine->debts[i];
        const struct rl_session *session;

        if (debt->lock == NULL)
            continue;
        session = &engine->sessions[debt->node];
        due = rl_time_min(due, debt->until);
        if (session->state == RL_SESSION_RESTING)
            due = rl_time_min(due, session->retry_at);
        else if (session->state == RL_SESSION_READY && !rl_session_silent(session, engine->now))
            due = rl_time_min(due, debt->due);
    }
    return due;
}

void rl_debts_drop_all(struct rl_engine *engine)
{
    for (uint32_t i = 0; i < RL_DEBTS_MAX && engine->debt_count > 0; i++)
        if (engine->debts[i].lock != NULL)
            rl_debts_forgive(engine, &engine->debts[i]);
}
