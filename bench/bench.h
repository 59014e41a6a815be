/*
 * What the benchmark programs share: their command line, the two phases of a run (warm up, then measure), latencies and the
 * figures that are printed. It knows neither sockets nor locks.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stddef.h>
#include <stdint.h>

enum bench_mode {
    BENCH_PLAIN, /* SET NX PX and compare-and-delete */
    BENCH_GUARDED /* the acquire script with its fence, and compare-and-delete; wants nodes that were admitted */
};

struct bench {
    const char *workload;
    enum bench_mode mode;
    const char *nodes; /* URLs, as redlock_options.nodes */
    unsigned client_count;
    double warm_up_s;
    double measure_s;
};

/* How long each acquisition took. One for each thread; grows as needed. */
struct bench_samples {
    uint32_t *ns;
    size_t count;
    size_t capacity;
};

/* Takes and releases locks until bench_now_ns() passes until_ns, then returns with none under way. */
typedef void (*bench_run_fn)(void *subject, const struct bench *bench, int64_t until_ns,
                             struct bench_samples *samples);

struct bench_workload {
    const char *name;
    bench_run_fn run;
};

/* Reads the command line, or says how it is used and exits. */
struct bench bench_options(int argc, char **argv);

/* Warms up, prints "ready", waits for a line (what is to break may be broken now), measures, prints the figures as
 * key=value. The list of workloads ends with one without a name. */
void bench_run(const struct bench *bench, const struct bench_workload *workloads, void *subject);

int64_t bench_now_ns(void);
void bench_add(struct bench_samples *samples, int64_t ns);
void bench_append(struct bench_samples *samples, const struct bench_samples *more); /* frees more */

/* Both sides lock the same names, all of one length, and say the same of the holder, so that their bytes are alike. */
#define BENCH_HOST "bench-host-1"
#define BENCH_LOGIN "deploy"
enum { BENCH_NAME_SIZE = 16 };
void bench_name(char name[BENCH_NAME_SIZE], unsigned client);

_Noreturn void bench_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
