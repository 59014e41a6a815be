/*
 * Waiting for a lock on real nodes: they tell when it is free, whoever let go of it and however; nobody polls where they do, nothing
 * stays armed for nobody, and callers of one process come in order. What wakes a waiter is read from its trace, never from a clock.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/crowd.h"
#include "support/guarded.h"
#include "support/listener.h"
#include "support/steps.h"
#include "support/traffic.h"

/* The thread sanitizer would end a child that starts threads after a fork of a threaded program; ours may. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "die_after_fork=0";
}

#define NAME "wanted"

/* ---- somebody else holds it ------------------------------------------------------------------------------ */

static void occupy_node(struct fleet *fleet, int node, const char *ttl_ms)
{
    fleet_command(fleet, node, "SET", NAME, "somebody", "PX", ttl_ms, NULL);
}

static void occupy(struct fleet *fleet, const char *ttl_ms)
{
    for (int node = 0; node < fleet_size(fleet); node++)
        occupy_node(fleet, node, ttl_ms);
}

static void vacate(struct fleet *fleet)
{
    for (int node = 0; node < fleet_size(fleet); node++)
        fleet_command(fleet, node, "DEL", NAME, NULL);
}

static bool is_held_everywhere(struct fleet *fleet)
{
    for (int node = 0; node < fleet_size(fleet); node++)
        if (strcmp(fleet_command(fleet, node, "EXISTS", NAME, NULL), "1") != 0)
            return false;
    return true;
}

/* As other libraries release. */
static void vacate_by_script(struct fleet *fleet)
{
    for (int node = 0; node < fleet_size(fleet); node++)
        fleet_command(fleet, node, "EVAL",
                      "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) "
                      "else return 0 end",
                      "1", NAME, "somebody", NULL);
}

/* ---- somebody of ours wants it --------------------------------------------------------------------------- */

/* A call that waits, on a client that is listened to. */
struct waiter {
    redlock_client *client;
    redlock_request request;
    redlock_lock *lock;
    redlock_result result;
    redlock_report report;
    atomic_int done;
    int place; /* in the order in which calls ended, from 1 */
};

static struct listener heard = LISTENER_INIT;
static atomic_int places;

static redlock_client *open_heard(const char *nodes)
{
    redlock_options options = options_for(nodes);

    listener_forget(&heard);
    atomic_store(&places, 0);
    options.log = listener_hear_log;
    options.trace = listener_hear_trace;
    options.log_context = options.trace_context = &heard;
    options.node_timeout_ms = 5000; /* a machine under load is slow, not silent */
    redlock_client *client = open_with(&options);
    await_all_nodes(client);
    return client;
}

static void note_end(void *context, redlock_result result, redlock_lock *lock, const redlock_report *report)
{
    struct waiter *waiter = context;

    waiter->lock = lock;
    waiter->result = result;
    waiter->report = *report;
    waiter->place = atomic_fetch_add(&places, 1) + 1;
    atomic_store(&waiter->done, 1);
}

static void start_waiting(struct waiter *waiter, redlock_client *client, int64_t wait_ms)
{
    redlock_spec spec = spec_for(NAME, LONG_TTL_MS);

    memset(waiter, 0, sizeof *waiter);
    waiter->client = client;
    assert_result(REDLOCK_OK,
                  redlock_acquire_async(client, &spec, wait_ms, note_end, waiter, &waiter->request), NULL);
}

static void await_end(struct waiter *waiter, redlock_result expected)
{
    await(atomic_load(&waiter->done));
    if (waiter->result != expected)
        listener_show(&heard);
    assert_result(expected, waiter->result, &waiter->report);
}

/* Every node will tell it. */
static void await_armed(struct fleet *fleet)
{
    await(traffic_least_tracked_keys(fleet) == 1);
}

static void assert_woken_by_nodes(struct fleet *fleet)
{
    bool well = listener_count_before(&heard, "changed", "round 2") >= quorum_of(fleet) &&
                !listener_heard(&heard, "look again") && !listener_heard(&heard, "round 3");

    if (!well)
        listener_show(&heard);
    assert_true(well);
}

/* A node forgets the keys themselves when they change next. */
static void assert_nothing_armed(struct fleet *fleet)
{
    await(traffic_most_tracking(fleet) == 0);
}

/* ---- what wakes a waiter --------------------------------------------------------------------------------- */

static void expect_wake_up(struct fleet *fleet, void (*let_go)(struct fleet *fleet))
{
    redlock_client *client = open_heard(fleet_urls(fleet));
    struct waiter waiter;

    occupy(fleet, "60000");
    start_waiting(&waiter, client, REDLOCK_WAIT_FOREVER);
    await_armed(fleet);
    let_go(fleet);
    await_end(&waiter, REDLOCK_OK);
    assert_woken_by_nodes(fleet);
    give_back(waiter.lock);
    redlock_client_close(client);
}

static void a_deleted_key_wakes_a_waiter(void **state)
{
    expect_wake_up(*state, vacate);
}

static void a_release_of_another_library_wakes_a_waiter(void **state)
{
    expect_wake_up(*state, vacate_by_script);
}

static void a_flushed_node_wakes_a_waiter(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_heard(fleet_urls(fleet));
    struct waiter waiter;

    if (is_guarded())
        skip(); /* a node that was flushed does not vote */
    occupy(fleet, "60000");
    start_waiting(&waiter, client, REDLOCK_WAIT_FOREVER);
    await_armed(fleet);
    for (int node = 0; node < fleet_size(fleet); node++)
        fleet_command(fleet, node, "FLUSHALL", NULL);
    await_end(&waiter, REDLOCK_OK);
    assert_woken_by_nodes(fleet);
    give_back(waiter.lock);
    redlock_client_close(client);
}

static void our_own_release_wakes_another_client(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *other = open_warm_client(fleet_urls(fleet));
    redlock_client *client = open_heard(fleet_urls(fleet));
    redlock_lock *lock = take_lock(other, NAME, LONG_TTL_MS);
    struct waiter waiter;

    await(is_held_everywhere(fleet)); /* the slowest node too */
    start_waiting(&waiter, client, REDLOCK_WAIT_FOREVER);
    await_armed(fleet);
    give_back(lock);
    await_end(&waiter, REDLOCK_OK);
    assert_woken_by_nodes(fleet);
    give_back(waiter.lock);
    redlock_client_close(client);
    redlock_client_close(other);
}

/* A minority that lets go, or fails, is no reason to ask anybody. */
static void a_change_on_a_minority_wakes_nobody(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_heard(fleet_urls(fleet));
    struct waiter waiter;

    occupy(fleet, "60000");
    start_waiting(&waiter, client, REDLOCK_WAIT_FOREVER);
    await_armed(fleet);
    fleet_command(fleet, 0, "DEL", NAME, NULL);
    await(listener_count(&heard, "changed") == 1);
    assert_false(listener_heard(&heard, "round 2"));
    fleet_command(fleet, 1, "DEL", NAME, NULL);
    await_end(&waiter, REDLOCK_OK);
    assert_woken_by_nodes(fleet);
    give_back(waiter.lock);
    redlock_client_close(client);
    vacate(fleet);
}

/* A node with many keys that end gets round to ours late, and tells late: the waiter has its own clock. */
static void a_dead_holder_is_followed_when_its_time_is_up(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_heard(fleet_urls(fleet));
    struct waiter waiter;

    for (int node = 0; node < fleet_size(fleet); node++)
        fleet_command(fleet, node, "EVAL",
                      "for i = 1, 100000 do redis.call('set', 'other' .. i, i, 'px', 600000) end", "0", NULL);
    occupy(fleet, "1500");
    start_waiting(&waiter, client, REDLOCK_WAIT_FOREVER);
    await_end(&waiter, REDLOCK_OK);
    if (listener_count_before(&heard, "changed", "round 2") >= quorum_of(fleet))
        listener_show(&heard);
    assert_in_range(listener_count_before(&heard, "changed", "round 2"), 0, quorum_of(fleet) - 1);
    assert_false(listener_heard(&heard, "look again"));
    give_back(waiter.lock);
    redlock_client_close(client);
    for (int node = 0; node < fleet_size(fleet); node++)
        fleet_command(fleet, node, "FLUSHALL", NULL);
}

static void a_node_that_comes_back_is_watched_again(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_heard(fleet_urls(fleet));
    struct waiter waiter;

    occupy(fleet, "60000");
    start_waiting(&waiter, client, REDLOCK_WAIT_FOREVER);
    await_armed(fleet);
    for (int node = 0; node < fleet_size(fleet); node++)
        fleet_command(fleet, node, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes", NULL);
    await(listener_count(&heard, "gone") >= fleet_size(fleet));
    await_armed(fleet);
    vacate(fleet);
    await_end(&waiter, REDLOCK_OK);
    give_back(waiter.lock);
    redlock_client_close(client);
}

/* ---- renewals -------------------------------------------------------------------------------------------- */

enum { WAITERS = 8, RENEWALS = 10 };

static atomic_int renewals;

static void note_renewal(void *context, redlock_lock *lock, const redlock_report *report)
{
    (void)context;
    (void)lock;
    atomic_fetch_add(&renewals, report->result == REDLOCK_OK);
}

static void ignore_loss(void *context, redlock_lock *lock, const redlock_report *report)
{
    (void)context;
    (void)lock;
    (void)report;
}

static redlock_lock *take_renewed(redlock_client *client, uint32_t renew_ms)
{
    redlock_spec spec = spec_for(NAME, LONG_TTL_MS);

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

/* The first renewal looks like an end, and is tried. From then on each renewal costs every waiter one look at each node, and
 * no vote. */
static void a_holder_that_renews_is_looked_at_and_not_challenged(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *holder = open_warm_client(fleet_urls(fleet)), *clients[WAITERS];
    redlock_lock *lock = take_renewed(holder, 150);
    struct waiter waiters[WAITERS];

    for (int i = 0; i < WAITERS; i++) {
        clients[i] = open_warm_client(fleet_urls(fleet));
        start_waiting(&waiters[i], clients[i], REDLOCK_WAIT_FOREVER);
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
    for (int i = 0; i < WAITERS; i++) {
        assert_result(REDLOCK_OK, redlock_cancel(clients[i], waiters[i].request), NULL);
        await_end(&waiters[i], REDLOCK_CANCELED);
    }
    assert_nothing_armed(fleet);
    give_back(lock);
    for (int i = 0; i < WAITERS; i++)
        redlock_client_close(clients[i]);
    redlock_client_close(holder);
}

/* A renewal costs each waiter a try at first, with the look after it, and a look from then on. */
static void a_crowd_of_processes_waits_almost_for_free(void **state)
{
    enum { CROWD = 12 };
    struct crowd_result result = crowd_of_processes(*state, CROWD, 300, 2);

    print_message("# %d processes, %d renewals: %ld commands on the busiest node, %.5f of a core each\n",
                  CROWD, result.renewals, result.commands, result.cpu_share);
    assert_int_equal(result.served, CROWD);
    assert_in_range(result.commands, 1, (uintmax_t)(CROWD + 1) * (4 + 4 * (uintmax_t)result.renewals));
    assert_true(result.cpu_share < 0.05);
}

static void a_crowd_of_threads_waits_as_one(void **state)
{
    enum { CROWD = 12 };
    struct crowd_result result = crowd_of_threads(*state, CROWD, 300, 2);

    print_message("# %d threads, %d renewals: %ld commands on the busiest node, %.5f of a core each\n", CROWD,
                  result.renewals, result.commands, result.cpu_share);
    assert_int_equal(result.served, CROWD);
    assert_in_range(result.commands, 1, 10 + 10 * (uintmax_t)result.renewals);
    assert_true(result.cpu_share < 0.05);
}

/* ---- nothing is armed for nobody ------------------------------------------------------------------------- */

static void nothing_stays_armed_after_a_cancelled_wait(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_heard(fleet_urls(fleet));
    struct waiter waiter;

    occupy(fleet, "60000");
    start_waiting(&waiter, client, REDLOCK_WAIT_FOREVER);
    await_armed(fleet);
    assert_result(REDLOCK_OK, redlock_cancel(client, waiter.request), NULL);
    await_end(&waiter, REDLOCK_CANCELED);
    assert_nothing_armed(fleet);
    vacate(fleet);
    give_back(take_lock(client, NAME, LONG_TTL_MS));
    redlock_client_close(client);
}

static void nothing_stays_armed_after_a_wait_that_timed_out(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_heard(fleet_urls(fleet));
    redlock_spec spec = spec_for(NAME, LONG_TTL_MS);
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_lock *lock = NULL;

    occupy(fleet, "60000");
    assert_result(REDLOCK_TIMEOUT, redlock_acquire(client, &spec, 300, &lock, &report), &report);
    assert_string_equal(report.holder.id, "somebody");
    assert_in_range(report.holder_ttl_left_ms, 1, 60000);
    assert_nothing_armed(fleet);
    redlock_client_close(client);
    vacate(fleet);
}

static void nothing_stays_armed_after_the_client_is_closed(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_heard(fleet_urls(fleet));
    struct waiter waiter;

    occupy(fleet, "60000");
    start_waiting(&waiter, client, REDLOCK_WAIT_FOREVER);
    await_armed(fleet);
    redlock_client_close(client);
    await_end(&waiter, REDLOCK_CANCELED);
    assert_nothing_armed(fleet);
    vacate(fleet);
}

/* What was armed for a lock that was won goes off with the winner's own vote. */
static void nothing_stays_armed_after_the_lock_was_won(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_heard(fleet_urls(fleet));
    struct waiter waiter;

    occupy(fleet, "60000");
    start_waiting(&waiter, client, REDLOCK_WAIT_FOREVER);
    await_armed(fleet);
    vacate(fleet);
    await_end(&waiter, REDLOCK_OK);
    await(traffic_most_tracked_keys(fleet) == 0);
    give_back(waiter.lock);
    redlock_client_close(client);
    assert_nothing_armed(fleet);
}

/* ---- the queue in a process ------------------------------------------------------------------------------ */

enum { QUEUE = 6 };

static void callers_of_one_process_come_in_order(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_heard(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, NAME, LONG_TTL_MS);
    struct waiter waiters[QUEUE];
    long before = traffic_calls(fleet, 0, NULL);

    for (int i = 0; i < QUEUE; i++)
        start_waiting(&waiters[i], client, REDLOCK_WAIT_FOREVER);
    await(listener_count(&heard, "others of this process come first") == QUEUE);
    assert_int_equal(traffic_calls(fleet, 0, NULL), before); /* queueing asks nobody */
    assert_result(REDLOCK_OK, redlock_cancel(client, waiters[2].request), NULL);
    await_end(&waiters[2], REDLOCK_CANCELED);
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

/* Its question is on its way before anybody has confirmed the release. */
static void the_next_question_rides_behind_the_release(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_heard(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, NAME, LONG_TTL_MS);
    struct waiter waiter;

    start_waiting(&waiter, client, REDLOCK_WAIT_FOREVER);
    await(listener_heard(&heard, "others of this process come first"));
    listener_forget(&heard);
    give_back(lock);
    await_end(&waiter, REDLOCK_OK);
    bool rides = listener_count_before(&heard, "its turn", "> released") == 1 &&
                 listener_count_before(&heard, "round 1", "> released") == 1;
    if (!rides)
        listener_show(&heard);
    assert_true(rides);
    assert_false(listener_heard(&heard, "denied"));
    give_back(waiter.lock);
    redlock_client_close(client);
}

static void who_times_out_in_the_queue_is_told_who_has_it(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_heard(fleet_urls(fleet));
    redlock_spec spec = spec_for(NAME, LONG_TTL_MS);
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
    assert_in_range(report.denied, quorum_of(fleet), fleet_size(fleet));
    give_back(lock);

    /* Behind somebody who waits himself: what he was told. */
    struct waiter first;
    occupy(fleet, "60000");
    start_waiting(&first, client, REDLOCK_WAIT_FOREVER);
    await_armed(fleet);
    assert_result(REDLOCK_TIMEOUT, redlock_acquire(client, &spec, 50, &none, &report), &report);
    assert_string_equal(report.holder.id, "somebody");
    vacate(fleet);
    await_end(&first, REDLOCK_OK);
    give_back(first.lock);
    redlock_client_close(client);
}

/* The one who deals with the nodes gives up: the next one takes over where he was. */
static void a_leader_that_gives_up_is_followed(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_heard(fleet_urls(fleet));
    struct waiter first, second;

    occupy(fleet, "60000");
    start_waiting(&first, client, REDLOCK_WAIT_FOREVER);
    start_waiting(&second, client, REDLOCK_WAIT_FOREVER);
    await_armed(fleet);
    assert_result(REDLOCK_OK, redlock_cancel(client, first.request), NULL);
    await_end(&first, REDLOCK_CANCELED);
    await(listener_heard(&heard, "its turn"));
    await_armed(fleet);
    vacate(fleet);
    await_end(&second, REDLOCK_OK);
    give_back(second.lock);
    redlock_client_close(client);
}

/* ---- nodes that cannot tell ------------------------------------------------------------------------------ */

#define NO_RESP3 "rename-command HELLO \"\"\n"
#define NO_TRACKING "user default on nopass ~* &* +@all -client|tracking\n"

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
    occupy(fleet, "60000");
    start_waiting(&waiter, client, REDLOCK_WAIT_FOREVER);
    for (int node = 0; node < 3; node++) {
        snprintf(words, sizeof words, "node %d %s does not tell", node + 1, fleet_url(fleet, node));
        if (node < deaf_count)
            await(listener_heard(&heard, words));
        else
            await(traffic_tracked_keys(fleet, node) == 1);
    }
    if (deaf_count == 3)
        await(listener_heard(&heard, "round 3")); /* it is asked now and then */
    else
        assert_false(listener_heard(&heard, deaf_count == 1 ? "round 2" : "never said"));
    vacate(fleet);
    await_end(&waiter, REDLOCK_OK);
    give_back(waiter.lock);
    redlock_client_close(client);
    assert_int_equal(listener_count(&heard, "does not tell"), deaf_count); /* once each */
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

    listener_forget(&heard);
    options.trace = listener_hear_trace;
    options.trace_context = &heard;
    redlock_client *client = open_with(&options);
    await_all_nodes(client);
    occupy(fleet, "60000");
    fleet_freeze(fleet, 2);
    start_waiting(&waiter, client, REDLOCK_WAIT_FOREVER);
    await(traffic_tracked_keys(fleet, 0) == 1 && traffic_tracked_keys(fleet, 1) == 1);
    listener_forget(&heard);
    fleet_command(fleet, 0, "DEL", NAME, NULL);
    fleet_command(fleet, 1, "DEL", NAME, NULL);
    await_end(&waiter, REDLOCK_OK);
    assert_true(listener_heard(&heard, "node 1  > changed") && listener_heard(&heard, "node 2  > changed"));
    fleet_thaw(fleet, 2);
    give_back(waiter.lock);
    fleet_command(fleet, 2, "DEL", NAME, NULL);
    redlock_client_close(client);
}

/* ---- event loops ----------------------------------------------------------------------------------------- */

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
    occupy(fleet, "60000");
    start_waiting(&waiter, client, REDLOCK_WAIT_FOREVER);
    assert_in_range(run_loop(client, &waiter, 500), 1, 100);
    assert_int_equal(traffic_least_tracked_keys(fleet), 1);
    assert_false(atomic_load(&waiter.done));
    vacate(fleet);
    assert_in_range(run_loop(client, &waiter, 20000), 1, 100);
    await_end(&waiter, REDLOCK_OK);
    assert_woken_by_nodes(fleet);
    give_back(waiter.lock);
    redlock_client_close(client);
}

/* ---- interruptions --------------------------------------------------------------------------------------- */

enum { THREADS = 4 };

static void *wait_in_thread(void *context)
{
    struct waiter *waiter = context;
    redlock_spec spec = spec_for(NAME, LONG_TTL_MS);

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

static void closing_the_client_ends_blocking_waits(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_heard(fleet_urls(fleet));
    struct waiter waiters[THREADS];
    pthread_t threads[THREADS];

    occupy(fleet, "60000");
    for (int i = 0; i < THREADS; i++)
        start_thread(&threads[i], &waiters[i], client);
    await(listener_count(&heard, "others of this process come first") == THREADS - 1);
    await_armed(fleet);
    redlock_client_close(client);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_result(REDLOCK_CANCELED, waiters[i].result, &waiters[i].report);
        assert_null(waiters[i].lock);
    }
    assert_nothing_armed(fleet);
    vacate(fleet);
}

static int close_inherited(redlock_client *client)
{
    redlock_spec spec = spec_for(NAME, LONG_TTL_MS);
    redlock_lock *lock = NULL;

    if (redlock_acquire(client, &spec, 100, &lock, NULL) != REDLOCK_MISUSE)
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
    int status = 1;

    occupy(fleet, "60000");
    for (int i = 0; i < THREADS; i++)
        start_thread(&threads[i], &waiters[i], client);
    await(listener_count(&heard, "others of this process come first") == THREADS - 1);
    await_armed(fleet);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(30);
        _exit(close_inherited(client));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
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

#define ON_THREE(test)                                                       \
    {                                                                        \
#test, test, is_guarded() ? start_three_guarded : start_three_nodes, \
            is_guarded() ? stop_guarded : stop_nodes, NULL                   \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_THREE(a_deleted_key_wakes_a_waiter),
        ON_THREE(a_release_of_another_library_wakes_a_waiter),
        ON_THREE(a_flushed_node_wakes_a_waiter),
        ON_THREE(our_own_release_wakes_another_client),
        ON_THREE(a_change_on_a_minority_wakes_nobody),
        ON_THREE(a_dead_holder_is_followed_when_its_time_is_up),
        ON_THREE(a_node_that_comes_back_is_watched_again),
        ON_THREE(a_holder_that_renews_is_looked_at_and_not_challenged),
        ON_NODES(a_crowd_of_processes_waits_almost_for_free, start_three_nodes),
        ON_NODES(a_crowd_of_threads_waits_as_one, start_three_nodes),
        ON_THREE(nothing_stays_armed_after_a_cancelled_wait),
        ON_THREE(nothing_stays_armed_after_a_wait_that_timed_out),
        ON_THREE(nothing_stays_armed_after_the_client_is_closed),
        ON_THREE(nothing_stays_armed_after_the_lock_was_won),
        ON_THREE(callers_of_one_process_come_in_order),
        ON_THREE(the_next_question_rides_behind_the_release),
        ON_THREE(who_times_out_in_the_queue_is_told_who_has_it),
        ON_THREE(a_leader_that_gives_up_is_followed),
        cmocka_unit_test(a_node_without_resp3_is_looked_at_now_and_then),
        cmocka_unit_test(without_resp3_waiting_works_all_the_same),
        cmocka_unit_test(a_node_that_forbids_tracking_is_looked_at_now_and_then),
        cmocka_unit_test(a_majority_that_forbids_tracking_is_polled),
        cmocka_unit_test(without_the_right_to_track_waiting_works_all_the_same),
        ON_THREE(an_event_loop_sleeps_while_it_waits),
        ON_THREE(a_frozen_minority_does_not_keep_a_waiter_from_being_told),
        ON_THREE(closing_the_client_ends_blocking_waits),
        ON_THREE(a_fork_while_others_wait_harms_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
