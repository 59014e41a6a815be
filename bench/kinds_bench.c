/*
 * The kinds of lock besides the exclusive one, through redlock.h alone and in guarded mode: slots of a
 * semaphore, readers, several names together, and entering a reentrant lock again. What a kind is compared
 * with, ordinary locks used in the same way, is measured here, too. One client serves all threads of a run.
 */
#include "callers.h"

static uint64_t rounds_before, rounds_after; /* around the phase that is measured, which is the last one */

static uint64_t rounds_of(redlock_client *client)
{
    static redlock_stats stats = REDLOCK_STATS_INIT;

    callers_must("stats", redlock_client_stats(client, &stats));
    return stats.rounds;
}

static void take_turns(redlock_client *client, const struct bench *bench, int64_t until_ns,
                       struct bench_samples *samples, caller_set_fn set)
{
    rounds_before = rounds_of(client);
    callers_run(client, bench, until_ns, samples, set, caller_take_turns);
    rounds_after = rounds_of(client);
}

/* ---- what each of them takes ---- */

static void set_slot(struct caller *caller, const struct bench *bench, unsigned number)
{
    (void)number;
    caller->spec.kind = REDLOCK_SEMAPHORE;
    caller->spec.permits = bench->width;
}

/* As many locks as the semaphore has slots, and everybody has one of them to wait for. */
static void set_one_of_several(struct caller *caller, const struct bench *bench, unsigned number)
{
    bench_name(caller->name, number % bench->width);
}

static void set_share(struct caller *caller, const struct bench *bench, unsigned number)
{
    (void)bench;
    (void)number;
    caller->spec.kind = REDLOCK_SHARED;
}

static void set_name_of_its_own(struct caller *caller, const struct bench *bench, unsigned number)
{
    (void)bench;
    bench_name(caller->name, number);
}

/* The same names for all of them. */
static void set_names(struct caller *caller, const struct bench *bench, unsigned number)
{
    static char names[REDLOCK_NAMES_MAX - 1][BENCH_NAME_SIZE];
    static redlock_name also[REDLOCK_NAMES_MAX - 1];

    (void)number;
    for (unsigned i = 0; i + 1 < bench->width && i < REDLOCK_NAMES_MAX - 1; i++) {
        bench_name(names[i], i + 1);
        also[i].name = names[i];
        caller->spec.also_count = i + 1;
    }
    caller->spec.also = also;
}

static void run_slots(void *subject, const struct bench *bench, int64_t until_ns,
                      struct bench_samples *samples)
{
    take_turns(subject, bench, until_ns, samples, set_slot);
}

static void run_spread(void *subject, const struct bench *bench, int64_t until_ns,
                       struct bench_samples *samples)
{
    take_turns(subject, bench, until_ns, samples, set_one_of_several);
}

static void run_readers(void *subject, const struct bench *bench, int64_t until_ns,
                        struct bench_samples *samples)
{
    take_turns(subject, bench, until_ns, samples, set_share);
}

static void run_own(void *subject, const struct bench *bench, int64_t until_ns, struct bench_samples *samples)
{
    take_turns(subject, bench, until_ns, samples, set_name_of_its_own);
}

static void run_names(void *subject, const struct bench *bench, int64_t until_ns,
                      struct bench_samples *samples)
{
    take_turns(subject, bench, until_ns, samples, set_names);
}

/* The lock is held all the while, and its owner enters and leaves it. */
static void run_again(void *subject, const struct bench *bench, int64_t until_ns,
                      struct bench_samples *samples)
{
    struct caller caller = {
        .client = subject, .until_ns = until_ns, .samples = samples, .spec = REDLOCK_SPEC_INIT};
    redlock_lock *outer;

    bench_name(caller.name, 0);
    caller.spec.name = caller.name;
    caller.spec.ttl_ms = bench->ttl_ms;
    caller.spec.reentrant = 1;
    caller.spec.auto_extend = 1;
    caller.spec.on_lost = callers_on_lost;
    callers_must("acquire", redlock_acquire(subject, &caller.spec, REDLOCK_WAIT_FOREVER, &outer, NULL));
    rounds_before = rounds_of(subject);
    caller_take_turns(&caller);
    rounds_after = rounds_of(subject);
    callers_must("release", redlock_release(outer, NULL));
    redlock_lock_free(outer);
}

static const struct bench_workload workloads[] = {{"slots", run_slots},
                                                  {"spread", run_spread},
                                                  {"readers", run_readers},
                                                  {"own", run_own},
                                                  {"names", run_names},
                                                  {"again", run_again},
                                                  {0}};

int main(int argc, char **argv)
{
    struct bench bench = bench_options(argc, argv);
    redlock_client *client = callers_open(&bench, NULL);

    bench_run(&bench, workloads, client);
    bench_figure("measured_rounds", (double)(rounds_after - rounds_before));
    bench_end();
    redlock_client_close(client);
    return 0;
}
