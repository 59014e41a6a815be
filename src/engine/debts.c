/*
 * The list of releases that are owed; see debts.h. Each request of a busy caller asks when the next one is
 * due, so that is kept for each node instead of looked for.
 */
#include "engine/debts.h"

#include <assert.h>
#include <string.h>

static void note(struct rl_engine *engine, const struct rl_debt *debt)
{
    struct rl_node_debts *owed = &engine->node_debts[debt->node];
    bool first = owed->count++ == 0;

    owed->due = first ? debt->due : rl_time_min(owed->due, debt->due);
    owed->until = first ? debt->until : rl_time_min(owed->until, debt->until);
}

void rl_debts_reckon(struct rl_engine *engine)
{
    memset(engine->node_debts, 0, sizeof engine->node_debts);
    for (uint32_t i = 0; i < engine->debt_count; i++)
        note(engine, &engine->debts[i]);
}

void rl_debts_forgive(struct rl_engine *engine, struct rl_debt *debt)
{
    redlock_lock *lock = debt->lock;

    assert(lock != NULL);
    assert(engine->debt_count > 0);
    engine->node_debts[debt->node].count--;
    lock->debt_count--;
    *debt = engine->debts[--engine->debt_count];
    engine->debts[engine->debt_count].lock = NULL;
    engine->debts_dropped = engine->debts_dropped && engine->debt_count > 0;
    rl_lock_unref(lock);
}

/* One that is over gives way, also before the reaper has come to it. NULL: all are still owed. */
static struct rl_debt *free_place(struct rl_engine *engine)
{
    bool over = false;

    for (uint32_t node = 0; node < engine->node_count; node++)
        over |= engine->node_debts[node].count > 0 &&
                !rl_time_before(engine->now, engine->node_debts[node].until);
    for (uint32_t i = 0; over && engine->debt_count == RL_DEBTS_MAX && i < RL_DEBTS_MAX; i++)
        if (!rl_time_before(engine->now, engine->debts[i].until))
            rl_debts_forgive(engine, &engine->debts[i]);
    return engine->debt_count < RL_DEBTS_MAX ? &engine->debts[engine->debt_count] : NULL;
}

static struct rl_debt *find(struct rl_engine *engine, const redlock_lock *lock, uint32_t node,
                            const uint8_t *random)
{
    for (uint32_t i = 0; lock->debt_count > 0 && i < engine->debt_count; i++)
        if (engine->debts[i].lock == lock && engine->debts[i].node == node &&
            memcmp(engine->debts[i].random, random, RL_OWNER_RANDOM) == 0)
            return &engine->debts[i];
    return NULL;
}

static void tell_of_dropped(struct rl_engine *engine, uint32_t node)
{
    if (engine->debts_dropped)
        return;
    engine->debts_dropped = true;
    rl_state_log(engine, REDLOCK_LOG_WARNING,
                 "node %u %s: more releases wait for it than %u: keys stay there until their TTL ends",
                 node + 1, engine->sessions[node].url.display, RL_DEBTS_MAX);
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
    rl_lock_ref(lock); /* what gives way may be the last that keeps it */
    fresh = debt == NULL;
    if (fresh)
        debt = free_place(engine);
    if (debt == NULL) {
        rl_lock_unref(lock);
        tell_of_dropped(engine, node);
        return;
    }
    debt->due = rl_time_add(engine->now, pause);
    debt->again = true;
    // cppcheck-suppress internalAstError ; it does not know this form of a literal
    debt->until = rl_time_max(end_of_key(lock), fresh ? (struct rl_time){0} : debt->until);
    if (!fresh) {
        engine->node_debts[node].due = rl_time_min(engine->node_debts[node].due, debt->due);
        rl_lock_unref(lock); /* the debt has one */
        return;
    }
    debt->lock = lock;
    debt->node = node;
    memcpy(debt->random, random, sizeof debt->random);
    engine->debt_count++;
    lock->debt_count++;
    note(engine, debt);
}

bool rl_debts_waits(const struct rl_engine *engine, uint32_t node)
{
    for (uint32_t i = 0; engine->node_debts[node].count > 0 && i < engine->debt_count; i++)
        if (engine->debts[i].node == node && engine->debts[i].again)
            return true;
    return false;
}

bool rl_debts_awaited(const struct rl_engine *engine)
{
    for (uint32_t node = 0; node < engine->node_count && engine->debt_count > 0; node++)
        if (engine->node_debts[node].count > 0 && engine->sessions[node].state != RL_SESSION_RESTING &&
            engine->sessions[node].state != RL_SESSION_READY)
            return true;
    return false;
}

struct rl_time rl_debts_due(const struct rl_engine *engine)
{
    struct rl_time due = RL_TIME_NEVER;

    for (uint32_t node = 0; node < engine->node_count && engine->debt_count > 0; node++) {
        const struct rl_node_debts *owed = &engine->node_debts[node];
        const struct rl_session *session = &engine->sessions[node];

        if (owed->count == 0)
            continue;
        due = rl_time_min(due, owed->until);
        if (session->state == RL_SESSION_RESTING)
            due = rl_time_min(due, session->retry_at);
        else if (session->state == RL_SESSION_READY && !rl_session_silent(session, engine->now))
            due = rl_time_min(due, owed->due);
    }
    return due;
}

void rl_debts_drop_all(struct rl_engine *engine)
{
    while (engine->debt_count > 0)
        rl_debts_forgive(engine, &engine->debts[engine->debt_count - 1]);
}
