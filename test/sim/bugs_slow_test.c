/*
 * Plants bugs and shows that the simulator finds each of them: what it would not find if it were there is not checked either.
 */
#include <inttypes.h>
#include <string.h>

#include "sim/batch.h"
#include "support/check.h"

enum { SEEDS = 4000 };

/* Each of them breaks a promise; that nobody got a lock any more would be another bug. */
static void check_rule(enum sim_bug bug, uint64_t seed)
{
    struct sim_world *world = sim_world_new();
    struct sim_plan plan;

    sim_plan_draw(&plan, seed, bug, false);
    assert_false(sim_run(world, &plan, NULL));
    print_message("# %s: seed %" PRIu64 ": %s\n", sim_bug_name(bug), seed, world->failure);
    assert_null(strstr(world->failure, "liveness"));
    assert_null(strstr(world->failure, "leak"));
    sim_world_free(world);
}

static void every_planted_bug_is_found(void **state)
{
    (void)state;
    for (int bug = SIM_BUG_NONE + 1; bug < SIM_BUGS; bug++) {
        struct sim_batch batch = {
            .first = 1, .count = SEEDS, .bug = (enum sim_bug)bug, .jobs = sim_batch_jobs()};
        struct sim_batch_result result;

        sim_batch_run(&batch, &result);
        if (result.failed == 0)
            fail_msg("%s was not found in %d seeds", sim_bug_name(batch.bug), SEEDS);
        check_rule(batch.bug, result.failed_seeds[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_planted_bug_is_found)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
