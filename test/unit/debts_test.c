/*
 * The list of releases that are owed, when it is full: engine/debts.h.
 */
#include <string.h>

#include "engine/debts.h"
#include "support/check.h"

enum { TTL_MS = 1000 };

/* Nodes with a list of debts, and one lock that all of these are of. */
struct stage {
    struct rl_engine engine;
    struct rl_session session;
    redlock_lock *lock;
};

static void set(struct stage *stage)
{
    static redlock_lock lock;

    memset(stage, 0, sizeof *stage);
    memset(&lock, 0, sizeof lock);
    stage->lock = &lock;
    stage->engine.sessions = &stage->session;
    stage->engine.node_count = 1;
    stage->lock->engine = &stage->engine;
    stage->lock->ttl_ms = TTL_MS;
    stage->lock->refs = 1;
}

static void owe(struct stage *stage, uint32_t number)
{
    uint8_t random[RL_OWNER_RANDOM] = {(uint8_t)(number >> 8), (uint8_t)number};

    rl_debts_add(stage->lock, 0, random, rl_span_us(0));
}

static bool is_owed(const struct stage *stage, uint32_t number)
{
    for (uint32_t i = 0; i < RL_DEBTS_MAX; i++)
        if (stage->engine.debts[i].lock != NULL &&
            stage->engine.debts[i].random[0] == (uint8_t)(number >> 8) &&
            stage->engine.debts[i].random[1] == (uint8_t)number)
            return true;
    return false;
}

static void fill(struct stage *stage)
{
    for (uint32_t i = 0; i < RL_DEBTS_MAX; i++)
        owe(stage, i);
}

static void what_is_still_owed_does_not_give_way(void **state)
{
    static struct stage stage;

    (void)state;
    set(&stage);
    fill(&stage);
    stage.engine.now = rl_time_add(stage.engine.now, rl_span_ms(TTL_MS - 1));
    owe(&stage, RL_DEBTS_MAX);
    assert_false(is_owed(&stage, RL_DEBTS_MAX));
    assert_true(is_owed(&stage, 0));
    assert_int_equal(stage.engine.debt_count, RL_DEBTS_MAX);
    assert_int_equal(stage.lock->refs, RL_DEBTS_MAX + 1);
}

/* A process was stopped for longer than its debts last, and its connections break before its timers run. */
static void a_debt_that_is_over_gives_way_to_a_fresh_one(void **state)
{
    static struct stage stage;

    (void)state;
    set(&stage);
    fill(&stage);
    stage.engine.now = rl_time_add(stage.engine.now, rl_span_ms(TTL_MS));
    owe(&stage, RL_DEBTS_MAX);
    assert_true(is_owed(&stage, RL_DEBTS_MAX));
    assert_int_equal(stage.engine.debt_count, RL_DEBTS_MAX);
    assert_int_equal(stage.lock->refs, RL_DEBTS_MAX + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_still_owed_does_not_give_way),
        cmocka_unit_test(a_debt_that_is_over_gives_way_to_a_fresh_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
