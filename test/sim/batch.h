/*
 * Many seeds, one after the other or split over processes, and what is said about those that fail. A seed's
 * run is the same wherever it takes place.
 */
#ifndef SIM_BATCH_H
#define SIM_BATCH_H

#include "sim/world.h"

enum { SIM_JOBS_MAX = 64, SIM_FAILED_KEPT = 16 };

struct sim_batch {
    uint64_t first, count;
    enum sim_bug bug;
    bool wide;
    bool keep_going; /* else no seed above the lowest one that failed counts */
    unsigned jobs;   /* processes; 1: this one */
};

struct sim_batch_result {
    uint64_t done, failed;
    uint64_t failed_seeds[SIM_FAILED_KEPT]; /* the lowest ones, in order */
    uint32_t kept_count;
    struct sim_stats stats;
    double cpu_s; /* of all processes together */
};

void sim_batch_run(const struct sim_batch *batch, struct sim_batch_result *result);

/* As many processes as there are processors. */
unsigned sim_batch_jobs(void);

struct sim_world *sim_world_new(void);
void sim_world_free(struct sim_world *world);

/* Runs a seed that failed once more: its plan, the rule that was broken, the command that repeats it, and the
 * end of what happened in the smallest plan that still fails. */
void sim_failure_show(FILE *to, const struct sim_batch *batch, uint64_t seed);

/* Takes away from a plan that fails what it also fails without: faults, nodes that are gone, clients,
 * names. */
void sim_failure_shrink(struct sim_world *world, struct sim_plan *plan);

/* Two lines for people. */
void sim_batch_describe(FILE *to, const struct sim_batch_result *result);

#endif
