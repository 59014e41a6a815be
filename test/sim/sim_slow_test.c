/*
 * Runs the simulator over some thousand seeds, split over all processors. `make sim` runs as many as wanted.
 */
#include "sim/batch.h"
#include "support/check.h"

enum { SEEDS = 2500, HAND_OVERS = 40000, RARE = 10000 };

static void no_seed_breaks_a_rule(void **state)
{
    struct sim_batch batch = {.first = 1, .count = SEEDS, .jobs = sim_batch_jobs()};
    struct sim_batch_result result;

    (void)state;
    sim_batch_run(&batch, &result);
    sim_batch_describe(stderr, &result);
    if (result.failed > 0) {
        sim_failure_show(stderr, &batch, result.failed_seeds[0]);
        fail_msg("seed %llu failed; see above", (unsigned long long)result.failed_seeds[0]);
    }
    assert_int_equal(result.done, SEEDS);
    assert_true(result.stats.grants > SEEDS);
    assert_true(result.stats.hand_overs > HAND_OVERS);
    assert_true(result.stats.woken_by_push > 0 && result.stats.woken_by_look > 0 &&
                result.stats.woken_by_timer > 0 && result.stats.looks > 0 && result.stats.queued > 0);
    assert_true(result.stats.handed_over > HAND_OVERS && result.stats.splits > 0 &&
                result.stats.give_ways > 0 && result.stats.passed_over > 0);
    assert_true(RARE * result.stats.late <= result.stats.handed_over);
    assert_true(RARE * result.stats.overtaken <= result.stats.handed_over);
    for (int fault = 0; fault < SIM_FAULTS; fault++)
        if (result.stats.faults[fault] < SEEDS / 10)
            fail_msg("%s struck only %llu times", sim_fault_name((enum sim_fault)fault),
                     (unsigned long long)result.stats.faults[fault]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_seed_breaks_a_rule)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
