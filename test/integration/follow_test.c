/*
 * Threads that sleep in calls while another one drives: whoever ends, frees, loses or closes what they wait
 * for, all of them come back, in order where they queue, and nothing is left at the nodes. Assertions are
 * made on the main thread.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/prng.h"
#include "support/fake_node.h"
#include "support/waiters.h"

enum { SHORT_TTL_MS = 500, SHORT_WAIT_MS = 50 };

static const char in_queue[] = "others of this process come first";

/* ---- one queue, and everything that can happen to its leader ------------------------------------------- */

enum habit { RELEASES, RELEASES_BY_CALLBACK, FREES, LETS_IT_END, EXTENDS, GIVES_UP, HABITS };

/* A thread that makes one call, and what became of it. */
struct caller {
    atomic_int calls; /* it is about to */
    redlock_client *client;
    const char *name;
    enum habit habit;
    int64_t wait_ms;
    atomic_int *order;
    int place; /* in the order of having it, from 1; 0 it never did */
    redlock_result result, end;
    redlock_report report;
    atomic_int callbacks;
    pthread_t thread;
};

static void count_callback(void *context, redlock_result result, const redlock_report *report)
{
    (void)result;
    (void)report;
    atomic_fetch_add((atomic_int *)context, 1);
}

static redlock_result end_by_habit(enum habit habit, redlock_lock *lock, atomic_int *callbacks)
{
    redlock_result result = REDLOCK_OK;

    if (habit == RELEASES_BY_CALLBACK)
        return redlock_release_async(lock, count_callback, callbacks, NULL);
    if (habit == FREES)
        return REDLOCK_OK;
    if (habit == LETS_IT_END) {
        while (redlock_lock_validity_ms(lock) > 0)
            sleep_ms(20);
        return REDLOCK_OK;
    }
    if (habit == EXTENDS)
        result = redlock_extend(lock, 0, NULL);
    return result == REDLOCK_OK ? redlock_release(lock, NULL) : result;
}

static uint32_t ttl_of(enum habit habit)
{
    return habit == FREES || habit == LETS_IT_END ? SHORT_TTL_MS : LONG_TTL_MS;
}

static void *call_once(void *context)
{
    struct caller *caller = context;
    redlock_spec spec = spec_for(caller->name, ttl_of(caller->habit));
    redlock_lock *lock = NULL;

    atomic_store(&caller->calls, 1);
    caller->result = redlock_acquire(caller->client, &spec, caller->wait_ms, &lock, &caller->report);
    if (caller->result == REDLOCK_OK) {
        caller->place = atomic_fetch_add(caller->order, 1) + 1;
        caller->end = end_by_habit(caller->habit, lock, &caller->callbacks);
        redlock_lock_free(lock);
    }
    return NULL;
}

static void start_caller(struct caller *caller, redlock_client *client, const char *name, enum habit habit,
                         atomic_int *order)
{
    *caller = (struct caller){.client = client,
                              .name = name,
                              .habit = habit,
                              .wait_ms = habit == GIVES_UP ? SHORT_WAIT_MS : REDLOCK_WAIT_FOREVER,
                              .order = order,
                              .report = REDLOCK_REPORT_INIT};
    assert_int_equal(pthread_create(&caller->thread, NULL, call_once, caller), 0);
}

static void assert_all_had_it_in_order(struct caller *callers, int count)
{
    for (int i = 0, place = 1; i < count; i++) {
        if (callers[i].habit == GIVES_UP) {
            assert_result(REDLOCK_TIMEOUT, callers[i].result, &callers[i].report);
            assert_string_equal(callers[i].report.holder.host, "test-host");
            continue;
        }
        assert_result(REDLOCK_OK, callers[i].result, &callers[i].report);
        assert_int_equal(callers[i].place, place++);
        assert_result(REDLOCK_OK, callers[i].end, NULL);
        if (callers[i].habit == RELEASES_BY_CALLBACK)
            await(atomic_load(&callers[i].callbacks) == 1);
    }
}

static void await_free(struct fleet *fleet, const char *name)
{
    for (int node = 0; node < fleet_size(fleet); node++)
        await(strcmp(fleet_command(fleet, node, "EXISTS", name, NULL), "0") == 0);
}

static void a_queue_goes_on_whatever_its_leaders_do(void **state)
{
    enum { CALLERS = 3 * HABITS };
    struct fleet *fleet = *state;
    redlock_client *client = open_heard(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, WANTED, LONG_TTL_MS);
    struct caller callers[CALLERS];
    atomic_int order = 0;

    for (int i = 0; i < CALLERS; i++) {
        start_caller(&callers[i], client, WANTED, (enum habit)(i % HABITS), &order);
        await(listener_count(&heard, in_queue) == i + 1); /* so that their order is known */
    }
    for (int i = GIVES_UP; i < CALLERS; i += HABITS)
        pthread_join(callers[i].thread, NULL);
    assert_int_equal(atomic_load(&order), 0);
    give_back(lock);
    for (int i = 0; i < CALLERS; i++)
        if (callers[i].habit != GIVES_UP)
            pthread_join(callers[i].thread, NULL);
    assert_all_had_it_in_order(callers, CALLERS);
    await_free(fleet, WANTED);
    redlock_client_close(client);
}

/* Nobody calls while the lease runs out: those who queue have to notice it themselves, and the first of them
 * has left. */
static void a_lease_that_ends_is_noticed_by_those_who_queue(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_heard(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, WANTED, 4 * SHORT_TTL_MS);
    struct caller callers[3];
    atomic_int order = 0;

    for (int i = 0; i < 3; i++) {
        start_caller(&callers[i], client, WANTED, i == 0 ? GIVES_UP : RELEASES, &order);
        await(listener_count(&heard, in_queue) == i + 1);
    }
    for (int i = 0; i < 3; i++)
        pthread_join(callers[i].thread, NULL);
    assert_all_had_it_in_order(callers, 3);
    assert_result(REDLOCK_LOST, redlock_release(lock, NULL), NULL);
    redlock_lock_free(lock);
    redlock_client_close(client);
}

/* The thread that drives waits for something else, and has no part in any of this. */
static void locks_are_handed_on_while_somebody_else_drives(void **state)
{
    static const enum habit habits[] = {FREES, RELEASES, RELEASES_BY_CALLBACK, LETS_IT_END};
    struct fleet *fleet = *state;
    redlock_client *client = open_heard(fleet_urls(fleet));
    struct caller driver, callers[4];
    atomic_int order = 0, callbacks = 0;

    occupy(fleet);
    start_caller(&driver, client, WANTED, RELEASES, &order);
    await_armed(fleet);
    for (int i = 0; i < 4; i++) {
        redlock_lock *lock = take_lock(client, "handed on", ttl_of(habits[i]));

        listener_forget(&heard);
        start_caller(&callers[i], client, "handed on", RELEASES, &order);
        await(listener_count(&heard, in_queue) == 1);
        assert_result(REDLOCK_OK, end_by_habit(habits[i], lock, &callbacks), NULL);
        pthread_join(callers[i].thread, NULL);
        redlock_lock_free(lock);
    }
    vacate(fleet);
    pthread_join(driver.thread, NULL);
    assert_all_had_it_in_order(callers, 4);
    assert_result(REDLOCK_OK, driver.result, &driver.report);
    redlock_client_close(client);
}

/* ---- few names, many threads, all habits --------------------------------------------------------------- */

enum { NAMES = 3, WORKERS = 12, WORKS = 40 };

struct floor {
    redlock_client *client;
    atomic_int inside[NAMES];
    atomic_int together, failures, callbacks, expected_callbacks;
};

struct worker {
    struct floor *floor;
    struct rl_prng prng;
    pthread_t thread;
};

static void note_failure(struct floor *floor, redlock_result result)
{
    if (result != REDLOCK_OK)
        atomic_store(&floor->failures, (int)result);
}

static void work_once(struct worker *worker)
{
    static const char *const names[NAMES] = {"few:1", "few:2", "few:3"};
    static const int64_t waits[] = {REDLOCK_WAIT_FOREVER, REDLOCK_WAIT_FOREVER, 0, 1, 5, 20};
    struct floor *floor = worker->floor;
    uint64_t draw = rl_prng_next(&worker->prng);
    int name = (int)(draw % NAMES);
    enum habit habit = draw / 16 % 16 == 0 ? FREES : (enum habit)(draw / 64 % FREES);
    redlock_spec spec = spec_for(names[name], habit == FREES ? REDLOCK_TTL_MIN_MS * 2 : LONG_TTL_MS);
    redlock_lock *lock = NULL;
    redlock_result result = redlock_acquire(floor->client, &spec, waits[draw / 256 % 6], &lock, NULL);

    if (result == REDLOCK_BUSY || result == REDLOCK_TIMEOUT || (habit == FREES && result != REDLOCK_OK))
        return;
    note_failure(floor, result);
    if (result != REDLOCK_OK)
        return;
    if (atomic_fetch_add(&floor->inside[name], 1) > 0 && habit != FREES)
        atomic_store(&floor->together, 1);
    atomic_fetch_sub(&floor->inside[name], 1);
    if (habit == RELEASES_BY_CALLBACK)
        atomic_fetch_add(&floor->expected_callbacks, 1);
    note_failure(floor, end_by_habit(habit, lock, &floor->callbacks));
    redlock_lock_free(lock);
}

static void *work(void *context)
{
    for (int i = 0; i < WORKS; i++)
        work_once(context);
    return NULL;
}

static void threads_that_mix_names_and_habits_all_come_out(void **state)
{
    struct fleet *fleet = *state;
    struct floor floor = {.client = open_heard(fleet_urls(fleet))};
    struct worker workers[WORKERS];

    for (int i = 0; i < WORKERS; i++) {
        workers[i].floor = &floor;
        workers[i].prng = rl_prng_seed((uint64_t)i + 1);
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i].thread, NULL);
    await(atomic_load(&floor.callbacks) == atomic_load(&floor.expected_callbacks));
    assert_result(REDLOCK_OK, (redlock_result)atomic_load(&floor.failures), NULL);
    assert_int_equal(atomic_load(&floor.together), 0);
    for (int name = 1; name <= NAMES; name++) {
        char text[16];

        snprintf(text, sizeof text, "few:%d", name);
        await_free(fleet, text);
    }
    redlock_client_close(floor.client);
}

/* ---- the client is closed meanwhile -------------------------------------------------------------------- */

/* Some of them come back for their deadlines at the very moment at which their calls are ended for them. */
static void close_in_the_middle_brings_everybody_back(void **state)
{
    enum { CALLERS = 10, TIMES = 12 };
    struct fleet *fleet = *state;

    for (int time = 0; time < TIMES; time++) {
        redlock_client *client = open_heard(fleet_urls(fleet));
        struct caller callers[CALLERS];
        atomic_int order = 0;

        occupy(fleet);
        for (int i = 0; i < CALLERS; i++) {
            start_caller(&callers[i], client, WANTED, i % 2 == 0 ? RELEASES : GIVES_UP, &order);
            await(listener_count(&heard, in_queue) == i); /* the first one leads */
        }
        sleep_ms(SHORT_WAIT_MS - 5 * (time % 4));
        redlock_client_close(client);
        for (int i = 0; i < CALLERS; i++) {
            pthread_join(callers[i].thread, NULL);
            if (callers[i].habit == GIVES_UP && callers[i].result == REDLOCK_TIMEOUT)
                continue;
            assert_result(REDLOCK_CANCELED, callers[i].result, &callers[i].report);
        }
        vacate(fleet);
    }
}

/* It has not even begun to ask. */
static void close_ends_a_call_that_waits_for_connections(void **state)
{
    struct fake_node *fake = fake_node_start(FAKE_UNIX);
    redlock_options options = options_for(fake_node_url(fake));
    redlock_client *client = NULL;
    struct caller caller;
    atomic_int order = 0;

    (void)state;
    options.connect_timeout_ms = 60000;
    fake_node_hold(fake, "*");
    assert_result(REDLOCK_OK, redlock_client_open(&options, &client, NULL), NULL);
    start_caller(&caller, client, WANTED, RELEASES, &order);
    assert_true(fake_node_await(fake, "HELLO", 1));
    await(atomic_load(&caller.calls)); /* and a moment later it is in there */
    sleep_ms(200);
    redlock_client_close(client);
    pthread_join(caller.thread, NULL);
    assert_result(REDLOCK_CANCELED, caller.result, &caller.report);
    assert_string_equal(caller.report.line, "the client was closed");
    fake_node_stop(fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_THREE(a_queue_goes_on_whatever_its_leaders_do),
        ON_THREE(a_lease_that_ends_is_noticed_by_those_who_queue),
        ON_THREE(locks_are_handed_on_while_somebody_else_drives),
        ON_THREE(threads_that_mix_names_and_habits_all_come_out),
        ON_THREE(close_in_the_middle_brings_everybody_back),
        cmocka_unit_test(close_ends_a_call_that_waits_for_connections),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
