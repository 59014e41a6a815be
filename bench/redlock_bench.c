/*
 * What is measured: the library, used as a program would use it, through the shared object and redlock.h
 * alone. One client (one connection per node) serves all threads and all requests of a run.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "redlock.h"

static redlock_client *open_client(const struct bench *bench)
{
    redlock_options options = REDLOCK_OPTIONS_INIT;
    static redlock_report report = REDLOCK_REPORT_INIT;
    redlock_client *client;

    options.nodes = bench->nodes;
    options.host = BENCH_HOST;
    options.login = BENCH_LOGIN;
    options.mode = bench->mode == BENCH_GUARDED ? REDLOCK_GUARDED : REDLOCK_PLAIN;
    if (redlock_client_open(&options, &client, &report) != REDLOCK_OK)
        bench_die("%s", report.line);
    return client;
}

static void must(const char *what, redlock_result result)
{
    if (result != REDLOCK_OK)
        bench_die("%s: %s", what, redlock_result_name(result));
}

/* Lets new nodes vote. A fleet needs it once; fences of the next 5 s may take two rounds. */
static void init_nodes(redlock_client *client)
{
    static redlock_report report = REDLOCK_REPORT_INIT;

    if (redlock_init_nodes(client, 1, &report) != REDLOCK_OK)
        bench_die("%s", report.line);
}

static void print_rounds(redlock_client *client)
{
    static redlock_stats stats = REDLOCK_STATS_INIT;

    must("stats", redlock_client_stats(client, &stats));
    bench_figure("acquired", (double)stats.acquired);
    bench_figure("fence_rounds", (double)stats.fence_rounds);
    bench_figure("rounds", (double)stats.rounds);
}

/* ---- blocking calls ---- */

struct caller {
    pthread_t thread;
    redlock_client *client;
    const struct bench *bench;
    int64_t until_ns;
    char name[BENCH_NAME_SIZE];
    struct bench_samples *samples;
};

static void *call(void *context)
{
    struct caller *caller = context;
    redlock_spec spec = REDLOCK_SPEC_INIT;
    redlock_lock *lock;
    int64_t asked_ns;

    spec.name = caller->name;
    while ((asked_ns = bench_now_ns()) < caller->until_ns) {
        must("acquire", redlock_try_acquire(caller->client, &spec, &lock, NULL));
        bench_add(caller->samples, bench_now_ns() - asked_ns);
        must("release", redlock_release(lock, NULL));
        redlock_lock_free(lock);
    }
    return NULL;
}

static void on_lost(void *context, redlock_lock *lock, const redlock_report *report)
{
    (void)context;
    (void)lock;
    bench_die("%s", report->line);
}

/* All want one name, and wait for it. What is still waited for at the end is given up and kept as a wait cut
 * off. */
static void *contend(void *context)
{
    struct caller *caller = context;
    redlock_spec spec = REDLOCK_SPEC_INIT;
    redlock_lock *lock;
    int64_t asked_ns;

    spec.name = caller->name;
    spec.ttl_ms = caller->bench->ttl_ms;
    spec.auto_extend = caller->bench->renews;
    spec.on_lost = caller->bench->renews ? on_lost : NULL;
    while ((asked_ns = bench_now_ns()) < caller->until_ns) {
        int64_t wait_ms = (caller->until_ns - asked_ns) / 1000000 + 1;
        redlock_result result = redlock_acquire(caller->client, &spec, wait_ms, &lock, NULL);

        if (result == REDLOCK_TIMEOUT) {
            bench_add_cut_off(caller->samples, bench_now_ns() - asked_ns);
            continue;
        }
        must("acquire", result);
        bench_add(caller->samples, bench_now_ns() - asked_ns);
        redlock_release(lock,
                        NULL); /* a node may be down, or the clock wrong: what counts is how it goes on */
        redlock_lock_free(lock);
    }
    return NULL;
}

/* Waits for what another one has until the end, and does not get it. */
static void *wait_in_vain(void *context)
{
    struct caller *caller = context;
    redlock_spec spec = REDLOCK_SPEC_INIT;
    redlock_lock *lock;
    int64_t asked_ns = bench_now_ns();
    int64_t wait_ms = (caller->until_ns - asked_ns) / 1000000;
    redlock_result result;

    spec.name = caller->name;
    result = redlock_acquire(caller->client, &spec, wait_ms > 0 ? wait_ms : 1, &lock, NULL);
    if (result != REDLOCK_TIMEOUT)
        bench_die("a waiter was to wait in vain: %s", redlock_result_name(result));
    bench_add_cut_off(caller->samples, bench_now_ns() - asked_ns);
    return NULL;
}

/* Every client is a thread. The first one is this thread: a lone caller is a program without threads. */
static void run_callers(redlock_client *client, const struct bench *bench, int64_t until_ns,
                        struct bench_samples *samples, void *(*work)(void *))
{
    struct caller *callers = bench_allocate(bench->client_count, sizeof *callers);

    for (unsigned i = 0; i < bench->client_count; i++) {
        callers[i].client = client;
        callers[i].bench = bench;
        callers[i].until_ns = until_ns;
        callers[i].samples = &samples[i];
        bench_name(callers[i].name, work == call ? i : 0);
        if (i > 0 && pthread_create(&callers[i].thread, NULL, work, &callers[i]) != 0)
            bench_die("cannot start a thread");
    }
    work(&callers[0]);
    for (unsigned i = 1; i < bench->client_count; i++)
        pthread_join(callers[i].thread, NULL);
    free(callers);
}

/* Each locks and unlocks a name of its own. */
static void run_blocking(void *subject, const struct bench *bench, int64_t until_ns,
                         struct bench_samples *samples)
{
    run_callers(subject, bench, until_ns, samples, call);
}

static void run_contention(void *subject, const struct bench *bench, int64_t until_ns,
                           struct bench_samples *samples)
{
    run_callers(subject, bench, until_ns, samples, contend);
}

/* Another client has the lock all the time and renews it twice. */
static void run_waiting(void *subject, const struct bench *bench, int64_t until_ns,
                        struct bench_samples *samples)
{
    redlock_client *holder = open_client(bench);
    redlock_spec spec = REDLOCK_SPEC_INIT;
    int64_t asked_ns = bench_now_ns();
    uint32_t window_ms = (uint32_t)((until_ns - asked_ns) / 1000000) + REDLOCK_TTL_MIN_MS;
    char name[BENCH_NAME_SIZE];
    redlock_lock *lock;

    bench_name(name, 0);
    spec.name = name;
    spec.ttl_ms = 2 * window_ms; /* no shorter than what is left when the last one gives up */
    spec.auto_extend = 1;
    spec.on_lost = on_lost;
    spec.renew_ms = 2 * window_ms / 5;
    must("acquire", redlock_acquire(holder, &spec, REDLOCK_WAIT_FOREVER, &lock, NULL));
    bench_add(&samples[0], bench_now_ns() - asked_ns);
    run_callers(subject, bench, until_ns, samples, wait_in_vain);
    must("release", redlock_release(lock, NULL));
    redlock_lock_free(lock);
    redlock_client_close(holder);
}

/* ---- asynchronous calls from one thread with an event loop ---- */

struct loop {
    redlock_client *client;
    int64_t until_ns;
    unsigned under_way;
};

struct request {
    struct loop *loop;
    struct bench_samples *samples;
    redlock_lock *lock;
    int64_t asked_ns;
    char name[BENCH_NAME_SIZE];
};

static void ask(struct request *request);

static void on_released(void *context, redlock_result result, const redlock_report *report)
{
    struct request *request = context;

    (void)report;
    must("release", result);
    redlock_lock_free(request->lock);
    request->loop->under_way--;
    if (bench_now_ns() < request->loop->until_ns)
        ask(request);
}

static void on_acquired(void *context, redlock_result result, redlock_lock *lock,
                        const redlock_report *report)
{
    struct request *request = context;

    (void)report;
    must("acquire", result);
    bench_add(request->samples, bench_now_ns() - request->asked_ns);
    request->lock = lock;
    must("release", redlock_release_async(lock, on_released, request, NULL));
}

static void ask(struct request *request)
{
    redlock_spec spec = REDLOCK_SPEC_INIT;

    spec.name = request->name;
    request->asked_ns = bench_now_ns();
    request->loop->under_way++;
    must("acquire", redlock_acquire_async(request->loop->client, &spec, 0, on_acquired, request, NULL));
}

static void run_async(void *subject, const struct bench *bench, int64_t until_ns,
                      struct bench_samples *samples)
{
    struct loop loop = {.client = subject, .until_ns = until_ns};
    struct request *requests = bench_allocate(bench->client_count, sizeof *requests);
    struct pollfd readable = {.fd = redlock_client_fd(subject), .events = POLLIN};

    if (readable.fd < 0)
        bench_die("out of descriptors");
    for (unsigned i = 0; i < bench->client_count; i++) {
        requests[i].loop = &loop;
        requests[i].samples = &samples[i];
        bench_name(requests[i].name, i);
        ask(&requests[i]);
    }
    while (loop.under_way > 0) {
        poll(&readable, 1, -1);
        must("process", redlock_client_process(subject));
    }
    free(requests);
}

static const struct bench_workload workloads[] = {{"blocking", run_blocking},
                                                  {"async", run_async},
                                                  {"contend", run_contention},
                                                  {"wait", run_waiting},
                                                  {0}};

int main(int argc, char **argv)
{
    struct bench bench = bench_options(argc, argv);
    redlock_client *client = open_client(&bench);

    if (strcmp(bench.workload, "init") == 0) {
        init_nodes(client);
    } else {
        bench_run(&bench, workloads, client);
        print_rounds(client);
        bench_end();
    }
    redlock_client_close(client);
    return 0;
}
