/*
 * The line of a lock on real nodes: it goes round in the order of asking, whoever dies, stops, is cut off or
 * has a wrong clock in the line; and nobody who gave up is left in it. Who comes when is read from the calls,
 * never from a clock.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "support/counting_allocator.h"
#include "support/guarded.h"
#include "support/line.h"
#include "support/proxy.h"
#include "support/steps.h"
#include "support/traffic.h"
#include "support/waiters.h"

/* ---- a wall clock that is wrong for whoever asks meanwhile --------------------------------------------- */

static _Atomic int64_t skew_us;

/* Takes the place of libc's in this program: tickets come from the wall clock of the caller. */
int clock_gettime(clockid_t which, struct timespec *at)
{
    int64_t ns;

    if (syscall(SYS_clock_gettime, which, at) != 0)
        return -1;
    if (which != CLOCK_REALTIME)
        return 0;
    ns = at->tv_nsec + atomic_load(&skew_us) % 1000000 * 1000;
    at->tv_sec += atomic_load(&skew_us) / 1000000 + (ns < 0 ? -1 : ns / 1000000000);
    at->tv_nsec = ns < 0 ? ns + 1000000000 : ns % 1000000000;
    return 0;
}

/* ---- those who wait ------------------------------------------------------------------------------------ */

enum { WAITERS_MAX = 6 };

static void ask(struct waiter *waiter, redlock_client *client, const char *why)
{
    redlock_spec spec = line_spec(REDLOCK_FAIR);

    spec.why = why;
    start_waiting_for(waiter, client, &spec);
}

static void await_turn(struct waiter *waiter)
{
    await_end(waiter, REDLOCK_OK);
}

/* Each of them has it once, in this order, and nobody before his turn. */
static void expect_order(struct waiter *waiters, int count)
{
    for (int i = 0; i < count; i++) {
        await_turn(&waiters[i]);
        for (int later = i + 1; later < count; later++)
            assert_int_equal(atomic_load(&waiters[later].done), 0);
        give_back(waiters[i].lock);
    }
}

static void close_clients(struct waiter *waiters, int count)
{
    for (int i = 0; i < count; i++)
        redlock_client_close(waiters[i].client);
}

/* ---- order --------------------------------------------------------------------------------------------- */

static void the_lock_goes_round_in_the_order_of_asking(void **state)
{
    struct fleet *fleet = *state;
    struct waiter waiters[WAITERS_MAX];

    occupy(fleet);
    for (int i = 0; i < WAITERS_MAX; i++) {
        ask(&waiters[i], line_open(fleet_urls(fleet)), NULL);
        await(line_is(fleet, i + 1));
    }
    vacate(fleet);
    expect_order(waiters, WAITERS_MAX);
    close_clients(waiters, WAITERS_MAX);
    await(line_is_gone(fleet));
}

/* The others wait for it in the client, in their order, and each comes behind those of other clients who are
 * in line by then. */
static void callers_of_one_client_have_one_place_in_line(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = line_open(fleet_urls(fleet)), *other = line_open(fleet_urls(fleet));
    struct waiter waiters[4];

    occupy(fleet);
    ask(&waiters[0], client, NULL);
    await(line_is(fleet, 1));
    ask(&waiters[1], other, NULL);
    await(line_is(fleet, 2));
    ask(&waiters[2], client, NULL);
    ask(&waiters[3], client, NULL);
    vacate(fleet);
    expect_order(waiters, 4);
    redlock_client_close(client);
    redlock_client_close(other);
    await(line_is_gone(fleet));
}

/* A ticket behind what a node has given out is put behind it; one that is ahead keeps nobody from coming
 * after it. */
static void a_wrong_clock_changes_no_order(void **state)
{
    static const int64_t skews_us[] = {0, -50000, 50000, 0, -50000, -3600000000};
    struct fleet *fleet = *state;
    struct waiter waiters[WAITERS_MAX];

    occupy(fleet);
    for (int i = 0; i < WAITERS_MAX; i++) {
        redlock_client *client = line_open(fleet_urls(fleet));

        atomic_store(&skew_us, skews_us[i]);
        ask(&waiters[i], client, NULL); /* draws the ticket */
        atomic_store(&skew_us, 0);
        await(line_is(fleet, i + 1));
    }
    vacate(fleet);
    expect_order(waiters, WAITERS_MAX);
    close_clients(waiters, WAITERS_MAX);
}

/* Half of them have seen it, the others never do. */
static void a_node_that_is_down_changes_no_order(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *clients[WAITERS_MAX];
    struct waiter waiters[WAITERS_MAX];

    for (int i = 0; i < WAITERS_MAX; i++)
        clients[i] = line_open(fleet_urls(fleet));
    occupy(fleet);
    for (int i = 0; i < WAITERS_MAX; i++) {
        ask(&waiters[i], clients[i], NULL);
        await(line_is(fleet, i + 1));
        if (i == WAITERS_MAX / 2 - 1)
            fleet_kill(fleet, 0);
    }
    vacate(fleet);
    expect_order(waiters, WAITERS_MAX);
    close_clients(waiters, WAITERS_MAX);
    await(line_is_gone(fleet));
}

static void who_waits_is_seen_in_order(void **state)
{
    static const char *const words[] = {"first", "second", "third"};
    struct fleet *fleet = *state;
    redlock_client *looks = line_open(fleet_urls(fleet));
    redlock_report report = detailed_report();
    struct waiter waiters[3];

    occupy(fleet);
    for (int i = 0; i < 3; i++) {
        ask(&waiters[i], line_open(fleet_urls(fleet)), words[i]);
        await(line_is(fleet, i + 1));
    }
    assert_result(REDLOCK_OK, redlock_inspect(looks, WANTED, 0, &report), &report);
    assert_int_equal(report.waiting, 3);
    assert_int_equal(report.waiter_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(waiter_of(&report, i).place, i + 1);
        assert_int_equal(waiter_of(&report, i).count, 1);
        assert_string_equal(waiter_of(&report, i).who.why, words[i]);
        assert_string_equal(waiter_of(&report, i).who.host, "test-host");
        assert_string_equal(waiter_of(&report, i).who.id, "");
        assert_int_equal(waiter_of(&report, i).who.pid, getpid());
        assert_true(waiter_of(&report, i).who.since_ms > 0);
        assert_int_equal(node_of(&report, i).notifies, 1);
    }
    vacate(fleet);
    expect_order(waiters, 3);
    close_clients(waiters, 3);
    await(line_is_gone(fleet));
    report = (redlock_report)REDLOCK_REPORT_INIT;
    assert_result(REDLOCK_OK, redlock_inspect(looks, WANTED, 0, &report), &report);
    assert_int_equal(report.waiting, 0);
    assert_int_equal(report.waiter_count, 0);
    redlock_client_close(looks);
}

/* ---- those in front who do not come -------------------------------------------------------------------- */

/* The process asks first, and then two of ours. Returns the id of the process. */
static const char *line_up_behind(struct fleet *fleet, atomic_int *may_ask, struct waiter *waiters, char *id)
{
    atomic_store(may_ask, 1);
    await(line_is(fleet, 1));
    strcpy(id, line_at(fleet, 0, 1));
    for (int i = 0; i < 2; i++) {
        ask(&waiters[i], line_open(fleet_urls(fleet)), NULL);
        await(line_is(fleet, i + 2));
    }
    assert_true(line_is_led_by(fleet, id, 3));
    return id;
}

static void a_waiter_that_was_killed_is_passed_over(void **state)
{
    struct fleet *fleet = *state;
    atomic_int *may_ask = line_share();
    struct line_process process = line_process_start(fleet_urls(fleet), may_ask);
    struct waiter waiters[2];
    char id[64];

    occupy(fleet);
    line_up_behind(fleet, may_ask, waiters, id);
    line_process_kill(&process);
    assert_true(line_is_led_by(fleet, id, 3)); /* nobody knows yet */
    vacate(fleet);
    expect_order(waiters, 2);
    close_clients(waiters, 2);
    line_clear(fleet);
}

/* The lock is free, and the first of ours has it. Returns how often the process was told no until then. */
static int expect_to_be_passed_over(struct fleet *fleet, const struct line_process *process,
                                    struct waiter *waiters)
{
    vacate(fleet);
    await_turn(&waiters[0]);
    assert_false(line_process_has_it(process));
    return atomic_load(&process->state->waits);
}

/* The process is told once more that it has to wait; then it comes between the two of ours. */
static void expect_to_be_next(struct line_process *process, int waits, struct waiter *waiters)
{
    await(atomic_load(&process->state->waits) > waits);
    assert_false(line_process_has_it(process));
    give_back(waiters[0].lock);
    await(line_process_has_it(process));
    assert_int_equal(atomic_load(&waiters[1].done), 0);
    assert_true(line_process_finish(process));
    await_turn(&waiters[1]);
    give_back(waiters[1].lock);
}

/* It has had its chance; but once it is awake it is the next again. */
static void a_frozen_waiter_is_passed_over_and_keeps_its_place(void **state)
{
    struct fleet *fleet = *state;
    atomic_int *may_ask = line_share();
    struct line_process process = line_process_start(fleet_urls(fleet), may_ask);
    struct waiter waiters[2];
    char id[64];

    occupy(fleet);
    line_up_behind(fleet, may_ask, waiters, id);
    kill(process.pid, SIGSTOP);
    int waits = expect_to_be_passed_over(fleet, &process, waiters);
    kill(process.pid, SIGCONT);
    await(line_is_led_by(fleet, id, 2));
    expect_to_be_next(&process, waits, waiters);
    close_clients(waiters, 2);
    await(line_is_gone(fleet));
}

/* What it says about taking the lock is on the way for long, and comes too late to matter. */
static void a_waiter_that_is_cut_off_is_passed_over_and_keeps_its_place(void **state)
{
    struct fleet *fleet = *state;
    struct proxy *proxies[3];
    atomic_int *may_ask = line_share();
    struct waiter waiters[2];
    char urls[512] = "", id[64];

    for (int node = 0; node < 3; node++) {
        proxies[node] = proxy_start(fleet, node);
        assert_non_null(proxies[node]);
        strcat(strcat(urls, node > 0 ? "," : ""), proxy_url(proxies[node]));
    }
    struct line_process process = line_process_start(urls, may_ask);
    occupy(fleet);
    line_up_behind(fleet, may_ask, waiters, id);
    for (int node = 0; node < 3; node++)
        proxy_hold(proxies[node], true);
    int waits = expect_to_be_passed_over(fleet, &process, waiters);
    for (int node = 0; node < 3; node++)
        proxy_hold(proxies[node], false);
    await(line_is_led_by(fleet, id, 2));
    expect_to_be_next(&process, waits, waiters);
    close_clients(waiters, 2);
    await(line_is_gone(fleet));
    for (int node = 0; node < 3; node++)
        proxy_stop(proxies[node]);
}

/* ---- who gives up -------------------------------------------------------------------------------------- */

static void assert_nothing_is_left(struct fleet *fleet)
{
    await(line_is_gone(fleet));
    await(traffic_most_tracking(fleet) == 0);
}

static void a_cancelled_waiter_leaves_the_line(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = line_open(fleet_urls(fleet));
    struct waiter waiters[3];

    occupy(fleet);
    for (int i = 0; i < 3; i++)
        ask(&waiters[i], client, NULL);
    for (int i = 0; i < 3; i++) {
        await(line_is(fleet, 1)); /* the next of them stands in it */
        assert_result(REDLOCK_OK, redlock_cancel(client, waiters[i].request), NULL);
        await(atomic_load(&waiters[i].done));
        assert_result(REDLOCK_CANCELED, waiters[i].result, &waiters[i].report);
    }
    assert_nothing_is_left(fleet);
    vacate(fleet);
    redlock_client_close(client);
}

static void a_waiter_whose_time_is_over_leaves_the_line(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = line_open(fleet_urls(fleet));
    redlock_spec spec = line_spec(REDLOCK_FAIR);
    redlock_report report = detailed_report();
    redlock_lock *lock = NULL;

    occupy(fleet);
    assert_result(REDLOCK_TIMEOUT, redlock_acquire(client, &spec, 200, &lock, &report), &report);
    assert_null(lock);
    assert_nothing_is_left(fleet);
    assert_result(REDLOCK_BUSY, redlock_try_acquire(client, &spec, &lock, &report), &report);
    assert_nothing_is_left(fleet);
    vacate(fleet);
    redlock_client_close(client);
}

static void closing_a_client_takes_its_waiters_out_of_line(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = line_open(fleet_urls(fleet));
    struct waiter waiters[3];

    occupy(fleet);
    for (int i = 0; i < 3; i++)
        ask(&waiters[i], client, NULL);
    await(line_is(fleet, 1));
    redlock_client_close(client);
    for (int i = 0; i < 3; i++)
        assert_result(REDLOCK_CANCELED, waiters[i].result, &waiters[i].report);
    assert_nothing_is_left(fleet);
    vacate(fleet);
}

/* ---- kinds --------------------------------------------------------------------------------------------- */

static void both_names_of_the_kind_mean_the_same_lock(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *one = line_open(fleet_urls(fleet)), *two = line_open(fleet_urls(fleet));
    redlock_spec fair = line_spec(REDLOCK_FAIR), exclusive = line_spec(REDLOCK_EXCLUSIVE);
    redlock_lock *lock = take_spec(one, &fair), *other = NULL;
    redlock_report report = detailed_report();
    struct waiter waiter;
    uint64_t fence = redlock_lock_fence(lock);

    assert_result(REDLOCK_BUSY, redlock_try_acquire(two, &exclusive, &other, &report), &report);
    assert_result(REDLOCK_BUSY, redlock_try_acquire(two, &fair, &other, &report), &report);
    give_back(lock);
    assert_string_equal(lock_leftovers(fleet, 10000), ""); /* also from the slowest node */
    lock = take_spec(two, &exclusive);
    await(is_held_everywhere(fleet));
    assert_true(redlock_lock_fence(lock) > fence);
    assert_result(REDLOCK_BUSY, redlock_try_acquire(one, &fair, &other, &report), &report);
    ask(&waiter, one, NULL);
    await(line_is(fleet, 1));
    assert_int_equal(atomic_load(&waiter.done), 0);
    give_back(lock);
    await_turn(&waiter);
    give_back(waiter.lock);
    redlock_client_close(one);
    redlock_client_close(two);
    await(line_is_gone(fleet));
}

static void a_plain_client_has_no_fair_locks(void **state)
{
    struct fleet *fleet = *state;
    redlock_options options = options_for(fleet_urls(fleet));
    redlock_spec spec = line_spec(REDLOCK_FAIR);
    redlock_report report = detailed_report();
    redlock_lock *lock = NULL;

    options.mode = REDLOCK_PLAIN;
    redlock_client *client = open_with(&options);
    assert_result(REDLOCK_INVALID, redlock_acquire(client, &spec, 100, &lock, &report), &report);
    assert_non_null(strstr(report.line, "guarded"));
    redlock_client_close(client);
}

/* ---- memory -------------------------------------------------------------------------------------------- */

enum { ALLOCATIONS_MAX = 400 };

/* A client's life in line with the n-th allocation failing; returns how many failed. */
static uint64_t wait_without_memory(struct fleet *fleet, uint64_t nth)
{
    redlock_options options = guarded_options(fleet_urls(fleet), LONG_TTL_MS);
    redlock_spec spec = line_spec(REDLOCK_FAIR);
    struct counting_allocator counting;
    struct allocation_counts counts;
    redlock_client *client = NULL;
    redlock_lock *lock = NULL;

    counting_allocator_init(&counting);
    counting_allocator_fail(&counting, nth, false);
    options.allocator = &counting.allocator;
    redlock_result result = redlock_client_open(&options, &client, NULL);
    if (result == REDLOCK_OK)
        result = redlock_acquire(client, &spec, 20, &lock, NULL);
    if (result != REDLOCK_TIMEOUT && result != REDLOCK_NOMEM)
        fail_msg("allocation %d: \"%s\" is no answer to a lack of memory", (int)nth,
                 redlock_result_name(result));
    assert_null(lock);
    redlock_client_close(client);
    counts = counting_allocator_counts(&counting);
    assert_int_equal(counts.live_blocks, 0);
    assert_int_equal(counts.mistakes, 0);
    counting_allocator_destroy(&counting);
    return counts.failed;
}

static void a_lack_of_memory_leaves_nothing_in_line(void **state)
{
    struct fleet *fleet = *state;
    uint64_t nth = 1;

    occupy(fleet);
    while (nth < ALLOCATIONS_MAX && wait_without_memory(fleet, nth) > 0)
        nth++;
    assert_in_range(nth, 2, ALLOCATIONS_MAX - 1);
    assert_nothing_is_left(fleet);
    vacate(fleet);
}

/* ---- fixtures ------------------------------------------------------------------------------------------ */

static int admit(void **state, int failed)
{
    if (failed == 0)
        redlock_client_close(open_admitted(fleet_urls(*state), LONG_TTL_MS));
    return failed;
}

static int start_three(void **state)
{
    return admit(state, start_three_guarded(state));
}

static int start_five(void **state)
{
    return admit(state, start_five_guarded(state));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_GUARDED(the_lock_goes_round_in_the_order_of_asking, start_five),
        ON_GUARDED(callers_of_one_client_have_one_place_in_line, start_three),
        ON_GUARDED(a_wrong_clock_changes_no_order, start_three),
        ON_GUARDED(a_node_that_is_down_changes_no_order, start_five),
        ON_GUARDED(who_waits_is_seen_in_order, start_three),
        ON_GUARDED(a_waiter_that_was_killed_is_passed_over, start_three),
        ON_GUARDED(a_frozen_waiter_is_passed_over_and_keeps_its_place, start_three),
        ON_GUARDED(a_waiter_that_is_cut_off_is_passed_over_and_keeps_its_place, start_three),
        ON_GUARDED(a_cancelled_waiter_leaves_the_line, start_three),
        ON_GUARDED(a_waiter_whose_time_is_over_leaves_the_line, start_three),
        ON_GUARDED(closing_a_client_takes_its_waiters_out_of_line, start_three),
        ON_GUARDED(both_names_of_the_kind_mean_the_same_lock, start_three),
        ON_GUARDED(a_plain_client_has_no_fair_locks, start_three),
        ON_GUARDED(a_lack_of_memory_leaves_nothing_in_line, start_three),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
