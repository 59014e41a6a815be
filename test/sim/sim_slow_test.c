/*
 * Runs the simulator over some thousand seeds, and shows that each planted bug is found by it. `make sim` runs many more.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "sim/world.h"
#include "support/check.h"

enum { SEEDS = 2000, SEEDS_FOR_BUGS = 4000 };

static struct sim_world *new_world(void)
{
    struct sim_world *world = calloc(1, sizeof *world);

    assert_non_null(world);
    return world;
}

static void free_world(struct sim_world *world)
{
    free(world->queue.heap);
    free(world->attempts);
    free(world);
}

static bool run(struct sim_world *world, uint64_t seed, enum sim_bug bug)
{
    struct sim_plan plan;

    sim_plan_draw(&plan, seed, bug, false);
    return sim_run(world, &plan, NULL);
}

static void no_seed_breaks_a_rule(void **state)
{
    struct sim_world *world = new_world();

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        if (!run(world, seed, SIM_BUG_NONE))
            fail_msg("%s; again: redlock-sim -v -n 1 -f %" PRIu64, world->failure, seed);
    assert_true(world->stats.grants > SEEDS);
    free_world(world);
}

static void a_seed_repeats_its_run(void **state)
{
    struct sim_world *first = new_world(), *second = new_world();

    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        run(first, seed, SIM_BUG_NONE);
        run(second, seed, SIM_BUG_NONE);
        assert_memory_equal(&first->stats, &second->stats, sizeof first->stats);
        assert_memory_equal(first->highest, second->highest, sizeof first->highest);
    }
    free_world(first);
    free_world(second);
}

static void every_planted_bug_is_found(void **state)
{
    struct sim_world *world = new_world();

    (void)state;
    for (int bug = SIM_BUG_NONE + 1; bug < SIM_BUGS; bug++) {
        uint64_t seed = 1;

        while (seed <= SEEDS_FOR_BUGS && run(world, seed, (enum sim_bug)bug))
            seed++;
        if (seed > SEEDS_FOR_BUGS)
            fail_msg("%s was not found in %d seeds", sim_bug_name((enum sim_bug)bug), SEEDS_FOR_BUGS);
        print_message("# %s: seed %" PRIu64 ": %s\n", sim_bug_name((enum sim_bug)bug), seed, world->failure);
    }
    free_world(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_seed_breaks_a_rule),
        cmocka_unit_test(a_seed_repeats_its_run),
        cmocka_unit_test(every_planted_bug_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
