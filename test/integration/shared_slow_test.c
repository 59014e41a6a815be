/*
 * Processes count under one lock while others share it to look, and one node after the other is frozen,
 * killed and started again, or comes back with an empty memory: nobody counts beside anybody, and nothing is
 * lost.
 */
#include <stdlib.h>

#include "support/counters.h"
#include "support/guarded.h"
#include "support/steps.h"

enum { WRITERS = 4, READERS = 12, TTL_MS = 10000, DURATION_MS = 30000 };

/* A node that forgot sits out for a little more than the longest TTL: the next one is not emptied before it
 * is back. */
static void empty_one(struct fleet *fleet, int turn)
{
    if (turn % 14 == 0) {
        fleet_kill(fleet, turn / 14 % 5);
        sleep_ms(300);
        if (!fleet_restart(fleet, turn / 14 % 5))
            print_error("node %d did not come back\n", turn / 14 % 5);
    } else {
        fleet_freeze(fleet, (turn / 14 + 1) % 5);
        sleep_ms(200);
        fleet_thaw(fleet, (turn / 14 + 1) % 5);
    }
    sleep_ms(1000);
}

static void nobody_counts_while_others_look_and_nodes_are_emptied(void **state)
{
    struct counters_result result =
        counters_share(*state, WRITERS, READERS, false, TTL_MS, DURATION_MS, empty_one);

    print_message("# %ld counted, %ld looked, %ld of them beside another, %d calls failed (last: %s)\n",
                  result.claimed, result.reads, result.beside, result.failures,
                  redlock_result_name((redlock_result)result.last_failure));
    assert_int_equal(result.crashes, 0);
    assert_int_equal(result.overlaps, 0);
    assert_true(result.claimed > 0);
    assert_true(result.beside > 0);
    assert_int_equal(result.counted, result.claimed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_GUARDED(nobody_counts_while_others_look_and_nodes_are_emptied, start_five_guarded),
    };

    setenv("REDLOCK_TEST_MODE", "guarded", 1); /* there is no other mode for them */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
