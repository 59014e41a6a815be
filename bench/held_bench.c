/*
 * What locks cost that are simply held: it takes -c locks with auto-extend at a TTL of 15 s, then does
 * nothing for -s seconds and reports the CPU time that the renewals took, and the memory of the client and of
 * each lock.
 */
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "callers.h"

enum { UNDER_WAY_MAX = 200, WAIT_MS = 10000 };

/* ---- memory: what the library asks for, and what the process has ---- */

static atomic_size_t bytes_kept;

static void *allocate(void *context, size_t size)
{
    (void)context;
    atomic_fetch_add(&bytes_kept, size);
    return malloc(size);
}

static void release(void *context, void *memory, size_t size)
{
    (void)context;
    atomic_fetch_sub(&bytes_kept, size);
    free(memory);
}

static double resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long pages = 0;

    if (file == NULL || fscanf(file, "%*s %ld", &pages) != 1)
        bench_die("cannot read /proc/self/statm");
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* ---- locks ---- */

struct holder {
    redlock_client *client;
    redlock_lock **locks;
    unsigned lock_count, under_way, next;
};

static atomic_uint lost;

static void on_lost(void *context, redlock_lock *lock, const redlock_report *report)
{
    (void)context;
    (void)lock;
    (void)report;
    atomic_fetch_add(&lost, 1);
}

static void on_acquired(void *context, redlock_result result, redlock_lock *lock,
                        const redlock_report *report)
{
    struct holder *holder = context;

    (void)report;
    if (result != REDLOCK_OK)
        bench_die("acquire: %s", redlock_result_name(result));
    holder->locks[holder->lock_count++] = lock;
    holder->under_way--;
}

static void on_released(void *context, redlock_result result, const redlock_report *report)
{
    struct holder *holder = context;

    (void)result;
    (void)report;
    holder->under_way--;
}

static void ask_next(struct holder *holder)
{
    redlock_spec spec = REDLOCK_SPEC_INIT;
    char name[BENCH_NAME_SIZE];

    bench_name(name, holder->next++);
    spec.name = name;
    spec.auto_extend = 1;
    spec.on_lost = on_lost;
    holder->under_way++;
    if (redlock_acquire_async(holder->client, &spec, WAIT_MS, on_acquired, holder, NULL) != REDLOCK_OK)
        bench_die("acquire was refused");
}

static void process(struct holder *holder)
{
    struct pollfd readable = {.fd = redlock_client_fd(holder->client), .events = POLLIN};

    poll(&readable, 1, -1);
    if (redlock_client_process(holder->client) != REDLOCK_OK)
        bench_die("process failed");
}

static void acquire_all(struct holder *holder, unsigned count)
{
    while (holder->lock_count < count) {
        while (holder->next < count && holder->under_way < UNDER_WAY_MAX)
            ask_next(holder);
        process(holder);
    }
}

static void release_all(struct holder *holder)
{
    for (unsigned i = 0; i < holder->lock_count; i++) {
        holder->under_way++;
        if (redlock_release_async(holder->locks[i], on_released, holder, NULL) != REDLOCK_OK)
            holder->under_way--;
        while (holder->under_way >= UNDER_WAY_MAX)
            process(holder);
    }
    while (holder->under_way > 0)
        process(holder);
    for (unsigned i = 0; i < holder->lock_count; i++)
        redlock_lock_free(holder->locks[i]);
}

/* ---- the run ---- */

static uint64_t extended(redlock_client *client)
{
    static redlock_stats stats = REDLOCK_STATS_INIT;

    callers_must("stats", redlock_client_stats(client, &stats));
    return stats.renewed;
}

/* A client that has connected and done everything once, but holds nothing. */
static void report_client(struct holder *holder, double resident_before)
{
    acquire_all(holder, 1);
    release_all(holder);
    *holder = (struct holder){.client = holder->client, .locks = holder->locks};
    bench_figure("client_bytes", (double)atomic_load(&bytes_kept));
    bench_figure("client_resident_bytes", resident_bytes() - resident_before);
}

/* Locks that are simply held: what taking them in a hurry needed is measured only as far as it stays. */
static void report_locks(const struct bench *bench, size_t kept_before, double resident_before)
{
    bench_figure("locks", bench->client_count);
    bench_figure("bytes_per_lock", (double)(atomic_load(&bytes_kept) - kept_before) / bench->client_count);
    bench_figure("resident_bytes_per_lock", (resident_bytes() - resident_before) / bench->client_count);
}

static void report_renewals(struct holder *holder, const struct bench *bench)
{
    uint64_t extended_before = extended(holder->client);
    double used_s = bench_cpu_s();

    usleep((useconds_t)(bench->measure_s * 1e6));
    used_s = bench_cpu_s() - used_s;
    bench_figure("cpu_percent", 100 * used_s / bench->measure_s);
    bench_figure("renewals", (double)(extended(holder->client) - extended_before));
    bench_figure("lost", (double)atomic_load(&lost));
}

int main(int argc, char **argv)
{
    static const redlock_allocator counting = {.allocate = allocate, .release = release};
    struct bench bench = bench_options(argc, argv);
    struct holder holder = {.locks = bench_allocate(bench.client_count, sizeof *holder.locks)};
    double resident_before = resident_bytes();
    size_t kept_before;

    holder.client = callers_open(&bench, &counting);
    bench_wait_for_go();
    report_client(&holder, resident_before);
    kept_before = atomic_load(&bytes_kept);
    resident_before = resident_bytes();
    acquire_all(&holder, bench.client_count);
    report_renewals(&holder, &bench);
    report_locks(&bench, kept_before, resident_before);
    bench_end();
    release_all(&holder);
    redlock_client_close(holder.client);
    free(holder.locks);
    return 0;
}
