/*
 * The list of releases that are owed: engine/debts.h.
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

/* What is kept of each node tells the same as a look at all of them would. */
static void the_next_one_due_is_known(void **state)
{
    static struct stage stage;
    struct rl_time start, retry;

    (void)state;
    set(&stage);
    start = stage.engine.now;
    retry = stage.session.retry_at = rl_time_add(start, rl_span_ms(5));
    assert_int_equal(rl_debts_due(&stage.engine).us, RL_TIME_NEVER.us);
    fill(&stage);
    assert_int_equal(rl_debts_due(&stage.engine).us, retry.us);
    stage.session.state = RL_SESSION_GREETING;
    assert_int_equal(rl_debts_due(&stage.engine).us, rl_time_add(start, rl_span_ms(TTL_MS)).us);
    assert_true(rl_debts_awaited(&stage.engine));
    stage.session.state = RL_SESSION_READY;
    assert_int_equal(rl_debts_due(&stage.engine).us, start.us);
    assert_false(rl_debts_awaited(&stage.engine));
    for (uint32_t i = 0; i < RL_DEBTS_MAX; i++)
        stage.engine.debts[i].due = rl_time_add(start, rl_span_ms(7));
    rl_debts_reckon(&stage.engine);
    assert_int_equal(rl_debts_due(&stage.engine).us, rl_time_add(start, rl_span_ms(7)).us);
    rl_debts_drop_all(&stage.engine);
    assert_int_equal(rl_debts_due(&stage.engine).us, RL_TIME_NEVER.us);
    assert_int_equal(stage.lock->refs, 1);
    assert_int_equal(stage.lock->debt_count, 0);
}

static void one_that_is_forgiven_leaves_the_others(void **state)
{
    static struct stage stage;

    (void)state;
    set(&stage);
    fill(&stage);
    for (uint32_t i = 0; i < RL_DEBTS_MAX / 2; i++)
        rl_debts_forgive(&stage.engine, &stage.engine.debts[0]);
    assert_int_equal(stage.engine.debt_count, RL_DEBTS_MAX / 2);
    assert_false(is_owed(&stage, 0));
    assert_int_equal(stage.lock->refs, RL_DEBTS_MAX / 2 + 1);
    for (uint32_t i = 0; i < RL_DEBTS_MAX; i++)
        owe(&stage, i);
    for (uint32_t i = 0; i < RL_DEBTS_MAX; i++)
        assert_true(is_owed(&stage, i));
    assert_int_equal(stage.engine.debt_count, RL_DEBTS_MAX);
}

static void count_words(void *context, redlock_log_level level, const char *line)
{
    (void)level;
    assert_non_null(strstr(line, "more releases wait for it than 512"));
    (*(uint32_t *)context)++;
}

/* A connection that breaks may leave a hundred thousand of them. */
static void too_many_are_told_of_once(void **state)
{
    static struct stage stage;
    uint32_t told = 0;

    (void)state;
    set(&stage);
    stage.engine.host.log = count_words;
    stage.engine.host.context = &told;
    fill(&stage);
    assert_int_equal(told, 0);
    for (uint32_t i = 0; i < 3; i++)
        owe(&stage, RL_DEBTS_MAX + i);
    assert_int_equal(told, 1);
    rl_debts_forgive(&stage.engine, &stage.engine.debts[0]);
    owe(&stage, RL_DEBTS_MAX);
    owe(&stage, RL_DEBTS_MAX + 1);
    assert_int_equal(told, 1);
    rl_debts_drop_all(&stage.engine);
    fill(&stage);
    owe(&stage, RL_DEBTS_MAX);
    assert_int_equal(told, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_still_owed_does_not_give_way),
        cmocka_unit_test(a_debt_that_is_over_gives_way_to_a_fresh_one),
        cmocka_unit_test(the_next_one_due_is_known),
        cmocka_unit_test(one_that_is_forgiven_leaves_the_others),
        cmocka_unit_test(too_many_are_told_of_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
