/*
 * Locks that their owner enters again, on real nodes: no node is asked for that, the outermost release gives
 * them back, and a loss is one for all entries. Who owner is, threads and identities decide.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "support/guarded.h"
#include "support/line.h"
#include "support/steps.h"
#include "support/waiters.h"

enum { THREADS = 8, ROUNDS = 25, HERE = 7 };

static redlock_spec reentrant_spec(uint64_t identity)
{
    redlock_spec spec = spec_for("again", LONG_TTL_MS);

    spec.reentrant = 1;
    spec.identity = identity;
    return spec;
}

static redlock_stats stats_of(redlock_client *client)
{
    redlock_stats stats = REDLOCK_STATS_INIT;

    assert_int_equal(redlock_client_stats(client, &stats), REDLOCK_OK);
    return stats;
}

static bool is_held(struct fleet *fleet)
{
    return strcmp(fleet_command(fleet, 0, "EXISTS", "again", NULL), "1") == 0;
}

/* ---- entering and leaving ------------------------------------------------------------------------------ */

static void its_owner_enters_again_without_a_round(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    redlock_spec spec = reentrant_spec(0);
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_lock *outer = take_spec(client, &spec), *inner = NULL;
    uint64_t rounds = stats_of(client).rounds;

    assert_result(REDLOCK_OK, redlock_try_acquire(client, &spec, &inner, &report), &report);
    assert_ptr_equal(inner, outer);
    assert_int_equal(redlock_lock_entries(inner), 2);
    assert_int_equal(report.rounds, 0);
    assert_true(report.validity_ms > 0);
    assert_true(report.fence == redlock_lock_fence(outer));
    assert_string_equal(report.line, "again: ok: entered again by its owner");
    assert_true(stats_of(client).rounds == rounds);
    assert_result(REDLOCK_OK, redlock_release(inner, &report), &report);
    assert_string_equal(report.line, "again: ok: left, and its owner is still inside");
    redlock_lock_free(inner);
    assert_int_equal(redlock_lock_entries(outer), 1);
    assert_true(redlock_lock_validity_ms(outer) > 0);
    assert_true(is_held(fleet));
    assert_result(REDLOCK_OK, redlock_extend(outer, 0, &report), &report);
    assert_result(REDLOCK_OK, redlock_release(outer, &report), &report);
    assert_result(REDLOCK_NOT_HELD, redlock_release(outer, &report), &report);
    assert_int_equal(redlock_lock_entries(outer), 0);
    redlock_lock_free(outer);
    /* And it can be had anew. */
    give_back(take_spec(client, &spec));
    redlock_client_close(client);
}

/* Nodes that are away keep nobody from entering what is held. */
static void it_is_entered_without_nodes(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    redlock_spec spec = reentrant_spec(0);
    redlock_lock *outer = take_spec(client, &spec), *inner;

    for (int node = 0; node < fleet_size(fleet); node++)
        fleet_freeze(fleet, node);
    inner = take_spec(client, &spec);
    assert_result(REDLOCK_OK, redlock_release(inner, NULL), NULL);
    redlock_lock_free(inner);
    for (int node = 0; node < fleet_size(fleet); node++)
        fleet_thaw(fleet, node);
    give_back(outer);
    redlock_client_close(client);
}

static void a_handle_that_is_freed_takes_its_entry_along(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    redlock_spec spec = reentrant_spec(0);
    redlock_lock *outer = take_spec(client, &spec);

    redlock_lock_free(take_spec(client, &spec));
    assert_int_equal(redlock_lock_entries(outer), 1);
    give_back(outer);
    await(!is_held(fleet));
    redlock_client_close(client);
}

/* ---- owners -------------------------------------------------------------------------------------------- */

static void *try_it(void *context)
{
    redlock_client *client = context;
    redlock_spec spec = reentrant_spec(0);
    redlock_lock *lock = NULL;
    redlock_result result = redlock_try_acquire(client, &spec, &lock, NULL);

    redlock_lock_free(lock);
    return (void *)(intptr_t)result;
}

static void another_thread_is_another_owner_unless_they_share_an_identity(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS), *other;
    redlock_spec spec = reentrant_spec(0), shared = reentrant_spec(HERE), theirs = reentrant_spec(HERE + 1);
    redlock_lock *lock = take_spec(client, &spec), *again;
    pthread_t thread;
    void *result;

    assert_int_equal(pthread_create(&thread, NULL, try_it, client), 0);
    pthread_join(thread, &result);
    assert_int_equal((intptr_t)result, REDLOCK_BUSY);
    assert_result(REDLOCK_BUSY, redlock_try_acquire(client, &shared, &again, NULL), NULL);
    give_back(lock);
    lock = take_spec(client, &shared);
    again = take_spec(client, &shared);
    assert_result(REDLOCK_BUSY, redlock_try_acquire(client, &theirs, &again, NULL), NULL);
    assert_result(REDLOCK_BUSY, redlock_try_acquire(client, &spec, &again, NULL), NULL);
    /* A number means something to one client only, and what is not reentrant is not entered. */
    other = line_open(fleet_urls(fleet));
    assert_result(REDLOCK_BUSY, redlock_try_acquire(other, &shared, &again, NULL), NULL);
    assert_not_had(REDLOCK_BUSY, client, "again", NULL);
    assert_result(REDLOCK_OK, redlock_release(lock, NULL), NULL);
    redlock_lock_free(lock);
    give_back(lock);
    redlock_client_close(client);
    redlock_client_close(other);
}

struct crew {
    redlock_client *client;
    uint64_t identity;
    int *inside, *overlaps, *failures;
};

static void expect_ok(const struct crew *crew, redlock_result result)
{
    if (result == REDLOCK_OK)
        return;
    print_error("a call of a thread came to %s\n", redlock_result_name(result));
    __atomic_add_fetch(crew->failures, 1, __ATOMIC_SEQ_CST);
}

/* Three levels deep, each thread for itself. */
static void *go_in_and_out(void *context)
{
    struct crew *crew = context;
    redlock_spec spec = reentrant_spec(crew->identity);

    for (int i = 0; i < ROUNDS; i++) {
        redlock_lock *locks[3] = {NULL};

        for (int depth = 0; depth < 3; depth++) {
            expect_ok(crew, redlock_acquire(crew->client, &spec, REDLOCK_WAIT_FOREVER, &locks[depth], NULL));
            if (__atomic_add_fetch(crew->inside, 1, __ATOMIC_SEQ_CST) != depth + 1)
                __atomic_add_fetch(crew->overlaps, 1, __ATOMIC_SEQ_CST);
        }
        for (int depth = 2; depth >= 0; depth--) {
            __atomic_sub_fetch(crew->inside, 1, __ATOMIC_SEQ_CST);
            expect_ok(crew, redlock_release(locks[depth], NULL));
            redlock_lock_free(locks[depth]);
        }
    }
    return NULL;
}

static void never_are_two_owners_inside(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *clients[2];
    int inside = 0, overlaps = 0, failures = 0;
    struct crew crew[THREADS];
    pthread_t threads[THREADS];

    clients[0] = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    clients[1] = line_open(fleet_urls(fleet));
    for (int i = 0; i < THREADS; i++) {
        crew[i] = (struct crew){.client = clients[i % 2],
                                .identity = i < 4 ? 0 : 100 + i,
                                .inside = &inside,
                                .overlaps = &overlaps,
                                .failures = &failures};
        assert_int_equal(pthread_create(&threads[i], NULL, go_in_and_out, &crew[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(overlaps, 0);
    assert_int_equal(failures, 0);
    redlock_client_close(clients[0]);
    redlock_client_close(clients[1]);
}

/* The counter of that test sees what it is there to see: here two threads are one owner. */
static void the_counter_sees_two_inside(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    int inside = 0, overlaps = 0, failures = 0;
    struct crew crew = {
        .client = client, .identity = HERE, .inside = &inside, .overlaps = &overlaps, .failures = &failures};
    redlock_spec spec = reentrant_spec(HERE);
    redlock_lock *lock = take_spec(client, &spec);
    pthread_t thread;

    inside = 1;
    assert_int_equal(pthread_create(&thread, NULL, go_in_and_out, &crew), 0);
    pthread_join(thread, NULL);
    assert_int_not_equal(overlaps, 0);
    assert_int_equal(failures, 0);
    assert_int_equal(inside, 1);
    give_back(lock);
    redlock_client_close(client);
    await(!is_held(fleet));
}

/* Threads of one owner come and go, and whichever leaves last gives the lock back. */
static void many_threads_are_one_owner(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    int inside = 0, overlaps = 0, failures = 0;
    struct crew crew = {
        .client = client, .identity = HERE, .inside = &inside, .overlaps = &overlaps, .failures = &failures};
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, go_in_and_out, &crew), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(failures, 0);
    assert_int_equal(inside, 0);
    redlock_client_close(client);
    await(!is_held(fleet));
}

/* ---- asynchronous, and by owner value ------------------------------------------------------------------ */

static void asynchronous_calls_say_whose_they_are(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS),
                   *other = line_open(fleet_urls(fleet));
    redlock_spec spec = reentrant_spec(HERE), nobodys = reentrant_spec(0);
    redlock_lock *held = take_lock(other, "again", LONG_TTL_MS), *inner;
    struct waiter first, second, third;
    redlock_request request;

    assert_result(REDLOCK_INVALID, redlock_acquire_async(client, &nobodys, 0, NULL, NULL, &request), NULL);
    start_waiting_for(&first, client, &spec);
    start_waiting_for(&second, client, &spec);
    give_back(held);
    /* Both are in at once. */
    await_end(&first, REDLOCK_OK);
    await_end(&second, REDLOCK_OK);
    assert_ptr_equal(first.lock, second.lock);
    start_waiting_for(&third, client, &spec);
    await_end(&third, REDLOCK_OK);
    inner = take_spec(client, &spec);
    assert_int_equal(redlock_lock_entries(inner), 4);
    for (int i = 0; i < 3; i++) {
        assert_result(REDLOCK_OK, redlock_release(inner, NULL), NULL);
        redlock_lock_free(inner);
    }
    assert_true(is_held(fleet));
    give_back(inner);
    await(!is_held(fleet));
    redlock_client_close(client);
    redlock_client_close(other);
}

static void an_adopted_lock_is_entered_too(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS),
                   *heir = line_open(fleet_urls(fleet));
    redlock_spec spec = reentrant_spec(0);
    char owner[REDLOCK_OWNER_MAX + 1];
    redlock_lock *lock = take_spec(client, &spec), *inner;

    snprintf(owner, sizeof owner, "%s", redlock_lock_owner(lock, NULL));
    redlock_lock_free(lock);
    assert_result(REDLOCK_OK, redlock_adopt(heir, &spec, owner, 0, &lock, NULL), NULL);
    inner = take_spec(heir, &spec);
    assert_ptr_equal(inner, lock);
    redlock_lock_free(inner);
    give_back(lock);
    redlock_client_close(client);
    redlock_client_close(heir);
}

/* ---- loss ---------------------------------------------------------------------------------------------- */

static void count_loss(void *context, redlock_lock *lock, const redlock_report *report)
{
    (void)lock;
    (void)report;
    atomic_fetch_add((atomic_int *)context, 1);
}

static void a_loss_is_one_for_all_entries(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    redlock_spec spec = reentrant_spec(0);
    redlock_report report = REDLOCK_REPORT_INIT;
    atomic_int losses = 0;
    redlock_lock *outer, *inner, *third = NULL;

    spec.on_lost = count_loss;
    spec.context = &losses;
    outer = take_spec(client, &spec);
    inner = take_spec(client, &spec);
    for (int node = 0; node < fleet_size(fleet); node++)
        fleet_command(fleet, node, "SET", "again", "somebody", "PX", "60000", NULL);
    assert_result(REDLOCK_NOT_HELD, redlock_extend(inner, 0, NULL), NULL);
    await(atomic_load(&losses) == 1);
    assert_int_equal(redlock_lock_entries(outer), 0);
    assert_result(REDLOCK_LOST, redlock_try_acquire(client, &spec, &third, &report), &report);
    assert_null(third);
    assert_result(REDLOCK_LOST, redlock_release(inner, NULL), NULL);
    redlock_lock_free(inner);
    assert_result(REDLOCK_LOST, redlock_acquire(client, &spec, 1000, &third, &report), &report);
    assert_result(REDLOCK_LOST, redlock_release(outer, NULL), NULL);
    /* It has left, so that it can ask anew. */
    assert_result(REDLOCK_BUSY, redlock_try_acquire(client, &spec, &third, &report), &report);
    redlock_lock_free(outer);
    for (int node = 0; node < fleet_size(fleet); node++)
        fleet_command(fleet, node, "DEL", "again", NULL);
    give_back(take_spec(client, &spec));
    redlock_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_GUARDED(its_owner_enters_again_without_a_round, start_three_guarded),
        ON_GUARDED(it_is_entered_without_nodes, start_three_guarded),
        ON_GUARDED(a_handle_that_is_freed_takes_its_entry_along, start_one_guarded),
        ON_GUARDED(another_thread_is_another_owner_unless_they_share_an_identity, start_three_guarded),
        ON_GUARDED(never_are_two_owners_inside, start_five_guarded),
        ON_GUARDED(the_counter_sees_two_inside, start_three_guarded),
        ON_GUARDED(many_threads_are_one_owner, start_three_guarded),
        ON_GUARDED(asynchronous_calls_say_whose_they_are, start_three_guarded),
        ON_GUARDED(an_adopted_lock_is_entered_too, start_three_guarded),
        ON_GUARDED(a_loss_is_one_for_all_entries, start_three_guarded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
