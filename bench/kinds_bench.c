/*
 * The kinds of lock besides the exclusive one, through redlock.h alone and in guarded mode: slots of a
 * semaphore, readers, several names together, and entering a reentrant lock again. What a kind is compared
 * with, ordinary locks used in the same way, is measured here, too. One client serves all threads of a run.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "redlock.h"

static uint64_t rounds_before, rounds_after; /* around the phase that is measured, which is the last one */

static redlock_client *open_client(const struct bench *bench)
{
    redlock_options options = REDLOCK_OPTIONS_INIT;
    static redlock_report report = REDLOCK_REPORT_INIT;
    redlock_client *client;

    options.nodes = bench->nodes;
    options.host = BENCH_HOST;
    options.login = BENCH_LOGIN;
    if (redlock_client_open(&options, &client, &report) != REDLOCK_OK)
        bench_die("%s", report.line);
    return client;
}

static void must(const char *what, redlock_result result)
{
    if (result != REDLOCK_OK)
        bench_die("%s: %s", what, redlock_result_name(result));
}

static uint64_t rounds_of(redlock_client *client)
{
    static redlock_stats stats = REDLOCK_STATS_INIT;

    must("stats", redlock_client_stats(client, &stats));
    return stats.rounds;
}

struct caller {
    pthread_t thread;
    redlock_client *client;
    int64_t until_ns;
    struct bench_samples *samples;
    redlock_spec spec;
    char name[BENCH_NAME_SIZE];
    char more[REDLOCK_NAMES_MAX - 1][BENCH_NAME_SIZE];
    redlock_name also[REDLOCK_NAMES_MAX - 1];
};

/* Takes it and gives it back, waiting when it has to. What is still waited for at the end is kept as a
 * wait cut off. */
static void *take_in_turn(void *context)
{
    struct caller *caller = context;
    redlock_lock *lock;
    int64_t asked_ns;

    while ((asked_ns = bench_now_ns()) < caller->until_ns) {
        int64_t wait_ms = (caller->until_ns - asked_ns) / 1000000 + 1;
        redlock_result result = redlock_acquire(caller->client, &caller->spec, wait_ms, &lock, NULL);

        if (result == REDLOCK_TIMEOUT) {
            bench_add_cut_off(caller->samples, bench_now_ns() - asked_ns);
            continue;
        }
        must("acquire", result);
        bench_add(caller->samples, bench_now_ns() - asked_ns);
        redlock_release(lock,
                        NULL); /* a second may be over on a busy machine; what counts is how it goes on */
        redlock_lock_free(lock);
    }
    return NULL;
}

/* The first caller is this thread. Its `set` says what each of them takes. */
static void run_callers(redlock_client *client, const struct bench *bench, int64_t until_ns,
                        struct bench_samples *samples,
                        void (*set)(struct caller *caller, const struct bench *bench, unsigned number))
{
    struct caller *callers = bench_allocate(bench->client_count, sizeof *callers);

    rounds_before = rounds_of(client);
    for (unsigned i = 0; i < bench->client_count; i++) {
        callers[i].client = client;
        callers[i].until_ns = until_ns;
        callers[i].samples = &samples[i];
        callers[i].spec = (redlock_spec)REDLOCK_SPEC_INIT;
        callers[i].spec.name = callers[i].name;
        callers[i].spec.ttl_ms = bench->ttl_ms;
        bench_name(callers[i].name, 0);
        set(&callers[i], bench, bench->first_client + i);
        if (i > 0 && pthread_create(&callers[i].thread, NULL, take_in_turn, &callers[i]) != 0)
            bench_die("cannot start a thread");
    }
    take_in_turn(&callers[0]);
    for (unsigned i = 1; i < bench->client_count; i++)
        pthread_join(callers[i].thread, NULL);
    rounds_after = rounds_of(client);
    free(callers);
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

static void set_names(struct caller *caller, const struct bench *bench, unsigned number)
{
    (void)number;
    for (unsigned i = 0; i + 1 < bench->width && i < REDLOCK_NAMES_MAX - 1; i++) {
        bench_name(caller->more[i], i + 1);
        caller->also[i].name = caller->more[i];
        caller->spec.also_count = i + 1;
    }
    caller->spec.also = caller->also;
}

static void run_slots(void *subject, const struct bench *bench, int64_t until_ns,
                      struct bench_samples *samples)
{
    run_callers(subject, bench, until_ns, samples, set_slot);
}

static void run_spread(void *subject, const struct bench *bench, int64_t until_ns,
                       struct bench_samples *samples)
{
    run_callers(subject, bench, until_ns, samples, set_one_of_several);
}

static void run_readers(void *subject, const struct bench *bench, int64_t until_ns,
                        struct bench_samples *samples)
{
    run_callers(subject, bench, until_ns, samples, set_share);
}

static void run_own(void *subject, const struct bench *bench, int64_t until_ns, struct bench_samples *samples)
{
    run_callers(subject, bench, until_ns, samples, set_name_of_its_own);
}

static void run_names(void *subject, const struct bench *bench, int64_t until_ns,
                      struct bench_samples *samples)
{
    run_callers(subject, bench, until_ns, samples, set_names);
}

static void on_lost(void *context, redlock_lock *lock, const redlock_report *report)
{
    (void)context;
    (void)lock;
    bench_die("%s", report->line);
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
    caller.spec.on_lost = on_lost;
    must("acquire", redlock_acquire(subject, &caller.spec, REDLOCK_WAIT_FOREVER, &outer, NULL));
    rounds_before = rounds_of(subject);
    take_in_turn(&caller);
    rounds_after = rounds_of(subject);
    must("release", redlock_release(outer, NULL));
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
    redlock_client *client = open_client(&bench);

    bench_run(&bench, workloads, client);
    bench_figure("measured_rounds", (double)(rounds_after - rounds_before));
    bench_end();
    redlock_client_close(client);
    return 0;
}
