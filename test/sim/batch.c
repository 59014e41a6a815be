/*
 * Runs many seeds over several processes; see batch.h. Each process takes every n-th seed, and they share a
 * page in which they leave what they found.
 */
#include "sim/batch.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the processes share. */
struct board {
    _Atomic uint64_t lowest; /* seed that failed */
    struct sim_batch_result parts[SIM_JOBS_MAX];
};

struct sim_world *sim_world_new(void)
{
    struct sim_world *world = calloc(1, sizeof *world);

    if (world == NULL)
        abort();
    return world;
}

void sim_world_free(struct sim_world *world)
{
    free(world->queue.heap);
    free(world->attempts);
    free(world->details);
    free(world);
}

unsigned sim_batch_jobs(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);

    return count < 1 ? 1 : count > SIM_JOBS_MAX ? SIM_JOBS_MAX : (unsigned)count;
}

static void note_failure(struct board *board, struct sim_batch_result *part, uint64_t seed)
{
    uint64_t lowest = atomic_load(&board->lowest);

    while (seed < lowest && !atomic_compare_exchange_weak(&board->lowest, &lowest, seed))
        continue;
    part->failed++;
    if (part->kept_count < SIM_FAILED_KEPT)
        part->failed_seeds[part->kept_count++] = seed;
}

/* Every seed below the lowest one that failed is run, so that this one does not depend on the number of
 * processes. */
static void run_part(const struct sim_batch *batch, struct board *board, unsigned job)
{
    struct sim_batch_result *part = &board->parts[job];
    struct sim_world *world = sim_world_new();

    for (uint64_t i = job; i < batch->count; i += batch->jobs) {
        uint64_t seed = batch->first + i;
        struct sim_plan plan;

        if (!batch->keep_going && seed > atomic_load(&board->lowest))
            break;
        sim_plan_draw(&plan, seed, batch->bug, batch->wide);
        if (!sim_run(world, &plan, NULL))
            note_failure(board, part, seed);
        part->done++;
    }
    part->stats = world->stats;
    sim_world_free(world);
}

static void run_parts(const struct sim_batch *batch, struct board *board)
{
    pid_t children[SIM_JOBS_MAX];

    if (batch->jobs <= 1) {
        run_part(batch, board, 0);
        return;
    }
    fflush(NULL);
    for (unsigned job = 0; job < batch->jobs; job++) {
        children[job] = fork();
        if (children[job] < 0)
            abort();
        if (children[job] == 0) {
            run_part(batch, board, job);
            _exit(0);
        }
    }
    for (unsigned job = 0; job < batch->jobs; job++) {
        int status = 0;

        /* One that crashed has found something, and must not pass for one that found nothing. */
        if (waitpid(children[job], &status, 0) != children[job] || status != 0)
            abort();
    }
}

static int compare_seeds(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

    return one < other ? -1 : one > other;
}

static void add_stats(struct sim_stats *sum, const struct sim_stats *part)
{
    uint64_t *to = (uint64_t *)sum;
    const uint64_t *from = (const uint64_t *)part;
    uint64_t longest_us = sum->longest_idle_us;

    _Static_assert(sizeof *sum % sizeof *to == 0, "nothing but counts");
    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++)
        to[i] += from[i];
    sum->longest_idle_us = longest_us > part->longest_idle_us ? longest_us : part->longest_idle_us;
}

static void sum_up(const struct sim_batch *batch, const struct board *board, struct sim_batch_result *sum)
{
    uint64_t seeds[SIM_JOBS_MAX * SIM_FAILED_KEPT];
    uint32_t count = 0;

    for (unsigned job = 0; job < batch->jobs; job++) {
        const struct sim_batch_result *part = &board->parts[job];

        sum->done += part->done;
        sum->failed += part->failed;
        add_stats(&sum->stats, &part->stats);
        for (uint32_t i = 0; i < part->kept_count; i++)
            seeds[count++] = part->failed_seeds[i];
    }
    qsort(seeds, count, sizeof seeds[0], compare_seeds);
    for (uint32_t i = 0; i < count && i < SIM_FAILED_KEPT; i++)
        sum->failed_seeds[sum->kept_count++] = seeds[i];
}

static double cpu_seconds(void)
{
    struct rusage own, children;

    getrusage(RUSAGE_SELF, &own);
    getrusage(RUSAGE_CHILDREN, &children);
    return (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec + children.ru_utime.tv_sec +
                    children.ru_stime.tv_sec) +
           (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec + children.ru_utime.tv_usec +
                    children.ru_stime.tv_usec) /
               1e6;
}

void sim_batch_run(const struct sim_batch *asked, struct sim_batch_result *result)
{
    struct sim_batch batch = *asked;
    double started_s = cpu_seconds();
    struct board *board =
        mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (board == MAP_FAILED)
        abort();
    if (batch.jobs < 1 || batch.jobs > SIM_JOBS_MAX)
        batch.jobs = 1;
    atomic_store(&board->lowest, UINT64_MAX);
    *result = (struct sim_batch_result){0};
    run_parts(&batch, board);
    sum_up(&batch, board, result);
    result->cpu_s = cpu_seconds() - started_s;
    munmap(board, sizeof *board);
}

void sim_batch_describe(FILE *to, const struct sim_batch_result *result)
{
    const struct sim_stats *stats = &result->stats;
    double simulated_s = (double)stats->virtual_us / 1e6;
    uint64_t faults = 0;

    for (int fault = 0; fault < SIM_FAULTS; fault++)
        faults += stats->faults[fault];
    fprintf(to,
            "%" PRIu64 " seeds, %" PRIu64 " failed: %" PRIu64 " steps, %" PRIu64 " messages, %" PRIu64
            " locks handed out, %" PRIu64 " fences raised, %" PRIu64 " extended, %" PRIu64
            " nodes brought up, %" PRIu64 " released, %" PRIu64 " lost, %" PRIu64 " faults\n",
            result->done, result->failed, stats->steps, stats->messages, stats->grants, stats->raises,
            stats->extensions, stats->mends, stats->releases, stats->losses, faults);
    fprintf(to,
            "%s %" PRIu64 " hand-overs to somebody who waited; woken %" PRIu64
            " times by what a node told, %" PRIu64 " by what a look showed, %" PRIu64
            " by the end of a key; %" PRIu64 " polls, %" PRIu64 " looks out of mistrust, %" PRIu64
            " pushes, %" PRIu64 " queued\n",
            result->failed == 0 ? "no lost wake-up in" : "all told", stats->hand_overs, stats->woken_by_push,
            stats->woken_by_look, stats->woken_by_timer, stats->polls, stats->looks, stats->pushes,
            stats->queued);
    fprintf(to,
            "%" PRIu64 " seeds in plain mode, %" PRIu64 " with mixed terms; %" PRIu64 " fair locks, %" PRIu64
            " of several names, %" PRIu64 " commands for several locks, %" PRIu64 " adopted, %" PRIu64
            " attempts to adopt what had been given back, %" PRIu64 " canceled, %" PRIu64
            " abandoned, %" PRIu64 " inits, %" PRIu64 " inspections, %" PRIu64 " reports\n",
            stats->plain_seeds, stats->mixed_seeds, stats->fair_grants, stats->several, stats->batches,
            stats->adopted, stats->stale_adoptions, stats->canceled, stats->abandoned, stats->inits,
            stats->inspections, stats->reports);
    fprintf(to,
            "%" PRIu64 " locks handed over at the nodes, %" PRIu64 " splits, %" PRIu64 " give-ways, %" PRIu64
            " waiters passed over, %" PRIu64 " late, %" PRIu64
            " overtaken; nobody had what somebody stood for, for %" PRIu64 " ms at most; %" PRIu64
            " keys of another type, %" PRIu64 " locks shared, %" PRIu64 " times beside another\n",
            stats->handed_over, stats->splits, stats->give_ways, stats->passed_over, stats->late,
            stats->overtaken, stats->longest_idle_us / 1000, stats->foreign_locks, stats->shared_grants,
            stats->together);
    fputs("faults:", to);
    for (int fault = 0; fault < SIM_FAULTS; fault++)
        fprintf(to, " %s %" PRIu64, sim_fault_name((enum sim_fault)fault), stats->faults[fault]);
    fprintf(to, "\n%.1f s of one core for %.0f s of simulated time: %.0f times real time\n", result->cpu_s,
            simulated_s, simulated_s / (result->cpu_s > 0 ? result->cpu_s : 1e-9));
}
