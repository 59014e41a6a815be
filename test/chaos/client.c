/*
 * A process that takes locks, relies on them and writes down what it did: one thread asks at once, one waits
 * in the crowd of a few names, one asks by callbacks and changes its mind, one holds on for as long as it
 * may. They want locks of every kind, and some of what they have they give to other processes. It uses the
 * public header alone, knows nothing of the faults, and judges nothing. SIGTERM ends it in good order.
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
#include "draw.h"
#include "hold.h"
#include "wish.h"

enum { HOLDS_KEPT = 256, NODE_TIMEOUT_MS = 150, CROWDED_NAMES = 2, WAIT_MAX_MS = 3000 };

enum role { HOLDER, PASSER_BY, WAITER, ASYNCHRONOUS, ROLES };

struct worker {
    uint64_t random;
    unsigned turns;
    enum role role;
    struct hold holds[HOLDS_KEPT];
};

static unsigned name_count;
static uint32_t max_ttl_ms;
static bool fenced;
static atomic_uint next_number;
static atomic_bool ending;

static uint64_t between(struct worker *worker, uint64_t low, uint64_t high)
{
    return draw_between(&worker->random, low, high);
}

static bool one_in(struct worker *worker, uint64_t count)
{
    return draw_one_in(&worker->random, count);
}

static void pause_us(uint64_t us)
{
    nanosleep(&(struct timespec){(time_t)(us / 1000000), (long)(us % 1000000) * 1000}, NULL);
}

/* ---- what is done with a lock -------------------------------------------------------------------------- */

static const char *name_of(const struct hold *hold, unsigned number)
{
    return number == 0 ? hold->name : hold->also[number - 1];
}

static void open_stores(struct hold *hold)
{
    for (unsigned i = 0; i <= hold->also_count; i++) {
        uint64_t fence = redlock_lock_fence_at(hold->lock, i);

        for (enum store_kind kind = 0; kind < STORE_KINDS; kind++)
            hold->open[i][kind] =
                fenced && !hold->reads && fence > 0 &&
                store_read(process.folder, kind, name_of(hold, i), fence, &hold->values[i][kind]);
    }
}

/* A name is only said where it is not the first. */
static void note_write(const struct hold *hold, const char *word, unsigned number, enum store_kind kind,
                       uint64_t value)
{
    journal_add(&process.journal, "%s %" PRId64 " %u %s %" PRIu64 "%s%s", word, journal_now_us(),
                hold->number, store_word(kind), value, number > 0 ? " " : "",
                number > 0 ? name_of(hold, number) : "");
}

static void write_store(struct hold *hold, unsigned number, enum store_kind kind)
{
    uint64_t value = hold->values[number][kind] + 1;
    uint64_t fence = redlock_lock_fence_at(hold->lock, number);

    note_write(hold, "try", number, kind, value);
    hold->open[number][kind] = store_write(process.folder, kind, name_of(hold, number), fence, value);
    note_write(hold, hold->open[number][kind] ? "wrote" : "barred", number, kind, value);
    hold->values[number][kind] = value;
}

/* Looks whether it is still ours, as one should, and then takes a while to write: whoever is stopped in
 * between writes late, and not even we know. false: it was not ours any more. */
static bool work(struct hold *hold, uint64_t while_us)
{
    if (hold_note_validity(hold, hold->lock, "look") == 0)
        return false;
    if (while_us > 0)
        pause_us(while_us);
    for (unsigned i = 0; i <= hold->also_count; i++)
        for (enum store_kind kind = 0; kind < STORE_KINDS; kind++)
            if (hold->open[i][kind])
                write_store(hold, i, kind);
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
    if (ours && hold->gives && one_in(worker, 20))
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
    if (hold->gives && one_in(worker, 2)) {
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
static void draw_wish(struct worker *worker, struct hold *hold, redlock_spec *spec)
{
    bool crowded = worker->role == WAITER || (worker->role == ASYNCHRONOUS && one_in(worker, 2));
    unsigned count = crowded ? CROWDED_NAMES : name_count;

    if (fenced)
        wish_draw(hold, spec, &worker->random, count, worker->role, worker->role == ASYNCHRONOUS);
    else
        wish_draw_plain(hold, spec, &worker->random, count);
}

static struct hold *next_hold(struct worker *worker)
{
    struct hold *hold = &worker->holds[worker->turns++ % HOLDS_KEPT];

    *hold = (struct hold){.number = atomic_fetch_add(&next_number, 1)};
    return hold;
}

/* The one that is inside enters once more, looks around and leaves. */
static void enter_again(struct worker *worker, const struct hold *outer)
{
    struct hold *hold = next_hold(worker);
    redlock_spec spec = REDLOCK_SPEC_INIT;

    wish_again(hold, &spec, outer, worker->role);
    if (ask(hold, &spec, 0) != REDLOCK_OK)
        return;
    (void)work(hold, between(worker, 0, 5000));
    hold_note(hold, "release");
    hold_note_number(hold, "released", redlock_release(hold->lock, NULL));
    redlock_lock_free(hold->lock);
}

static void take_turn(struct worker *worker)
{
    struct hold *hold = next_hold(worker);
    redlock_spec spec = REDLOCK_SPEC_INIT;

    spec.ttl_ms = (uint32_t)between(worker, max_ttl_ms / 3, max_ttl_ms);
    spec.auto_extend = worker->role == HOLDER && one_in(worker, 2);
    spec.quick_release = one_in(worker, 3);
    spec.on_lost = hold_on_lost;
    spec.on_renewed = hold_on_renewed;
    spec.context = hold;
    draw_wish(worker, hold, &spec);
    redlock_result result = ask_somehow(worker, hold, &spec);
    if (result != REDLOCK_OK) {
        pause_us(between(worker, 200, result == REDLOCK_BUSY ? 5000 : 30000));
        return;
    }
    open_stores(hold);
    if (hold->reenters)
        enter_again(worker, hold);
    if (worker->role == HOLDER)
        hold_on(worker, hold, spec.auto_extend, spec.ttl_ms);
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
    name_count = (unsigned)atoi(argv[6]);
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
