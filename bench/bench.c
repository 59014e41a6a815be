/*
 * The command line, the phases and the figures of the benchmark programs; see bench.h. Percentiles are exact:
 * every acquisition is kept and sorted.
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

/* ---- the command line ---- */

/* True for the second of two words, false for the first. */
static bool is_second(const char *word, const char *first, const char *second)
{
    if (strcmp(word, second) != 0 && strcmp(word, first) != 0)
        bench_die("%s: use %s or %s", word, first, second);
    return strcmp(word, second) == 0;
}

static bool read_option(struct bench *bench, int option, const char *value)
{
    switch (option) {
    case 'm':
        bench->mode = is_second(value, "plain", "guarded") ? BENCH_GUARDED : BENCH_PLAIN;
        return true;
    case 'a':
        bench->renews = true;
        return true;
    case 'q':
        bench->quick = true;
        return true;
    case 'n':
        bench->nodes = value;
        return true;
    case 'c':
        bench->client_count = (unsigned)strtoul(value, NULL, 10);
        return true;
    case 'r':
        bench->retry_ms = (unsigned)strtoul(value, NULL, 10);
        return true;
    case 't':
        bench->ttl_ms = (uint32_t)strtoul(value, NULL, 10);
        return true;
    case 'k':
        bench->width = (unsigned)strtoul(value, NULL, 10);
        return true;
    case 'i':
        bench->first_client = (unsigned)strtoul(value, NULL, 10);
        return true;
    case 'l':
        bench->list_waits = true;
        return true;
    case 'w':
        bench->warm_up_s = strtod(value, NULL);
        return true;
    case 's':
        bench->measure_s = strtod(value, NULL);
        return true;
    default:
        return false;
    }
}

struct bench bench_options(int argc, char **argv)
{
    struct bench bench = {.nodes = "127.0.0.1:6379",
                          .client_count = 1,
                          .retry_ms = 200,
                          .ttl_ms = 1000,
                          .width = 1,
                          .warm_up_s = 0.1,
                          .measure_s = 0.5};
    const char *slash;
    int option;

    while ((option = getopt(argc, argv, "m:n:c:r:t:k:i:aqlw:s:")) != -1)
        if (!read_option(&bench, option, optarg))
            optind = argc;
    if (optind + 1 != argc || bench.client_count == 0 || bench.width == 0)
        bench_die("usage: %s [-m plain|guarded] [-n nodes] [-c clients] [-r retry-ms] [-t ttl-ms] [-k width] "
                  "[-i first-client] [-a] [-q] [-l] [-w warm-up] [-s seconds] workload",
                  argv[0]);
    /* A folder before the workload is for the clock shim of the tests, which looks for its file in there. */
    slash = strrchr(argv[optind], '/');
    bench.workload = slash != NULL ? slash + 1 : argv[optind];
    return bench;
}

/* ---- small things ---- */

int64_t bench_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

double bench_cpu_s(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

void *bench_allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);

    if (memory == NULL)
        bench_die("out of memory");
    return memory;
}

void bench_name(char name[BENCH_NAME_SIZE], unsigned client)
{
    snprintf(name, BENCH_NAME_SIZE, "bench:%08u", client % 100000000);
}

/* ---- samples ---- */

static void reserve(struct bench_samples *samples, size_t count)
{
    if (count <= samples->capacity)
        return;
    while (samples->capacity < count)
        samples->capacity = samples->capacity == 0 ? 1024 : 2 * samples->capacity;
    samples->ns = realloc(samples->ns, samples->capacity * sizeof *samples->ns);
    if (samples->ns == NULL)
        bench_die("out of memory");
}

void bench_add(struct bench_samples *samples, int64_t ns)
{
    reserve(samples, samples->count + 1);
    samples->ns[samples->count++] = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

void bench_add_cut_off(struct bench_samples *samples, int64_t ns)
{
    bench_add(samples, ns);
    samples->cut_off++;
}

static struct bench_samples gather(const struct bench_samples *samples, unsigned client_count)
{
    struct bench_samples all = {0};

    for (unsigned i = 0; i < client_count; i++) {
        reserve(&all, all.count + samples[i].count);
        if (samples[i].count > 0)
            memcpy(all.ns + all.count, samples[i].ns, samples[i].count * sizeof *all.ns);
        all.count += samples[i].count;
        all.cut_off += samples[i].cut_off;
    }
    return all;
}

static void free_samples(struct bench_samples *samples, unsigned client_count)
{
    for (unsigned i = 0; i < client_count; i++)
        free(samples[i].ns);
    free(samples);
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

/* ---- figures ---- */

void bench_figure(const char *key, double value)
{
    static bool begun;

    printf("%s\"%s\": %.9g", begun ? ", " : "{", key, value);
    begun = true;
}

void bench_end(void)
{
    printf("}\n");
}

static void print_lists(const struct bench_samples *samples, unsigned client_count,
                        const struct bench_samples *all)
{
    printf(", \"counts\": [");
    for (unsigned i = 0; i < client_count; i++)
        printf("%s%zu", i > 0 ? ", " : "", samples[i].count - samples[i].cut_off);
    printf("], \"waits_us\": [");
    for (size_t i = 0; i < all->count; i++)
        printf("%s%u", i > 0 ? ", " : "", all->ns[i] / 1000);
    printf("]");
}

static void print_shares(const struct bench_samples *samples, unsigned client_count)
{
    size_t least = SIZE_MAX, most = 0;

    for (unsigned i = 0; i < client_count; i++) {
        size_t count = samples[i].count - samples[i].cut_off;

        least = count < least ? count : least;
        most = count > most ? count : most;
    }
    bench_figure("least", (double)least);
    bench_figure("most", (double)most);
}

static void print_figures(const struct bench *bench, const struct bench_samples *samples, double elapsed_s,
                          double used_s)
{
    struct bench_samples all = gather(samples, bench->client_count);
    double pairs = (double)(all.count - all.cut_off);

    if (pairs == 0 && !bench->list_waits)
        bench_die("not one lock was acquired");
    qsort(all.ns, all.count, sizeof *all.ns, compare);
    bench_figure("pairs", pairs);
    bench_figure("seconds", elapsed_s);
    bench_figure("cpu_s", used_s);
    if (all.count > 0 && pairs > 0) {
        bench_figure("pairs_per_s", pairs / elapsed_s);
        bench_figure("cpu_us_per_pair", used_s * 1e6 / pairs);
        bench_figure("acquire_p50_us", percentile_us(&all, 0.5));
        bench_figure("acquire_p99_us", percentile_us(&all, 0.99));
        bench_figure("acquire_max_us", percentile_us(&all, 1));
        print_shares(samples, bench->client_count);
    }
    if (bench->list_waits)
        print_lists(samples, bench->client_count, &all);
    free(all.ns);
}

/* ---- phases ---- */

static void measure(const struct bench *bench, bench_run_fn run, void *subject)
{
    struct bench_samples *samples = bench_allocate(bench->client_count, sizeof *samples);
    int64_t started = bench_now_ns();
    double used_s = bench_cpu_s();

    run(subject, bench, started + (int64_t)(bench->measure_s * 1e9), samples);
    used_s = bench_cpu_s() - used_s;
    print_figures(bench, samples, (double)(bench_now_ns() - started) / 1e9, used_s);
    free_samples(samples, bench->client_count);
}

void bench_wait_for_go(void)
{
    printf("ready\n");
    fflush(stdout);
    for (int c = getchar(); c != '\n' && c != EOF; c = getchar())
        continue;
}

void bench_run(const struct bench *bench, const struct bench_workload *workloads, void *subject)
{
    struct bench_samples *discarded = bench_allocate(bench->client_count, sizeof *discarded);

    while (workloads->name != NULL && strcmp(workloads->name, bench->workload) != 0)
        workloads++;
    if (workloads->name == NULL)
        bench_die("there is no workload %s", bench->workload);
    workloads->run(subject, bench, bench_now_ns() + (int64_t)(bench->warm_up_s * 1e9), discarded);
    free_samples(discarded, bench->client_count);
    bench_wait_for_go();
    measure(bench, workloads->run, subject);
}
