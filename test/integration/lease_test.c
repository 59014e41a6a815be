/*
 * Leases: renewal in the background, the one call of on_lost when it fails, and who stops being renewed when.
 * Times are compared with the library's own validity, generously.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/steps.h"

/* Short for a person and long for a busy machine. */
enum {
    SHORT_TTL_MS = 1500,
    OFTEN_MS = 200, /* between renewals of a lease that is long enough for a busy machine */
    LATE_MS = 3000
}; /* shorter leases are lost on a busy machine, and told of late */

/* What the callbacks saw. Static in every test, since a failed one leaves its lease behind. */
struct witness {
    atomic_int lost;
    atomic_int renewed;
    atomic_int renew_failed;
    atomic_llong lost_at_ms;
    atomic_llong valid_until_ms; /* as last promised */
    atomic_int result_when_lost;
    atomic_llong validity_when_lost_ms;
    _Atomic(redlock_lock *) lock;
};

static void note_lost(void *context, redlock_lock *lock, const redlock_report *report)
{
    struct witness *witness = context;

    atomic_store(&witness->lost_at_ms, now_ms());
    atomic_store(&witness->validity_when_lost_ms, redlock_lock_validity_ms(lock));
    atomic_store(&witness->result_when_lost, report != NULL ? (int)report->result : -1);
    atomic_store(&witness->lock, lock);
    atomic_fetch_add(&witness->lost, 1);
}

static void note_renewed(void *context, redlock_lock *lock, const redlock_report *report)
{
    struct witness *witness = context;

    if (report->result == REDLOCK_OK) {
        atomic_store(&witness->valid_until_ms, now_ms() + redlock_lock_validity_ms(lock));
        atomic_fetch_add(&witness->renewed, 1);
    } else {
        atomic_fetch_add(&witness->renew_failed, 1);
    }
}

static redlock_spec leased_spec(struct witness *witness, const char *name, uint32_t ttl_ms)
{
    redlock_spec spec = spec_for(name, ttl_ms);

    memset(witness, 0, sizeof(*witness));
    spec.auto_extend = 1;
    spec.on_lost = note_lost;
    spec.on_renewed = note_renewed;
    spec.context = witness;
    return spec;
}

/* ---- renewing ------------------------------------------------------------------------------------------ */

static void lease_outlives_its_ttl_many_times(void **state)
{
    static struct witness witness;
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));
    redlock_spec spec = leased_spec(&witness, "lease", SHORT_TTL_MS);

    redlock_lock *lock = take_spec(client, &spec);
    int64_t until_ms = now_ms() + 3 * SHORT_TTL_MS;
    while (now_ms() < until_ms) {
        assert_true(redlock_lock_validity_ms(lock) > 0);
        sleep_ms(20);
    }
    assert_true(atomic_load(&witness.renewed) >= 3);
    assert_int_equal(atomic_load(&witness.lost), 0);
    give_back(lock);
    int renewed = atomic_load(&witness.renewed);
    sleep_ms(SHORT_TTL_MS / 2);
    assert_int_equal(atomic_load(&witness.renewed), renewed);
    assert_int_equal(atomic_load(&witness.lost), 0);
    redlock_client_close(client);
}

static void lease_goes_on_while_a_minority_is_frozen(void **state)
{
    static struct witness witness;
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = leased_spec(&witness, "minority", LONG_TTL_MS);
    redlock_lock *lock;

    spec.renew_ms = OFTEN_MS;
    lock = take_spec(client, &spec);
    fleet_freeze(fleet, 0);
    fleet_freeze(fleet, 4);
    atomic_store(&witness.renewed, 0);
    await(atomic_load(&witness.renewed) >= 3);
    assert_true(redlock_lock_validity_ms(lock) > 0);
    assert_int_equal(atomic_load(&witness.lost), 0);
    give_back(lock);
    redlock_client_close(client);
}

static void many_leases_are_renewed_side_by_side(void **state)
{
    enum { LEASES = 100 };
    static struct witness witness;
    static redlock_lock *locks[LEASES];
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));
    redlock_spec spec = leased_spec(&witness, "", 2 * SHORT_TTL_MS);
    char name[32];

    spec.name = name;
    for (int i = 0; i < LEASES; i++) {
        snprintf(name, sizeof(name), "many:%d", i);
        locks[i] = take_spec(client, &spec);
    }
    sleep_ms(3 * SHORT_TTL_MS);
    for (int i = 0; i < LEASES; i++) {
        assert_true(redlock_lock_validity_ms(locks[i]) > 0);
        give_back(locks[i]);
    }
    assert_int_equal(atomic_load(&witness.lost), 0);
    redlock_client_close(client);
}

static void renewals_are_limited_in_number(void **state)
{
    static struct witness witness;
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));
    redlock_spec spec = leased_spec(&witness, "number", SHORT_TTL_MS);

    spec.max_extensions = 2;
    spec.renew_ms = 100;
    redlock_lock *lock = take_spec(client, &spec);
    await(atomic_load(&witness.lost) == 1);
    assert_int_equal(atomic_load(&witness.renewed), 2);
    assert_int_equal(redlock_lock_validity_ms(lock), 0);
    redlock_lock_free(lock);
    redlock_client_close(client);
}

static void lease_is_lost_at_its_maximum_age(void **state)
{
    static struct witness witness;
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));
    redlock_spec spec = leased_spec(&witness, "age", LONG_TTL_MS);

    spec.renew_ms = 100;
    spec.max_hold_ms = SHORT_TTL_MS;
    redlock_lock *lock = take_spec(client, &spec);
    await(atomic_load(&witness.lost) == 1);
    assert_true(atomic_load(&witness.renewed) >= 1);
    assert_int_equal(redlock_lock_validity_ms(lock), 0);
    /* Its keys would live for another minute; a lock that is lost by decision leaves nothing in the way. */
    assert_string_equal(fleet_leftovers(fleet, 5000), "");
    redlock_lock_free(lock);
    redlock_client_close(client);
}

/* ---- losing -------------------------------------------------------------------------------------------- */

/* Common to all losses: told once, in time, and never held again. */
static void assert_lost_once(struct witness *witness, redlock_lock *lock)
{
    await(redlock_lock_validity_ms(lock) == 0);
    await(atomic_load(&witness->lost) == 1);
    assert_true(atomic_load(&witness->lost_at_ms) <= atomic_load(&witness->valid_until_ms) + LATE_MS);
    assert_int_equal(atomic_load(&witness->validity_when_lost_ms), 0);
    assert_int_not_equal(atomic_load(&witness->result_when_lost), REDLOCK_OK);
    assert_ptr_equal(atomic_load(&witness->lock), lock);
    sleep_ms(SHORT_TTL_MS / 2);
    assert_int_equal(atomic_load(&witness->lost), 1);
    assert_int_equal(redlock_lock_validity_ms(lock), 0);
}

static void lease_is_lost_once_when_a_majority(void (*fault)(struct fleet *, int), struct fleet *fleet)
{
    static struct witness witness;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = leased_spec(&witness, "lost", SHORT_TTL_MS);

    redlock_lock *lock = take_spec(client, &spec);
    await(atomic_load(&witness.renewed) >= 1);
    for (int i = 0; i < 3; i++)
        fault(fleet, i);
    assert_lost_once(&witness, lock);
    for (int i = 0; i < 3; i++) {
        fleet_thaw(fleet, i);
        if (fleet_pid(fleet, i) == 0)
            assert_true(fleet_restart(fleet, i));
    }
    /* The nodes are back, and it stays lost. */
    await_all_nodes(client);
    admit_new_nodes(client);
    assert_result(REDLOCK_LOST, redlock_extend(lock, 0, NULL), NULL);
    assert_result(REDLOCK_LOST, redlock_release(lock, NULL), NULL);
    assert_int_equal(atomic_load(&witness.lost), 1);
    assert_int_equal(redlock_lock_validity_ms(lock), 0);
    redlock_lock_free(lock);
    give_back(take_lock(client, "lost", LONG_TTL_MS));
    redlock_client_close(client);
}

static void lease_is_lost_once_when_a_majority_is_killed(void **state)
{
    lease_is_lost_once_when_a_majority(fleet_kill, *state);
}

static void lease_is_lost_once_when_a_majority_is_frozen(void **state)
{
    lease_is_lost_once_when_a_majority(fleet_freeze, *state);
}

static void lease_is_lost_when_somebody_breaks_it(void **state)
{
    static struct witness witness;
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = leased_spec(&witness, "broken", SHORT_TTL_MS);

    redlock_lock *lock = take_spec(client, &spec);
    await(atomic_load(&witness.renewed) >= 1);
    for (int i = 0; i < 5; i++)
        fleet_command(fleet, i, "SET", "broken", "thief", NULL);
    assert_lost_once(&witness, lock);
    redlock_lock_free(lock);
    redlock_client_close(client);
    for (int i = 0; i < 5; i++) {
        assert_string_equal(fleet_command(fleet, i, "GET", "broken", NULL), "thief");
        fleet_command(fleet, i, "DEL", "broken", NULL);
    }
}

static void lock_without_renewal_is_lost_at_the_end_of_validity(void **state)
{
    static struct witness witness;
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));
    redlock_spec spec = leased_spec(&witness, "manual", SHORT_TTL_MS);

    spec.auto_extend = 0;
    redlock_lock *lock = take_spec(client, &spec);
    atomic_store(&witness.valid_until_ms, now_ms() + redlock_lock_validity_ms(lock));
    assert_lost_once(&witness, lock);
    assert_int_equal(atomic_load(&witness.renewed), 0);
    redlock_lock_free(lock);
    redlock_client_close(client);
}

/* on_lost may call anything but free of this lock and close: here it talks to the nodes. */
static void release_what_is_lost(void *context, redlock_lock *lock, const redlock_report *report)
{
    atomic_int *steps = context;
    redlock_report inner = REDLOCK_REPORT_INIT;

    (void)report;
    if (redlock_release(lock, &inner) == REDLOCK_LOST)
        atomic_fetch_add(steps, 1);
}

static void lost_callback_may_call_back(void **state)
{
    static atomic_int steps;
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));
    redlock_spec spec = spec_for("call-back", SHORT_TTL_MS);

    atomic_store(&steps, 0);
    spec.on_lost = release_what_is_lost;
    spec.context = &steps;
    redlock_lock *lock = take_spec(client, &spec);
    await(atomic_load(&steps) == 1);
    redlock_lock_free(lock);
    redlock_client_close(client);
}

/* ---- owners that go away ------------------------------------------------------------------------------- */

struct visitor {
    redlock_client *client;
    redlock_spec spec;
    redlock_lock *lock;
    redlock_result result;
};

static void *take_and_leave(void *context)
{
    struct visitor *visitor = context;

    visitor->result = redlock_try_acquire(visitor->client, &visitor->spec, &visitor->lock, NULL);
    return NULL;
}

static void run_visitor(struct visitor *visitor)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, take_and_leave, visitor), 0);
    pthread_join(thread, NULL);
    assert_result(REDLOCK_OK, visitor->result, NULL);
}

static void lock_of_a_thread_that_exits_is_not_renewed(void **state)
{
    static struct witness witness;
    struct fleet *fleet = *state;
    struct visitor visitor = {.client = open_client(fleet_urls(fleet)),
                              .spec = leased_spec(&witness, "visitor", SHORT_TTL_MS)};

    run_visitor(&visitor);
    assert_string_equal(fleet_leftovers(fleet, 10000), "");
    assert_int_equal(redlock_lock_validity_ms(visitor.lock), 0);
    redlock_lock_free(visitor.lock);
    redlock_client_close(visitor.client);
}

static void unbound_lock_of_a_thread_that_exits_goes_on(void **state)
{
    static struct witness witness;
    struct fleet *fleet = *state;
    struct visitor visitor = {.client = open_client(fleet_urls(fleet)),
                              .spec = leased_spec(&witness, "unbound", LONG_TTL_MS)};

    visitor.spec.unbound = 1;
    visitor.spec.renew_ms = OFTEN_MS;
    run_visitor(&visitor);
    atomic_store(&witness.renewed, 0);
    await(atomic_load(&witness.renewed) >= 3);
    assert_true(redlock_lock_validity_ms(visitor.lock) > 0);
    assert_int_equal(atomic_load(&witness.lost), 0);
    give_back(visitor.lock);
    redlock_client_close(visitor.client);
}

static void thread_that_released_before_it_exits_leaves_no_trace(void **state)
{
    static struct witness witness;
    struct fleet *fleet = *state;
    struct visitor visitor = {.client = open_client(fleet_urls(fleet)),
                              .spec = leased_spec(&witness, "clean", LONG_TTL_MS)};

    for (int i = 0; i < 20; i++) {
        run_visitor(&visitor);
        give_back(visitor.lock);
    }
    assert_int_equal(atomic_load(&witness.lost), 0);
    redlock_client_close(visitor.client);
}

static void freed_lock_stays_until_its_ttl_ends(void **state)
{
    static struct witness witness;
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = leased_spec(&witness, "freed", 2 * SHORT_TTL_MS);
    redlock_lock *none = NULL;

    redlock_lock *lock = take_spec(client, &spec);
    redlock_lock_free(lock);
    assert_result(REDLOCK_BUSY, redlock_try_acquire(client, &spec, &none, NULL), NULL);
    for (int i = 0; i < 5; i++)
        await(fleet_key_count(fleet, i) == 1);
    assert_string_equal(fleet_leftovers(fleet, 10000), "");
    /* Freed before it was lost: there is nobody left to tell. */
    assert_int_equal(atomic_load(&witness.lost), 0);
    redlock_client_close(client);
}

static void closed_client_lets_held_locks_expire(void **state)
{
    static struct witness witness;
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = leased_spec(&witness, "closed", 2 * SHORT_TTL_MS);

    redlock_lock *lock = take_spec(client, &spec);
    redlock_lock *other = take_lock(client, "closed-too", 2 * SHORT_TTL_MS);
    for (int i = 0; i < 5; i++)
        await(fleet_key_count(fleet, i) == 2);
    redlock_client_close(client);
    for (int i = 0; i < 5; i++)
        assert_int_equal(fleet_key_count(fleet, i), 2);
    assert_result(REDLOCK_MISUSE, redlock_extend(lock, 0, NULL), NULL);
    assert_result(REDLOCK_MISUSE, redlock_release(lock, NULL), NULL);
    assert_string_equal(redlock_lock_name(lock, NULL), "closed");
    redlock_lock_free(lock);
    redlock_lock_free(other);
    assert_string_equal(fleet_leftovers(fleet, 10000), "");
}

/* ---- told first ---------------------------------------------------------------------------------------- */

struct gate {
    atomic_int entered, open;
};

static void wait_at_gate(void *context, redlock_lock *lock, const redlock_report *report)
{
    struct gate *gate = context;

    (void)lock;
    (void)report;
    atomic_store(&gate->entered, 1);
    for (int i = 0; i < 1000 && atomic_load(&gate->open) == 0; i++)
        sleep_ms(10);
}

static redlock_lock *hold_briefly(redlock_client *client, struct gate *gate)
{
    redlock_spec spec = spec_for("lease", LONG_TTL_MS);

    spec.auto_extend = 1;
    spec.max_hold_ms = SHORT_TTL_MS;
    spec.on_lost = wait_at_gate;
    spec.context = gate;
    return take_spec(client, &spec);
}

/* Its TTL is far from over, so only we could let the next one in. */
static void nobody_gets_a_lost_lock_while_its_holder_is_being_told(void **state)
{
    static struct gate gate;
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet)), *another = open_client(fleet_urls(fleet));
    redlock_lock *lock = hold_briefly(client, &gate), *next = NULL;
    redlock_spec spec = spec_for("lease", SHORT_TTL_MS);

    await(atomic_load(&gate.entered) == 1);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(redlock_try_acquire(another, &spec, &next, NULL), REDLOCK_BUSY);
        sleep_ms(10);
    }
    atomic_store(&gate.open, 1);
    assert_int_equal(redlock_acquire(another, &spec, LONG_TTL_MS / 2, &next, NULL), REDLOCK_OK);
    give_back(next);
    redlock_lock_free(lock);
    redlock_client_close(another);
    redlock_client_close(client);
}

static uint64_t count_lost(redlock_client *client)
{
    redlock_stats stats = REDLOCK_STATS_INIT;

    assert_int_equal(redlock_client_stats(client, &stats), REDLOCK_OK);
    return stats.lost;
}

/* The first lock's callback keeps the notifier busy; the loss of the second is told by the close, and its key
 * is let go. */
static void a_loss_that_waits_to_be_told_is_told_by_the_close(void **state)
{
    static struct gate gate;
    static struct witness witness;
    struct fleet *fleet = *state;
    redlock_client *client = open_client(fleet_urls(fleet));
    redlock_lock *first = hold_briefly(client, &gate), *second;
    redlock_spec spec = leased_spec(&witness, "second", LONG_TTL_MS);

    spec.max_hold_ms = SHORT_TTL_MS;
    second = take_spec(client, &spec);
    await(atomic_load(&gate.entered) == 1 && count_lost(client) == 2);
    assert_int_equal(atomic_load(&witness.lost), 0);
    atomic_store(&gate.open, 1);
    redlock_client_close(client);
    assert_int_equal(atomic_load(&witness.lost), 1);
    redlock_lock_free(first);
    redlock_lock_free(second);
    assert_string_equal(fleet_leftovers(fleet, 5000), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_NODES(lease_outlives_its_ttl_many_times, start_three_nodes),
        ON_NODES(lease_goes_on_while_a_minority_is_frozen, start_five_nodes),
        ON_NODES(many_leases_are_renewed_side_by_side, start_three_nodes),
        ON_NODES(renewals_are_limited_in_number, start_three_nodes),
        ON_NODES(lease_is_lost_at_its_maximum_age, start_three_nodes),
        ON_NODES(lease_is_lost_once_when_a_majority_is_killed, start_five_nodes),
        ON_NODES(lease_is_lost_once_when_a_majority_is_frozen, start_five_nodes),
        ON_NODES(lease_is_lost_when_somebody_breaks_it, start_five_nodes),
        ON_NODES(lock_without_renewal_is_lost_at_the_end_of_validity, start_three_nodes),
        ON_NODES(lost_callback_may_call_back, start_three_nodes),
        ON_NODES(lock_of_a_thread_that_exits_is_not_renewed, start_three_nodes),
        ON_NODES(unbound_lock_of_a_thread_that_exits_goes_on, start_three_nodes),
        ON_NODES(thread_that_released_before_it_exits_leaves_no_trace, start_three_nodes),
        ON_NODES(freed_lock_stays_until_its_ttl_ends, start_five_nodes),
        ON_NODES(closed_client_lets_held_locks_expire, start_five_nodes),
        ON_NODES(nobody_gets_a_lost_lock_while_its_holder_is_being_told, start_three_nodes),
        ON_NODES(a_loss_that_waits_to_be_told_is_told_by_the_close, start_three_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
