/*
 * Several names as one lock on real nodes: had together or not at all, waited for in the line of the one that
 * is in the way, lost together, and nothing left of any of them.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "support/guarded.h"
#include "support/line.h"
#include "support/steps.h"
#include "support/waiters.h"

static const redlock_name B_AND_C[] = {{.name = "b"}, {.name = "c\0d", .length = 3}};
static const redlock_name ONLY_B[] = {{.name = "b"}};
static const redlock_name ONLY_A[] = {{.name = "a"}};

static redlock_spec names_spec(const char *name, const redlock_name *also, uint32_t count)
{
    redlock_spec spec = spec_for(name, LONG_TTL_MS);

    spec.also = also;
    spec.also_count = count;
    return spec;
}

/* How many nodes have something under this name. */
static int nodes_with(struct fleet *fleet, const char *name)
{
    int count = 0;

    for (int node = 0; node < fleet_size(fleet); node++)
        count +=
            fleet_pid(fleet, node) != 0 && strcmp(fleet_command(fleet, node, "EXISTS", name, NULL), "1") == 0;
    return count;
}

static void assert_busy(redlock_client *client, const redlock_spec *spec, uint32_t name_number)
{
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_lock *lock = NULL;

    assert_result(REDLOCK_BUSY, redlock_try_acquire(client, spec, &lock, &report), &report);
    assert_int_equal(report.name_number, name_number);
    assert_string_not_equal(report.holder.id, "");
}

/* ---- together or not at all ---------------------------------------------------------------------------- */

static void several_names_are_had_together(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS),
                   *other = line_open(fleet_urls(fleet));
    redlock_spec all = names_spec("z", B_AND_C, 2), one = spec_for("b", LONG_TTL_MS);
    redlock_lock *lock = take_spec(client, &all);
    uint64_t fence = redlock_lock_fence(lock);
    size_t length = 0;

    assert_int_equal(redlock_lock_name_count(lock), 3);
    assert_string_equal(redlock_lock_name(lock, NULL), "z");
    assert_string_equal(redlock_lock_name_at(lock, 0, &length), "z");
    assert_string_equal(redlock_lock_name_at(lock, 1, &length), "b");
    assert_memory_equal(redlock_lock_name_at(lock, 2, &length), "c\0d", 4);
    assert_int_equal(length, 3);
    assert_null(redlock_lock_name_at(lock, 3, &length));
    for (uint32_t i = 0; i < 3; i++)
        assert_true(redlock_lock_fence_at(lock, i) >= fence && fence > 0);
    assert_int_equal(redlock_lock_fence_at(lock, 3), 0);
    await(nodes_with(fleet, "z") == fleet_size(fleet) && nodes_with(fleet, "b") == fleet_size(fleet));
    assert_not_had(REDLOCK_BUSY, other, "z", NULL);
    assert_not_had(REDLOCK_BUSY, other, "b", NULL);
    assert_result(REDLOCK_OK, redlock_extend(lock, 0, NULL), NULL);
    give_back(lock);
    lock = take_spec(other, &one);
    assert_true(redlock_lock_fence(lock) > fence);
    give_back(lock);
    redlock_client_close(client);
    redlock_client_close(other);
}

static void one_that_is_held_keeps_all_of_them_away(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS),
                   *other = line_open(fleet_urls(fleet));
    redlock_lock *held = take_lock(other, "b", LONG_TTL_MS), *free_one;
    redlock_spec spec = names_spec("a", B_AND_C, 2);

    assert_busy(client, &spec, 2);
    assert_int_equal(nodes_with(fleet, "a"), 0);
    free_one = take_lock(client, "a", LONG_TTL_MS);
    give_back(held);
    assert_busy(client, &spec, 1);
    give_back(free_one);
    give_back(take_spec(client, &spec));
    redlock_client_close(client);
    redlock_client_close(other);
}

/* Its number is above those of each of them, wherever it was given out. */
static void the_number_is_above_those_of_all_names(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    redlock_spec spec = names_spec("a", ONLY_B, 1);
    redlock_lock *lock;

    give_back(take_spec(client, &spec));
    for (int node = 0; node < 3; node++) /* as if somebody's clock had been ahead */
        fleet_command(fleet, node, "SET", "redlock-fence:{b}", "4000000000000000", NULL);
    lock = take_spec(client, &spec);
    assert_true(redlock_lock_fence(lock) > UINT64_C(4000000000000000));
    give_back(lock);
    lock = take_lock(client, "a", LONG_TTL_MS);
    assert_true(redlock_lock_fence(lock) > UINT64_C(4000000000000001));
    give_back(lock);
    redlock_client_close(client);
}

/* ---- waiting ------------------------------------------------------------------------------------------- */

static void a_waiter_holds_nothing_and_comes_in_when_all_are_free(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS),
                   *other = line_open(fleet_urls(fleet));
    redlock_lock *b = take_lock(other, "b", LONG_TTL_MS), *c;
    redlock_spec spec = names_spec("a", B_AND_C, 2);
    redlock_spec binary = {.size = sizeof binary, .name = "c\0d", .name_length = 3, .ttl_ms = LONG_TTL_MS};
    struct waiter waiter;

    start_waiting_for(&waiter, client, &spec);
    await(strcmp(fleet_command(fleet, 0, "ZCARD", "redlock-line:{b}:waiters", NULL), "1") == 0);
    give_back(take_lock(other, "a", LONG_TTL_MS));
    c = take_spec(other, &binary);
    give_back(b);
    /* It was handed b, found c held, and gave b back. */
    await(strcmp(fleet_command(fleet, 0, "ZCARD", "redlock-line:{b}:waiters", NULL), "0") == 0);
    await(nodes_with(fleet, "b") == 0);
    assert_int_equal(atomic_load(&waiter.done), 0);
    give_back(c);
    await_end(&waiter, REDLOCK_OK);
    assert_not_had(REDLOCK_BUSY, other, "a", NULL);
    give_back(waiter.lock);
    redlock_client_close(client);
    redlock_client_close(other);
    await(line_is_gone(fleet));
}

static void a_wait_that_ends_leaves_nothing_in_any_line(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS),
                   *other = line_open(fleet_urls(fleet));
    redlock_lock *b = take_lock(other, "b", LONG_TTL_MS);
    redlock_spec spec = names_spec("a", ONLY_B, 1);
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_lock *lock = NULL;
    struct waiter waiter;

    assert_result(REDLOCK_TIMEOUT, redlock_acquire(client, &spec, 50, &lock, &report), &report);
    assert_int_equal(report.name_number, 2);
    start_waiting_for(&waiter, client, &spec);
    await(strcmp(fleet_command(fleet, 0, "ZCARD", "redlock-line:{b}:waiters", NULL), "1") == 0);
    cancel_wait(&waiter);
    await(strcmp(fleet_command(fleet, 0, "ZCARD", "redlock-line:{b}:waiters", NULL), "0") == 0);
    give_back(b);
    redlock_client_close(client);
    redlock_client_close(other);
}

enum { ROUNDS = 40 };

struct taker {
    redlock_client *client;
    redlock_spec spec;
    int *inside_a, *inside_b, *overlaps;
    bool a, b;
    pthread_t thread;
};

static void *take_turns(void *context)
{
    struct taker *taker = context;

    for (int i = 0; i < ROUNDS; i++) {
        redlock_report report = REDLOCK_REPORT_INIT;
        redlock_lock *lock = NULL;
        redlock_result result =
            redlock_acquire(taker->client, &taker->spec, REDLOCK_WAIT_FOREVER, &lock, &report);

        if (result != REDLOCK_OK) {
            print_error("%s\n", report.line);
            __atomic_add_fetch(taker->overlaps, 1000, __ATOMIC_SEQ_CST);
            return NULL;
        }
        if (taker->a && __atomic_add_fetch(taker->inside_a, 1, __ATOMIC_SEQ_CST) != 1)
            __atomic_add_fetch(taker->overlaps, 1, __ATOMIC_SEQ_CST);
        if (taker->b && __atomic_add_fetch(taker->inside_b, 1, __ATOMIC_SEQ_CST) != 1)
            __atomic_add_fetch(taker->overlaps, 1, __ATOMIC_SEQ_CST);
        if (taker->a)
            __atomic_sub_fetch(taker->inside_a, 1, __ATOMIC_SEQ_CST);
        if (taker->b)
            __atomic_sub_fetch(taker->inside_b, 1, __ATOMIC_SEQ_CST);
        redlock_release(lock, NULL);
        redlock_lock_free(lock);
    }
    return NULL;
}

/* {a, b}, {b, a}, a and b at once, each from a client of its own: no order of names is needed, and nobody
 * waits for ever. */
static void sets_that_overlap_neither_meet_nor_block_each_other(void **state)
{
    struct fleet *fleet = *state;
    int inside_a = 0, inside_b = 0, overlaps = 0;
    struct taker takers[] = {{.spec = names_spec("a", ONLY_B, 1), .a = true, .b = true},
                             {.spec = names_spec("b", ONLY_A, 1), .a = true, .b = true},
                             {.spec = names_spec("b", ONLY_A, 1), .a = true, .b = true},
                             {.spec = spec_for("a", LONG_TTL_MS), .a = true},
                             {.spec = spec_for("b", LONG_TTL_MS), .b = true}};
    size_t count = sizeof takers / sizeof takers[0];

    for (size_t i = 0; i < count; i++) {
        takers[i].client =
            i == 0 ? open_admitted(fleet_urls(fleet), LONG_TTL_MS) : line_open(fleet_urls(fleet));
        takers[i].inside_a = &inside_a;
        takers[i].inside_b = &inside_b;
        takers[i].overlaps = &overlaps;
    }
    for (size_t i = 0; i < count; i++)
        assert_int_equal(pthread_create(&takers[i].thread, NULL, take_turns, &takers[i]), 0);
    for (size_t i = 0; i < count; i++)
        pthread_join(takers[i].thread, NULL);
    assert_int_equal(overlaps, 0);
    for (size_t i = 0; i < count; i++)
        redlock_client_close(takers[i].client);
    await(line_is_gone(fleet));
}

/* ---- lost together ------------------------------------------------------------------------------------- */

struct loss {
    atomic_int told;
    uint32_t name_number, broken;
};

static void note_loss(void *context, redlock_lock *lock, const redlock_report *report)
{
    struct loss *loss = context;

    (void)lock;
    loss->name_number = report->name_number;
    loss->broken = report->broken;
    atomic_store(&loss->told, 1);
}

static void a_holder_that_loses_one_has_lost_all_and_is_told_which(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    redlock_spec spec = names_spec("a", B_AND_C, 2);
    redlock_report report = REDLOCK_REPORT_INIT;
    struct loss loss = {0};
    redlock_lock *lock;

    spec.on_lost = note_loss;
    spec.context = &loss;
    lock = take_spec(client, &spec);
    await(nodes_with(fleet, "b") == fleet_size(fleet));
    for (int node = 0; node < fleet_size(fleet); node++)
        fleet_command(fleet, node, "SET", "b", "somebody", "PX", "60000", NULL);
    assert_result(REDLOCK_NOT_HELD, redlock_extend(lock, 0, &report), &report);
    assert_int_equal(report.name_number, 2);
    await(atomic_load(&loss.told) == 1);
    assert_int_equal(loss.name_number, 2);
    assert_int_equal(redlock_lock_validity_ms(lock), 0);
    await(nodes_with(fleet, "a") == 0);
    assert_result(REDLOCK_LOST, redlock_release(lock, NULL), NULL);
    redlock_lock_free(lock);
    for (int node = 0; node < fleet_size(fleet); node++)
        fleet_command(fleet, node, "DEL", "b", NULL);
    redlock_client_close(client);
}

static void a_break_of_one_ends_all(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS),
                   *breaker = line_open(fleet_urls(fleet));
    redlock_spec spec = names_spec("a", ONLY_B, 1);
    redlock_break_spec order = REDLOCK_BREAK_SPEC_INIT;
    redlock_report report = REDLOCK_REPORT_INIT;
    struct loss loss = {0};
    redlock_lock *lock;

    spec.auto_extend = 1;
    spec.renew_ms = 50;
    spec.on_lost = note_loss;
    spec.context = &loss;
    lock = take_spec(client, &spec);
    order.name = "b";
    order.id = redlock_lock_owner(lock, NULL);
    assert_result(REDLOCK_OK, redlock_break(breaker, &order, &report), &report);
    await(atomic_load(&loss.told) == 1);
    assert_int_equal(loss.broken, 1);
    assert_int_equal(loss.name_number, 2);
    await(nodes_with(fleet, "a") == 0 && nodes_with(fleet, "b") == 0);
    redlock_lock_free(lock);
    redlock_client_close(client);
    redlock_client_close(breaker);
}

/* ---- by owner value ------------------------------------------------------------------------------------ */

static void an_owner_value_goes_for_all_names(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS),
                   *heir = line_open(fleet_urls(fleet));
    redlock_spec spec = names_spec("a", ONLY_B, 1);
    redlock_report report = REDLOCK_REPORT_INIT;
    char owner[REDLOCK_OWNER_MAX + 1];
    redlock_lock *lock = take_spec(client, &spec);

    await(nodes_with(fleet, "a") + nodes_with(fleet, "b") ==
          2 * fleet_size(fleet)); /* the slowest node too */
    snprintf(owner, sizeof owner, "%s", redlock_lock_owner(lock, NULL));
    redlock_lock_free(lock);
    assert_result(REDLOCK_OK, redlock_adopt(heir, &spec, owner, 0, &lock, &report), &report);
    assert_int_equal(redlock_lock_name_count(lock), 2);
    assert_result(REDLOCK_OK, redlock_extend(lock, 0, &report), &report);
    redlock_lock_free(lock);
    /* A name that is not of it: nothing is lost by that. */
    spec.also = B_AND_C;
    spec.also_count = 2;
    assert_result(REDLOCK_NOT_HELD, redlock_adopt(heir, &spec, owner, 0, &lock, &report), &report);
    assert_int_equal(report.name_number, 3);
    assert_int_equal(nodes_with(fleet, "a") + nodes_with(fleet, "b"), 2 * fleet_size(fleet));
    spec.also_count = 1;
    assert_result(REDLOCK_OK, redlock_release_owner(client, "b", 0, owner, 0, &report), &report);
    /* One of them is gone: that is not the lock any more. */
    assert_result(REDLOCK_NOT_HELD, redlock_adopt(heir, &spec, owner, 0, &lock, &report), &report);
    assert_int_equal(report.name_number, 2);
    assert_result(REDLOCK_NOT_HELD, redlock_release_spec(heir, &spec, owner, 0, &report), &report);
    assert_int_equal(report.name_number, 2);
    assert_int_equal(nodes_with(fleet, "a"), fleet_size(fleet)); /* it may be somebody's lock by itself */
    assert_result(REDLOCK_OK, redlock_release_owner(client, "a", 0, owner, 0, &report), &report);
    await(nodes_with(fleet, "a") == 0);
    lock = take_spec(client, &spec);
    await(nodes_with(fleet, "a") + nodes_with(fleet, "b") == 2 * fleet_size(fleet));
    assert_result(REDLOCK_OK, redlock_release_spec(heir, &spec, redlock_lock_owner(lock, NULL), 0, &report),
                  &report);
    await(nodes_with(fleet, "a") + nodes_with(fleet, "b") == 0);
    redlock_lock_free(lock);
    redlock_client_close(client);
    redlock_client_close(heir);
}

/* ---- nodes that are away ------------------------------------------------------------------------------- */

static void a_node_that_comes_back_is_given_all_names_or_cleaned_of_all(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    redlock_spec spec = names_spec("a", ONLY_B, 1);
    redlock_lock *lock;

    fleet_freeze(fleet, 0);
    lock = take_spec(client, &spec);
    assert_result(REDLOCK_OK, redlock_extend(lock, 0, NULL), NULL);
    give_back(lock);
    fleet_thaw(fleet, 0);
    await(nodes_with(fleet, "a") == 0 && nodes_with(fleet, "b") == 0);
    lock = take_spec(client, &spec);
    await(nodes_with(fleet, "a") == fleet_size(fleet));
    fleet_command(fleet, 1, "DEL", "b", NULL);
    assert_result(REDLOCK_OK, redlock_extend(lock, 0, NULL), NULL);
    await(nodes_with(fleet, "b") == fleet_size(fleet));
    give_back(lock);
    redlock_client_close(client);
}

/* ---- bad input ----------------------------------------------------------------------------------------- */

static void what_cannot_be_locked_together_is_refused(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    redlock_options plain = options_for(fleet_urls(fleet));
    static const redlock_name twice[] = {{.name = "b"}, {.name = "b", .length = 1}},
                              itself[] = {{.name = "a"}}, none[] = {{.name = ""}},
                              reserved[] = {{.name = "redlock-guard:x"}}, null[] = {{0}};
    static redlock_name many[100];
    static char texts[100][8];
    const struct {
        const redlock_name *also;
        uint32_t count;
        redlock_kind kind;
        const char *named;
    } wanted[] = {{twice, 2, 0, "twice"},
                  {itself, 1, 0, "twice"},
                  {many, 99, 0, "at most 16 names"},
                  {none, 1, 0, "empty"},
                  {null, 1, 0, "empty"},
                  {reserved, 1, 0, "reserved"},
                  {NULL, 1, 0, "also is NULL"},
                  {itself, 0, 0, "also_count is 0"},
                  {twice, 1, REDLOCK_SHARED, ""}};

    for (int i = 0; i < 100; i++) {
        snprintf(texts[i], sizeof texts[i], "n%d", i);
        many[i].name = texts[i];
    }
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        redlock_spec spec = names_spec("a", wanted[i].also, wanted[i].count);
        redlock_report report = REDLOCK_REPORT_INIT;
        redlock_lock *lock = NULL;

        spec.kind = wanted[i].kind;
        assert_result(REDLOCK_INVALID, redlock_try_acquire(client, &spec, &lock, &report), &report);
        assert_non_null(strstr(report.line, wanted[i].named));
        assert_null(lock);
    }
    redlock_client_close(client);
    plain.mode = REDLOCK_PLAIN;
    client = open_unadmitted(&plain);
    redlock_spec spec = names_spec("a", ONLY_B, 1);
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_lock *lock = NULL;
    assert_result(REDLOCK_INVALID, redlock_try_acquire(client, &spec, &lock, &report), &report);
    assert_non_null(strstr(report.line, "guarded"));
    redlock_client_close(client);
}

/* As many and as long as they may be. */
static void sixteen_long_names_are_one_lock(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    static char texts[REDLOCK_NAMES_MAX][REDLOCK_NAME_MAX];
    redlock_name also[REDLOCK_NAMES_MAX - 1];
    redlock_spec spec;

    for (int i = 0; i < REDLOCK_NAMES_MAX; i++) {
        memset(texts[i], 'x', REDLOCK_NAME_MAX);
        texts[i][REDLOCK_NAME_MAX - 1] = (char)('p' - i);
        if (i > 0)
            also[i - 1] = (redlock_name){.name = texts[i], .length = REDLOCK_NAME_MAX};
    }
    spec = names_spec(texts[0], also, REDLOCK_NAMES_MAX - 1);
    spec.name_length = REDLOCK_NAME_MAX;
    redlock_lock *lock = take_spec(client, &spec);
    await(count_lock_keys(fleet, 0) == REDLOCK_NAMES_MAX);
    assert_result(REDLOCK_OK, redlock_extend(lock, 0, NULL), NULL);
    give_back(lock);
    redlock_client_close(client);
}

/* Another program's key under one of the names. */
static void a_key_of_another_type_is_named_and_left_alone(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    redlock_spec spec = names_spec("a", ONLY_B, 1);
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_lock *lock = NULL;

    for (int node = 0; node < fleet_size(fleet); node++)
        fleet_command(fleet, node, "HSET", "b", "field", "value", NULL);
    assert_result(REDLOCK_FOREIGN_TYPE, redlock_try_acquire(client, &spec, &lock, &report), &report);
    assert_int_equal(report.name_number, 2);
    assert_result(REDLOCK_FOREIGN_TYPE, redlock_acquire(client, &spec, REDLOCK_WAIT_FOREVER, &lock, &report),
                  &report);
    assert_int_equal(report.name_number, 2);
    assert_int_equal(nodes_with(fleet, "a"), 0);
    assert_int_equal(nodes_with(fleet, "b"), fleet_size(fleet));
    for (int node = 0; node < fleet_size(fleet); node++)
        fleet_command(fleet, node, "DEL", "b", NULL);
    redlock_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_GUARDED(several_names_are_had_together, start_five_guarded),
        ON_GUARDED(one_that_is_held_keeps_all_of_them_away, start_three_guarded),
        ON_GUARDED(the_number_is_above_those_of_all_names, start_five_guarded),
        ON_GUARDED(a_waiter_holds_nothing_and_comes_in_when_all_are_free, start_three_guarded),
        ON_GUARDED(a_wait_that_ends_leaves_nothing_in_any_line, start_three_guarded),
        ON_GUARDED(sets_that_overlap_neither_meet_nor_block_each_other, start_five_guarded),
        ON_GUARDED(a_holder_that_loses_one_has_lost_all_and_is_told_which, start_three_guarded),
        ON_GUARDED(a_break_of_one_ends_all, start_three_guarded),
        ON_GUARDED(an_owner_value_goes_for_all_names, start_three_guarded),
        ON_GUARDED(a_node_that_comes_back_is_given_all_names_or_cleaned_of_all, start_three_guarded),
        ON_GUARDED(what_cannot_be_locked_together_is_refused, start_one_guarded),
        ON_GUARDED(sixteen_long_names_are_one_lock, start_one_guarded),
        ON_GUARDED(a_key_of_another_type_is_named_and_left_alone, start_three_guarded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
