/*
 * What operators do with semaphores and with locks that many share: every held slot is listed and watched by
 * itself, and a break ends the hold of one holder, which is found by its id.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/guarded.h"
#include "support/steps.h"
#include "support/waiters.h"

enum { SEEN_MAX = 1100, EVENTS_MAX = 64, MANY_SLOTS = 1000, READERS = 80 };

#define BRACED "a{b}c"

static redlock_spec slots_of(const char *name, uint32_t permits)
{
    redlock_spec spec = spec_for(name, LONG_TTL_MS);

    spec.kind = REDLOCK_SEMAPHORE;
    spec.permits = permits;
    return spec;
}

static redlock_lock *take_slot(redlock_client *client, const char *name, uint32_t permits)
{
    redlock_spec spec = slots_of(name, permits);

    return take_spec(client, &spec);
}

/* ---- lists ---- */

struct seen {
    atomic_int count;
    struct {
        char name[32];
        redlock_listed lock;
    } locks[SEEN_MAX];
};

static struct seen seen;

static int note(void *context, const redlock_listed *lock)
{
    int count = atomic_load(&seen.count);

    (void)context;
    assert_true(count < SEEN_MAX);
    snprintf(seen.locks[count].name, sizeof seen.locks[0].name, "%s", lock->name);
    seen.locks[count].lock = *lock;
    atomic_store(&seen.count, count + 1);
    return 0;
}

static void list(redlock_client *client)
{
    redlock_report report = detailed_report();

    atomic_store(&seen.count, 0);
    assert_result(REDLOCK_OK, redlock_list(client, NULL, note, NULL, &report), &report);
}

/* Exactly one entry for the slot that a lock has. */
static void assert_listed(const redlock_lock *lock, uint32_t permits)
{
    const redlock_listed *found = NULL;

    for (int i = 0; i < seen.count; i++)
        if (strcmp(seen.locks[i].name, redlock_lock_name(lock, NULL)) == 0 &&
            (int32_t)seen.locks[i].lock.holder.slot == redlock_lock_slot(lock)) {
            assert_null(found);
            found = &seen.locks[i].lock;
        }
    assert_non_null(found);
    assert_int_equal(found->kind, REDLOCK_SEMAPHORE);
    assert_int_equal(found->holder.permits, permits);
    assert_memory_equal(found->holder.id, redlock_lock_owner(lock, NULL), 8);
    assert_true(found->votes >= found->quorum);
    assert_in_range(found->ttl_left_ms, 1, LONG_TTL_MS);
    assert_true(found->fence >= redlock_lock_fence(lock));
}

static void each_held_slot_is_listed_by_itself(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    redlock_lock *alone = take_lock(client, "alone", LONG_TTL_MS);
    redlock_lock *slots[] = {take_slot(client, WANTED, 3), take_slot(client, WANTED, 3),
                             take_slot(client, BRACED, 2)};

    await_all_nodes(client);
    list(client);
    assert_int_equal(seen.count, 4);
    assert_listed(slots[0], 3);
    assert_listed(slots[1], 3);
    assert_listed(slots[2], 2);
    for (int i = 0; i < seen.count; i++)
        if (strcmp(seen.locks[i].name, "alone") == 0) {
            assert_int_equal(seen.locks[i].lock.kind, REDLOCK_EXCLUSIVE);
            assert_int_equal(seen.locks[i].lock.holder.permits, 0);
        }
    for (int i = 0; i < 3; i++)
        give_back(slots[i]);
    await_all_nodes(client);
    list(client);
    assert_int_equal(seen.count, 1);
    give_back(alone);
    redlock_client_close(client);
}

/* Its holders are planted: a thousand acquisitions would take long on a busy machine. */
static void plant_slots(struct fleet *fleet, int node)
{
    static const char plant[] =
        "redis.call('HSET', KEYS[1], 'slots', '1000') redis.call('PEXPIRE', KEYS[1], '60000') "
        "for i = 1, 1000 do redis.call('SET', 'redlock-line:{' .. KEYS[1] .. '}:slot:' .. i, "
        "string.format('%032x', i), 'PX', '60000') end";

    fleet_command(fleet, node, "EVAL", plant, "1", WANTED, NULL);
}

static void a_large_semaphore_is_listed_whole(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    bool listed[MANY_SLOTS] = {false};

    for (int node = 0; node < fleet_size(fleet); node++)
        plant_slots(fleet, node);
    list(client);
    assert_int_equal(seen.count, MANY_SLOTS);
    for (int i = 0; i < seen.count; i++) {
        uint32_t slot = seen.locks[i].lock.holder.slot;

        assert_true(slot < MANY_SLOTS && !listed[slot]);
        listed[slot] = true;
        assert_int_equal(seen.locks[i].lock.holder.permits, MANY_SLOTS);
    }
    for (int node = 0; node < fleet_size(fleet); node++)
        fleet_wipe(fleet, node);
    redlock_client_close(client);
}

/* A hash of another program, of two million "slots" perhaps: a node that looked for each of them would answer
 * nobody else meanwhile, and one of more would run out of memory. */
static void a_hash_of_another_program_is_no_semaphore_whatever_it_says(void **state)
{
    static const char *const said[] = {"0", "-1", "1001", "2000000", "1e3", "2.5", " 4", "nan", "many", ""};
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    redlock_spec wanted = {.size = sizeof wanted, .name = WANTED, .kind = REDLOCK_SEMAPHORE, .permits = 4};
    redlock_break_spec broken = {.size = sizeof broken, .name = WANTED, .id = "01234567"};
    redlock_report report = detailed_report();

    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        redlock_node_report told = REDLOCK_NODE_REPORT_INIT;
        redlock_lock *lock = NULL;
        uint32_t permits = 1;
        int named = 0;

        for (int node = 0; node < fleet_size(fleet); node++)
            fleet_command(fleet, node, "HSET", WANTED, "slots", said[i], NULL);
        assert_result(REDLOCK_OK, redlock_inspect(client, WANTED, 0, &report), &report);
        assert_int_equal(report.held, fleet_size(fleet));
        assert_result(REDLOCK_OK, redlock_inspect_slots(client, WANTED, 0, NULL, NULL, &permits, &report),
                      &report);
        assert_int_equal(permits, 0);
        assert_result(REDLOCK_NOT_HELD, redlock_break(client, &broken, &report), &report);
        assert_result(REDLOCK_FOREIGN_TYPE, redlock_try_acquire(client, &wanted, &lock, &report), &report);
        for (uint32_t node = 0; node < report.node_count; node++)
            named += redlock_report_node(&report, node, &told) && strstr(told.detail, "something else");
        assert_true(named >= (int)report.quorum);
    }
    for (int node = 0; node < fleet_size(fleet); node++)
        fleet_command(fleet, node, "DEL", WANTED, NULL);
    redlock_client_close(client);
}

/* ---- the asynchronous twin of redlock_inspect_slots() ---- */

struct slots_told {
    atomic_bool over;
    atomic_int count;
    redlock_result result;
    redlock_slot slots[8];
};

static int note_slot(void *context, const redlock_slot *slot)
{
    struct slots_told *told = context;

    if (told->count < 8)
        told->slots[told->count] = *slot;
    told->count++;
    return 0;
}

static void note_end(void *context, redlock_result result, const redlock_report *report)
{
    struct slots_told *told = context;

    (void)report;
    told->result = result;
    atomic_store(&told->over, true);
}

static void slots_are_inspected_without_blocking(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    redlock_lock *first = take_slot(client, WANTED, 4), *second = take_slot(client, WANTED, 4);
    redlock_lock *other = take_slot(client, "other", 4);
    struct slots_told told = {0};
    redlock_request request = 0;
    unsigned seen_slots = 0;

    await_all_nodes(client);
    assert_int_equal(redlock_inspect_slots_async(client, WANTED, 0, note_slot, note_end, &told, &request),
                     REDLOCK_OK);
    assert_true(request != 0);
    await(atomic_load(&told.over));
    assert_int_equal(told.result, REDLOCK_OK);
    assert_int_equal(told.count, 2);
    for (int i = 0; i < told.count; i++) {
        seen_slots |= 1U << told.slots[i].slot;
        assert_int_equal(told.slots[i].holder.permits, 4);
        assert_true(told.slots[i].votes >= 2);
    }
    assert_int_equal(seen_slots, 1U << redlock_lock_slot(first) | 1U << redlock_lock_slot(second));
    assert_int_equal(redlock_inspect_slots_async(client, WANTED, 0, NULL, note_end, &told, NULL),
                     REDLOCK_INVALID);
    give_back(first);
    give_back(second);
    give_back(other);
    redlock_client_close(client);
}

/* ---- watches ---- */

struct watched {
    atomic_int count;
    atomic_bool over, stop;
    struct {
        redlock_change change;
        redlock_kind kind;
        redlock_holder holder, before;
    } events[EVENTS_MAX];
};

static int note_event(void *context, const redlock_event *event)
{
    struct watched *watched = context;
    int count = atomic_load(&watched->count);

    if (event->change == REDLOCK_CHANGE_EXTENDED || count >= EVENTS_MAX)
        return atomic_load(&watched->stop);
    watched->events[count].change = event->change;
    watched->events[count].kind = event->lock.kind;
    watched->events[count].holder = event->lock.holder;
    watched->events[count].before = event->before;
    atomic_store(&watched->count, count + 1);
    return atomic_load(&watched->stop);
}

static void note_watch_end(void *context, redlock_result result, const redlock_report *report)
{
    struct watched *watched = context;

    (void)result;
    (void)report;
    atomic_store(&watched->over, true);
}

static bool has_event(struct watched *watched, redlock_change change, int32_t slot, const char *owner)
{
    for (int i = 0; i < atomic_load(&watched->count); i++) {
        bool gone = change == REDLOCK_CHANGE_RELEASED;
        const redlock_holder *who = gone ? &watched->events[i].before : &watched->events[i].holder;

        if (watched->events[i].change == change && watched->events[i].kind == REDLOCK_SEMAPHORE &&
            (int32_t)watched->events[i].holder.slot == slot && watched->events[i].holder.permits == 3 &&
            strncmp(who->id, owner, 8) == 0)
            return true;
    }
    return false;
}

static void watch_slots(struct fleet *fleet, const redlock_list_spec *spec)
{
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    redlock_client *watcher = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    static struct watched watched;
    redlock_lock *first = take_slot(client, WANTED, 3), *second;
    redlock_request request;
    char owner[64];
    int32_t slot;

    memset(&watched, 0, sizeof watched);
    await_all_nodes(client);
    assert_int_equal(redlock_watch_async(watcher, spec, note_event, note_watch_end, &watched, &request),
                     REDLOCK_OK);
    await(
        has_event(&watched, REDLOCK_CHANGE_HELD, redlock_lock_slot(first), redlock_lock_owner(first, NULL)));
    second = take_slot(client, WANTED, 3);
    await(has_event(&watched, REDLOCK_CHANGE_ACQUIRED, redlock_lock_slot(second),
                    redlock_lock_owner(second, NULL)));
    slot = redlock_lock_slot(first);
    snprintf(owner, sizeof owner, "%.32s", redlock_lock_owner(first, NULL));
    give_back(first);
    await(has_event(&watched, REDLOCK_CHANGE_RELEASED, slot, owner));
    slot = redlock_lock_slot(second);
    snprintf(owner, sizeof owner, "%.32s", redlock_lock_owner(second, NULL));
    give_back(second);
    await(has_event(&watched, REDLOCK_CHANGE_RELEASED, slot, owner));
    for (int i = 0; i < watched.count; i++)
        assert_int_equal(watched.events[i].kind, REDLOCK_SEMAPHORE); /* the name itself is nobody's */
    redlock_cancel(watcher, request);
    await(atomic_load(&watched.over));
    redlock_client_close(watcher);
    redlock_client_close(client);
}

static void slots_are_watched_among_all_locks(void **state)
{
    redlock_list_spec spec = REDLOCK_LIST_SPEC_INIT;

    spec.every_ms = 50;
    watch_slots(*state, &spec);
}

static void slots_of_one_name_are_watched(void **state)
{
    redlock_list_spec spec = REDLOCK_LIST_SPEC_INIT;

    spec.name = WANTED;
    watch_slots(*state, &spec);
}

/* ---- breaks ---- */

static redlock_result break_it(redlock_client *client, const char *name, const char *id, uint32_t slot_number,
                               redlock_report *report)
{
    redlock_break_spec order = REDLOCK_BREAK_SPEC_INIT;

    order.name = name;
    order.id = id;
    order.slot_number = slot_number;
    order.grace_ms = REDLOCK_BREAK_NOW;
    return redlock_break(client, &order, report);
}

struct loss {
    atomic_int told;
    uint32_t broken;
};

static void note_loss(void *context, redlock_lock *lock, const redlock_report *report)
{
    struct loss *loss = context;

    (void)lock;
    loss->broken = report->broken;
    atomic_store(&loss->told, 1);
}

static void a_break_ends_the_hold_of_one_slot(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    redlock_client *breaker = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    redlock_lock *stays = take_slot(client, WANTED, 2), *goes = take_slot(client, WANTED, 2), *next;
    redlock_report report = detailed_report();
    char id[9];

    await_all_nodes(client);
    snprintf(id, sizeof id, "%s", redlock_lock_owner(goes, NULL));
    assert_result(REDLOCK_NOT_HELD, break_it(breaker, WANTED, "00000000", 0, &report), &report);
    assert_result(REDLOCK_NOT_HELD,
                  break_it(breaker, WANTED, id, (uint32_t)redlock_lock_slot(stays) + 1, &report), &report);
    assert_result(REDLOCK_OK, break_it(breaker, WANTED, id, (uint32_t)redlock_lock_slot(goes) + 1, &report),
                  &report);
    assert_string_equal(report.holder.id, id);
    assert_int_equal(report.holder.slot, redlock_lock_slot(goes));
    assert_int_equal(report.holder.permits, 2);
    next = take_slot(breaker, WANTED, 2);
    assert_int_equal(redlock_lock_slot(next), redlock_lock_slot(goes));
    assert_true(redlock_lock_fence(next) > redlock_lock_fence(goes));
    assert_result(REDLOCK_OK, redlock_extend(stays, 0, &report), &report);
    assert_result(REDLOCK_NOT_HELD, redlock_extend(goes, 0, &report), &report);
    redlock_lock_free(goes);
    give_back(next);
    give_back(stays);
    redlock_client_close(breaker);
    redlock_client_close(client);
}

/* Nobody is inside any more, so other numbers of slots and other kinds are as welcome as before. */
static void a_semaphore_whose_last_hold_was_broken_is_forgotten(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    redlock_lock *first = take_slot(client, WANTED, 3), *second = take_slot(client, WANTED, 3), *next;
    redlock_spec other = slots_of(WANTED, 2);
    redlock_report report = detailed_report();

    await_all_nodes(client);
    assert_result(REDLOCK_OK, break_it(client, WANTED, redlock_lock_owner(first, NULL), 0, &report), &report);
    assert_result(REDLOCK_FOREIGN_TYPE, redlock_acquire(client, &other, 0, &next, &report), &report);
    assert_result(REDLOCK_OK, break_it(client, WANTED, redlock_lock_owner(second, NULL), 0, &report),
                  &report);
    next = take_slot(client, WANTED, 2);
    await_all_nodes(client);
    assert_result(REDLOCK_OK, break_it(client, WANTED, redlock_lock_owner(next, NULL), 0, &report), &report);
    redlock_lock_free(next);
    give_back(take_lock(client, WANTED, LONG_TTL_MS));
    redlock_lock_free(first);
    redlock_lock_free(second);
    redlock_client_close(client);
}

static long name_left_ms(struct fleet *fleet, int node)
{
    return strtol(fleet_command(fleet, node, "PTTL", WANTED, NULL), NULL, 10);
}

/* With a grace it ends with the mark, unless others are inside. */
static void a_semaphore_ends_with_the_last_mark(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    redlock_lock *first = take_slot(client, WANTED, 2), *second = take_slot(client, WANTED, 2);
    redlock_break_spec order = REDLOCK_BREAK_SPEC_INIT;
    redlock_report report = detailed_report();

    await_all_nodes(client);
    order.name = WANTED;
    order.grace_ms = 1;
    order.id = redlock_lock_owner(first, NULL);
    assert_result(REDLOCK_OK, redlock_break(client, &order, &report), &report);
    await_all_nodes(client);
    for (int node = 0; node < fleet_size(fleet); node++)
        assert_true(name_left_ms(fleet, node) > 0);
    order.id = redlock_lock_owner(second, NULL);
    assert_result(REDLOCK_OK, redlock_break(client, &order, &report), &report);
    for (int node = 0; node < fleet_size(fleet); node++)
        await(name_left_ms(fleet, node) == -2);
    redlock_lock_free(first);
    redlock_lock_free(second);
    redlock_client_close(client);
}

/* A slot was named, and neither a reader nor the one that has a lock alone has any. */
static void no_other_kind_of_lock_is_broken_by_a_slot(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    redlock_spec shares = spec_for(WANTED, LONG_TTL_MS);
    redlock_report report = detailed_report();
    redlock_lock *reader, *alone = take_lock(client, "alone", LONG_TTL_MS);

    shares.kind = REDLOCK_SHARED;
    reader = take_spec(client, &shares);
    await_all_nodes(client);
    assert_result(REDLOCK_NOT_HELD, break_it(client, WANTED, redlock_lock_owner(reader, NULL), 1, &report),
                  &report);
    assert_result(REDLOCK_NOT_HELD, break_it(client, "alone", redlock_lock_owner(alone, NULL), 1, &report),
                  &report);
    give_back(reader);
    give_back(alone);
    redlock_client_close(client);
}

/* Others are kept out of the slot until its holder has been told. */
static void the_holder_of_a_broken_slot_is_told_first(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    redlock_client *breaker = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    redlock_spec spec = slots_of(WANTED, 1), wanted = slots_of(WANTED, 1);
    redlock_break_spec order = REDLOCK_BREAK_SPEC_INIT;
    redlock_report report = detailed_report();
    redlock_lock *lock, *next = NULL;
    struct loss loss = {0};

    spec.auto_extend = 1;
    spec.renew_ms = 500;
    spec.on_lost = note_loss;
    spec.context = &loss;
    lock = take_spec(client, &spec);
    order.name = WANTED;
    order.id = redlock_lock_owner(lock, NULL);
    order.grace_ms = LONG_TTL_MS;
    assert_result(REDLOCK_OK, redlock_break(breaker, &order, &report), &report);
    assert_result(REDLOCK_OK, redlock_acquire(breaker, &wanted, LONG_TTL_MS / 2, &next, &report), &report);
    assert_int_equal(atomic_load(&loss.told), 1);
    assert_int_equal(loss.broken, 1);
    give_back(next);
    redlock_lock_free(lock);
    redlock_client_close(breaker);
    redlock_client_close(client);
}

/* More of them than any report names. */
static void one_of_many_readers_is_broken(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    redlock_spec spec = spec_for(WANTED, LONG_TTL_MS);
    redlock_lock *readers[READERS];
    redlock_report report = detailed_report();

    spec.kind = REDLOCK_SHARED;
    for (int i = 0; i < READERS; i++)
        readers[i] = take_spec(client, &spec);
    await_all_nodes(client);
    for (int i = 0; i < READERS; i += 13) {
        char id[9];

        snprintf(id, sizeof id, "%s", redlock_lock_owner(readers[i], NULL));
        assert_result(REDLOCK_OK, break_it(client, WANTED, id, 0, &report), &report);
        assert_string_equal(report.holder.id, id);
    }
    for (int i = 0; i < READERS; i++) {
        redlock_result result = redlock_release(readers[i], NULL);

        assert_int_equal(result == REDLOCK_OK, i % 13 != 0);
        redlock_lock_free(readers[i]);
    }
    redlock_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_GUARDED(each_held_slot_is_listed_by_itself, start_three_guarded),
        ON_GUARDED(a_large_semaphore_is_listed_whole, start_three_guarded),
        ON_GUARDED(a_hash_of_another_program_is_no_semaphore_whatever_it_says, start_three_guarded),
        ON_GUARDED(slots_are_inspected_without_blocking, start_three_guarded),
        ON_GUARDED(slots_are_watched_among_all_locks, start_three_guarded),
        ON_GUARDED(slots_of_one_name_are_watched, start_three_guarded),
        ON_GUARDED(a_break_ends_the_hold_of_one_slot, start_three_guarded),
        ON_GUARDED(a_semaphore_whose_last_hold_was_broken_is_forgotten, start_three_guarded),
        ON_GUARDED(a_semaphore_ends_with_the_last_mark, start_three_guarded),
        ON_GUARDED(no_other_kind_of_lock_is_broken_by_a_slot, start_three_guarded),
        ON_GUARDED(the_holder_of_a_broken_slot_is_told_first, start_three_guarded),
        ON_GUARDED(one_of_many_readers_is_broken, start_three_guarded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
