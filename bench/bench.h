/*
 * What the benchmark programs share: their command line, the two phases of a run (warm up, then measure),
 * latencies and the figures that are printed. It knows neither sockets nor locks.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum bench_mode {
    BENCH_PLAIN, /* SET NX PX and compare-and-delete */
    /* the acquire script with its fence, and compare-and-delete; wants nodes that were admitted */
    BENCH_GUARDED
};

struct bench {
    const char *workload;
    enum bench_mode mode;
    const char *nodes; /* URLs, as redlock_options.nodes */
    unsigned client_count;
    unsigned retry_ms;     /* naive_bench: the longest rest between two attempts */
    uint32_t ttl_ms;       /* contention: of the lock that all want */
    bool renews;           /* contention: with auto-extend */
    bool quick;            /* releases are not waited for */
    unsigned width;        /* kinds_bench: how many slots, or names, there are */
    unsigned first_client; /* likewise: the number of its first client among those of all processes */
    bool list_waits; /* print every wait, so that the figures of several processes can be put together */
    double warm_up_s;
    double measure_s;
};

/* How long each acquisition of one client took. Grows as needed. */
struct bench_samples {
    uint32_t *ns;
    size_t count;
    size_t capacity;
    size_t cut_off; /* of these, waits that the end of the run cut off: they ended without the lock */
};

/* Takes and releases locks until bench_now_ns() passes until_ns, then returns with none under way. There are
 * samples for each client. */
typedef void (*bench_run_fn)(void *subject, const struct bench *bench, int64_t until_ns,
                             struct bench_samples *samples);

struct bench_workload {
    const char *name;
    bench_run_fn run;
};

/* Reads the command line, or says how it is used and exits. */
struct bench bench_options(int argc, char **argv);

/* Warms up, prints "ready", waits for a line (what is to break may be broken now), measures, and prints the
 * figures as one line of JSON, to which the program may add before bench_end(). The list of workloads ends
 * with one without a name. */
void bench_run(const struct bench *bench, const struct bench_workload *workloads, void *subject);

/* Says "ready" and waits for the line: the part of bench_run() for programs with phases of their own. */
void bench_wait_for_go(void);

/* Adds a figure to the line that bench_end() prints; bench_run() has begun it. */
void bench_figure(const char *key, double value);
void bench_end(void);

int64_t bench_now_ns(void);
double bench_cpu_s(void); /* that this process has used so far */
void *bench_allocate(size_t count, size_t size);
void bench_add(struct bench_samples *samples, int64_t ns);
void bench_add_cut_off(struct bench_samples *samples, int64_t ns);

/* Both sides lock the same names, all of one length, and say the same of the holder, so that their bytes are
 * alike. */
#define BENCH_HOST "bench-host-1"
#define BENCH_LOGIN "deploy"
enum { BENCH_NAME_SIZE = 16 };
void bench_name(char name[BENCH_NAME_SIZE], unsigned client);

_Noreturn void bench_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
