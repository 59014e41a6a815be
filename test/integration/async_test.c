/*
 * Asynchronous calls: the callback runs exactly once whatever happens, on a thread of the library or inside
 * redlock_client_process(), and renewal depends on neither.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "support/steps.h"

/* What came of one request. Static in every test, since a failed one leaves its request behind. */
struct outcome {
    atomic_int calls;
    atomic_int result;
    _Atomic(redlock_lock *) lock;
    atomic_int sound; /* the report said the same as the result */
    pthread_t thread;
};

static void note_acquired(void *context, redlock_result result, redlock_lock *lock,
                          const redlock_report *report)
{
    struct outcome *outcome = context;

    atomic_store(&outcome->result, (int)result);
    atomic_store(&outcome->lock, lock);
    atomic_store(&outcome->sound, report != NULL && report->result == result && report->line[0] != '\0' &&
                                      (lock != NULL) == (result == REDLOCK_OK));
    outcome->thread = pthread_self();
    atomic_fetch_add(&outcome->calls, 1);
}

static void note_done(void *context, redlock_result result, const redlock_report *report)
{
    struct outcome *outcome = context;

    atomic_store(&outcome->result, (int)result);
    atomic_store(&outcome->sound, report != NULL && report->result == result && report->line[0] != '\0');
    outcome->thread = pthread_self();
    atomic_fetch_add(&outcome->calls, 1);
}

static redlock_request acquire_later(redlock_client *client, const char *name, int64_t wait_ms,
                                     struct outcome *outcome)
{
    redlock_spec spec = spec_for(name, LONG_TTL_MS);
    redlock_request request = 0;

    memset(outcome, 0, sizeof(*outcome));
    assert_result(REDLOCK_OK, redlock_acquire_async(client, &spec, wait_ms, note_acquired, outcome, &request),
                  NULL);
    assert_true(request != 0);
    return request;
}

static void assert_outcome(struct outcome *outcome, redlock_result expected)
{
    await(atomic_load(&outcome->calls) > 0);
    assert_result(expected, (redlock_result)atomic_load(&outcome->result), NULL);
    assert_int_equal(atomic_load(&outcome->calls), 1);
    assert_int_equal(atomic_load(&outcome->sound), 1);
}

/* ---- on a thread of the library ------------------------------------------------------------------------ */

static void acquire_extend_and_release_call_back_once(void **state)
{
    static struct outcome acquired, extended, released;
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));
    redlock_request first;
    redlock_request second = 0;

    first = acquire_later(client, "async", 0, &acquired);
    assert_outcome(&acquired, REDLOCK_OK);
    redlock_lock *lock = atomic_load(&acquired.lock);
    assert_true(redlock_lock_validity_ms(lock) > 0);

    memset(&extended, 0, sizeof(extended));
    assert_result(REDLOCK_OK, redlock_extend_async(lock, 2 * LONG_TTL_MS, note_done, &extended, &second),
                  NULL);
    assert_true(second != 0 && second != first);
    assert_outcome(&extended, REDLOCK_OK);
    assert_true(redlock_lock_validity_ms(lock) > LONG_TTL_MS);

    memset(&released, 0, sizeof(released));
    assert_result(REDLOCK_OK, redlock_release_async(lock, note_done, &released, NULL), NULL);
    assert_outcome(&released, REDLOCK_OK);
    assert_int_equal(redlock_lock_validity_ms(lock), 0);
    redlock_lock_free(lock);
    redlock_client_close(client);
}

/* Whoever has asked for the release needs the handle no more; the callback comes all the same. */
static void handle_may_be_freed_while_its_calls_are_under_way(void **state)
{
    static struct outcome released, extended;
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));

    memset(&released, 0, sizeof(released));
    redlock_lock *lock = take_lock(client, "given", LONG_TTL_MS);
    assert_result(REDLOCK_OK, redlock_release_async(lock, note_done, &released, NULL), NULL);
    redlock_lock_free(lock);
    assert_outcome(&released, REDLOCK_OK);

    memset(&extended, 0, sizeof(extended));
    lock = take_lock(client, "left", 1500);
    for (int i = 0; i < fleet_size(fleet); i++)
        fleet_freeze(fleet, i);
    assert_result(REDLOCK_OK, redlock_extend_async(lock, 2000, note_done, &extended, NULL), NULL);
    redlock_lock_free(lock);
    assert_outcome(&extended, REDLOCK_CANCELED);
    for (int i = 0; i < fleet_size(fleet); i++)
        fleet_thaw(fleet, i);
    assert_string_equal(fleet_leftovers(fleet, 5000), ""); /* by its TTL */
    redlock_client_close(client);
}

static void busy_and_timeout_call_back_once(void **state)
{
    static struct outcome busy, late;
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));

    redlock_lock *lock = take_lock(client, "busy", LONG_TTL_MS);
    acquire_later(client, "busy", 0, &busy);
    acquire_later(client, "busy", 200, &late);
    assert_outcome(&busy, REDLOCK_BUSY);
    assert_outcome(&late, REDLOCK_TIMEOUT);
    give_back(lock);
    redlock_client_close(client);
}

static void no_quorum_calls_back_once(void **state)
{
    static struct outcome outcome;
    struct fleet *fleet = *state;

    fleet_kill(fleet, 0);
    fleet_kill(fleet, 1);
    redlock_client *client = open_client(fleet_urls(fleet));
    acquire_later(client, "down", 0, &outcome);
    assert_outcome(&outcome, REDLOCK_NO_QUORUM);
    redlock_client_close(client);
}

static void bad_arguments_never_call_back(void **state)
{
    static struct outcome outcome;
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));
    redlock_spec spec = spec_for("bad", 1);

    memset(&outcome, 0, sizeof(outcome));
    assert_result(REDLOCK_INVALID, redlock_acquire_async(client, &spec, 0, note_acquired, &outcome, NULL),
                  NULL);
    spec.ttl_ms = 1000;
    assert_result(REDLOCK_INVALID, redlock_acquire_async(client, &spec, 0, NULL, &outcome, NULL), NULL);
    redlock_client_close(client);
    assert_int_equal(atomic_load(&outcome.calls), 0);
}

static void extend_and_release_of_a_released_lock_say_not_held_once(void **state)
{
    static struct outcome outcomes[2];
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, "gone", LONG_TTL_MS);

    assert_result(REDLOCK_OK, redlock_release(lock, NULL), NULL);
    memset(outcomes, 0, sizeof(outcomes));
    /* Either way of saying so is fine, but only one of them. */
    redlock_result now = redlock_extend_async(lock, 0, note_done, &outcomes[0], NULL);
    if (now == REDLOCK_OK)
        assert_outcome(&outcomes[0], REDLOCK_NOT_HELD);
    else
        assert_result(REDLOCK_NOT_HELD, now, NULL);
    now = redlock_release_async(lock, note_done, &outcomes[1], NULL);
    if (now == REDLOCK_OK)
        assert_outcome(&outcomes[1], REDLOCK_NOT_HELD);
    else
        assert_result(REDLOCK_NOT_HELD, now, NULL);
    redlock_lock_free(lock);
    redlock_client_close(client);
}

static void waiter_is_called_back_when_it_is_its_turn(void **state)
{
    enum { WAITERS = 10 };
    static struct outcome waiters[WAITERS];
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));
    redlock_client *other = open_client(fleet_urls(fleet));
    bool served[WAITERS] = {false};

    redlock_lock *lock = take_lock(other, "turn", LONG_TTL_MS);
    for (int i = 0; i < WAITERS; i++)
        acquire_later(client, "turn", REDLOCK_WAIT_FOREVER, &waiters[i]);
    for (int turn = 0; turn < WAITERS; turn++) {
        int next = -1;
        give_back(lock);
        for (int tries = 0; tries < 2000 && next < 0; tries++) {
            for (int i = 0; i < WAITERS; i++)
                if (!served[i] && atomic_load(&waiters[i].calls) > 0)
                    next = i;
            sleep_ms(5);
        }
        assert_true(next >= 0);
        assert_outcome(&waiters[next], REDLOCK_OK);
        served[next] = true;
        lock = atomic_load(&waiters[next].lock);
        /* Only one at a time. */
        for (int i = 0; i < WAITERS; i++)
            assert_int_equal(atomic_load(&waiters[i].calls), served[i] ? 1 : 0);
    }
    give_back(lock);
    redlock_client_close(client);
    redlock_client_close(other);
}

/* ---- cancelling ---------------------------------------------------------------------------------------- */

static void cancelled_waiter_is_told_once_and_leaves_nothing(void **state)
{
    static struct outcome outcome;
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));

    redlock_lock *lock = take_lock(client, "cancel", LONG_TTL_MS);
    redlock_request request = acquire_later(client, "cancel", REDLOCK_WAIT_FOREVER, &outcome);
    sleep_ms(100);
    assert_result(REDLOCK_OK, redlock_cancel(client, request), NULL);
    assert_outcome(&outcome, REDLOCK_CANCELED);
    assert_result(REDLOCK_NOT_HELD, redlock_cancel(client, request), NULL);
    give_back(lock);
    assert_string_equal(fleet_leftovers(fleet, 5000), "");
    assert_int_equal(atomic_load(&outcome.calls), 1);
    redlock_client_close(client);
}

/* The cancel races with the answer: one of them wins, and both ends are clean. */
static void cancel_at_once_ends_either_way_but_once(void **state)
{
    enum { ROUNDS = 200 };
    static struct outcome outcomes[ROUNDS];
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    char name[32];

    for (int i = 0; i < ROUNDS; i++) {
        snprintf(name, sizeof(name), "race:%d", i);
        redlock_request request = acquire_later(client, name, 0, &outcomes[i]);
        if (i % 3 == 1)
            sleep_ms(1);
        redlock_result cancelled = redlock_cancel(client, request);
        assert_true(cancelled == REDLOCK_OK || cancelled == REDLOCK_NOT_HELD);
        await(atomic_load(&outcomes[i].calls) > 0);
        if (cancelled == REDLOCK_OK)
            assert_outcome(&outcomes[i], REDLOCK_CANCELED);
        else
            assert_outcome(&outcomes[i], REDLOCK_OK);
        if (atomic_load(&outcomes[i].lock) != NULL)
            give_back(atomic_load(&outcomes[i].lock));
    }
    assert_string_equal(fleet_leftovers(fleet, 5000), "");
    for (int i = 0; i < ROUNDS; i++)
        assert_int_equal(atomic_load(&outcomes[i].calls), 1);
    redlock_client_close(client);
}

static void cancel_of_a_finished_request_is_harmless(void **state)
{
    static struct outcome outcome;
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));

    redlock_request request = acquire_later(client, "finished", 0, &outcome);
    assert_outcome(&outcome, REDLOCK_OK);
    for (int i = 0; i < 3; i++)
        assert_result(REDLOCK_NOT_HELD, redlock_cancel(client, request), NULL);
    assert_result(REDLOCK_NOT_HELD, redlock_cancel(client, request + 1000000), NULL);
    assert_result(REDLOCK_NOT_HELD, redlock_cancel(client, 0), NULL);
    assert_true(redlock_lock_validity_ms(atomic_load(&outcome.lock)) > 0);
    assert_int_equal(atomic_load(&outcome.calls), 1);
    give_back(atomic_load(&outcome.lock));
    redlock_client_close(client);
}

/* A node that is silent keeps the request open; what was granted by then must be released again. */
static void cancel_under_way_releases_what_was_granted(void **state)
{
    static struct outcome outcome;
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));

    fleet_freeze(fleet, 0);
    fleet_freeze(fleet, 1);
    redlock_request request = acquire_later(client, "under-way", REDLOCK_WAIT_FOREVER, &outcome);
    await(fleet_key_count(fleet, 2) == 1);
    assert_result(REDLOCK_OK, redlock_cancel(client, request), NULL);
    assert_outcome(&outcome, REDLOCK_CANCELED);
    assert_string_equal(fleet_leftovers(fleet, 5000), "");
    fleet_thaw(fleet, 0);
    fleet_thaw(fleet, 1);
    assert_string_equal(fleet_leftovers(fleet, 5000), "");
    redlock_client_close(client);
}

static void release_cannot_be_cancelled(void **state)
{
    static struct outcome outcome;
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, "release", LONG_TTL_MS);
    redlock_request request = 0;

    fleet_freeze(fleet, 0);
    fleet_freeze(fleet, 1);
    memset(&outcome, 0, sizeof(outcome));
    assert_result(REDLOCK_OK, redlock_release_async(lock, note_done, &outcome, &request), NULL);
    assert_result(REDLOCK_MISUSE, redlock_cancel(client, request), NULL);
    assert_outcome(&outcome, REDLOCK_NO_QUORUM);
    fleet_thaw(fleet, 0);
    fleet_thaw(fleet, 1);
    assert_string_equal(fleet_leftovers(fleet, 5000), "");
    redlock_lock_free(lock);
    redlock_client_close(client);
}

/* Removes the keys of a lock that was not released, once the slowest node has heard of it. */
static void wipe_all(struct fleet *fleet)
{
    sleep_ms(50);
    for (int i = 0; i < fleet_size(fleet); i++)
        fleet_wipe(fleet, i);
}

/* ---- closing ------------------------------------------------------------------------------------------- */

static void close_calls_back_what_is_pending_once(void **state)
{
    enum { PENDING = 50 };
    static struct outcome outcomes[PENDING];
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_client *other = open_client(fleet_urls(fleet));

    redlock_lock *lock = take_lock(other, "closing", LONG_TTL_MS);
    for (int i = 0; i < PENDING; i++)
        acquire_later(client, "closing", REDLOCK_WAIT_FOREVER, &outcomes[i]);
    redlock_client_close(client);
    for (int i = 0; i < PENDING; i++) {
        /* Not later: when close returns, all of them have been called. */
        assert_int_equal(atomic_load(&outcomes[i].calls), 1);
        assert_outcome(&outcomes[i], REDLOCK_CANCELED);
    }
    give_back(lock);
    redlock_client_close(other);
}

static void close_right_after_asking_ends_clean(void **state)
{
    enum { ROUNDS = 30 };
    static struct outcome outcomes[ROUNDS];
    struct fleet *fleet = *state;

    for (int i = 0; i < ROUNDS; i++) {
        redlock_client *client = open_client(fleet_urls(fleet));
        if (i % 2 == 1)
            await_all_nodes(client);
        acquire_later(client, "hasty", 0, &outcomes[i]);
        redlock_client_close(client);
        assert_int_equal(atomic_load(&outcomes[i].calls), 1);
        redlock_lock *lock = atomic_load(&outcomes[i].lock);
        if (lock == NULL) {
            assert_outcome(&outcomes[i], REDLOCK_CANCELED);
            assert_string_equal(fleet_leftovers(fleet, 5000), "");
            continue;
        }
        /* It was faster than the close: its keys stay, as those of any lock that is not released. */
        redlock_lock_free(lock);
        wipe_all(fleet);
    }
}

/* ---- in an event loop ---------------------------------------------------------------------------------- */

/* Calls process whenever the descriptor says so, until the outcome is there. */
static void run_loop_until_called(redlock_client *client, int fd, struct outcome *outcome)
{
    int64_t give_up_ms = now_ms() + 20000;

    while (atomic_load(&outcome->calls) == 0 && now_ms() < give_up_ms) {
        struct pollfd poller = {.fd = fd, .events = POLLIN};
        if (poll(&poller, 1, 100) > 0)
            assert_result(REDLOCK_OK, redlock_client_process(client), NULL);
    }
    assert_int_equal(atomic_load(&outcome->calls), 1);
    assert_true(pthread_equal(outcome->thread, pthread_self()));
}

static void event_loop_gets_its_callbacks_in_process_only(void **state)
{
    static struct outcome outcome, released;
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));

    int fd = redlock_client_fd(client);
    assert_true(fd >= 0);
    assert_int_equal(redlock_client_fd(client), fd);
    acquire_later(client, "loop", 0, &outcome);
    /* However far it has come meanwhile: nobody has asked for the news. */
    sleep_ms(200);
    assert_int_equal(atomic_load(&outcome.calls), 0);
    run_loop_until_called(client, fd, &outcome);
    assert_outcome(&outcome, REDLOCK_OK);
    /* Nothing more to tell: the descriptor is quiet again. */
    struct pollfd poller = {.fd = fd, .events = POLLIN};
    for (int i = 0; i < 100 && poll(&poller, 1, 20) > 0; i++)
        assert_result(REDLOCK_OK, redlock_client_process(client), NULL);
    assert_int_equal(poll(&poller, 1, 20), 0);

    redlock_lock *lock = atomic_load(&outcome.lock);
    memset(&released, 0, sizeof(released));
    assert_result(REDLOCK_OK, redlock_release_async(lock, note_done, &released, NULL), NULL);
    run_loop_until_called(client, fd, &released);
    assert_outcome(&released, REDLOCK_OK);
    redlock_lock_free(lock);
    redlock_client_close(client);
}

static void event_loop_may_also_block(void **state)
{
    static struct outcome outcome;
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));
    int fd = redlock_client_fd(client);

    give_back(take_lock(client, "block", LONG_TTL_MS));
    acquire_later(client, "block", REDLOCK_WAIT_FOREVER, &outcome);
    run_loop_until_called(client, fd, &outcome);
    assert_outcome(&outcome, REDLOCK_OK);
    give_back(atomic_load(&outcome.lock));
    redlock_client_close(client);
}

static void close_calls_back_without_process(void **state)
{
    static struct outcome waiting, finished;
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, "unprocessed", LONG_TTL_MS);

    assert_true(redlock_client_fd(client) >= 0);
    acquire_later(client, "unprocessed", REDLOCK_WAIT_FOREVER, &waiting);
    acquire_later(client, "unprocessed", 0, &finished);
    sleep_ms(200);
    assert_int_equal(atomic_load(&waiting.calls) + atomic_load(&finished.calls), 0);
    give_back(lock);
    redlock_client_close(client);
    assert_int_equal(atomic_load(&waiting.calls), 1);
    assert_int_equal(atomic_load(&finished.calls), 1);
    /* The release may have been fast enough for the one that waited. */
    if (atomic_load(&waiting.lock) != NULL) {
        redlock_lock_free(atomic_load(&waiting.lock));
        wipe_all(fleet);
    }
}

static void note_lost(void *context, redlock_lock *lock, const redlock_report *report)
{
    (void)lock;
    (void)report;
    atomic_fetch_add((atomic_int *)context, 1);
}

/* Takes a lease in an event loop that is asleep from then on. */
static redlock_lock *take_lease_in_loop(redlock_client *client, const char *name, atomic_int *lost)
{
    static struct outcome outcome;
    int fd = redlock_client_fd(client);
    redlock_spec spec = spec_for(name, 3000);

    memset(&outcome, 0, sizeof(outcome));
    spec.auto_extend = 1;
    spec.on_lost = note_lost;
    spec.context = lost;
    assert_result(REDLOCK_OK, redlock_acquire_async(client, &spec, 0, note_acquired, &outcome, NULL), NULL);
    run_loop_until_called(client, fd, &outcome);
    assert_outcome(&outcome, REDLOCK_OK);
    return atomic_load(&outcome.lock);
}

/* Several clients, since it once took luck for a renewal to be missed: the thread that should have made it
 * slept on because the event loop had taken the answers from under its nose. */
static void renewals_go_on_although_nobody_calls_process(void **state)
{
    enum { CLIENTS = 6 };
    static atomic_int lost;
    struct fleet *fleet = *state;
    redlock_client *clients[CLIENTS];
    redlock_lock *locks[CLIENTS];
    char name[32];

    atomic_store(&lost, 0);
    for (int i = 0; i < CLIENTS; i++) {
        snprintf(name, sizeof(name), "asleep:%d", i);
        clients[i] = open_client(fleet_urls(fleet));
        locks[i] = take_lease_in_loop(clients[i], name, &lost);
    }
    int64_t until_ms = now_ms() + 7000;
    while (now_ms() < until_ms) {
        for (int i = 0; i < CLIENTS; i++)
            assert_true(redlock_lock_validity_ms(locks[i]) > 0);
        sleep_ms(20);
    }
    assert_int_equal(atomic_load(&lost), 0);
    /* And so does the news of its loss. */
    fleet_kill(fleet, 0);
    fleet_kill(fleet, 1);
    await(atomic_load(&lost) == CLIENTS);
    for (int i = 0; i < CLIENTS; i++) {
        redlock_lock_free(locks[i]);
        redlock_client_close(clients[i]);
    }
}

/* ---- many ---------------------------------------------------------------------------------------------- */

static void thousand_acquisitions_at_once_each_call_back_once(void **state)
{
    enum { MANY = 1000 };
    static struct outcome acquired[MANY], released[MANY];
    struct fleet *fleet = *state;
    redlock_options options = options_for(fleet_urls(fleet));
    char name[32];

    /* A thousand at once under a sanitizer may keep a node waiting for longer than usual. */
    options.node_timeout_ms = 10000;
    redlock_client *client = open_with(&options);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "many:%d", i);
        acquire_later(client, name, 10000, &acquired[i]);
    }
    for (int i = 0; i < MANY; i++)
        assert_outcome(&acquired[i], REDLOCK_OK);
    memset(released, 0, sizeof(released));
    for (int i = 0; i < MANY; i++)
        assert_result(REDLOCK_OK,
                      redlock_release_async(atomic_load(&acquired[i].lock), note_done, &released[i], NULL),
                      NULL);
    for (int i = 0; i < MANY; i++) {
        assert_outcome(&released[i], REDLOCK_OK);
        assert_int_equal(atomic_load(&acquired[i].calls), 1);
        redlock_lock_free(atomic_load(&acquired[i].lock));
    }
    redlock_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_1_3_5_NODES(acquire_extend_and_release_call_back_once),
        ON_NODES(handle_may_be_freed_while_its_calls_are_under_way, start_three_nodes),
        ON_NODES(busy_and_timeout_call_back_once, start_three_nodes),
        ON_NODES(no_quorum_calls_back_once, start_three_nodes),
        ON_NODES(bad_arguments_never_call_back, start_one_node),
        ON_NODES(extend_and_release_of_a_released_lock_say_not_held_once, start_three_nodes),
        ON_NODES(waiter_is_called_back_when_it_is_its_turn, start_three_nodes),
        ON_NODES(cancelled_waiter_is_told_once_and_leaves_nothing, start_three_nodes),
        ON_NODES(cancel_at_once_ends_either_way_but_once, start_three_nodes),
        ON_NODES(cancel_of_a_finished_request_is_harmless, start_three_nodes),
        ON_NODES(cancel_under_way_releases_what_was_granted, start_three_nodes),
        ON_NODES(release_cannot_be_cancelled, start_three_nodes),
        ON_NODES(close_calls_back_what_is_pending_once, start_three_nodes),
        ON_NODES(close_right_after_asking_ends_clean, start_three_nodes),
        ON_NODES(event_loop_gets_its_callbacks_in_process_only, start_three_nodes),
        ON_NODES(event_loop_may_also_block, start_three_nodes),
        ON_NODES(close_calls_back_without_process, start_three_nodes),
        ON_NODES(renewals_go_on_although_nobody_calls_process, start_three_nodes),
        ON_NODES(thousand_acquisitions_at_once_each_call_back_once, start_three_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
