/*
 * redlock-sim: runs seeds through the simulator and says which of them broke a rule. The same seed gives the same run, anywhere.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sim/world.h"

static void usage(FILE *file)
{
    fputs("usage: redlock-sim [-n SEEDS] [-f FIRST] [-b BUG] [-k] [-w] [-v]\n"
          "  -n SEEDS  how many seeds to run (1000)\n"
          "  -f FIRST  the first of them (1)\n"
          "  -b BUG    plant a bug, and stop at the first seed that finds it:\n           ",
          file);
    for (int bug = 1; bug < SIM_BUGS; bug++)
        fprintf(file, " %s", sim_bug_name((enum sim_bug)bug));
    fputs("\n  -k        go on after a failure\n"
          "  -w        faults together that are known not to be covered together\n"
          "  -v        print what happens in each run\n",
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

static void sum_up(const struct sim_stats *stats, uint64_t seeds, uint64_t failed, double seconds)
{
    printf("%" PRIu64 " seeds, %" PRIu64 " failed: %" PRIu64 " steps, %" PRIu64 " messages, %" PRIu64
           " locks handed out, %" PRIu64 " fences raised, %" PRIu64 " extended, %" PRIu64
           " released, %" PRIu64 " lost, %" PRIu64 " too slow, %" PRIu64 " faults\n",
           seeds, failed, stats->steps, stats->messages, stats->grants, stats->raises, stats->extensions,
           stats->releases, stats->losses, stats->too_slow, stats->faults);
    printf("%.1f s for %.0f s of simulated time: %.0f times real time\n", seconds,
           (double)stats->virtual_us / 1e6, (double)stats->virtual_us / 1e6 / (seconds > 0 ? seconds : 1e-9));
}

int main(int argc, char **argv)
{
    struct sim_world *world = calloc(1, sizeof *world);
    uint64_t count = 1000, first = 1, failed = 0, done = 0;
    enum sim_bug bug = SIM_BUG_NONE;
    bool verbose = false, keep_going = false, wide = false;
    clock_t started = clock();
    char text[1024];
    int option;

    while ((option = getopt(argc, argv, "n:f:b:kwvh")) != -1) {
        switch (option) {
        case 'n':
            count = strtoull(optarg, NULL, 10);
            break;
        case 'f':
            first = strtoull(optarg, NULL, 10);
            break;
        case 'b':
            bug = find_bug(optarg);
            break;
        case 'k':
            keep_going = true;
            break;
        case 'w':
            wide = true;
            break;
        case 'v':
            verbose = true;
            break;
        default:
            usage(option == 'h' ? stdout : stderr);
            return option == 'h' ? 0 : 64;
        }
    }
    for (uint64_t seed = first; seed < first + count && world != NULL; seed++, done++) {
        struct sim_plan plan;

        sim_plan_draw(&plan, seed, bug, wide);
        sim_plan_describe(&plan, text, sizeof text);
        if (verbose)
            puts(text);
        if (sim_run(world, &plan, verbose ? stdout : NULL))
            continue;
        failed++;
        printf("%s\nFAILED: %s\nagain: redlock-sim -v -n 1 -f %" PRIu64 " -b %s%s\n", text, world->failure,
               seed, sim_bug_name(bug), wide ? " -w" : "");
        if (!keep_going) {
            done++;
            break;
        }
    }
    if (world != NULL)
        sum_up(&world->stats, done, failed, (double)(clock() - started) / CLOCKS_PER_SEC);
    free(world != NULL ? world->queue.heap : NULL);
    free(world != NULL ? world->attempts : NULL);
    free(world);
    return failed == 0 ? 0 : 1;
}
