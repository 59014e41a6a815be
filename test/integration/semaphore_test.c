/*
 * Semaphores on real nodes: never more inside than there are slots, each slot with one holder, one line for
 * all of them, and what is refused. The same with nodes that are killed and wiped is in semaphore_slow_test.
 */
#include <stdio.h>
#include <string.h>

#include "support/guarded.h"
#include "support/line.h"
#include "support/permits.h"
#include "support/steps.h"
#include "support/waiters.h"

enum {
    SLOTS = 3,
    TTL_MS = 10000,
    APART_MS = 120 /* those who came so closely may come in in another order */
};

static redlock_spec slots_of(uint32_t permits)
{
    redlock_spec spec = spec_for(WANTED, TTL_MS);

    spec.kind = REDLOCK_SEMAPHORE;
    spec.permits = permits;
    return spec;
}

static redlock_lock *take_slot(redlock_client *client, uint32_t permits)
{
    redlock_spec spec = slots_of(permits);

    return take_spec(client, &spec);
}

static void expect_refusal_of(redlock_result expected, redlock_client *client, const redlock_spec *spec,
                              int64_t wait_ms, const char *words)
{
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;
    redlock_lock *lock = NULL;
    redlock_result result;
    bool said;

    report.details = redlock_details_new(NULL);
    result = redlock_acquire(client, spec, wait_ms, &lock, &report);
    said = strstr(report.line, words) != NULL;
    assert_result(expected, result, &report);
    assert_null(lock);
    for (uint32_t i = 0; !said && redlock_report_node(&report, i, &node); i++)
        said = strstr(node.detail, words) != NULL;
    if (!said)
        fail_msg("neither \"%s\" nor any node says \"%s\"", report.line, words);
    redlock_details_free(report.details);
}

static void expect_refusal(redlock_result expected, redlock_client *client, const redlock_spec *spec,
                           const char *words)
{
    expect_refusal_of(expected, client, spec, 0, words);
}

static void as_many_as_there_are_slots_come_in(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), TTL_MS);
    redlock_spec spec = slots_of(SLOTS);
    redlock_lock *locks[SLOTS];
    unsigned seen = 0;

    for (int i = 0; i < SLOTS; i++) {
        locks[i] = take_slot(client, SLOTS);
        assert_in_range(redlock_lock_slot(locks[i]), 0, SLOTS - 1);
        seen |= 1U << redlock_lock_slot(locks[i]);
    }
    assert_int_equal(seen, (1U << SLOTS) - 1);
    expect_refusal(REDLOCK_BUSY, client, &spec, "");
    give_back(locks[1]);
    locks[1] = take_slot(client, SLOTS);
    for (int i = 0; i < SLOTS; i++)
        give_back(locks[i]);
    redlock_client_close(client);
}

static void fences_rise_from_slot_to_slot(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), TTL_MS);
    uint64_t before = 0;

    for (int i = 0; i < 20; i++) {
        redlock_lock *lock = i % 5 == 4 ? take_lock(client, WANTED, TTL_MS) : take_slot(client, SLOTS);

        assert_true(redlock_lock_fence(lock) > before);
        before = redlock_lock_fence(lock);
        give_back(lock);
    }
    redlock_client_close(client);
}

static void a_release_lets_in_the_first_of_one_line(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *holder = line_open(fleet_urls(fleet));
    redlock_spec spec = slots_of(SLOTS);
    redlock_lock *locks[SLOTS];
    struct waiter waiters[2 * SLOTS];

    admit_all_nodes(holder);
    for (int i = 0; i < SLOTS; i++)
        locks[i] = take_slot(holder, SLOTS);
    for (int i = 0; i < 2 * SLOTS; i++) {
        start_waiting_for(&waiters[i], line_open(fleet_urls(fleet)), &spec);
        await(line_is(fleet, i + 1));
        sleep_ms(APART_MS);
    }
    for (int i = 0; i < 2 * SLOTS; i++) {
        int32_t slot = redlock_lock_slot(i < SLOTS ? locks[SLOTS - 1 - i] : waiters[i - SLOTS].lock);

        give_back(i < SLOTS ? locks[SLOTS - 1 - i] : waiters[i - SLOTS].lock);
        await_end(&waiters[i], REDLOCK_OK);
        assert_int_equal(redlock_lock_slot(waiters[i].lock), slot);
        for (int later = i + 1; later < 2 * SLOTS; later++)
            assert_int_equal(atomic_load(&waiters[later].done), 0);
    }
    for (int i = SLOTS; i < 2 * SLOTS; i++)
        give_back(waiters[i].lock);
    for (int i = 0; i < 2 * SLOTS; i++)
        redlock_client_close(waiters[i].client);
    redlock_client_close(holder);
}

/* Of one client only as many as there are slots deal with the nodes; the others come in the order of
 * asking. */
static void callers_of_one_client_queue_for_slots(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = line_open(fleet_urls(fleet)), *other = line_open(fleet_urls(fleet));
    redlock_spec spec = slots_of(SLOTS);
    redlock_lock *elsewhere, *locks[SLOTS - 1];
    struct waiter waiters[2 * SLOTS];

    admit_all_nodes(client);
    elsewhere = take_slot(other, SLOTS);
    for (int i = 0; i < SLOTS - 1; i++)
        locks[i] = take_slot(client, SLOTS);
    for (int i = 0; i < 2 * SLOTS; i++)
        start_waiting_for(&waiters[i], client, &spec);
    await(line_is(fleet, 1)); /* the slot that the other client has might be theirs */
    cancel_wait(&waiters[3]);
    for (int i = 0; i < SLOTS; i++) {
        give_back(i < SLOTS - 1 ? locks[i] : elsewhere);
        await_end(&waiters[i], REDLOCK_OK);
    }
    for (int i = 4; i < 2 * SLOTS; i++) {
        assert_int_equal(atomic_load(&waiters[i].done), 0);
        await(line_is(fleet, 0));
        give_back(waiters[i - 4].lock);
        await_end(&waiters[i], REDLOCK_OK);
    }
    give_back(waiters[2].lock);
    for (int i = 4; i < 2 * SLOTS; i++)
        give_back(waiters[i].lock);
    redlock_client_close(other);
    redlock_client_close(client);
}

static void a_caller_that_times_out_in_the_queue_is_told_who_has_a_slot(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), TTL_MS);
    redlock_spec spec = slots_of(1), more = slots_of(2);
    redlock_lock *lock = take_slot(client, 1), *next = NULL;
    redlock_report report = REDLOCK_REPORT_INIT;

    assert_result(REDLOCK_TIMEOUT, redlock_acquire(client, &spec, 100, &next, &report), &report);
    assert_memory_equal(report.holder.id, redlock_lock_owner(lock, NULL), 8);
    /* They do not queue behind each other: it is the nodes that refuse it. */
    assert_result(REDLOCK_FOREIGN_TYPE, redlock_acquire(client, &more, TTL_MS, &next, &report), &report);
    give_back(lock);
    redlock_client_close(client);
}

static void the_slot_of_a_holder_that_died_goes_to_the_first_in_line(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), TTL_MS);
    redlock_spec spec = slots_of(2), brief = slots_of(2);
    redlock_lock *lasting = take_slot(client, 2), *dead, *next = NULL;
    int32_t slot;

    brief.ttl_ms = 500;
    dead = take_spec(client, &brief);
    slot = redlock_lock_slot(dead);
    redlock_lock_free(dead); /* nobody will release it */
    assert_result(REDLOCK_OK, redlock_acquire(client, &spec, 30000, &next, NULL), NULL);
    assert_int_equal(redlock_lock_slot(next), slot);
    give_back(next);
    give_back(lasting);
    redlock_client_close(client);
}

/* Its release is not the one by which a holder keeps its slot and gives back others. */
static void a_slot_that_was_lost_is_given_back_at_once(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    redlock_spec brief = slots_of(1), spec = slots_of(1);
    redlock_lock *lost, *next = NULL;

    brief.ttl_ms = LONG_TTL_MS;
    brief.max_hold_ms = 100;
    brief.on_lost = ignore_loss;
    lost = take_spec(client, &brief);
    assert_result(REDLOCK_OK, redlock_acquire(client, &spec, LONG_TTL_MS / 2, &next, NULL), NULL);
    give_back(next);
    redlock_lock_free(lost);
    redlock_client_close(client);
}

static void a_slot_is_gone_on_with_and_given_back_by_its_owner_value(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), TTL_MS);
    redlock_spec spec = slots_of(SLOTS);
    redlock_lock *lock = take_slot(client, SLOTS), *other = take_slot(client, SLOTS), *adopted = NULL;
    int32_t slot = redlock_lock_slot(lock);
    char owner[REDLOCK_OWNER_MAX + 1];

    snprintf(owner, sizeof owner, "%s", redlock_lock_owner(lock, NULL));
    redlock_lock_free(lock);
    assert_result(REDLOCK_OK, redlock_adopt(client, &spec, owner, 0, &adopted, NULL), NULL);
    assert_int_equal(redlock_lock_slot(adopted), slot);
    assert_result(REDLOCK_OK, redlock_extend(adopted, 5000, NULL), NULL);
    redlock_lock_free(adopted);
    assert_result(REDLOCK_OK, redlock_release_spec(client, &spec, owner, 0, NULL), NULL);
    assert_result(REDLOCK_NOT_HELD, redlock_release_spec(client, &spec, owner, 0, NULL), NULL);
    give_back(other);
    redlock_client_close(client);
}

#define SLOT_KEY(slot) "redlock-line:{" WANTED "}:slot:" slot

/* A node may have lost the slot, or its owner may have given it back for another one: the name would be in
 * use there for the whole TTL. */
static void a_release_frees_the_name_where_the_slot_was_gone(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    redlock_spec spec = slots_of(1);
    redlock_lock *lock;

    spec.ttl_ms = LONG_TTL_MS;
    lock = take_spec(client, &spec);
    await(strcmp(fleet_command(fleet, 0, "DEL", SLOT_KEY("1"), NULL), "1") == 0);
    assert_string_equal(fleet_command(fleet, 0, "EXISTS", WANTED, NULL), "1");
    give_back(lock);
    await(strcmp(fleet_command(fleet, 0, "EXISTS", WANTED, NULL), "0") == 0);
    redlock_client_close(client);
}

/* A node that has the owner in another slot than the others is outvoted, whichever answers first; what it has
 * goes back, and the slot that a quorum has does not. */
static void the_slot_that_a_quorum_has_is_adopted(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    redlock_spec spec = slots_of(SLOTS);
    redlock_report report = REDLOCK_REPORT_INIT;

    for (int odd = 0; odd < fleet_size(fleet); odd++) {
        redlock_lock *lock = take_slot(client, SLOTS), *adopted = NULL;
        const char *own_key = redlock_lock_slot(lock) == 2 ? SLOT_KEY("3") : SLOT_KEY("1");
        const char *other_key = redlock_lock_slot(lock) == 2 ? SLOT_KEY("1") : SLOT_KEY("3");
        int32_t slot = redlock_lock_slot(lock);
        char owner[REDLOCK_OWNER_MAX + 1];

        if (slot == 1)
            own_key = SLOT_KEY("2");
        snprintf(owner, sizeof owner, "%s", redlock_lock_owner(lock, NULL));
        await_all_nodes(client);
        redlock_lock_free(lock);
        fleet_command(fleet, odd, "RENAME", own_key, other_key, NULL);
        assert_result(REDLOCK_OK, redlock_adopt(client, &spec, owner, 0, &adopted, &report), &report);
        assert_int_equal(redlock_lock_slot(adopted), slot);
        await(strcmp(fleet_command(fleet, odd, "GET", other_key, NULL), "(nil)") == 0);
        for (int node = 0; node < fleet_size(fleet); node++)
            if (node != odd)
                assert_string_equal(fleet_command(fleet, node, "GET", own_key, NULL), owner);
        give_back(adopted);
    }
    redlock_client_close(client);
}

/* No slot is on a quorum: there is nothing to go on with. */
static void slots_that_differ_from_node_to_node_are_not_adopted(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    redlock_spec spec = slots_of(SLOTS);
    redlock_lock *lock = take_slot(client, SLOTS), *adopted = NULL;
    const char *keys[] = {SLOT_KEY("1"), SLOT_KEY("2"), SLOT_KEY("3")};
    const char *own_key = keys[redlock_lock_slot(lock)];
    char owner[REDLOCK_OWNER_MAX + 1];

    snprintf(owner, sizeof owner, "%s", redlock_lock_owner(lock, NULL));
    await_all_nodes(client);
    redlock_lock_free(lock);
    for (int node = 0; node < fleet_size(fleet); node++)
        if (strcmp(own_key, keys[node]) != 0)
            fleet_command(fleet, node, "RENAME", own_key, keys[node], NULL);
    assert_result(REDLOCK_NOT_HELD, redlock_adopt(client, &spec, owner, 0, &adopted, NULL), NULL);
    assert_null(adopted);
    redlock_client_close(client);
}

static void another_number_of_slots_or_another_kind_is_refused_by_name(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), TTL_MS);
    redlock_spec four = slots_of(4), alone = spec_for(WANTED, TTL_MS);
    redlock_lock *lock = take_slot(client, 2);

    expect_refusal(REDLOCK_FOREIGN_TYPE, client, &four, "semaphore of 2 slots");
    expect_refusal(REDLOCK_FOREIGN_TYPE, client, &alone, "semaphore of 2 slots");
    expect_refusal_of(REDLOCK_FOREIGN_TYPE, client, &four, REDLOCK_WAIT_FOREVER, "semaphore of 2 slots");
    expect_refusal_of(REDLOCK_FOREIGN_TYPE, client, &alone, REDLOCK_WAIT_FOREVER, "semaphore of 2 slots");
    give_back(lock);
    lock = take_slot(client, 4); /* nobody has it: it may have another number of slots */
    give_back(lock);
    lock = take_spec(client, &alone);
    expect_refusal(REDLOCK_FOREIGN_TYPE, client, &four, "exclusive lock");
    give_back(lock);
    redlock_client_close(client);
}

/* Its key lasted for as long as the longest of its slots ever was to, so others were refused for a minute by
 * a name that nobody had. */
static void a_name_is_free_when_the_slots_that_are_left_have_ended(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    redlock_spec brief = slots_of(3), longer = slots_of(3), alone = spec_for(WANTED, TTL_MS);
    redlock_lock *left, *other, *lock = NULL;

    brief.ttl_ms = 500;
    longer.ttl_ms = LONG_TTL_MS;
    left = take_spec(client, &brief);
    lock = take_spec(client, &longer);
    other = take_spec(client, &longer);
    give_back(lock);
    give_back(other);
    redlock_lock_free(left); /* as if its process had been killed */
    await(redlock_try_acquire(client, &alone, &lock, NULL) == REDLOCK_OK);
    give_back(lock);
    redlock_client_close(client);
}

/* Somebody who waits for a slot does not make others wait for something that they cannot have. */
static void another_kind_is_refused_where_a_line_is_as_well(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), TTL_MS);
    redlock_spec one = slots_of(1), alone = spec_for(WANTED, TTL_MS);
    redlock_lock *lock = take_slot(client, 1);
    struct waiter waiter;

    start_waiting_for(&waiter, line_open(fleet_urls(fleet)), &one);
    await(line_is(fleet, 1));
    expect_refusal_of(REDLOCK_FOREIGN_TYPE, client, &alone, REDLOCK_WAIT_FOREVER, "semaphore of 1 slots");
    give_back(lock);
    have_it_and_close(&waiter);
    redlock_client_close(client);
}

static void numbers_of_slots_that_make_no_sense_are_refused(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), TTL_MS);
    redlock_spec none = slots_of(0), many = slots_of(10000), lock = spec_for(WANTED, TTL_MS);

    lock.permits = 2;
    expect_refusal(REDLOCK_INVALID, client, &none, "at least one slot");
    expect_refusal(REDLOCK_INVALID, client, &many, "above 1000");
    expect_refusal(REDLOCK_INVALID, client, &lock, "REDLOCK_SEMAPHORE");
    redlock_client_close(client);
}

static void sixteen_processes_are_never_more_than_the_slots(void **state)
{
    struct permits_result result =
        permits_run(*state, &(struct permits_config){.processes = 16, .permits = 3, .duration_ms = 2500});

    assert_int_equal(result.crashes, 0);
    assert_int_equal(result.crowded, 0);
    assert_int_equal(result.doubled, 0);
    assert_int_equal(result.failures, 0);
    assert_int_equal(result.most, 3);
    print_message("# %ld turns\n", result.turns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_GUARDED(as_many_as_there_are_slots_come_in, start_five_guarded),
        ON_GUARDED(fences_rise_from_slot_to_slot, start_three_guarded),
        ON_GUARDED(a_release_lets_in_the_first_of_one_line, start_five_guarded),
        ON_GUARDED(callers_of_one_client_queue_for_slots, start_three_guarded),
        ON_GUARDED(a_caller_that_times_out_in_the_queue_is_told_who_has_a_slot, start_three_guarded),
        ON_GUARDED(the_slot_of_a_holder_that_died_goes_to_the_first_in_line, start_three_guarded),
        ON_GUARDED(a_slot_that_was_lost_is_given_back_at_once, start_three_guarded),
        ON_GUARDED(a_slot_is_gone_on_with_and_given_back_by_its_owner_value, start_five_guarded),
        ON_GUARDED(a_release_frees_the_name_where_the_slot_was_gone, start_three_guarded),
        ON_GUARDED(the_slot_that_a_quorum_has_is_adopted, start_three_guarded),
        ON_GUARDED(slots_that_differ_from_node_to_node_are_not_adopted, start_three_guarded),
        ON_GUARDED(another_number_of_slots_or_another_kind_is_refused_by_name, start_three_guarded),
        ON_GUARDED(a_name_is_free_when_the_slots_that_are_left_have_ended, start_three_guarded),
        ON_GUARDED(another_kind_is_refused_where_a_line_is_as_well, start_three_guarded),
        ON_GUARDED(numbers_of_slots_that_make_no_sense_are_refused, start_one_guarded),
        ON_GUARDED(sixteen_processes_are_never_more_than_the_slots, start_five_guarded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
