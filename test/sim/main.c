/*
 * redlock-sim: runs seeds through the simulator and says which of them broke a rule. The same seed gives the
 * same run, anywhere.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/batch.h"

static void usage(FILE *file)
{
    fputs("usage: redlock-sim [-n SEEDS] [-f FIRST] [-j JOBS] [-b BUG] [-k] [-w] [-v [-s]]\n"
          "  -n SEEDS  how many seeds to run (1000)\n"
          "  -f FIRST  the first of them (1)\n"
          "  -j JOBS   over how many processes to split them (one for each processor)\n"
          "  -b BUG    plant a bug, and stop at the first seed that finds it:\n           ",
          file);
    for (int bug = 1; bug < SIM_BUGS; bug++)
        fprintf(file, " %s", sim_bug_name((enum sim_bug)bug));
    fputs("\n  -k        go on after a failure\n"
          "  -w        faults together that are known not to be covered together\n"
          "  -v        print what happens in each run\n"
          "  -s        take out of a plan that fails what it fails without\n",
          file);
}

static enum sim_bug find_bug(const char *name)
{
    for (int bug = 0; bug < SIM_BUGS; bug++)
        if (strcmp(sim_bug_name((enum sim_bug)bug), name) == 0)
            return (enum sim_bug)bug;
    fprintf(stderr, "redlock-sim: there is no bug named %s\n", name);
    exit(64);
}

/* One after the other, with all that happens. */
static int run_aloud(const struct sim_batch *batch, bool shrink)
{
    struct sim_world *world = sim_world_new();
    char text[1024];
    int failed = 0;

    for (uint64_t seed = batch->first; seed < batch->first + batch->count; seed++) {
        struct sim_plan plan;

        sim_plan_draw(&plan, seed, batch->bug, batch->wide);
        if (shrink && !sim_run(world, &plan, NULL))
            sim_failure_shrink(world, &plan);
        sim_plan_describe(&plan, text, sizeof text);
        puts(text);
        failed |= !sim_run(world, &plan, stdout);
    }
    sim_world_free(world);
    return failed;
}

static int run_quietly(const struct sim_batch *batch)
{
    struct sim_batch_result result;

    sim_batch_run(batch, &result);
    for (uint32_t i = 0; i < (batch->keep_going ? result.kept_count : result.kept_count > 0); i++)
        sim_failure_show(stdout, batch, result.failed_seeds[i]);
    sim_batch_describe(stdout, &result);
    return result.failed == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct sim_batch batch = {.first = 1, .count = 1000, .jobs = sim_batch_jobs()};
    bool verbose = false, shrink = false;
    int option;

    while ((option = getopt(argc, argv, "n:f:j:b:kwvsh")) != -1) {
        switch (option) {
        case 'n':
            batch.count = strtoull(optarg, NULL, 10);
            break;
        case 'f':
            batch.first = strtoull(optarg, NULL, 10);
            break;
        case 'j':
            batch.jobs = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'b':
            batch.bug = find_bug(optarg);
            break;
        case 'k':
            batch.keep_going = true;
            break;
        case 'w':
            batch.wide = true;
            break;
        case 'v':
            verbose = true;
            break;
        case 's':
            shrink = true;
            break;
        default:
            usage(option == 'h' ? stdout : stderr);
            return option == 'h' ? 0 : 64;
        }
    }
    return verbose ? run_aloud(&batch, shrink) : run_quietly(&batch);
}
