/*
 * Sixteen processes count under one lock, in peace; the same under fault is in counter_slow_test.
 */
#include "support/counters.h"
#include "support/steps.h"

static void sixteen_processes_lose_no_increment(void **state)
{
    struct counters_result result = counters_run(*state, 16, 2500, NULL);

    assert_int_equal(result.crashes, 0);
    assert_int_equal(result.overlaps, 0);
    assert_result(REDLOCK_OK, (redlock_result)result.last_failure, NULL);
    assert_int_equal(result.failures, 0);
    assert_true(result.claimed > 0);
    assert_int_equal(result.counted, result.claimed);
    print_message("# %ld increments\n", result.claimed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_1_3_5_NODES(sixteen_processes_lose_no_increment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
