/*
 * The command line, the phases and the figures of the benchmark programs; see bench.h. Percentiles are exact: every
 * acquisition is kept and sorted.
 */
#include "bench.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

void bench_die(const char *format, ...)
{
    va_list arguments;

    fprintf(stderr, "bench: ");
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n");
    exit(1);
}

static enum bench_mode read_mode(const char *word)
{
    if (strcmp(word, "plain") == 0)
        return BENCH_PLAIN;
    if (strcmp(word, "guarded") != 0)
        bench_die("there is no mode %s: use plain or guarded", word);
    return BENCH_GUARDED;
}

struct bench bench_options(int argc, char **argv)
{
    struct bench bench = {.nodes = "127.0.0.1:6379", .client_count = 1, .warm_up_s = 0.2, .measure_s = 0.5};
    int option;

    while ((option = getopt(argc, argv, "m:n:c:w:s:")) != -1) {
        switch (option) {
        case 'm':
            bench.mode = read_mode(optarg);
            break;
        case 'n':
            bench.nodes = optarg;
            break;
        case 'c':
            bench.client_count = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'w':
            bench.warm_up_s = strtod(optarg, NULL);
            break;
        case 's':
            bench.measure_s = strtod(optarg, NULL);
            break;
        default:
            optind = argc;
        }
    }
    if (optind + 1 != argc || bench.client_count == 0)
        bench_die("usage: %s [-m mode] [-n nodes] [-c clients] [-w warm-up] [-s seconds] workload", argv[0]);
    bench.workload = argv[optind];
    return bench;
}

int64_t bench_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void bench_name(char name[BENCH_NAME_SIZE], unsigned client)
{
    snprintf(name, BENCH_NAME_SIZE, "bench:%08u", client % 100000000);
}

static void reserve(struct bench_samples *samples, size_t count)
{
    if (count <= samples->capacity)
        return;
    while (samples->capacity < count)
        samples->capacity = samples->capacity == 0 ? 4096 : 2 * samples->capacity;
    samples->ns = realloc(samples->ns, samples->capacity * sizeof *samples->ns);
    if (samples->ns == NULL)
        bench_die("out of memory");
}

void bench_add(struct bench_samples *samples, int64_t ns)
{
    reserve(samples, samples->count + 1);
    samples->ns[samples->count++] = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

void bench_append(struct bench_samples *samples, const struct bench_samples *more)
{
    reserve(samples, samples->count + more->count);
    if (more->count > 0)
        memcpy(samples->ns + samples->count, more->ns, more->count * sizeof *more->ns);
    samples->count += more->count;
    free(more->ns);
}

static int compare(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

    return (a > b) - (a < b);
}

static double percentile_us(const struct bench_samples *samples, double share)
{
    return samples->ns[(size_t)(share * (double)(samples->count - 1))] / 1e3;
}

static double cpu_s(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void print_figures(struct bench_samples *samples, double elapsed_s, double used_s)
{
    if (samples->count == 0)
        bench_die("not one lock was acquired");
    qsort(samples->ns, samples->count, sizeof *samples->ns, compare);
    printf("pairs=%zu\npairs_per_s=%.0f\ncpu_us_per_pair=%.2f\n", samples->count,
           (double)samples->count / elapsed_s, used_s * 1e6 / (double)samples->count);
    printf("acquire_p50_us=%.2f\nacquire_p99_us=%.2f\nacquire_max_us=%.2f\n", percentile_us(samples, 0.5),
           percentile_us(samples, 0.99), percentile_us(samples, 1));
}

static void measure(const struct bench *bench, bench_run_fn run, void *subject)
{
    struct bench_samples samples = {0};
    int64_t started = bench_now_ns();
    double used_s = cpu_s();

    run(subject, bench, started + (int64_t)(bench->measure_s * 1e9), &samples);
    used_s = cpu_s() - used_s;
    print_figures(&samples, (double)(bench_now_ns() - started) / 1e9, used_s);
    free(samples.ns);
}

void bench_run(const struct bench *bench, const struct bench_workload *workloads, void *subject)
{
    struct bench_samples discarded = {0};

    while (workloads->name != NULL && strcmp(workloads->name, bench->workload) != 0)
        workloads++;
    if (workloads->name == NULL)
        bench_die("there is no workload %s", bench->workload);
    workloads->run(subject, bench, bench_now_ns() + (int64_t)(bench->warm_up_s * 1e9), &discarded);
    free(discarded.ns);
    printf("ready\n");
    fflush(stdout);
    for (int c = getchar(); c != '\n' && c != EOF; c = getchar())
        continue;
    measure(bench, workloads->run, subject);
}
