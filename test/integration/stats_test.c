/*
 * Statistics, log and trace: everything that happens is counted once, where it belongs, and told to whoever
 * listens.
 */
#include <pthread.h>
#include <string.h>

#include "support/listener.h"
#include "support/steps.h"

static redlock_stats stats_of(redlock_client *client)
{
    redlock_stats stats = REDLOCK_STATS_INIT;

    assert_result(REDLOCK_OK, redlock_client_stats(client, &stats), NULL);
    return stats;
}

/* Every value is in one bucket. */
static void assert_histogram(const redlock_histogram *histogram, uint64_t count)
{
    uint64_t sum = 0;

    assert_int_equal(histogram->count, count);
    for (int i = 0; i < REDLOCK_HISTOGRAM_BUCKETS; i++)
        sum += histogram->buckets[i];
    assert_int_equal(sum, count);
    assert_true(count == 0 || histogram->sum_us > 0);
}

static void what_happens_to_locks_is_counted(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = spec_for("stats", LONG_TTL_MS);
    redlock_lock *none = NULL;

    assert_int_equal(stats_of(client).acquired, 0);
    redlock_lock *lock = take_spec(client, &spec);
    assert_int_equal(stats_of(client).held, 1);
    assert_result(REDLOCK_BUSY, redlock_try_acquire(client, &spec, &none, NULL), NULL);
    assert_result(REDLOCK_BUSY, redlock_try_acquire(client, &spec, &none, NULL), NULL);
    assert_result(REDLOCK_TIMEOUT, redlock_acquire(client, &spec, 50, &none, NULL), NULL);
    assert_result(REDLOCK_OK, redlock_extend(lock, 0, NULL), NULL);
    assert_result(REDLOCK_OK, redlock_extend(lock, 0, NULL), NULL);
    give_back(lock);

    redlock_stats stats = stats_of(client);
    assert_int_equal(stats.acquired, 1);
    assert_int_equal(stats.busy, 2);
    assert_int_equal(stats.timeouts, 1);
    assert_int_equal(stats.canceled + stats.no_quorum + stats.too_slow + stats.failed, 0);
    assert_true(stats.rounds >= 3); /* who timed out waited in the queue behind our own */
    assert_int_equal(stats.extended, 2);
    assert_int_equal(stats.extend_failed, 0);
    assert_int_equal(stats.released, 1);
    assert_int_equal(stats.release_failed, 0);
    assert_int_equal(stats.lost, 0);
    assert_int_equal(stats.held, 0);
    assert_histogram(&stats.acquire_ok, 1);
    assert_histogram(&stats.acquire_failed, 3);
    assert_histogram(&stats.extend, 2);
    assert_histogram(&stats.release, 1);
    redlock_client_close(client);
}

static void what_nodes_answer_is_counted(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = spec_for("nodes", LONG_TTL_MS);
    redlock_lock *none = NULL;

    redlock_lock *lock = take_spec(client, &spec);
    assert_result(REDLOCK_BUSY, redlock_try_acquire(client, &spec, &none, NULL), NULL);
    give_back(lock);
    /* Answers that came after the decision are read, at the latest, when something else is asked. */
    await_all_nodes(client);
    for (uint32_t i = 0; i < 3; i++) {
        redlock_node_stats stats = node_stats_of(client, i);

        assert_true(stats.granted >= 1);
        assert_true(stats.held >= 1);
        assert_true(stats.free >= 1);
        assert_int_equal(stats.connects, 1);
        assert_int_equal(stats.disconnects, 0);
        assert_int_equal(stats.silent + stats.failed + stats.ineligible, 0);
        assert_int_equal(stats.connected, 1);
        assert_int_equal(stats.eligible, 1);
        assert_true(stats.latency.count >= 2);
        assert_histogram(&stats.latency, stats.latency.count);
    }
    redlock_client_close(client);
}

static void faults_of_nodes_are_counted(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = spec_for("faults", LONG_TTL_MS);
    redlock_lock *lock = NULL;

    fleet_freeze(fleet, 0);
    fleet_kill(fleet, 1);
    assert_result(REDLOCK_NO_QUORUM, redlock_try_acquire(client, &spec, &lock, NULL), NULL);
    await(node_stats_of(client, 1).failed >= 1);
    redlock_stats stats = stats_of(client);
    assert_int_equal(stats.no_quorum, 1);
    assert_int_equal(stats.acquired, 0);
    assert_true(node_stats_of(client, 0).silent >= 1);
    assert_true(node_stats_of(client, 1).disconnects >= 1);
    assert_true(node_stats_of(client, 2).granted >= 1);
    assert_histogram(&stats.acquire_failed, 1);
    fleet_thaw(fleet, 0);
    assert_true(fleet_restart(fleet, 1));
    await_all_nodes(client);
    assert_true(node_stats_of(client, 1).connects >= 2);
    redlock_client_close(client);
}

static void count_lost(void *context, redlock_lock *lock, const redlock_report *report)
{
    (void)lock;
    (void)report;
    atomic_fetch_add((atomic_int *)context, 1);
}

static void count_acquired(void *context, redlock_result result, redlock_lock *lock,
                           const redlock_report *report)
{
    (void)result;
    (void)lock;
    (void)report;
    atomic_fetch_add((atomic_int *)context, 1);
}

static void losses_and_cancellations_are_counted(void **state)
{
    static atomic_int lost, called;
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = spec_for("lost", 1000);
    redlock_request request = 0;

    atomic_store(&lost, 0);
    atomic_store(&called, 0);
    spec.on_lost = count_lost;
    spec.context = &lost;
    redlock_lock *lock = take_spec(client, &spec);
    await(atomic_load(&lost) == 1);
    redlock_lock_free(lock);

    lock = take_lock(client, "kept", LONG_TTL_MS);
    spec = spec_for("kept", LONG_TTL_MS);
    assert_result(
        REDLOCK_OK,
        redlock_acquire_async(client, &spec, REDLOCK_WAIT_FOREVER, count_acquired, &called, &request), NULL);
    assert_result(REDLOCK_OK, redlock_cancel(client, request), NULL);
    await(atomic_load(&called) == 1);
    give_back(lock);

    redlock_stats stats = stats_of(client);
    assert_int_equal(stats.lost, 1);
    assert_int_equal(stats.canceled, 1);
    assert_int_equal(stats.held, 0);
    redlock_client_close(client);
}

static void failed_extensions_and_releases_are_counted(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, "failed", LONG_TTL_MS);

    fleet_freeze(fleet, 0);
    fleet_freeze(fleet, 1);
    assert_result(REDLOCK_NO_QUORUM, redlock_extend(lock, 0, NULL), NULL);
    assert_result(REDLOCK_NO_QUORUM, redlock_release(lock, NULL), NULL);
    redlock_stats stats = stats_of(client);
    assert_int_equal(stats.extended, 0);
    assert_int_equal(stats.extend_failed, 1);
    assert_int_equal(stats.released, 0);
    assert_int_equal(stats.release_failed, 1);
    assert_int_equal(stats.held, 0);
    redlock_lock_free(lock);
    fleet_thaw(fleet, 0);
    fleet_thaw(fleet, 1);
    assert_string_equal(fleet_leftovers(fleet, 10000), "");
    redlock_client_close(client);
}

static void stats_need_their_size(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));
    redlock_stats stats = {0};

    assert_result(REDLOCK_INVALID, redlock_client_stats(client, &stats), NULL);
    redlock_client_close(client);
}

/* ---- log and trace ------------------------------------------------------------------------------------- */

static void trace_tells_the_story_of_a_lock(void **state)
{
    static struct listener trace = LISTENER_INIT;
    struct fleet *fleet = *state;
    redlock_options options = options_for(fleet_urls(fleet));

    options.trace = listener_hear_trace;
    options.trace_context = &trace;
    redlock_client *client = open_with(&options);
    redlock_lock *lock = take_lock(client, "story", LONG_TTL_MS);
    char secret[17] = "";
    memcpy(secret, redlock_lock_owner(lock, NULL), 16);
    give_back(lock);
    redlock_client_close(client);
    assert_true(trace.lines > 0);
    assert_int_equal(trace.broken_lines, 0);
    assert_true(listener_heard(&trace, "story"));
    assert_true(listener_heard(&trace, "granted"));
    /* Whoever reads the trace must not be able to release the lock. */
    assert_false(listener_heard(&trace, secret));
}

static void log_names_the_node_that_went_away(void **state)
{
    static struct listener log = LISTENER_INIT;
    struct fleet *fleet = *state;
    redlock_options options = options_for(fleet_urls(fleet));

    options.log = listener_hear_log;
    options.log_context = &log;
    redlock_client *client = open_with(&options);
    await_all_nodes(client);
    fleet_kill(fleet, 1);
    give_back(take_lock(client, "log", LONG_TTL_MS));
    await(listener_heard(&log, fleet_url(fleet, 1)));
    assert_true(fleet_restart(fleet, 1));
    await_all_nodes(client);
    redlock_client_close(client);
    assert_int_equal(log.broken_lines, 0);
}

struct visit {
    redlock_client *client;
    redlock_lock *lock;
    redlock_result result;
};

/* Takes a lock whose name has bytes that a terminal would obey. */
static void *take_and_leave(void *context)
{
    static atomic_int lost;
    struct visit *visit = context;
    redlock_spec spec = spec_for("odd\033[2J\n\177name", LONG_TTL_MS);

    spec.auto_extend = 1;
    spec.renew_ms = 100;
    spec.on_lost = count_lost;
    spec.context = &lost;
    visit->result = redlock_try_acquire(visit->client, &spec, &visit->lock, NULL);
    return NULL;
}

static void log_has_no_raw_bytes_of_a_name_in_it(void **state)
{
    static struct listener log = LISTENER_INIT;
    redlock_options options = options_for(fleet_urls(*state));
    struct visit visit = {0};
    pthread_t thread;

    options.log = listener_hear_log;
    options.log_context = &log;
    visit.client = open_with(&options);
    assert_int_equal(pthread_create(&thread, NULL, take_and_leave, &visit), 0);
    pthread_join(thread, NULL);
    assert_result(REDLOCK_OK, visit.result, NULL);
    await(listener_heard(&log, "the thread that acquired it has ended without releasing it"));
    assert_true(listener_heard(&log, "name: the thread"));
    redlock_release(visit.lock, NULL);
    redlock_lock_free(visit.lock);
    redlock_client_close(visit.client);
    assert_int_equal(log.broken_lines, 0);
    assert_null(strpbrk(log.text, "\033\177"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_NODES(what_happens_to_locks_is_counted, start_three_nodes),
        ON_NODES(what_nodes_answer_is_counted, start_three_nodes),
        ON_NODES(faults_of_nodes_are_counted, start_three_nodes),
        ON_NODES(losses_and_cancellations_are_counted, start_three_nodes),
        ON_NODES(failed_extensions_and_releases_are_counted, start_three_nodes),
        ON_NODES(stats_need_their_size, start_one_node),
        ON_NODES(trace_tells_the_story_of_a_lock, start_three_nodes),
        ON_NODES(log_names_the_node_that_went_away, start_three_nodes),
        ON_NODES(log_has_no_raw_bytes_of_a_name_in_it, start_three_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
