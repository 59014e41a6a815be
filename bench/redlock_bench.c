/*
 * What is measured: the library, used as a program would use it, through the shared object and redlock.h alone. One client
 * (one connection per node) serves all threads and all requests of a run.
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

    if (redlock_init_nodes(client, &report) != REDLOCK_OK)
        bench_die("%s", report.line);
}

static void print_rounds(redlock_client *client)
{
    static redlock_stats stats = REDLOCK_STATS_INIT;

    must("stats", redlock_client_stats(client, &stats));
    printf("acquired=%llu\nraised=%llu\n", (unsigned long long)stats.acquired,
           (unsigned long long)stats.raised);
}

/* ---- blocking calls ---- */

struct caller {
    pthread_t thread;
    redlock_client *client;
    int64_t until_ns;
    char name[BENCH_NAME_SIZE];
    struct bench_samples samples;
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
        bench_add(&caller->samples, bench_now_ns() - asked_ns);
        must("release", redlock_release(lock, NULL));
        redlock_lock_free(lock);
    }
    return NULL;
}

/* Every client is a thread that locks and unlocks a name of its own. The first one is this thread: a lone caller is
 * a program without threads. */
static void run_blocking(void *subject, const struct bench *bench, int64_t until_ns,
                         struct bench_samples *samples)
{
    struct caller *callers = calloc(bench->client_count, sizeof *callers);

    if (callers == NULL)
        bench_die("out of memory");
    for (unsigned i = 0; i < bench->client_count; i++) {
        callers[i].client = subject;
        callers[i].until_ns = until_ns;
        bench_name(callers[i].name, i);
        if (i > 0 && pthread_create(&callers[i].thread, NULL, call, &callers[i]) != 0)
            bench_die("cannot start a thread");
    }
    call(&callers[0]);
    for (unsigned i = 0; i < bench->client_count; i++) {
        if (i > 0)
            pthread_join(callers[i].thread, NULL);
        bench_append(samples, &callers[i].samples);
    }
    free(callers);
}

/* ---- asynchronous calls from one thread with an event loop ---- */

struct loop {
    redlock_client *client;
    int64_t until_ns;
    unsigned under_way;
    struct bench_samples *samples;
};

struct request {
    struct loop *loop;
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
    bench_add(request->loop->samples, bench_now_ns() - request->asked_ns);
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
    struct loop loop = {.client = subject, .until_ns = until_ns, .samples = samples};
    struct request *requests = calloc(bench->client_count, sizeof *requests);
    struct pollfd readable = {.fd = redlock_client_fd(subject), .events = POLLIN};

    if (requests == NULL || readable.fd < 0)
        bench_die("out of memory or descriptors");
    for (unsigned i = 0; i < bench->client_count; i++) {
        requests[i].loop = &loop;
        bench_name(requests[i].name, i);
        ask(&requests[i]);
    }
    while (loop.under_way > 0) {
        poll(&readable, 1, -1);
        must("process", redlock_client_process(subject));
    }
    free(requests);
}

static const struct bench_workload workloads[] = {{"blocking", run_blocking}, {"async", run_async}, {0}};

int main(int argc, char **argv)
{
    struct bench bench = bench_options(argc, argv);
    redlock_client *client = open_client(&bench);

    if (strcmp(bench.workload, "init") == 0) {
        init_nodes(client);
    } else {
        bench_run(&bench, workloads, client);
        print_rounds(client);
    }
    redlock_client_close(client);
    return 0;
}
