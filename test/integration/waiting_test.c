/*
 * Waiting for a lock on real nodes: they tell when it is free, whoever let go of it and however, and nobody
 * polls where they do. What wakes a waiter is read from its trace, never from a clock. How waits end early is
 * in queue_test.c.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "support/crowd.h"
#include "support/traffic.h"
#include "support/waiters.h"

/* The thread sanitizer would end a child that starts threads after a fork of a threaded program; ours may. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "die_after_fork=0";
}

/* As other libraries release. */
static void vacate_by_script(struct fleet *fleet)
{
    for (int node = 0; node < fleet_size(fleet); node++)
        fleet_command(fleet, node, "EVAL",
                      "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) "
                      "else return 0 end",
                      "1", WANTED, "somebody", NULL);
}

/* ---- what wakes a waiter ------------------------------------------------------------------------------- */

/* It has the lock because the nodes told it, and gives it back. */
static void expect_woken_by_nodes(struct fleet *fleet, struct waiter *waiter)
{
    await_end(waiter, REDLOCK_OK);
    assert_woken_by_nodes(fleet);
    have_it_and_close(waiter);
}

static void expect_wake_up(struct fleet *fleet, void (*let_go)(struct fleet *fleet))
{
    struct waiter waiter;

    wait_behind_somebody(fleet, &waiter);
    let_go(fleet);
    expect_woken_by_nodes(fleet, &waiter);
}

static void a_deleted_key_wakes_a_waiter(void **state)
{
    expect_wake_up(*state, vacate);
}

static void a_release_of_another_library_wakes_a_waiter(void **state)
{
    expect_wake_up(*state, vacate_by_script);
}

/* As a lock of Redisson's is: a key of another type that ends by itself. Guarded waiters stand in line behind
 * it as behind any other. */
static void a_released_lock_of_another_type_wakes_a_waiter(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_heard(fleet_urls(fleet));
    struct waiter waiter;

    for (int node = 0; node < fleet_size(fleet); node++) {
        fleet_command(fleet, node, "HSET", WANTED, "thread", "1", NULL);
        fleet_command(fleet, node, "PEXPIRE", WANTED, "600000", NULL);
    }
    start_waiting(&waiter, client);
    await_armed(fleet);
    vacate(fleet);
    expect_woken_by_nodes(fleet, &waiter);
}

static void a_flushed_node_wakes_a_waiter(void **state)
{
    struct fleet *fleet = *state;
    struct waiter waiter;

    if (is_guarded())
        skip(); /* a node that was flushed does not vote */
    wait_behind_somebody(fleet, &waiter);
    for (int node = 0; node < fleet_size(fleet); node++)
        fleet_command(fleet, node, "FLUSHALL", NULL);
    expect_woken_by_nodes(fleet, &waiter);
}

static void our_own_release_wakes_another_client(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *other = open_warm_client(fleet_urls(fleet));
    redlock_client *client = open_heard(fleet_urls(fleet));
    redlock_lock *lock = take_lock(other, WANTED, LONG_TTL_MS);
    struct waiter waiter;

    await(is_held_everywhere(fleet)); /* the slowest node too */
    start_waiting(&waiter, client);
    await_armed(fleet);
    give_back(lock);
    expect_woken_by_nodes(fleet, &waiter);
    redlock_client_close(other);
}

/* A minority that lets go, or fails, is no reason to ask anybody. */
static void a_change_on_a_minority_wakes_nobody(void **state)
{
    struct fleet *fleet = *state;
    struct waiter waiter;

    wait_behind_somebody(fleet, &waiter);
    fleet_command(fleet, 0, "DEL", WANTED, NULL);
    await(listener_count(&heard, "changed") == 1);
    assert_false(listener_heard(&heard, "round 2"));
    fleet_command(fleet, 1, "DEL", WANTED, NULL);
    if (is_guarded()) { /* one that has a node looks who has the others, now and then */
        have_it_and_close(&waiter);
        assert_false(listener_heard(&heard, "round 2"));
    } else {
        expect_woken_by_nodes(fleet, &waiter);
    }
    vacate(fleet);
}

static const char *next_try(void)
{
    return is_guarded() ? "ask again" : "round 2";
}

/* In parts: on a busy machine a node may take seconds for all of it. */
static void fill_with_keys_that_end(struct fleet *fleet)
{
    enum { PARTS = 10 };

    for (int node = 0; node < fleet_size(fleet); node++)
        for (int part = 0; part < PARTS; part++)
            fleet_command(
                fleet, node, "EVAL",
                "for i = 1, 10000 do redis.call('set', 'other' .. redis.call('dbsize'), i, 'px', 600000) end",
                "0", NULL);
}

/* A lock that ends by itself is waited for. Whether it was still held when the waiter looked: its next try is
 * in the trace. */
static bool follow_until_it_ends(struct fleet *fleet, redlock_client *client, int ttl_ms)
{
    struct waiter waiter;
    char text[16];

    listener_forget(&heard);
    snprintf(text, sizeof text, "%d", ttl_ms);
    occupy_for(fleet, text);
    start_waiting(&waiter, client);
    await_end(&waiter, REDLOCK_OK);
    give_back(waiter.lock);
    return listener_count_before(&heard, "changed", next_try()) >= 0;
}

/* A node with many keys that end gets round to ours late, and tells late: the waiter has its own clock. */
static void a_dead_holder_is_followed_when_its_time_is_up(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_heard(fleet_urls(fleet));
    int ttl_ms = 1500;

    fill_with_keys_that_end(fleet);
    while (!follow_until_it_ends(fleet, client, ttl_ms) && ttl_ms < 12000)
        ttl_ms *= 2; /* the machine is so busy that it had ended before the waiter looked */
    redlock_client_close(client);
    for (int node = 0; node < fleet_size(fleet); node++)
        fleet_command(fleet, node, "FLUSHALL", NULL);
    if (listener_count_before(&heard, "changed", next_try()) >= quorum_of(fleet))
        listener_show(&heard);
    assert_in_range(listener_count_before(&heard, "changed", next_try()), 0, quorum_of(fleet) - 1);
    assert_false(listener_heard(&heard, "look again"));
}

static void a_node_that_comes_back_is_watched_again(void **state)
{
    struct fleet *fleet = *state;
    struct waiter waiter;

    wait_behind_somebody(fleet, &waiter);
    for (int node = 0; node < fleet_size(fleet); node++)
        fleet_command(fleet, node, "CLIENT", "KILL", "TYPE", is_guarded() ? "pubsub" : "normal", "SKIPME",
                      "yes", NULL);
    await(listener_count(&heard, "gone") >= fleet_size(fleet));
    await_armed(fleet);
    vacate(fleet);
    have_it_and_close(&waiter);
}

/* ---- renewals ------------------------------------------------------------------------------------------ */

enum { WAITERS = 8, RENEWALS = 10 };

static atomic_int renewals;

static void note_renewal(void *context, redlock_lock *lock, const redlock_report *report)
{
    (void)context;
    (void)lock;
    atomic_fetch_add(&renewals, report->result == REDLOCK_OK);
}

static redlock_lock *take_renewed(redlock_client *client, uint32_t renew_ms)
{
    redlock_spec spec = spec_for(WANTED, LONG_TTL_MS);

    spec.auto_extend = 1;
    spec.renew_ms = renew_ms;
    spec.on_lost = ignore_loss;
    spec.on_renewed = note_renewal;
    atomic_store(&renewals, 0);
    return take_spec(client, &spec);
}

static uint64_t rounds_of(redlock_client **clients)
{
    uint64_t rounds = 0;

    for (int i = 0; i < WAITERS; i++) {
        redlock_stats stats = REDLOCK_STATS_INIT;

        redlock_client_stats(clients[i], &stats);
        rounds += stats.rounds;
    }
    return rounds;
}

/* The first renewal looks like an end, and is tried. From then on each renewal costs every waiter one look at
 * each node, and no vote. */
static void a_holder_that_renews_is_looked_at_and_not_challenged(void **state)
{
    struct fleet *fleet = *state;

    if (fleet_server_version() < FLEET_REDIS_7_0)
        skip(); /* it does not count the parts of a command */
    redlock_client *holder = open_warm_client(fleet_urls(fleet)), *clients[WAITERS];
    redlock_lock *lock = take_renewed(holder, 150);
    struct waiter waiters[WAITERS];

    for (int i = 0; i < WAITERS; i++) {
        clients[i] = open_warm_client(fleet_urls(fleet));
        start_waiting(&waiters[i], clients[i]);
    }
    await_armed(fleet);
    int before = atomic_load(&renewals) + 3;
    await(atomic_load(&renewals) >= before);
    long looks = traffic_calls_of_all(fleet, "client|caching");
    uint64_t rounds = rounds_of(clients);
    before = atomic_load(&renewals);
    await(atomic_load(&renewals) >= before + RENEWALS);
    looks = traffic_calls_of_all(fleet, "client|caching") - looks;
    rounds = rounds_of(clients) - rounds;
    int seen = atomic_load(&renewals) - before + 2; /* one may be under way at either end */
    print_message("# %d renewals, %d waiters, %d nodes: %ld looks, %d rounds\n", seen - 2, WAITERS,
                  fleet_size(fleet), looks, (int)rounds);
    assert_in_range(looks, 1, (uintmax_t)seen * WAITERS * (uintmax_t)fleet_size(fleet));
    assert_in_range(rounds, 0, WAITERS);
    for (int i = 0; i < WAITERS; i++)
        cancel_wait(&waiters[i]);
    await_nothing_armed(fleet);
    give_back(lock);
    for (int i = 0; i < WAITERS; i++)
        redlock_client_close(clients[i]);
    redlock_client_close(holder);
}

/* A renewal costs each waiter a try at first, with the look after it, and a look from then on; who waits for
 * long is shown to people by a script of seven commands. */
static void a_crowd_of_processes_waits_almost_for_free(void **state)
{
    enum { CROWD = 12 };
    struct crowd_result result = crowd_of_processes(*state, CROWD, 300, 2);

    print_message("# %d processes, %d renewals: %ld commands on the busiest node, %.5f of a core each\n",
                  CROWD, result.renewals, result.commands, result.cpu_share);
    assert_int_equal(result.served, CROWD);
    assert_in_range(result.commands, 1, (uintmax_t)(CROWD + 1) * (12 + 4 * (uintmax_t)result.renewals));
    assert_true(result.cpu_share < 0.05);
}

static void a_crowd_of_threads_waits_as_one(void **state)
{
    enum { CROWD = 12 };
    struct crowd_result result = crowd_of_threads(*state, CROWD, 300, 2);

    print_message("# %d threads, %d renewals: %ld commands on the busiest node, %.5f of a core each\n", CROWD,
                  result.renewals, result.commands, result.cpu_share);
    assert_int_equal(result.served, CROWD);
    assert_in_range(result.commands, 1, 20 + 10 * (uintmax_t)result.renewals);
    assert_true(result.cpu_share < 0.05);
}

/* ---- nodes that cannot tell ---------------------------------------------------------------------------- */

#define NO_RESP3 "rename-command HELLO \"\"\n"
/* Not -client|tracking: before 7.0 a part of a command can only be allowed. */
#define NO_TRACKING "user default on nopass ~* &* +@all -client +client|id +client|setname +client|caching\n"

static void expect_polling(const char *config, int deaf_count)
{
    struct fleet_options options = {.node_count = 3};
    struct fleet *fleet;
    struct waiter waiter;
    char words[160];

    for (int node = 0; node < deaf_count; node++)
        options.node_config[node] = config;
    fleet = fleet_start(&options);
    assert_non_null(fleet);
    redlock_client *client = open_heard(fleet_urls(fleet));
    occupy(fleet);
    start_waiting(&waiter, client);
    for (int node = 0; node < 3; node++) {
        snprintf(words, sizeof words, "node %d %s does not notify", node + 1, fleet_url(fleet, node));
        if (node < deaf_count)
            await(listener_heard(&heard, words));
        else
            await(traffic_tracked_keys(fleet, node) == 1);
    }
    if (deaf_count == 3)
        await(listener_count(&heard, is_guarded() ? "ask again" : "round 3") >
              0); /* it is asked now and then */
    else
        assert_false(listener_heard(&heard, deaf_count == 1 ? "round 2" : "never said"));
    vacate(fleet);
    have_it_and_close(&waiter);
    assert_int_equal(listener_count(&heard, "does not notify"), deaf_count); /* once each */
    assert_string_equal(lock_leftovers(fleet, 5000), "");
    fleet_stop(fleet);
}

static void a_node_without_resp3_is_looked_at_now_and_then(void **state)
{
    (void)state;
    expect_polling(NO_RESP3, 1);
}

static void without_resp3_waiting_works_all_the_same(void **state)
{
    (void)state;
    expect_polling(NO_RESP3, 3);
}

static void a_node_that_forbids_tracking_is_looked_at_now_and_then(void **state)
{
    (void)state;
    expect_polling(NO_TRACKING, 1);
}

static void a_majority_that_forbids_tracking_is_polled(void **state)
{
    (void)state;
    expect_polling(NO_TRACKING, 2);
}

static void without_the_right_to_track_waiting_works_all_the_same(void **state)
{
    (void)state;
    expect_polling(NO_TRACKING, 3);
}

/* The other two are a quorum and tell; who is frozen is left alone. */
static void a_frozen_minority_does_not_keep_a_waiter_from_being_told(void **state)
{
    struct fleet *fleet = *state;
    redlock_options options = options_for(fleet_urls(fleet));
    struct waiter waiter;

    redlock_client *client = open_heard_with(&options);
    occupy(fleet);
    fleet_freeze(fleet, 2);
    start_waiting(&waiter, client);
    await(traffic_tracked_keys(fleet, 0) == 1 && traffic_tracked_keys(fleet, 1) == 1);
    listener_forget(&heard);
    fleet_command(fleet, 0, "DEL", WANTED, NULL);
    fleet_command(fleet, 1, "DEL", WANTED, NULL);
    await_end(&waiter, REDLOCK_OK);
    assert_true(listener_heard(&heard, "node 1  > changed") && listener_heard(&heard, "node 2  > changed"));
    fleet_thaw(fleet, 2);
    give_back(waiter.lock);
    fleet_command(fleet, 2, "DEL", WANTED, NULL);
    redlock_client_close(client);
}

/* ---- event loops --------------------------------------------------------------------------------------- */

/* Turns of an event loop until the wait is over, or none is needed for a while. */
static int run_loop(redlock_client *client, struct waiter *waiter, int quiet_ms)
{
    struct pollfd watched = {.fd = redlock_client_fd(client), .events = POLLIN};
    int turns = 0;

    while (!atomic_load(&waiter->done) && poll(&watched, 1, quiet_ms) > 0 && turns < 100000) {
        redlock_client_process(client);
        turns++;
    }
    return turns;
}

static void an_event_loop_sleeps_while_it_waits(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_heard(fleet_urls(fleet));
    struct waiter waiter;

    assert_true(redlock_client_fd(client) >= 0);
    occupy(fleet);
    start_waiting(&waiter, client);
    assert_in_range(run_loop(client, &waiter, 500), 1, 100);
    assert_int_equal(traffic_least_tracked_keys(fleet), 1);
    assert_false(atomic_load(&waiter.done));
    vacate(fleet);
    assert_in_range(run_loop(client, &waiter, 20000), 1, 100);
    expect_woken_by_nodes(fleet, &waiter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_THREE(a_deleted_key_wakes_a_waiter),
        ON_THREE(a_release_of_another_library_wakes_a_waiter),
        ON_THREE(a_released_lock_of_another_type_wakes_a_waiter),
        ON_THREE(a_flushed_node_wakes_a_waiter),
        ON_THREE(our_own_release_wakes_another_client),
        ON_THREE(a_change_on_a_minority_wakes_nobody),
        ON_THREE(a_dead_holder_is_followed_when_its_time_is_up),
        ON_THREE(a_node_that_comes_back_is_watched_again),
        ON_THREE(a_holder_that_renews_is_looked_at_and_not_challenged),
        ON_NODES(a_crowd_of_processes_waits_almost_for_free, start_three_nodes),
        ON_NODES(a_crowd_of_threads_waits_as_one, start_three_nodes),
        cmocka_unit_test(a_node_without_resp3_is_looked_at_now_and_then),
        cmocka_unit_test(without_resp3_waiting_works_all_the_same),
        cmocka_unit_test(a_node_that_forbids_tracking_is_looked_at_now_and_then),
        cmocka_unit_test(a_majority_that_forbids_tracking_is_polled),
        cmocka_unit_test(without_the_right_to_track_waiting_works_all_the_same),
        ON_THREE(an_event_loop_sleeps_while_it_waits),
        ON_THREE(a_frozen_minority_does_not_keep_a_waiter_from_being_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
