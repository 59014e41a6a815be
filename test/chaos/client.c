/*
 * A process that takes locks, relies on them and writes down what it did: some threads only for a moment, one for as long as
 * it may. It uses the public header alone, knows nothing of the faults, and judges nothing. SIGTERM ends it in good order.
 * Usage: chaos-client NODES guarded|plain PROCESS FOLDER SEED NAMES MAX-TTL-MS
 */
#include <inttypes.h>
#include <pthread.h>
#include <redlock.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "journal.h"
#include "store.h"

enum { THREADS = 4, HOLDS_KEPT = 256, NODE_TIMEOUT_MS = 150 };

/* One lock that was asked for. Places are used again long after the lock is freed: a callback may be late. */
struct hold {
    unsigned number; /* within the process */
    char name[16];
    redlock_lock *lock;
    uint64_t values[STORE_KINDS]; /* what the stores said, or were told last */
    bool open[STORE_KINDS];       /* false: that store has barred us */
};

struct worker {
    uint64_t random;
    unsigned turns;
    bool slow; /* holds on to its locks */
    struct hold holds[HOLDS_KEPT];
};

static redlock_client *client;
static struct journal journal;
static const char *folder;
static int name_count;
static uint32_t max_ttl_ms;
static bool fenced;
static atomic_uint next_number;
static atomic_bool ending;

/* splitmix64 */
static uint64_t between(struct worker *worker, uint64_t low, uint64_t high)
{
    uint64_t z = worker->random += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return low + (z ^ (z >> 31)) % (high - low + 1);
}

static void pause_us(uint64_t us)
{
    nanosleep(&(struct timespec){(time_t)(us / 1000000), (long)(us % 1000000) * 1000}, NULL);
}

/* ---- what is written down --------------------------------------------------------------------------------- */

/* Validity is read between two looks at the clock: it lasts until the first plus what was read, at least. */
static int64_t note_validity(const struct hold *hold, redlock_lock *lock, const char *word)
{
    int64_t before_us = journal_now_us();
    int64_t validity_ms = redlock_lock_validity_ms(lock);

    journal_add(&journal, "%s %" PRId64 " %u %" PRId64 " %" PRId64, word, before_us, hold->number,
                validity_ms, journal_now_us());
    return validity_ms;
}

static void note_result(const struct hold *hold, const char *word, redlock_result result)
{
    journal_add(&journal, "%s %" PRId64 " %u %d", word, journal_now_us(), hold->number, (int)result);
}

static void note(const struct hold *hold, const char *word)
{
    journal_add(&journal, "%s %" PRId64 " %u", word, journal_now_us(), hold->number);
}

static void on_lost(void *context, redlock_lock *lock, const redlock_report *report)
{
    (void)lock;
    (void)report;
    note(context, "lost");
}

static void on_renewed(void *context, redlock_lock *lock, const redlock_report *report)
{
    if (report->result == REDLOCK_OK)
        note_validity(context, lock, "renewed");
}

/* ---- what is done with a lock ------------------------------------------------------------------------------ */

static void open_stores(struct hold *hold)
{
    uint64_t fence = redlock_lock_fence(hold->lock);

    for (enum store_kind kind = 0; kind < STORE_KINDS; kind++)
        hold->open[kind] = fenced && store_read(folder, kind, hold->name, fence, &hold->values[kind]);
}

static void write_store(struct hold *hold, enum store_kind kind)
{
    uint64_t value = hold->values[kind] + 1;
    const char *word = store_word(kind);

    journal_add(&journal, "try %" PRId64 " %u %s %" PRIu64, journal_now_us(), hold->number, word, value);
    hold->open[kind] = store_write(folder, kind, hold->name, redlock_lock_fence(hold->lock), value);
    journal_add(&journal, "%s %" PRId64 " %u %s %" PRIu64, hold->open[kind] ? "wrote" : "barred",
                journal_now_us(), hold->number, word, value);
    hold->values[kind] = value;
}

/* Looks whether it is still ours, as one should, and then takes a while to write: whoever is stopped in between writes
 * late, and not even we know. false: it was not ours any more. */
static bool work(struct hold *hold, uint64_t while_us)
{
    if (note_validity(hold, hold->lock, "look") == 0)
        return false;
    if (while_us > 0)
        pause_us(while_us);
    for (enum store_kind kind = 0; kind < STORE_KINDS; kind++)
        if (hold->open[kind])
            write_store(hold, kind);
    return true;
}

static bool extend(struct hold *hold)
{
    note(hold, "extend");
    redlock_result result = redlock_extend(hold->lock, 0, NULL);
    if (result == REDLOCK_OK)
        note_validity(hold, hold->lock, "extended");
    else
        note_result(hold, "unextended", result);
    return result == REDLOCK_OK;
}

static void release(struct hold *hold)
{
    note(hold, "release");
    note_result(hold, "released", redlock_release(hold->lock, NULL));
}

/* A moment: one write or a few, with extensions between them. */
static void hold_briefly(struct worker *worker, struct hold *hold)
{
    bool ours = work(hold, 0);

    for (uint64_t more = between(worker, 0, 3) == 0 ? between(worker, 1, 4) : 0; more > 0 && ours; more--)
        ours = extend(hold) && work(hold, 0);
    release(hold);
}

/* To the end of its validity, or for so long with renewals. */
static void hold_on(struct worker *worker, struct hold *hold, bool renews, uint32_t ttl_ms)
{
    int64_t until_us = journal_now_us() + (int64_t)between(worker, 1, 3 * ttl_ms) * 1000;

    while (work(hold, between(worker, 0, 30000)) && !atomic_load(&ending) &&
           (!renews || journal_now_us() < until_us))
        pause_us(between(worker, 1000, 40000));
    if (renews)
        release(hold);
    else
        note(hold, "left");
}

static redlock_result ask(struct worker *worker, struct hold *hold, const redlock_spec *spec)
{
    redlock_report report = REDLOCK_REPORT_INIT;
    bool waits = between(worker, 0, 9) == 0;

    journal_add(&journal, "ask %" PRId64 " %u %s", journal_now_us(), hold->number, hold->name);
    redlock_result result =
        redlock_acquire(client, spec, waits ? (int64_t)between(worker, 1, 300) : 0, &hold->lock, &report);
    if (result != REDLOCK_OK) {
        note_result(hold, "refused", result);
        return result;
    }
    int64_t before_us = journal_now_us();
    int64_t validity_ms = redlock_lock_validity_ms(hold->lock);
    journal_add(&journal, "granted %" PRId64 " %u %" PRId64 " %" PRId64 " %" PRIu64, before_us, hold->number,
                validity_ms, journal_now_us(), redlock_lock_fence(hold->lock));
    return result;
}

/* ---- threads ----------------------------------------------------------------------------------------------- */

static void take_turn(struct worker *worker)
{
    struct hold *hold = &worker->holds[worker->turns++ % HOLDS_KEPT];
    redlock_spec spec = REDLOCK_SPEC_INIT;
    bool renews = worker->slow && between(worker, 0, 1) == 0;

    *hold = (struct hold){.number = atomic_fetch_add(&next_number, 1)};
    snprintf(hold->name, sizeof hold->name, "n%d", (int)between(worker, 1, (uint64_t)name_count));
    spec.name = hold->name;
    spec.ttl_ms = (uint32_t)between(worker, max_ttl_ms / 3, max_ttl_ms);
    spec.auto_extend = renews;
    spec.on_lost = on_lost;
    spec.on_renewed = on_renewed;
    spec.context = hold;
    redlock_result result = ask(worker, hold, &spec);
    if (result != REDLOCK_OK) {
        pause_us(between(worker, 200, result == REDLOCK_BUSY ? 5000 : 30000));
        return;
    }
    open_stores(hold);
    if (worker->slow)
        hold_on(worker, hold, renews, spec.ttl_ms);
    else
        hold_briefly(worker, hold);
    redlock_lock_free(hold->lock);
}

static void *live(void *context)
{
    while (!atomic_load(&ending))
        take_turn(context);
    return NULL;
}

static void open_client(const char *nodes, const char *mode)
{
    redlock_options options = REDLOCK_OPTIONS_INIT;
    redlock_report report = REDLOCK_REPORT_INIT;

    options.nodes = nodes;
    options.mode = strcmp(mode, "plain") == 0 ? REDLOCK_PLAIN : REDLOCK_GUARDED;
    options.max_ttl_ms = max_ttl_ms;
    options.node_timeout_ms = NODE_TIMEOUT_MS;
    fenced = options.mode == REDLOCK_GUARDED;
    if (redlock_client_open(&options, &client, &report) != REDLOCK_OK) {
        fprintf(stderr, "chaos-client: %s\n", report.line);
        exit(1);
    }
}

static void run_threads(uint64_t seed)
{
    static struct worker workers[THREADS];
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++) {
        workers[i].random = seed * THREADS + (uint64_t)i;
        workers[i].slow = i == 0;
        if (pthread_create(&threads[i], NULL, live, &workers[i]) != 0)
            exit(1);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void *await_end(void *context)
{
    int number;

    sigwait(context, &number);
    atomic_store(&ending, true);
    return NULL;
}

int main(int argc, char **argv)
{
    sigset_t end;
    pthread_t waiter;

    if (argc != 8) {
        fprintf(stderr, "usage: chaos-client NODES guarded|plain PROCESS FOLDER SEED NAMES MAX-TTL-MS\n");
        return 64;
    }
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &end, NULL);
    folder = argv[4];
    journal = journal_open(folder, argv[3]);
    name_count = atoi(argv[6]);
    max_ttl_ms = (uint32_t)atoi(argv[7]);
    open_client(argv[1], argv[2]);
    if (pthread_create(&waiter, NULL, await_end, &end) != 0)
        return 1;
    run_threads(strtoull(argv[5], NULL, 10));
    pthread_join(waiter, NULL);
    redlock_client_close(client);
    journal_add(&journal, "end %" PRId64, journal_now_us());
    return 0;
}
