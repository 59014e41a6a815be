/*
 * A process that takes locks, relies on them and writes down what it did: one thread asks at once, one waits
 * in the crowd of a few names, one asks by callbacks and changes its mind, one holds on for as long as it
 * may; some of what they want they share, and some of what they have they give to other processes. It uses
 * the public header alone, knows nothing of the faults, and judges nothing. SIGTERM ends it in good order.
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

#include "asking.h"
#include "hold.h"

enum { HOLDS_KEPT = 256, NODE_TIMEOUT_MS = 150, CROWDED_NAMES = 2, WAIT_MAX_MS = 3000 };

enum role { HOLDER, PASSER_BY, WAITER, ASYNCHRONOUS, ROLES };

struct worker {
    uint64_t random;
    unsigned turns;
    enum role role;
    struct hold holds[HOLDS_KEPT];
};

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

static bool one_in(struct worker *worker, uint64_t count)
{
    return between(worker, 1, count) == 1;
}

static void pause_us(uint64_t us)
{
    nanosleep(&(struct timespec){(time_t)(us / 1000000), (long)(us % 1000000) * 1000}, NULL);
}

/* ---- what is done with a lock -------------------------------------------------------------------------- */

static void open_stores(struct hold *hold)
{
    uint64_t fence = redlock_lock_fence(hold->lock);

    for (enum store_kind kind = 0; kind < STORE_KINDS; kind++)
        hold->open[kind] = fenced && !hold->shared && fence > 0 &&
                           store_read(process.folder, kind, hold->name, fence, &hold->values[kind]);
}

static void write_store(struct hold *hold, enum store_kind kind)
{
    uint64_t value = hold->values[kind] + 1;
    const char *word = store_word(kind);

    journal_add(&process.journal, "try %" PRId64 " %u %s %" PRIu64, journal_now_us(), hold->number, word,
                value);
    hold->open[kind] = store_write(process.folder, kind, hold->name, redlock_lock_fence(hold->lock), value);
    journal_add(&process.journal, "%s %" PRId64 " %u %s %" PRIu64, hold->open[kind] ? "wrote" : "barred",
                journal_now_us(), hold->number, word, value);
    hold->values[kind] = value;
}

/* Looks whether it is still ours, as one should, and then takes a while to write: whoever is stopped in
 * between writes late, and not even we know. false: it was not ours any more. */
static bool work(struct hold *hold, uint64_t while_us)
{
    if (hold_note_validity(hold, hold->lock, "look") == 0)
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
    hold_note(hold, "extend");
    redlock_result result = redlock_extend(hold->lock, 0, NULL);
    if (result == REDLOCK_OK)
        hold_note_validity(hold, hold->lock, "extended");
    else
        hold_note_number(hold, "unextended", result);
    return result == REDLOCK_OK;
}

static void release(struct worker *worker, struct hold *hold)
{
    if (worker->role == ASYNCHRONOUS) {
        release_async(hold);
        return;
    }
    hold_note(hold, "release");
    hold_note_number(hold, "released", redlock_release(hold->lock, NULL));
}

/* A moment: one write or a few, with extensions between them. */
static void hold_briefly(struct worker *worker, struct hold *hold)
{
    bool ours = work(hold, 0);

    for (uint64_t more = between(worker, 0, 3) == 0 ? between(worker, 1, 4) : 0; more > 0 && ours; more--)
        ours = extend(hold) && work(hold, 0);
    if (ours && !hold->shared && one_in(worker, 20))
        give_away(hold);
    else
        release(worker, hold);
}

/* To the end of its validity, or for so long with renewals. */
static void hold_on(struct worker *worker, struct hold *hold, bool renews, uint32_t ttl_ms)
{
    int64_t until_us = journal_now_us() + (int64_t)between(worker, 1, 3 * ttl_ms) * 1000;

    while (work(hold, between(worker, 0, 30000)) && !atomic_load(&ending) &&
           (!renews || journal_now_us() < until_us))
        pause_us(between(worker, 1000, 40000));
    if (renews)
        release(worker, hold);
    else
        hold_note(hold, "left");
}

/* ---- threads ------------------------------------------------------------------------------------------- */

/* A while, or without end. */
static int64_t draw_wait_ms(struct worker *worker)
{
    return one_in(worker, 3) ? REDLOCK_WAIT_FOREVER : (int64_t)between(worker, 1, WAIT_MAX_MS);
}

static redlock_result ask_by_callback(struct worker *worker, struct hold *hold, const redlock_spec *spec)
{
    int64_t wait_ms = one_in(worker, 4) ? 0 : draw_wait_ms(worker);
    int cancel_ms = one_in(worker, 2) ? (int)between(worker, 0, one_in(worker, 2) ? 2 : 100) : NEVER_CANCEL;

    return ask_async(hold, spec, wait_ms, cancel_ms);
}

static redlock_result ask_somehow(struct worker *worker, struct hold *hold, const redlock_spec *spec)
{
    if (!hold->shared && one_in(worker, 2)) {
        redlock_result result = ask_for_gift(hold, spec);

        if (result != REDLOCK_BUSY)
            return result;
    }
    if (worker->role == ASYNCHRONOUS)
        return ask_by_callback(worker, hold, spec);
    return ask(hold, spec,
               worker->role == WAITER ? draw_wait_ms(worker)
               : one_in(worker, 10)   ? (int64_t)between(worker, 1, 300)
                                      : 0);
}

/* Those who wait gather at a few names. */
static void draw_name(struct worker *worker, struct hold *hold)
{
    bool crowded = worker->role == WAITER || (worker->role == ASYNCHRONOUS && one_in(worker, 2));

    snprintf(hold->name, sizeof hold->name, "n%d",
             (int)between(worker, 1, (uint64_t)(crowded ? CROWDED_NAMES : name_count)));
}

static void take_turn(struct worker *worker)
{
    struct hold *hold = &worker->holds[worker->turns++ % HOLDS_KEPT];
    redlock_spec spec = REDLOCK_SPEC_INIT;
    bool renews = worker->role == HOLDER && one_in(worker, 2);

    *hold = (struct hold){.number = atomic_fetch_add(&next_number, 1)};
    draw_name(worker, hold);
    spec.name = hold->name;
    spec.ttl_ms = (uint32_t)between(worker, max_ttl_ms / 3, max_ttl_ms);
    spec.auto_extend = renews;
    spec.on_lost = hold_on_lost;
    spec.on_renewed = hold_on_renewed;
    spec.context = hold;
    hold->shared = fenced && one_in(worker, 3);
    spec.kind = hold->shared ? REDLOCK_SHARED : REDLOCK_EXCLUSIVE;
    if (hold->shared)
        hold_note(hold, "shared");
    redlock_result result = ask_somehow(worker, hold, &spec);
    if (result != REDLOCK_OK) {
        pause_us(between(worker, 200, result == REDLOCK_BUSY ? 5000 : 30000));
        return;
    }
    open_stores(hold);
    if (worker->role == HOLDER)
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
    if (redlock_client_open(&options, &process.client, &report) != REDLOCK_OK) {
        fprintf(stderr, "chaos-client: %s\n", report.line);
        exit(1);
    }
}

static void run_threads(uint64_t seed)
{
    static struct worker workers[ROLES];
    pthread_t threads[ROLES];

    for (enum role i = 0; i < ROLES; i++) {
        workers[i].random = seed * ROLES + (uint64_t)i;
        workers[i].role = i;
        if (pthread_create(&threads[i], NULL, live, &workers[i]) != 0)
            exit(1);
    }
    for (enum role i = 0; i < ROLES; i++)
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
    process.name = argv[3];
    process.folder = argv[4];
    process.journal = journal_open(process.folder, process.name);
    name_count = atoi(argv[6]);
    max_ttl_ms = (uint32_t)atoi(argv[7]);
    open_client(argv[1], argv[2]);
    if (pthread_create(&waiter, NULL, await_end, &end) != 0)
        return 1;
    run_threads(strtoull(argv[5], NULL, 10));
    pthread_join(waiter, NULL);
    redlock_client_close(process.client);
    journal_add(&process.journal, "end %" PRId64, journal_now_us());
    return 0;
}
