/*
 * Locks that are shared, on real guarded nodes: readers come in together and keep writers out, a writer in
 * line goes before readers that came later, each reader's lease is its own, and fences rise from writer to
 * reader to writer. The same under faults is in shared_slow_test.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/counters.h"
#include "support/guarded.h"
#include "support/steps.h"
#include "support/waiters.h"

enum { READERS = 4, BRIEF_MS = 1500 };

static redlock_spec reader_spec(uint32_t ttl_ms)
{
    redlock_spec spec = spec_for(WANTED, ttl_ms);

    spec.kind = REDLOCK_SHARED;
    return spec;
}

static redlock_lock *read_lock(redlock_client *client, uint32_t ttl_ms)
{
    redlock_spec spec = reader_spec(ttl_ms);

    return take_spec(client, &spec);
}

static void expect_refused(redlock_client *client, redlock_kind kind, redlock_report *report)
{
    redlock_spec spec = spec_for(WANTED, LONG_TTL_MS);
    redlock_lock *lock = NULL;

    spec.kind = kind;
    assert_result(REDLOCK_BUSY, redlock_try_acquire(client, &spec, &lock, report), report);
    assert_null(lock);
}

/* Begins to wait, and is known to be in line when this returns. */
static void stand_in_line(redlock_client *client, struct waiter *waiter, redlock_kind kind, uint32_t others)
{
    redlock_spec spec = spec_for(WANTED, LONG_TTL_MS);
    redlock_report report = REDLOCK_REPORT_INIT;

    spec.kind = kind;
    start_waiting_for(waiter, client, &spec);
    do
        assert_result(REDLOCK_OK, redlock_inspect(client, WANTED, 0, &report), &report);
    while (report.waiting <= others);
}

/* ---- together ---- */

static void readers_share_a_lock_and_keep_writers_out(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet)),
                   *other = open_warm_client(fleet_urls(fleet));
    redlock_lock *first = read_lock(client, LONG_TTL_MS), *second = read_lock(other, LONG_TTL_MS);
    redlock_lock *third = read_lock(client, LONG_TTL_MS); /* of the same client */
    redlock_report report = detailed_report();
    redlock_holder sharer;

    expect_refused(other, REDLOCK_EXCLUSIVE, &report);
    assert_int_equal(report.sharers, 3);
    assert_non_null(strstr(report.line, "held by 3 that share it"));
    assert_result(REDLOCK_OK, redlock_inspect(client, WANTED, 0, &report), &report);
    assert_int_equal(report.sharers, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(redlock_report_sharer(&report, i, &sharer), 1);
        assert_string_equal(sharer.host, "test-host");
    }
    assert_int_equal(redlock_report_sharer(&report, 3, &sharer), 0);
    give_back(first);
    give_back(second);
    expect_refused(other, REDLOCK_EXCLUSIVE, &report);
    give_back(third);
    give_back(take_lock(other, WANTED, LONG_TTL_MS));
    redlock_client_close(client);
    redlock_client_close(other);
}

static void a_writer_keeps_readers_out(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, WANTED, LONG_TTL_MS);
    redlock_report report = detailed_report();

    expect_refused(client, REDLOCK_SHARED, &report);
    assert_int_equal(report.sharers, 0);
    give_back(lock);
    give_back(read_lock(client, LONG_TTL_MS));
    redlock_client_close(client);
}

/* What a plain client, and a version that knows no shared locks, makes of it: a key of another type. */
static void plain_clients_are_refused_by_readers(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_options options = options_for(fleet_urls(fleet));
    redlock_lock *lock = read_lock(client, LONG_TTL_MS);
    redlock_report report = detailed_report();
    redlock_client *plain;

    options.mode = REDLOCK_PLAIN;
    plain = open_unadmitted(&options);
    expect_refused(plain, REDLOCK_EXCLUSIVE, &report);
    redlock_spec spec = reader_spec(LONG_TTL_MS);
    redlock_lock *none = NULL;
    assert_result(REDLOCK_INVALID, redlock_try_acquire(plain, &spec, &none, &report), &report);
    assert_non_null(strstr(report.line, "REDLOCK_SHARED needs the guarded mode"));
    give_back(lock);
    redlock_client_close(plain);
    redlock_client_close(client);
}

/* ---- the line ---- */

static void a_writer_in_line_goes_before_readers_that_come_later(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet)),
                   *other = open_warm_client(fleet_urls(fleet));
    redlock_lock *first = read_lock(client, LONG_TTL_MS);
    struct waiter writer, readers[READERS];

    stand_in_line(other, &writer, REDLOCK_EXCLUSIVE, 0);
    expect_refused(client, REDLOCK_SHARED, NULL);
    for (uint32_t i = 0; i < READERS; i++)
        stand_in_line(client, &readers[i], REDLOCK_SHARED, 1 + i);
    give_back(first);
    await_end(&writer, REDLOCK_OK);
    for (int i = 0; i < READERS; i++)
        assert_int_equal(atomic_load(&readers[i].done), 0);
    give_back(writer.lock);
    for (int i = 0; i < READERS; i++) /* all of them have it at once */
        await_end(&readers[i], REDLOCK_OK);
    for (int i = 0; i < READERS; i++)
        assert_true(redlock_lock_fence(readers[i].lock) > 0);
    for (int i = 0; i < READERS; i++)
        give_back(readers[i].lock);
    redlock_client_close(client);
    redlock_client_close(other);
}

static void readers_up_to_the_next_writer_come_in_together(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet)),
                   *other = open_warm_client(fleet_urls(fleet));
    redlock_client *third = open_warm_client(fleet_urls(fleet));
    redlock_lock *first = take_lock(other, WANTED, LONG_TTL_MS);
    struct waiter early[2], writer, late;

    stand_in_line(client, &early[0], REDLOCK_SHARED, 0);
    stand_in_line(client, &early[1], REDLOCK_SHARED, 1);
    stand_in_line(third, &writer, REDLOCK_EXCLUSIVE, 2);
    stand_in_line(client, &late, REDLOCK_SHARED, 3);
    uint64_t fence = redlock_lock_fence(first);
    give_back(first);
    await_end(&early[0], REDLOCK_OK);
    await_end(&early[1], REDLOCK_OK);
    assert_true(redlock_lock_fence(early[0].lock) > fence);
    assert_true(redlock_lock_fence(early[1].lock) > fence);
    assert_int_equal(atomic_load(&writer.done), 0);
    assert_int_equal(atomic_load(&late.done), 0);
    fence = redlock_lock_fence(early[0].lock) > redlock_lock_fence(early[1].lock)
                ? redlock_lock_fence(early[0].lock)
                : redlock_lock_fence(early[1].lock);
    give_back(early[0].lock);
    give_back(early[1].lock);
    await_end(&writer, REDLOCK_OK);
    assert_true(redlock_lock_fence(writer.lock) > fence);
    assert_int_equal(atomic_load(&late.done), 0);
    give_back(writer.lock);
    await_end(&late, REDLOCK_OK);
    give_back(late.lock);
    redlock_client_close(client);
    redlock_client_close(other);
    redlock_client_close(third);
}

/* The writer was in the way of the reader behind it, beside one that has the lock. */
static void a_reader_comes_in_when_the_writer_before_it_gives_up(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet)),
                   *other = open_warm_client(fleet_urls(fleet));
    redlock_lock *first = read_lock(client, LONG_TTL_MS);
    struct waiter writer, reader;

    stand_in_line(other, &writer, REDLOCK_EXCLUSIVE, 0);
    stand_in_line(client, &reader, REDLOCK_SHARED, 1);
    cancel_wait(&writer);
    await_end(&reader, REDLOCK_OK);
    give_back(reader.lock);
    give_back(first);
    redlock_client_close(client);
    redlock_client_close(other);
}

/* ---- each for itself ---- */

static void a_dead_readers_hold_ends_by_itself_beside_one_that_renews(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = reader_spec(BRIEF_MS);
    redlock_lock *dead = take_spec(client, &spec), *alive;
    redlock_report report = detailed_report();

    spec.auto_extend = 1;
    spec.on_lost = ignore_loss;
    alive = take_spec(client, &spec);
    redlock_lock_free(dead); /* as if its process had been killed */
    do
        assert_result(REDLOCK_OK, redlock_inspect(client, WANTED, 0, &report), &report);
    while (report.sharers > 1);
    assert_int_equal(report.sharers, 1);
    expect_refused(client, REDLOCK_EXCLUSIVE, &report);
    assert_true(redlock_lock_validity_ms(alive) > 0);
    give_back(alive);
    give_back(take_lock(client, WANTED, LONG_TTL_MS));
    redlock_client_close(client);
}

static void a_writer_follows_dead_readers_when_their_time_is_up(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_lock *one = read_lock(client, BRIEF_MS), *other = read_lock(client, BRIEF_MS);
    struct waiter writer;

    stand_in_line(client, &writer, REDLOCK_EXCLUSIVE, 0);
    redlock_lock_free(one);
    redlock_lock_free(other);
    await_end(&writer, REDLOCK_OK);
    give_back(writer.lock);
    redlock_client_close(client);
}

static void an_owner_value_is_enough_to_go_on_with_a_share_and_to_give_it_back(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_lock *first = read_lock(client, LONG_TTL_MS), *left = read_lock(client, LONG_TTL_MS),
                 *mine = NULL;
    redlock_spec spec = reader_spec(LONG_TTL_MS), alone = spec_for(WANTED, LONG_TTL_MS);
    redlock_report report = detailed_report();
    char owner[REDLOCK_OWNER_MAX + 1];

    snprintf(owner, sizeof owner, "%s", redlock_lock_owner(left, NULL));
    redlock_lock_free(left);
    redlock_result result = redlock_adopt(client, &alone, owner, 0, &mine, &report);
    assert_result(REDLOCK_NOT_HELD, result, &report);
    assert_true(node_of(&report, 0).cause == REDLOCK_CAUSE_FOREIGN_TYPE ||
                node_of(&report, 1).cause == REDLOCK_CAUSE_FOREIGN_TYPE);
    assert_result(REDLOCK_OK, redlock_adopt(client, &spec, owner, 0, &mine, &report), &report);
    assert_result(REDLOCK_OK, redlock_extend(mine, LONG_TTL_MS, &report), &report);
    redlock_lock_free(mine);
    assert_result(REDLOCK_NOT_HELD, redlock_release_owner(client, WANTED, 0, owner, 0, &report), &report);
    assert_result(REDLOCK_OK, redlock_release_spec(client, &spec, owner, 0, &report), &report);
    assert_result(REDLOCK_OK, redlock_inspect(client, WANTED, 0, &report), &report);
    assert_int_equal(report.sharers, 1);
    give_back(first);
    redlock_client_close(client);
}

static void an_operator_breaks_the_share_that_was_named_and_no_other(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_lock *locks[3];
    redlock_break_spec spec = REDLOCK_BREAK_SPEC_INIT;
    redlock_report report = detailed_report();

    for (int i = 0; i < 3; i++)
        locks[i] = read_lock(client, LONG_TTL_MS);
    spec.name = WANTED;
    for (int i = 0; i < 2; i++) {
        spec.id = redlock_lock_owner(locks[i], NULL);
        spec.grace_ms = i == 0 ? 0 : REDLOCK_BREAK_NOW;
        assert_result(REDLOCK_OK, redlock_break(client, &spec, &report), &report);
    }
    assert_int_not_equal(redlock_extend(locks[0], 0, &report), REDLOCK_OK);
    assert_int_equal(report.broken, 1);
    assert_int_not_equal(redlock_extend(locks[1], 0, &report), REDLOCK_OK);
    assert_result(REDLOCK_OK, redlock_extend(locks[2], 0, &report), &report);
    expect_refused(client, REDLOCK_EXCLUSIVE, &report);
    give_back(locks[2]);
    redlock_lock_free(locks[0]);
    redlock_lock_free(locks[1]);
    give_back(await_lock(client, WANTED));
    redlock_client_close(client);
}

/* ---- many ---- */

static void print_counts(const struct counters_result *result)
{
    print_message("# %ld counted, %ld looked, %ld of them beside another, %d calls failed\n", result->claimed,
                  result->reads, result->beside, result->failures);
}

static void nobody_counts_while_others_look(void **state)
{
    struct counters_result result = counters_share(*state, 3, 9, false, LONG_TTL_MS, 2500, NULL);

    print_counts(&result);
    assert_int_equal(result.crashes, 0);
    assert_int_equal(result.overlaps, 0);
    assert_int_equal(result.counted, result.claimed);
    assert_true(result.claimed > 0);
    assert_true(result.beside > 0);
}

static void one_that_looks_without_the_lock_is_found(void **state)
{
    struct counters_result result = counters_share(*state, 3, 3, true, LONG_TTL_MS, 2500, NULL);

    assert_true(result.overlaps > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_GUARDED(readers_share_a_lock_and_keep_writers_out, start_three_guarded),
        ON_GUARDED(a_writer_keeps_readers_out, start_three_guarded),
        ON_GUARDED(plain_clients_are_refused_by_readers, start_three_guarded),
        ON_GUARDED(a_writer_in_line_goes_before_readers_that_come_later, start_five_guarded),
        ON_GUARDED(readers_up_to_the_next_writer_come_in_together, start_three_guarded),
        ON_GUARDED(a_reader_comes_in_when_the_writer_before_it_gives_up, start_three_guarded),
        ON_GUARDED(a_dead_readers_hold_ends_by_itself_beside_one_that_renews, start_three_guarded),
        ON_GUARDED(a_writer_follows_dead_readers_when_their_time_is_up, start_three_guarded),
        ON_GUARDED(an_owner_value_is_enough_to_go_on_with_a_share_and_to_give_it_back, start_three_guarded),
        ON_GUARDED(an_operator_breaks_the_share_that_was_named_and_no_other, start_three_guarded),
        ON_GUARDED(nobody_counts_while_others_look, start_five_guarded),
        ON_GUARDED(one_that_looks_without_the_lock_is_found, start_three_guarded),
    };

    setenv("REDLOCK_TEST_MODE", "guarded", 1); /* there is no other mode for them */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
