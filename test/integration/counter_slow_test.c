/*
 * Sixteen processes count under one lock while one node after the other is frozen, or killed and started
 * again with what it wrote down. A majority is up at any time, so nobody may fail, and nothing may be lost.
 */
#include "support/counters.h"
#include "support/steps.h"

enum { PROCESSES = 16, DURATION_MS = 20000 };

static int start_five_durable_nodes(void **state)
{
    struct fleet_options options = {.node_count = 5, .durable = true};

    *state = fleet_start(&options);
    return *state != NULL ? 0 : -1;
}

static void assert_nothing_lost(const struct counters_result *result)
{
    assert_int_equal(result->crashes, 0);
    assert_int_equal(result->overlaps, 0);
    assert_result(REDLOCK_OK, (redlock_result)result->last_failure, NULL);
    assert_int_equal(result->failures, 0);
    assert_true(result->claimed > 0);
    assert_int_equal(result->counted, result->claimed);
    print_message("# %ld increments\n", result->claimed);
}

static void freeze_one(struct fleet *fleet, int turn)
{
    fleet_freeze(fleet, turn % 5);
    sleep_ms(700);
    fleet_thaw(fleet, turn % 5);
    sleep_ms(300);
}

static void kill_one(struct fleet *fleet, int turn)
{
    fleet_kill(fleet, turn % 5);
    sleep_ms(300);
    if (!fleet_restart(fleet, turn % 5))
        print_error("node %d did not come back\n", turn % 5);
    sleep_ms(700);
}

static void nothing_is_lost_while_nodes_freeze(void **state)
{
    struct counters_result result = counters_run(*state, PROCESSES, DURATION_MS, freeze_one);

    assert_nothing_lost(&result);
}

static void nothing_is_lost_while_nodes_die_and_come_back(void **state)
{
    struct counters_result result = counters_run(*state, PROCESSES, DURATION_MS, kill_one);

    assert_nothing_lost(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_NODES(nothing_is_lost_while_nodes_freeze, start_five_nodes),
        ON_NODES(nothing_is_lost_while_nodes_die_and_come_back, start_five_durable_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
