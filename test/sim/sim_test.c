/*
 * The simulator itself: a seed repeats its run, however the seeds are split, and one that fails is shown with
 * what led to it. Few seeds, so that the sanitizers get to see them too.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/batch.h"
#include "support/check.h"

enum { SEEDS = 20, LIMIT_SEED = 287 /* named in docs/guarantees.md */ };

static bool run(struct sim_world *world, uint64_t seed)
{
    struct sim_plan plan;

    sim_plan_draw(&plan, seed, SIM_BUG_NONE, false);
    return sim_run(world, &plan, NULL);
}

static void a_seed_repeats_its_run(void **state)
{
    struct sim_world *first = sim_world_new(), *second = sim_world_new();

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        assert_true(run(first, seed));
        assert_true(run(second, seed));
        assert_memory_equal(&first->stats, &second->stats, sizeof first->stats);
        assert_memory_equal(first->highest, second->highest, sizeof first->highest);
    }
    sim_world_free(first);
    sim_world_free(second);
}

static void seeds_may_be_split_over_processes(void **state)
{
    struct sim_batch batch = {.first = 7, .count = SEEDS, .jobs = 1};
    struct sim_batch_result alone, together;

    (void)state;
    sim_batch_run(&batch, &alone);
    batch.jobs = 3;
    sim_batch_run(&batch, &together);
    assert_int_equal(together.done, SEEDS);
    assert_memory_equal(&alone.stats, &together.stats, sizeof alone.stats);
}

static void the_lowest_seed_that_fails_is_named_however_they_are_split(void **state)
{
    struct sim_batch batch = {.first = 1, .count = 1000, .bug = SIM_BUG_NO_GUARD, .jobs = 1};
    struct sim_batch_result alone, together;

    (void)state;
    sim_batch_run(&batch, &alone);
    batch.jobs = 5;
    sim_batch_run(&batch, &together);
    assert_int_equal(alone.failed, 1);
    assert_int_equal(together.failed_seeds[0], alone.failed_seeds[0]);
}

/* The limit that docs/guarantees.md writes down is there, and nothing but the wide plan runs into it. */
static void the_known_limit_is_met_where_the_documentation_says(void **state)
{
    struct sim_batch batch = {.first = LIMIT_SEED, .count = 1, .wide = true, .jobs = 1};
    struct sim_batch_result result;

    (void)state;
    sim_batch_run(&batch, &result);
    assert_int_equal(result.failed, 1);
    batch.wide = false;
    sim_batch_run(&batch, &result);
    assert_int_equal(result.failed, 0);
}

static uint32_t count_faults(uint32_t faults)
{
    uint32_t count = 0;

    for (; faults != 0; faults &= faults - 1)
        count++;
    return count;
}

static void what_fails_is_shrunk_and_still_fails(void **state)
{
    struct sim_batch batch = {.first = 1, .count = 1000, .bug = SIM_BUG_NO_GUARD, .jobs = 1};
    struct sim_batch_result result;
    struct sim_world *world = sim_world_new();
    struct sim_plan plan;

    (void)state;
    sim_batch_run(&batch, &result);
    sim_plan_draw(&plan, result.failed_seeds[0], batch.bug, false);
    sim_failure_shrink(world, &plan);
    assert_false(sim_run(world, &plan, NULL));
    /* A node that forgets is all it takes. */
    assert_true(count_faults(plan.faults) <= 2);
    sim_world_free(world);
}

static void a_failure_is_shown_with_its_command_and_its_story(void **state)
{
    struct sim_batch batch = {.first = 1, .count = 1000, .bug = SIM_BUG_NO_GUARD, .jobs = 1};
    struct sim_batch_result result;
    char *text = NULL, command[64];
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);

    (void)state;
    assert_non_null(to);
    sim_batch_run(&batch, &result);
    sim_failure_show(to, &batch, result.failed_seeds[0]);
    fclose(to);
    snprintf(command, sizeof command, "again: redlock-sim -v -n 1 -f %llu -b no-guard\n",
             (unsigned long long)result.failed_seeds[0]);
    assert_non_null(strstr(text, command));
    assert_non_null(strstr(text, "FAILED: "));
    /* The end of the transcript, and its last line is the rule that was broken. */
    assert_non_null(strstr(text, "] client "));
    assert_non_null(strstr(text, "] FAILED: "));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_repeats_its_run),
        cmocka_unit_test(seeds_may_be_split_over_processes),
        cmocka_unit_test(the_lowest_seed_that_fails_is_named_however_they_are_split),
        cmocka_unit_test(the_known_limit_is_met_where_the_documentation_says),
        cmocka_unit_test(what_fails_is_shrunk_and_still_fails),
        cmocka_unit_test(a_failure_is_shown_with_its_command_and_its_story),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
