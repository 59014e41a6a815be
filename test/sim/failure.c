/*
 * What is said about a seed that failed: it is run again with a transcript, after everything was taken out of
 * its plan that the failure does not need. See batch.h.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/batch.h"

enum { LINES_SHOWN = 60 };

/* Keeps the smaller plan if it fails too, whichever rule it breaks. */
static bool try_less(struct sim_world *world, struct sim_plan *plan, const struct sim_plan *less)
{
    if (memcmp(plan, less, sizeof *plan) == 0 || sim_run(world, less, NULL))
        return false;
    *plan = *less;
    return true;
}

static bool shrink_once(struct sim_world *world, struct sim_plan *plan)
{
    struct sim_plan less;
    bool smaller = false;

    for (int fault = 0; fault < SIM_FAULTS; fault++) {
        less = *plan;
        less.faults &= ~(1U << fault);
        smaller |= try_less(world, plan, &less);
    }
    less = *plan;
    less.gone_count = 0;
    smaller |= try_less(world, plan, &less);
    less = *plan;
    less.client_count -= less.client_count > 1;
    smaller |= try_less(world, plan, &less);
    less = *plan;
    less.worker_count = less.name_count = 1;
    smaller |= try_less(world, plan, &less);
    return smaller;
}

void sim_failure_shrink(struct sim_world *world, struct sim_plan *plan)
{
    while (shrink_once(world, plan))
        continue;
}

/* The last lines of a text. */
static void show_end(FILE *to, const char *text, size_t length)
{
    const char *from = text + length;

    for (int lines = 0; from > text; from--)
        if (from[-1] == '\n' && ++lines > LINES_SHOWN)
            break;
    if (from > text)
        fputs("  ...\n", to);
    fwrite(from, 1, (size_t)(text + length - from), to);
}

void sim_failure_show(FILE *to, const struct sim_batch *batch, uint64_t seed)
{
    struct sim_world *world = sim_world_new();
    const char *wide = batch->wide ? " -w" : "", *bug = sim_bug_name(batch->bug);
    struct sim_plan plan;
    char words[1024], *text = NULL;
    size_t length = 0;
    FILE *transcript = open_memstream(&text, &length);

    if (transcript == NULL)
        abort();
    sim_plan_draw(&plan, seed, batch->bug, batch->wide);
    sim_run(world, &plan, NULL);
    sim_plan_describe(&plan, words, sizeof words);
    fprintf(to, "%s\nFAILED: %s\nagain: redlock-sim -v -n 1 -f %" PRIu64 " -b %s%s\n", words, world->failure,
            seed, bug, wide);
    sim_failure_shrink(world, &plan);
    sim_run(world, &plan, transcript);
    fclose(transcript);
    sim_plan_describe(&plan, words, sizeof words);
    fprintf(to, "It needs no more than %s\nin full: redlock-sim -v -s -n 1 -f %" PRIu64 " -b %s%s\n", words,
            seed, bug, wide);
    show_end(to, text, length);
    free(text);
    sim_world_free(world);
}
