/*
 * Holders, and an operator who breaks them while they take, renew and release: nobody holds beside one that
 * was not told, and fences rise. Holders are threads with clients of their own; each writes down from when to
 * when it relied on the lock.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "support/history.h"
#include "support/steps.h"

#define NAME "contended"

enum { HOLDERS = 4, HOLDS_MAX = 20000, WANTED_BREAKS = 60, TTL_MS = 3000, RENEW_MS = 60 };

static struct history *history;
static atomic_int breaks, told, stop;

struct holding {
    atomic_bool entered; /* when it began is written down */
    atomic_bool lost;
    struct hold hold;
};

/* From here on the holder does not rely on it any more: others may have it when this has returned. */
static void on_lost(void *context, redlock_lock *lock, const redlock_report *report)
{
    struct holding *holding = context;

    (void)lock;
    while (!atomic_load(&holding->entered))
        sleep_ms(1);
    holding->hold.left_us = history_now_us();
    history_add(history, &holding->hold);
    atomic_fetch_add(&told, report->broken != 0);
    atomic_store(&holding->lost, true);
}

/* Holds it for a while, and gives it back unless it was lost. */
static void hold_once(redlock_client *client, int holder, int round)
{
    struct holding holding = {.hold = {.asked_us = history_now_us(), .holder = holder}};
    redlock_spec spec = spec_for(NAME, TTL_MS);
    redlock_lock *lock = NULL;

    spec.auto_extend = 1;
    spec.renew_ms = RENEW_MS;
    spec.unbound = 1;
    spec.on_lost = on_lost;
    spec.context = &holding;
    if (redlock_acquire(client, &spec, 2000, &lock, NULL) != REDLOCK_OK)
        return;
    holding.hold.entered_us = history_now_us();
    holding.hold.fence = redlock_lock_fence(lock);
    atomic_store(&holding.entered, true);
    for (int i = 0; i < 40 + 20 * (round % 5) && !atomic_load(&holding.lost); i++)
        sleep_ms(5);
    if (!atomic_load(&holding.lost)) {
        int64_t left_us = history_now_us();

        redlock_release(lock, NULL);
        redlock_lock_free(lock); /* after which on_lost does not run */
        if (atomic_load(&holding.lost))
            return;
        holding.hold.left_us = left_us;
        history_add(history, &holding.hold);
        return;
    }
    redlock_lock_free(lock);
}

static void *hold(void *context)
{
    const char *nodes = context;
    static atomic_int numbers;
    int holder = atomic_fetch_add(&numbers, 1);
    redlock_options options = options_for(nodes);
    redlock_client *client = NULL;

    if (redlock_client_open(&options, &client, NULL) != REDLOCK_OK)
        return NULL;
    for (int round = holder; !atomic_load(&stop); round++)
        hold_once(client, holder, round);
    redlock_client_close(client);
    return NULL;
}

/* Breaks whoever has it. By the time it does, that one may have released it, and another may have it. */
static void break_holders(redlock_client *client)
{
    redlock_report report = REDLOCK_REPORT_INIT;

    while (atomic_load(&breaks) < WANTED_BREAKS || atomic_load(&told) < WANTED_BREAKS / 4) {
        redlock_break_spec spec = REDLOCK_BREAK_SPEC_INIT;
        redlock_result result;
        char id[9];

        if (redlock_inspect(client, NAME, 0, &report) != REDLOCK_OK || report.holder.id[0] == '\0')
            continue;
        memcpy(id, report.holder.id, sizeof id);
        spec.name = NAME;
        spec.id = id;
        spec.grace_ms = 30000; /* longer than any lease */
        sleep_ms(atomic_load(&breaks) % 7 * 15);
        result = redlock_break(client, &spec, &report);
        assert_true(result == REDLOCK_OK || result == REDLOCK_NOT_HELD);
        atomic_fetch_add(&breaks, result == REDLOCK_OK);
    }
}

static void nobody_holds_beside_one_that_was_not_told(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    pthread_t threads[HOLDERS];

    history = history_create(HOLDS_MAX);
    for (int i = 0; i < HOLDERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hold, (void *)(uintptr_t)fleet_urls(fleet)), 0);
    break_holders(client);
    atomic_store(&stop, 1);
    for (int i = 0; i < HOLDERS; i++)
        pthread_join(threads[i], NULL);
    assert_false(history_full(history));
    assert_true(history_count(history) > WANTED_BREAKS / 4);
    assert_int_equal(history_overlaps(history), 0);
    if (is_guarded()) {
        assert_int_equal(history_repeats(history), 0);
        assert_int_equal(history_setbacks(history), 0);
    }
    history_free(history);
    redlock_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_NODES(nobody_holds_beside_one_that_was_not_told, start_five_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
