/*
 * Plants bugs and shows that the simulator finds each of them: what it would not find if it were there is not
 * checked either.
 */
#include <inttypes.h>
#include <string.h>

#include "sim/batch.h"
#include "support/check.h"

enum { SEEDS = 5000, STEP = 20 };

/* Order and promptness are kept but for rare histories, which stands.c counts: a run that has one without the
 * bug shows nothing. */
static bool is_rare(const struct sim_world *world)
{
    return strstr(world->failure, "order: client") != NULL ||
           strstr(world->failure, "lost hand-over") != NULL;
}

/* Each of them breaks a promise; that nobody got a lock any more would be another bug. The same run without
 * the bug is fine. */
static bool breaks_promise(enum sim_bug bug, uint64_t seed)
{
    struct sim_world *world = sim_world_new();
    struct sim_plan plan;
    bool found;

    sim_plan_draw(&plan, seed, bug, false);
    assert_false(sim_run(world, &plan, NULL));
    found = strstr(world->failure, "liveness") == NULL && strstr(world->failure, "leak") == NULL;
    if (found)
        print_message("# %s: seed %" PRIu64 ": %s\n", sim_bug_name(bug), seed, world->failure);
    plan.bug = SIM_BUG_NONE;
    if (found && !sim_run(world, &plan, NULL)) {
        found = false;
        if (!is_rare(world))
            fail_msg("seed %" PRIu64 " fails without %s as well: %s", seed, sim_bug_name(bug),
                     world->failure);
    }
    sim_world_free(world);
    return found;
}

static void check_bug(enum sim_bug bug)
{
    struct sim_batch batch = {
        .first = 1, .count = STEP, .bug = bug, .keep_going = true, .jobs = sim_batch_jobs()};
    struct sim_batch_result result;

    for (; batch.first <= SEEDS; batch.first += STEP) {
        sim_batch_run(&batch, &result);
        for (uint32_t i = 0; i < result.kept_count; i++)
            if (breaks_promise(bug, result.failed_seeds[i]))
                return;
    }
    fail_msg("%s was not found in %d seeds", sim_bug_name(bug), SEEDS);
}

static void planted_bugs_are_found(void **state)
{
    (void)state;
    for (int bug = SIM_BUG_NONE + 1; bug < SIM_BUGS; bug++)
        check_bug((enum sim_bug)bug);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(planted_bugs_are_found)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
