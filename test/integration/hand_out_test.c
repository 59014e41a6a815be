/*
 * From winning a lock to handing it out is a moment, and a process may be stopped in it for longer than the
 * lock lasts. What is over is handed out to nobody: a caller that does not wait is told that it was too slow,
 * one that is ready to wait waits on.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "support/steps.h"

enum { TTL_MS = 300, CALLERS = 8, TURNS = 10, EVERY = 17 };

/* Stands still when a lock was won, as if stopped, until it must be over. */
struct stopper {
    atomic_int wins;
    int every; /* so many wins */
};

static void stop_at_win(void *context, const char *line)
{
    struct stopper *stopper = context;

    if (strstr(line, "-> valid ") != NULL && stopper->every != 0 &&
        atomic_fetch_add(&stopper->wins, 1) % stopper->every == 0)
        sleep_ms(TTL_MS);
}

static redlock_client *open_stopped(const struct fleet *fleet, struct stopper *stopper)
{
    redlock_options options = options_for(fleet_urls(fleet));

    *stopper = (struct stopper){.every = 0};
    options.trace = stop_at_win;
    options.trace_context = stopper;
    redlock_client *client = open_with(&options);
    await_all_nodes(client);
    return client;
}

static void give_back_in_time_or_late(redlock_lock *lock)
{
    (void)redlock_release(lock, NULL); /* on a busy machine it may be over */
    redlock_lock_free(lock);
}

static void caller_that_does_not_wait_is_told_that_it_was_too_slow(void **state)
{
    struct stopper stopper;
    redlock_client *client = open_stopped(*state, &stopper);
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_spec spec = spec_for("late", TTL_MS);
    redlock_lock *lock = NULL;

    stopper.every = 1;
    assert_result(REDLOCK_TOO_SLOW, redlock_try_acquire(client, &spec, &lock, &report), &report);
    assert_null(lock);
    redlock_client_close(client);
}

static void waiter_waits_on_when_it_was_too_late_for_its_lock(void **state)
{
    struct stopper stopper;
    redlock_client *client = open_stopped(*state, &stopper);
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_spec spec = spec_for("late", TTL_MS);
    redlock_lock *lock = NULL;

    stopper.every = 1000;
    assert_result(REDLOCK_OK, redlock_acquire(client, &spec, LONG_TTL_MS, &lock, &report), &report);
    assert_true(atomic_load(&stopper.wins) >= 2);
    assert_true(report.waited_ms >= TTL_MS);
    give_back_in_time_or_late(lock);
    redlock_client_close(client);
}

static void wait_that_is_over_is_not_begun_again(void **state)
{
    struct stopper stopper;
    redlock_client *client = open_stopped(*state, &stopper);
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_spec spec = spec_for("late", TTL_MS);
    redlock_lock *lock = NULL;

    stopper.every = 1;
    assert_result(REDLOCK_TOO_SLOW, redlock_acquire(client, &spec, TTL_MS / 3, &lock, &report), &report);
    assert_null(lock);
    redlock_client_close(client);
}

/* ---- several threads ----------------------------------------------------------------------------------- */

struct caller {
    redlock_client *client;
    int number;
    redlock_result result;
    redlock_report report;
    pthread_t thread;
};

static void *take_turns(void *context)
{
    struct caller *caller = context;
    char name[24];
    redlock_spec spec;

    snprintf(name, sizeof name, "late-%d", caller->number / 2);
    spec = spec_for(name, TTL_MS);
    for (int turn = 0; turn < TURNS && caller->result == REDLOCK_OK; turn++) {
        redlock_lock *lock = NULL;

        caller->result = redlock_acquire(caller->client, &spec, LONG_TTL_MS, &lock, &caller->report);
        if (lock != NULL)
            give_back_in_time_or_late(lock);
    }
    return NULL;
}

/* One of them drives, a carrier drives for all, others sleep: whoever ends a call for another finds it going
 * on. */
static void threads_that_sleep_wait_on_too(void **state)
{
    struct caller callers[CALLERS];
    struct stopper stopper;
    redlock_client *client = open_stopped(*state, &stopper);

    stopper.every = EVERY;
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (struct caller){.client = client, .number = i, .report = REDLOCK_REPORT_INIT};
        assert_int_equal(pthread_create(&callers[i].thread, NULL, take_turns, &callers[i]), 0);
    }
    for (int i = 0; i < CALLERS; i++)
        pthread_join(callers[i].thread, NULL);
    for (int i = 0; i < CALLERS; i++)
        assert_result(REDLOCK_OK, callers[i].result, &callers[i].report);
    assert_true(atomic_load(&stopper.wins) > CALLERS * TURNS); /* some were had in vain */
    redlock_client_close(client);
}

/* ---- callbacks ----------------------------------------------------------------------------------------- */

/* Static in the test, since a failed one leaves its request behind. */
struct outcome {
    atomic_int calls, may_return;
    atomic_int result;
    _Atomic(redlock_lock *) lock;
};

static void note_acquired(void *context, redlock_result result, redlock_lock *lock,
                          const redlock_report *report)
{
    struct outcome *outcome = context;

    (void)report;
    atomic_store(&outcome->result, (int)result);
    atomic_store(&outcome->lock, lock);
    atomic_fetch_add(&outcome->calls, 1);
    while (atomic_load(&outcome->may_return) == 0)
        sleep_ms(1);
}

static redlock_stats stats_of(redlock_client *client)
{
    redlock_stats stats = {.size = sizeof stats};

    redlock_client_stats(client, &stats);
    return stats;
}

static void begin(redlock_client *client, const char *name, struct outcome *outcome, uint32_t ttl_ms)
{
    redlock_spec spec = spec_for(name, ttl_ms);

    assert_result(REDLOCK_OK, redlock_acquire_async(client, &spec, LONG_TTL_MS, note_acquired, outcome, NULL),
                  NULL);
}

/* Callbacks run one after the other, and one that takes its time makes the next lock come too late. */
static void request_behind_a_slow_callback_waits_on(void **state)
{
    static struct outcome slow, late;
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));

    memset(&slow, 0, sizeof slow);
    memset(&late, 0, sizeof late);
    atomic_store(&late.may_return, 1);
    begin(client, "slow", &slow, LONG_TTL_MS);
    await(atomic_load(&slow.calls) == 1);
    begin(client, "late", &late, TTL_MS);
    await(stats_of(client).acquired == 2 && stats_of(client).held == 1);
    assert_int_equal(atomic_load(&late.calls), 0);
    atomic_store(&slow.may_return, 1);
    await(atomic_load(&late.calls) == 1);
    assert_result(REDLOCK_OK, (redlock_result)atomic_load(&late.result), NULL);
    give_back_in_time_or_late(atomic_load(&late.lock));
    give_back(atomic_load(&slow.lock));
    redlock_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_NODES(caller_that_does_not_wait_is_told_that_it_was_too_slow, start_three_nodes),
        ON_NODES(waiter_waits_on_when_it_was_too_late_for_its_lock, start_three_nodes),
        ON_NODES(wait_that_is_over_is_not_begun_again, start_three_nodes),
        ON_NODES(threads_that_sleep_wait_on_too, start_three_nodes),
        ON_NODES(request_behind_a_slow_callback_waits_on, start_three_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
