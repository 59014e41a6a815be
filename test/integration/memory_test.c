/*
 * Memory: an allocation that fails, whichever it is, leaks nothing, breaks nothing and leaves no key behind;
 * and a client that has warmed up allocates nothing at all.
 */
#include <stdio.h>
#include <string.h>

#include "support/counting_allocator.h"
#include "support/steps.h"

enum { ALLOCATIONS_MAX = 2000 };

/* One client's life with the n-th allocation failing. Returns how many failed. */
struct life {
    struct counting_allocator counting;
    struct fleet *fleet;
    bool alone; /* only the n-th fails, not those after it */
};

/* Without memory a node may not be reachable either; with all later allocations failing there may be no
 * quorum. */
static void assert_fair(const struct life *life, redlock_result result)
{
    if (result == REDLOCK_OK || result == REDLOCK_NOMEM)
        return;
    if (!life->alone && result == REDLOCK_NO_QUORUM)
        return;
    /* The operator's word did not reach the nodes for want of memory. */
    if (is_guarded() && result == REDLOCK_QUARANTINE)
        return;
    fail_msg("\"%s\" is no answer to a lack of memory", redlock_result_name(result));
}

static void note_lost(void *context, redlock_lock *lock, const redlock_report *report)
{
    (void)context;
    (void)lock;
    (void)report;
}

struct outcome {
    atomic_int calls;
    _Atomic(redlock_lock *) lock;
};

static void note_acquired(void *context, redlock_result result, redlock_lock *lock,
                          const redlock_report *report)
{
    struct outcome *outcome = context;

    (void)result;
    (void)report;
    atomic_store(&outcome->lock, lock);
    atomic_fetch_add(&outcome->calls, 1);
}

static void live_with_a_lock(struct life *life, redlock_client *client)
{
    redlock_spec spec = spec_for("memory", LONG_TTL_MS);
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_lock *lock = NULL;

    spec.auto_extend = 1;
    spec.on_lost = note_lost;
    redlock_result result = redlock_acquire(client, &spec, life->alone ? 10000 : 0, &lock, &report);
    assert_fair(life, result);
    assert_int_equal(report.result, result);
    if (result != REDLOCK_OK) {
        assert_null(lock);
        return;
    }
    assert_fair(life, redlock_extend(lock, 0, NULL));
    assert_fair(life, redlock_examine(client, NULL));
    result = redlock_release(lock, NULL);
    assert_fair(life, result);
    redlock_lock_free(lock);
}

static int pass(void *context, const redlock_listed *lock)
{
    (void)context;
    (void)lock;
    return 0;
}

static int end_watch(void *context, const redlock_event *event)
{
    (void)context;
    (void)event;
    return 1;
}

/* What operators do. A list without memory to send a page, or to keep one, is not complete. */
static void operate(struct life *life, redlock_client *client)
{
    redlock_break_spec breaks = REDLOCK_BREAK_SPEC_INIT;
    redlock_list_spec watched = REDLOCK_LIST_SPEC_INIT;
    redlock_lock *lock = NULL;
    redlock_spec spec = spec_for("operated", LONG_TTL_MS);
    redlock_result result = redlock_try_acquire(client, &spec, &lock, NULL);
    char id[9] = "";

    if (result != REDLOCK_OK)
        return;
    memcpy(id, redlock_lock_owner(lock, NULL), 8);
    result = redlock_list(client, NULL, pass, NULL, NULL);
    if (result != REDLOCK_NO_QUORUM)
        assert_fair(life, result);
    watched.name = "operated";
    result = redlock_watch(client, &watched, end_watch, NULL, NULL);
    if (result != REDLOCK_CANCELED)
        assert_fair(life, result);
    breaks.name = "operated";
    breaks.id = id;
    breaks.grace_ms = REDLOCK_BREAK_NOW;
    result = redlock_break(client, &breaks, NULL);
    if (result != REDLOCK_NO_QUORUM)
        assert_fair(life, result);
    redlock_release(lock, NULL);
    redlock_lock_free(lock);
}

static void live_asynchronously(struct life *life, redlock_client *client)
{
    static struct outcome outcome;
    redlock_spec spec = spec_for("memory-async", LONG_TTL_MS);

    atomic_store(&outcome.calls, 0);
    atomic_store(&outcome.lock, NULL);
    redlock_result result = redlock_acquire_async(client, &spec, 0, note_acquired, &outcome, NULL);
    assert_true(result == REDLOCK_OK || result == REDLOCK_NOMEM);
    if (result != REDLOCK_OK)
        return;
    await(atomic_load(&outcome.calls) == 1);
    redlock_lock *lock = atomic_load(&outcome.lock);
    if (lock == NULL)
        return;
    assert_fair(life, redlock_release(lock, NULL));
    redlock_lock_free(lock);
}

static uint64_t live(struct life *life, uint64_t nth)
{
    redlock_options options = options_for(fleet_urls(life->fleet));
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_client *client = (redlock_client *)&report;

    counting_allocator_init(&life->counting);
    counting_allocator_fail(&life->counting, nth, !life->alone);
    options.allocator = &life->counting.allocator;
    redlock_result result = redlock_client_open(&options, &client, &report);
    if (result == REDLOCK_OK) {
        live_with_a_lock(life, client);
        live_asynchronously(life, client);
        operate(life, client);
        redlock_client_close(client);
    } else {
        assert_result(REDLOCK_NOMEM, result, &report);
        assert_null(client);
    }
    struct allocation_counts counts = counting_allocator_counts(&life->counting);
    assert_int_equal(counts.mistakes, 0);
    if (counts.live_blocks != 0)
        fail_msg("%llu blocks of %llu bytes leaked", (unsigned long long)counts.live_blocks,
                 (unsigned long long)counts.live_bytes);
    counting_allocator_destroy(&life->counting);
    return counts.failed;
}

static void fail_every_allocation(struct fleet *fleet, bool alone)
{
    static struct life life;
    uint64_t nth = 1;

    life = (struct life){.fleet = fleet, .alone = alone};
    while (nth < ALLOCATIONS_MAX && live(&life, nth) > 0) {
        const char *leftovers = fleet_leftovers(fleet, 5000);
        if (leftovers[0] != '\0')
            fail_msg("after the failure of allocation %d: %s", (int)nth, leftovers);
        nth++;
    }
    print_message("# %d allocations in a client's life\n", (int)nth - 1);
    assert_in_range(nth, 2, ALLOCATIONS_MAX - 1);
}

static void count_call(void *context, redlock_result result, const redlock_report *report)
{
    (void)report;
    assert_int_equal(result, REDLOCK_NOT_HELD);
    atomic_fetch_add((atomic_int *)context, 1);
}

/* The release goes out all the same, but no call waits for what comes of it. */
static void release_without_memory_ends_the_extensions_under_way(void **state)
{
    static struct counting_allocator counting;
    static atomic_int calls;
    struct fleet *fleet = *state;
    redlock_options options = options_for(fleet_urls(fleet));
    redlock_spec spec = spec_for("memory-extend", LONG_TTL_MS);
    int begun = 0;

    counting_allocator_init(&counting);
    options.allocator = &counting.allocator;
    redlock_client *client = open_with(&options);
    await_all_nodes(client);
    spec.reentrant = 1;
    redlock_lock *lock = take_spec(client, &spec);
    for (int i = 0; i < fleet_size(fleet); i++)
        fleet_freeze(fleet, i);
    atomic_store(&calls, 0);
    counting_allocator_fail(&counting, 1, true);
    while (redlock_extend_async(lock, 0, count_call, &calls, NULL) == REDLOCK_OK)
        begun++;
    assert_in_range(begun, 1, 100);
    assert_result(REDLOCK_NOMEM, redlock_release(lock, NULL), NULL);
    counting_allocator_fail(&counting, 0, false);
    await(atomic_load(&calls) == begun);
    for (int i = 0; i < fleet_size(fleet); i++)
        fleet_thaw(fleet, i);
    give_back(take_spec(client, &spec)); /* its owner is inside no more */
    redlock_lock_free(lock);
    redlock_client_close(client);
    assert_string_equal(fleet_leftovers(fleet, 5000), "");
    assert_int_equal(counting_allocator_counts(&counting).live_blocks, 0);
    counting_allocator_destroy(&counting);
}

static void any_single_allocation_may_fail(void **state)
{
    fail_every_allocation(*state, true);
}

static void memory_may_run_out_at_any_time(void **state)
{
    fail_every_allocation(*state, false);
}

/* ---- without any --------------------------------------------------------------------------------------- */

static redlock_client *open_counted(struct fleet *fleet, struct counting_allocator *counting)
{
    redlock_options options = options_for(fleet_urls(fleet));

    counting_allocator_init(counting);
    options.allocator = &counting->allocator;
    return open_with(&options);
}

/* A lone caller is served by the fastest nodes, and what the others have not answered takes room. So all of
 * them are given the time to catch up now and then. */
static void lock_some_pairs(redlock_client *client, int count)
{
    for (int i = 0; i < count; i++) {
        if (i % 10 == 0)
            await_all_nodes(client);
        redlock_lock *lock = take_lock(client, i % 2 == 0 ? "warm" : "a:somewhat:longer:name", LONG_TTL_MS);
        assert_result(REDLOCK_OK, redlock_extend(lock, 0, NULL), NULL);
        give_back(lock);
    }
}

/* Not warm before some nodes have once lagged as far behind as they ever will here. */
static void warm_up(redlock_client *client, struct fleet *fleet)
{
    int minority = fleet_size(fleet) - quorum_of(fleet);

    await_all_nodes(client);
    for (int i = 0; i < minority; i++)
        fleet_freeze(fleet, i);
    for (int i = 0; i < 30; i++)
        give_back(take_lock(client, "a:somewhat:longer:name", LONG_TTL_MS));
    for (int i = 0; i < minority; i++)
        fleet_thaw(fleet, i);
    lock_some_pairs(client, 100);
}

static void warm_client_allocates_nothing(void **state)
{
    static struct counting_allocator counting;
    struct fleet *fleet = *state;
    redlock_client *client = open_counted(fleet, &counting);

    warm_up(client, fleet);
    uint64_t before = counting_allocator_counts(&counting).requests;
    lock_some_pairs(client, 1000);
    assert_int_equal(counting_allocator_counts(&counting).requests, before);
    redlock_client_close(client);
    assert_int_equal(counting_allocator_counts(&counting).live_blocks, 0);
    assert_int_equal(counting_allocator_counts(&counting).mistakes, 0);
}

/* Memory grows with what is held at once, not with what ever was. */
static void memory_does_not_grow_with_use(void **state)
{
    enum { HELD = 100, ROUNDS = 9 };
    static struct counting_allocator counting;
    struct fleet *fleet = *state;
    redlock_client *client = open_counted(fleet, &counting);
    redlock_lock *locks[HELD];
    uint64_t after_first = 0;

    await_all_nodes(client); /* what a connection needs is not what grows */
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < HELD; i++) {
            char name[32];
            snprintf(name, sizeof(name), "held:%d:%d", round, i);
            locks[i] = take_lock(client, name, LONG_TTL_MS);
        }
        for (int i = 0; i < HELD; i++)
            give_back(locks[i]);
        if (round == 0)
            after_first = counting_allocator_counts(&counting).live_bytes;
    }
    /* What a node that lags has made large is given back once it has caught up; a leak would not be. */
    for (int i = 0;
         i < 3000 && counting_allocator_counts(&counting).live_bytes > after_first + after_first / 4; i++) {
        sleep_ms(10);
        give_back(take_lock(client, "held", LONG_TTL_MS));
    }
    assert_true(counting_allocator_counts(&counting).live_bytes <= after_first + after_first / 4);
    redlock_client_close(client);
    assert_int_equal(counting_allocator_counts(&counting).live_blocks, 0);
}

static void closed_client_lives_on_in_its_locks_only(void **state)
{
    static struct counting_allocator counting;
    struct fleet *fleet = *state;
    redlock_client *client = open_counted(fleet, &counting);
    redlock_lock *first = take_lock(client, "first", 1000);
    redlock_lock *second = take_lock(client, "second", 1000);

    redlock_client_close(client);
    assert_string_equal(redlock_lock_name(first, NULL), "first");
    redlock_lock_free(first);
    assert_string_equal(redlock_lock_name(second, NULL), "second");
    redlock_lock_free(second);
    assert_int_equal(counting_allocator_counts(&counting).live_blocks, 0);
    assert_int_equal(counting_allocator_counts(&counting).mistakes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_NODES(any_single_allocation_may_fail, start_three_nodes),
        ON_NODES(memory_may_run_out_at_any_time, start_three_nodes),
        ON_NODES(release_without_memory_ends_the_extensions_under_way, start_three_nodes),
        ON_1_3_5_NODES(warm_client_allocates_nothing),
        ON_NODES(memory_does_not_grow_with_use, start_three_nodes),
        ON_NODES(closed_client_lives_on_in_its_locks_only, start_three_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
