/*
 * How long a client that is closed waits for the releases that it has sent: engine/engine.h,
 * rl_engine_drained().
 */
#include "engine/engine.h"
#include "support/check.h"

enum { NODE_TIMEOUT_MS = 500 };

/* One node with one release on its way, and when that was sent. */
struct stage {
    struct rl_engine engine;
    struct rl_session_config config;
    struct rl_session session;
    struct rl_pending release;
};

static struct rl_time at(int64_t ms)
{
    return (struct rl_time){.us = ms * 1000};
}

static void set(struct stage *stage, enum rl_session_state state, int64_t sent_ms, int64_t heard_ms)
{
    *stage = (struct stage){0};
    stage->config.node_timeout = stage->engine.config.node_timeout = rl_span_ms(NODE_TIMEOUT_MS);
    stage->release.sent = at(sent_ms);
    stage->session.config = &stage->config;
    stage->session.state = state;
    stage->session.heard = at(heard_ms);
    stage->session.exchange.ring = &stage->release;
    stage->session.exchange.ring_capacity = stage->session.exchange.pending_count = 1;
    stage->engine.sessions = &stage->session;
    stage->engine.node_count = 1;
}

static bool drained(struct stage *stage, int64_t now_ms, int64_t began_ms)
{
    stage->engine.now = at(now_ms);
    return rl_engine_drained(&stage->engine, at(began_ms));
}

static void what_was_answered_is_not_waited_for(void **state)
{
    struct stage stage;

    (void)state;
    set(&stage, RL_SESSION_READY, 1000, 1000);
    assert_false(drained(&stage, 1000, 1000));
    stage.session.exchange.pending_count = 0;
    assert_true(drained(&stage, 1000, 1000));
}

static void a_node_that_has_been_silent_for_long_is_not_waited_for(void **state)
{
    struct stage stage;

    (void)state;
    set(&stage, RL_SESSION_READY, 1000, 900);
    assert_false(drained(&stage, 1499, 1200));
    assert_true(drained(&stage, 1500, 1200));
    assert_true(drained(&stage, 2000, 2000));
}

/* A hundred threads have sent more than the node gets through in its timeout, for the machine is busy. */
static void a_node_that_goes_on_answering_is_waited_for(void **state)
{
    struct stage stage;

    (void)state;
    set(&stage, RL_SESSION_READY, 1000, 1900);
    assert_false(drained(&stage, 2000, 1000));
    assert_false(drained(&stage, 2399, 1000));
    assert_true(drained(&stage, 2400, 1000));
}

static void nor_for_ever(void **state)
{
    struct stage stage;

    (void)state;
    set(&stage, RL_SESSION_READY, 1000, 5999);
    assert_false(drained(&stage, 5999, 1000));
    assert_true(drained(&stage, 6000, 1000));
}

static void a_node_that_cannot_be_reached_has_the_timeout_to_come_back(void **state)
{
    struct stage stage;

    (void)state;
    set(&stage, RL_SESSION_OPENING, 1000, 900);
    assert_false(drained(&stage, 1499, 1000));
    assert_true(drained(&stage, 1500, 1000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_answered_is_not_waited_for),
        cmocka_unit_test(a_node_that_has_been_silent_for_long_is_not_waited_for),
        cmocka_unit_test(a_node_that_goes_on_answering_is_waited_for),
        cmocka_unit_test(nor_for_ever),
        cmocka_unit_test(a_node_that_cannot_be_reached_has_the_timeout_to_come_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
