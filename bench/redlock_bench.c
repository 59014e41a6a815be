/*
 * What is measured: the library, used as a program would use it, through the shared object and redlock.h
 * alone. One client (one connection per node) serves all threads and all requests of a run.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "callers.h"

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

    callers_must("stats", redlock_client_stats(client, &stats));
    bench_figure("acquired", (double)stats.acquired);
    bench_figure("fence_rounds", (double)stats.fence_rounds);
    bench_figure("rounds", (double)stats.rounds);
}

/* ---- blocking calls ---- */

static void call(struct caller *caller)
{
    redlock_lock *lock;
    int64_t asked_ns;

    while ((asked_ns = bench_now_ns()) < caller->until_ns) {
        callers_must("acquire", redlock_try_acquire(caller->client, &caller->spec, &lock, NULL));
        bench_add(caller->samples, bench_now_ns() - asked_ns);
        callers_must("release", redlock_release(lock, NULL));
        redlock_lock_free(lock);
    }
}

/* Waits for what another one has until the end, and does not get it. */
static void wait_in_vain(struct caller *caller)
{
    redlock_lock *lock;
    int64_t asked_ns = bench_now_ns();
    int64_t wait_ms = (caller->until_ns - asked_ns) / 1000000;
    redlock_result result =
        redlock_acquire(caller->client, &caller->spec, wait_ms > 0 ? wait_ms : 1, &lock, NULL);

    if (result != REDLOCK_TIMEOUT)
        bench_die("a waiter was to wait in vain: %s", redlock_result_name(result));
    bench_add_cut_off(caller->samples, bench_now_ns() - asked_ns);
}

/* With the default ttl. */
static void set_name_of_its_own(struct caller *caller, const struct bench *bench, unsigned number)
{
    (void)bench;
    bench_name(caller->name, number);
    caller->spec.ttl_ms = 0;
}

static void set_one_for_all(struct caller *caller, const struct bench *bench, unsigned number)
{
    (void)number;
    caller->spec.auto_extend = bench->renews;
    caller->spec.on_lost = bench->renews ? callers_on_lost : NULL;
}

static void run_blocking(void *subject, const struct bench *bench, int64_t until_ns,
                         struct bench_samples *samples)
{
    callers_run(subject, bench, until_ns, samples, set_name_of_its_own, call);
}

static void run_contention(void *subject, const struct bench *bench, int64_t until_ns,
                           struct bench_samples *samples)
{
    callers_run(subject, bench, until_ns, samples, set_one_for_all, caller_take_turns);
}

/* Another client has the lock all the time and renews it twice. */
static void run_waiting(void *subject, const struct bench *bench, int64_t until_ns,
                        struct bench_samples *samples)
{
    redlock_client *holder = callers_open(bench, NULL);
    redlock_spec spec = REDLOCK_SPEC_INIT;
    int64_t asked_ns = bench_now_ns();
    uint32_t window_ms = (uint32_t)((until_ns - asked_ns) / 1000000) + REDLOCK_TTL_MIN_MS;
    char name[BENCH_NAME_SIZE];
    redlock_lock *lock;

    bench_name(name, 0);
    spec.name = name;
    spec.ttl_ms = 2 * window_ms; /* no shorter than what is left when the last one gives up */
    spec.auto_extend = 1;
    spec.on_lost = callers_on_lost;
    spec.renew_ms = 2 * window_ms / 5;
    callers_must("acquire", redlock_acquire(holder, &spec, REDLOCK_WAIT_FOREVER, &lock, NULL));
    bench_add(&samples[0], bench_now_ns() - asked_ns);
    callers_run(subject, bench, until_ns, samples, set_one_for_all, wait_in_vain);
    callers_must("release", redlock_release(lock, NULL));
    redlock_lock_free(lock);
    redlock_client_close(holder);
}

/* ---- asynchronous calls from one thread with an event loop ---- */

struct loop {
    redlock_client *client;
    int64_t until_ns;
    bool quick;
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
    callers_must("release", result);
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
    callers_must("acquire", result);
    bench_add(request->samples, bench_now_ns() - request->asked_ns);
    request->lock = lock;
    callers_must("release", redlock_release_async(lock, on_released, request, NULL));
}

static void ask(struct request *request)
{
    redlock_spec spec = REDLOCK_SPEC_INIT;

    spec.name = request->name;
    spec.quick_release = request->loop->quick;
    request->asked_ns = bench_now_ns();
    request->loop->under_way++;
    callers_must("acquire",
                 redlock_acquire_async(request->loop->client, &spec, 0, on_acquired, request, NULL));
}

static void run_async(void *subject, const struct bench *bench, int64_t until_ns,
                      struct bench_samples *samples)
{
    struct loop loop = {.client = subject, .until_ns = until_ns, .quick = bench->quick};
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
        callers_must("process", redlock_client_process(subject));
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
    redlock_client *client = callers_open(&bench, NULL);

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
