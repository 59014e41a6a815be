/*
 * The queue of callers in one process, and waits that end early: who is next, what the others are told, and
 * that nothing is armed or left behind for somebody who waits no more.
 */
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/traffic.h"
#include "support/waiters.h"

/* The thread sanitizer would end a child that starts threads after a fork of a threaded program; ours may. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "die_after_fork=0";
}

/* ---- nothing is armed for nobody ----------------------------------------------------------------------- */

static void nothing_stays_armed_after_a_cancelled_wait(void **state)
{
    struct fleet *fleet = *state;
    struct waiter waiter;
    redlock_client *client = wait_behind_somebody(fleet, &waiter);

    cancel_wait(&waiter);
    await_nothing_armed(fleet);
    vacate(fleet);
    give_back(take_lock(client, WANTED, LONG_TTL_MS));
    redlock_client_close(client);
}

static void nothing_stays_armed_after_a_wait_that_timed_out(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_heard(fleet_urls(fleet));
    redlock_spec spec = spec_for(WANTED, LONG_TTL_MS);
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_lock *lock = NULL;

    occupy(fleet);
    assert_result(REDLOCK_TIMEOUT, redlock_acquire(client, &spec, 300, &lock, &report), &report);
    assert_string_equal(report.holder.id, "somebody");
    assert_in_range(report.holder_ttl_left_ms, 1, 60000);
    await_nothing_armed(fleet);
    redlock_client_close(client);
    vacate(fleet);
}

static void nothing_stays_armed_after_the_client_is_closed(void **state)
{
    struct fleet *fleet = *state;
    struct waiter waiter;
    redlock_client *client = wait_behind_somebody(fleet, &waiter);

    redlock_client_close(client);
    await_end(&waiter, REDLOCK_CANCELED);
    await_nothing_armed(fleet);
    vacate(fleet);
}

/* What was armed for a lock that was won goes off with the winner's own vote. */
static void nothing_stays_armed_after_the_lock_was_won(void **state)
{
    struct fleet *fleet = *state;
    struct waiter waiter;
    redlock_client *client = wait_behind_somebody(fleet, &waiter);

    vacate(fleet);
    await_end(&waiter, REDLOCK_OK);
    await(traffic_most_tracked_keys(fleet) == 0);
    give_back(waiter.lock);
    redlock_client_close(client);
    await_nothing_armed(fleet);
}

/* ---- the queue in a process ---------------------------------------------------------------------------- */

enum { QUEUE = 6 };

static void callers_of_one_process_come_in_order(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_heard(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, WANTED, LONG_TTL_MS);
    struct waiter waiters[QUEUE];
    long before = traffic_calls(fleet, 0, NULL);

    for (int i = 0; i < QUEUE; i++)
        start_waiting(&waiters[i], client);
    await(listener_count(&heard, "others of this process come first") == QUEUE);
    assert_int_equal(traffic_calls(fleet, 0, NULL), before); /* queueing asks nobody */
    cancel_wait(&waiters[2]);
    give_back(lock);
    for (int i = 0, place = 2; i < QUEUE; i++) {
        if (i == 2)
            continue;
        await_end(&waiters[i], REDLOCK_OK);
        assert_int_equal(waiters[i].place, place++);
        give_back(waiters[i].lock);
    }
    assert_int_equal(listener_count(&heard, "its turn"), QUEUE - 1);
    await(traffic_most_tracked_keys(fleet) == 0);
    redlock_client_close(client);
}

/* Takes the lock and hands it on to a waiter; whether the waiter's question was on its way before anybody had
 * confirmed the release, and for how long the lock was here before that. */
static bool hand_on_once(redlock_client *client, int64_t *had_ms)
{
    struct waiter waiter;
    int64_t begun = now_ms();
    redlock_lock *lock = take_lock(client, WANTED, LONG_TTL_MS);

    start_waiting(&waiter, client);
    await(listener_heard(&heard, "others of this process come first"));
    listener_forget(&heard);
    give_back(lock);
    *had_ms = now_ms() - begun;
    await_end(&waiter, REDLOCK_OK);
    bool rides = listener_count_before(&heard, "its turn", "> released") == 1 &&
                 listener_count_before(&heard, "round 1", "> released") == 1;
    assert_false(rides && listener_heard(&heard, "denied"));
    give_back(waiter.lock);
    return rides;
}

/* A lock that has been in this process for 100 ms is offered to others first. On a slow machine that happens,
 * and is tried again. */
static void the_next_question_rides_behind_the_release(void **state)
{
    enum { OFFERED_MS = 100, TRIES = 100 };
    struct fleet *fleet = *state;
    int64_t had_ms = OFFERED_MS;
    bool rides = false;

    for (int i = 0; i < TRIES && !rides && had_ms >= OFFERED_MS; i++) {
        redlock_client *client = open_heard(fleet_urls(fleet));
        rides = hand_on_once(client, &had_ms);
        redlock_client_close(client);
    }
    if (!rides)
        listener_show(&heard);
    assert_true(rides);
}

static void who_times_out_in_the_queue_is_told_who_has_it(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_heard(fleet_urls(fleet));
    redlock_spec spec = spec_for(WANTED, LONG_TTL_MS);
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_lock *none = NULL;

    spec.why = "the first";
    redlock_lock *lock = take_spec(client, &spec);
    spec.why = NULL;
    assert_result(REDLOCK_TIMEOUT, redlock_acquire(client, &spec, 50, &none, &report), &report);
    assert_string_equal(report.holder.host, "test-host");
    assert_string_equal(report.holder.why, "the first");
    assert_int_equal(report.holder.pid, getpid());
    assert_true(report.holder_ttl_left_ms > 0);
    assert_in_range(report.held, quorum_of(fleet), fleet_size(fleet));
    give_back(lock);

    /* Behind somebody who waits himself: what he was told. */
    struct waiter first;
    occupy(fleet);
    start_waiting(&first, client);
    await_armed(fleet);
    assert_result(REDLOCK_TIMEOUT, redlock_acquire(client, &spec, 50, &none, &report), &report);
    assert_string_equal(report.holder.id, "somebody");
    vacate(fleet);
    have_it_and_close(&first);
}

/* The one who deals with the nodes gives up: the next one takes over where he was. */
static void a_leader_that_gives_up_is_followed(void **state)
{
    struct fleet *fleet = *state;
    struct waiter first, second;

    start_waiting(&second, wait_behind_somebody(fleet, &first));
    await(listener_heard(&heard, "others of this process come first"));
    cancel_wait(&first);
    await(listener_heard(&heard, "its turn"));
    await_armed(fleet);
    vacate(fleet);
    have_it_and_close(&second);
}

/* ---- interruptions ------------------------------------------------------------------------------------- */

enum { THREADS = 4 };

static void *wait_in_thread(void *context)
{
    struct waiter *waiter = context;
    redlock_spec spec = spec_for(WANTED, LONG_TTL_MS);

    waiter->result =
        redlock_acquire(waiter->client, &spec, REDLOCK_WAIT_FOREVER, &waiter->lock, &waiter->report);
    atomic_store(&waiter->done, 1);
    return NULL;
}

static void start_thread(pthread_t *thread, struct waiter *waiter, redlock_client *client)
{
    memset(waiter, 0, sizeof *waiter);
    waiter->client = client;
    waiter->report = (redlock_report)REDLOCK_REPORT_INIT;
    assert_int_equal(pthread_create(thread, NULL, wait_in_thread, waiter), 0);
}

/* All of them wait behind somebody else, one for the others. */
static void start_threads(struct fleet *fleet, redlock_client *client, pthread_t *threads,
                          struct waiter *waiters)
{
    occupy(fleet);
    for (int i = 0; i < THREADS; i++)
        start_thread(&threads[i], &waiters[i], client);
    await(listener_count(&heard, "others of this process come first") == THREADS - 1);
    await_armed(fleet);
}

static void closing_the_client_ends_blocking_waits(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_heard(fleet_urls(fleet));
    struct waiter waiters[THREADS];
    pthread_t threads[THREADS];

    start_threads(fleet, client, threads, waiters);
    redlock_client_close(client);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_result(REDLOCK_CANCELED, waiters[i].result, &waiters[i].report);
        assert_null(waiters[i].lock);
    }
    await_nothing_armed(fleet);
    vacate(fleet);
}

/* A child does this with what it inherits, and ends well. */
static void expect_of_a_child(int (*live)(redlock_client *client, redlock_lock *lock), redlock_client *client,
                              redlock_lock *lock)
{
    int status = 1;
    pid_t pid = fork();

    if (pid == 0) {
        alarm(30);
        _exit(live(client, lock));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static int close_inherited(redlock_client *client, redlock_lock *none)
{
    redlock_spec spec = spec_for(WANTED, LONG_TTL_MS);

    if (redlock_acquire(client, &spec, 100, &none, NULL) != REDLOCK_MISUSE)
        return 1;
    redlock_client_close(client);
    return 0;
}

static void a_fork_while_others_wait_harms_nobody(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_heard(fleet_urls(fleet));
    struct waiter waiters[THREADS];
    pthread_t threads[THREADS];

    start_threads(fleet, client, threads, waiters);
    expect_of_a_child(close_inherited, client, NULL);
    await_armed(fleet);
    vacate(fleet);
    for (int given = 0; given < THREADS; given++) {
        struct waiter *has = NULL;

        await((has = atomic_load(&waiters[0].done) == 1   ? &waiters[0]
                     : atomic_load(&waiters[1].done) == 1 ? &waiters[1]
                     : atomic_load(&waiters[2].done) == 1 ? &waiters[2]
                     : atomic_load(&waiters[3].done) == 1 ? &waiters[3]
                                                          : NULL) != NULL);
        assert_result(REDLOCK_OK, has->result, &has->report);
        atomic_store(&has->done, 2);
        give_back(has->lock);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    redlock_client_close(client);
}

static int free_and_close_inherited(redlock_client *client, redlock_lock *lock)
{
    redlock_lock_free(lock);
    redlock_client_close(client);
    return 0;
}

/* In the child nobody queues: not one word may go out on its parent's connections. */
static void a_child_that_frees_what_others_queue_for_harms_nobody(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_heard(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, WANTED, LONG_TTL_MS);
    struct waiter waiter;
    pthread_t thread;

    start_thread(&thread, &waiter, client);
    await(listener_count(&heard, "others of this process come first") == 1);
    long before = traffic_calls(fleet, 0, NULL);
    expect_of_a_child(free_and_close_inherited, client, lock);
    assert_int_equal(traffic_calls(fleet, 0, NULL), before);
    assert_int_equal(atomic_load(&waiter.done), 0);
    give_back(lock);
    pthread_join(thread, NULL);
    assert_result(REDLOCK_OK, waiter.result, &waiter.report);
    give_back(waiter.lock);
    redlock_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_THREE(nothing_stays_armed_after_a_cancelled_wait),
        ON_THREE(nothing_stays_armed_after_a_wait_that_timed_out),
        ON_THREE(nothing_stays_armed_after_the_client_is_closed),
        ON_THREE(nothing_stays_armed_after_the_lock_was_won),
        ON_THREE(callers_of_one_process_come_in_order),
        ON_THREE(the_next_question_rides_behind_the_release),
        ON_THREE(who_times_out_in_the_queue_is_told_who_has_it),
        ON_THREE(a_leader_that_gives_up_is_followed),
        ON_THREE(closing_the_client_ends_blocking_waits),
        ON_THREE(a_fork_while_others_wait_harms_nobody),
        ON_THREE(a_child_that_frees_what_others_queue_for_harms_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
