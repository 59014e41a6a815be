/*
 * Clients and threads of the programs that measure the library; see callers.h.
 */
#include "callers.h"

#include <stdlib.h>

redlock_client *callers_open(const struct bench *bench, const redlock_allocator *allocator)
{
    redlock_options options = REDLOCK_OPTIONS_INIT;
    static redlock_report report = REDLOCK_REPORT_INIT;
    redlock_client *client;

    options.nodes = bench->nodes;
    options.host = BENCH_HOST;
    options.login = BENCH_LOGIN;
    options.mode = bench->mode == BENCH_GUARDED ? REDLOCK_GUARDED : REDLOCK_PLAIN;
    options.allocator = allocator;
    if (redlock_client_open(&options, &client, &report) != REDLOCK_OK)
        bench_die("%s", report.line);
    return client;
}

void callers_must(const char *what, redlock_result result)
{
    if (result != REDLOCK_OK)
        bench_die("%s: %s", what, redlock_result_name(result));
}

void callers_on_lost(void *context, redlock_lock *lock, const redlock_report *report)
{
    (void)context;
    (void)lock;
    bench_die("%s", report->line);
}

void caller_take_turns(struct caller *caller)
{
    redlock_lock *lock;
    int64_t asked_ns;

    while ((asked_ns = bench_now_ns()) < caller->until_ns) {
        int64_t wait_ms = (caller->until_ns - asked_ns) / 1000000 + 1;
        redlock_result result = redlock_acquire(caller->client, &caller->spec, wait_ms, &lock, NULL);

        if (result == REDLOCK_TIMEOUT) {
            bench_add_cut_off(caller->samples, bench_now_ns() - asked_ns);
            continue;
        }
        callers_must("acquire", result);
        bench_add(caller->samples, bench_now_ns() - asked_ns);
        /* A node may be down, a clock wrong or a short lease over: what counts is how it goes on. */
        redlock_release(lock, NULL);
        redlock_lock_free(lock);
    }
}

struct work {
    struct caller caller;
    caller_work_fn run;
};

static void *start(void *context)
{
    struct work *work = context;

    work->run(&work->caller);
    return NULL;
}

void callers_run(redlock_client *client, const struct bench *bench, int64_t until_ns,
                 struct bench_samples *samples, caller_set_fn set, caller_work_fn run)
{
    struct work *works = bench_allocate(bench->client_count, sizeof *works);

    for (unsigned i = 0; i < bench->client_count; i++) {
        struct caller *caller = &works[i].caller;

        works[i].run = run;
        caller->client = client;
        caller->until_ns = until_ns;
        caller->samples = &samples[i];
        caller->spec = (redlock_spec)REDLOCK_SPEC_INIT;
        caller->spec.name = caller->name;
        caller->spec.ttl_ms = bench->ttl_ms;
        caller->spec.quick_release = bench->quick;
        bench_name(caller->name, 0);
        set(caller, bench, bench->first_client + i);
        if (i > 0 && pthread_create(&caller->thread, NULL, start, &works[i]) != 0)
            bench_die("cannot start a thread");
    }
    run(&works[0].caller);
    for (unsigned i = 1; i < bench->client_count; i++)
        pthread_join(works[i].caller.thread, NULL);
    free(works);
}
