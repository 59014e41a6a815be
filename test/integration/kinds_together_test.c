/*
 * What concerns several kinds of lock at once, on real guarded nodes: fences rise from kind to kind, another
 * kind's key is named and left alone, what makes no sense is refused with nothing left behind, entering again
 * sends no command, and why permits are slots: counted at each node, they let in one too many. What a killed
 * process had is in kinds_slow_test.c.
 */
#include <stdio.h>
#include <string.h>

#include "support/guarded.h"
#include "support/line.h"
#include "support/steps.h"
#include "support/traffic.h"
#include "support/waiters.h"

enum { SLOTS = 2, ENTRIES = 1000 };

static const redlock_name MORE[] = {{.name = "more"}};

enum kind { ALONE, SHARED, SLOT, NAMES, REENTRANT, KINDS };

static redlock_spec spec_of(enum kind kind)
{
    redlock_spec spec = spec_for(WANTED, LONG_TTL_MS);

    if (kind == SHARED)
        spec.kind = REDLOCK_SHARED;
    if (kind == SLOT) {
        spec.kind = REDLOCK_SEMAPHORE;
        spec.permits = SLOTS;
    }
    if (kind == NAMES) {
        spec.also = MORE;
        spec.also_count = 1;
    }
    spec.reentrant = kind == REENTRANT;
    return spec;
}

static redlock_lock *take(redlock_client *client, enum kind kind)
{
    redlock_spec spec = spec_of(kind);

    return take_spec(client, &spec);
}

/* ---- fences -------------------------------------------------------------------------------------------- */

/* Each kind after each other one: those who share a lock may have the number of one that shared it before
 * them, and everybody else has a higher one than was ever handed out. */
static void fences_rise_from_kind_to_kind(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    uint64_t highest = 0;

    for (enum kind first = 0; first < KINDS; first++) {
        for (enum kind second = 0; second < KINDS; second++) {
            for (int i = 0; i < 2; i++) {
                redlock_lock *lock = take(client, i == 0 ? first : second);
                bool shared = first == SHARED && second == SHARED && i == 1;

                assert_true(redlock_lock_fence(lock) > highest ||
                            (shared && redlock_lock_fence(lock) == highest));
                highest = redlock_lock_fence(lock);
                give_back(lock);
            }
        }
    }
    redlock_client_close(client);
}

/* ---- permits ------------------------------------------------------------------------------------------- */

/* A node that lets in so many, whoever they are: an obvious way to make a semaphore out of majorities. */
static bool count_in(struct fleet *fleet, int node, const char *caller)
{
    return strcmp(
               fleet_command(
                   fleet, node, "EVAL",
                   "if redis.call('SCARD', KEYS[1]) >= 2 then return 0 end return redis.call('SADD', KEYS[1], ARGV[1])",
                   "1", "counted", caller, NULL),
               "1") == 0;
}

/* Three callers ask five nodes, whose turns at each node differ by how long their questions take. */
static void permits_counted_at_each_node_let_three_in_where_two_may(void **state)
{
    struct fleet *fleet = *state;
    static const char *const arrivals[] = {"ACB", "ACB", "ABC", "BCA", "BCA"};
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    redlock_spec spec = spec_of(SLOT);
    int votes[3] = {0}, inside = 0;
    redlock_lock *first, *second, *third = NULL;

    for (int node = 0; node < fleet_size(fleet); node++)
        for (int i = 0; i < 3; i++)
            votes[arrivals[node][i] - 'A'] += count_in(fleet, node, (char[]){arrivals[node][i], 0});
    for (int i = 0; i < 3; i++)
        inside += votes[i] >= quorum_of(fleet);
    assert_int_equal(inside, SLOTS + 1);

    first = take_spec(client, &spec);
    second = take_spec(client, &spec);
    assert_result(REDLOCK_BUSY, redlock_try_acquire(client, &spec, &third, NULL), NULL);
    give_back(first);
    give_back(second);
    for (int node = 0; node < fleet_size(fleet); node++)
        fleet_command(fleet, node, "DEL", "counted", NULL);
    redlock_client_close(client);
}

/* ---- entering again ------------------------------------------------------------------------------------ */

/* Whatever else a client may have to say to its nodes meanwhile: it is not a command for each entry. */
static void entering_again_sends_no_command(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    redlock_spec spec = spec_of(REENTRANT);
    redlock_lock *outer = take_spec(client, &spec), *inner;
    long before;

    await_all_nodes(client);
    before = traffic_calls_of_all(fleet, NULL);
    for (int i = 0; i < ENTRIES; i++) {
        assert_result(REDLOCK_OK, redlock_try_acquire(client, &spec, &inner, NULL), NULL);
        assert_ptr_equal(inner, outer);
        give_back(inner);
    }
    assert_true(traffic_calls_of_all(fleet, NULL) - before < ENTRIES / 10);
    give_back(outer);
    redlock_client_close(client);
}

/* ---- bad input ----------------------------------------------------------------------------------------- */

static void expect_refusal(redlock_result expected, redlock_client *client, const redlock_spec *spec)
{
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_lock *lock = NULL;

    assert_result(expected, redlock_try_acquire(client, spec, &lock, &report), &report);
    assert_null(lock);
    assert_true(strlen(report.line) > 0);
    assert_printable(report.line);
}

static void what_makes_no_sense_is_refused_in_words(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    static redlock_name hundred[99];
    static char texts[99][8];
    redlock_spec none = spec_of(SLOT), many = spec_of(SLOT), above = spec_of(SLOT), unknown = spec_of(ALONE),
                 sharing = spec_of(SHARED), twice = spec_of(NAMES), names = spec_of(NAMES),
                 slots_of_names = spec_of(SLOT), again = spec_of(NAMES), shared_names = spec_of(NAMES);
    static const redlock_name same[] = {{.name = WANTED}};
    const redlock_spec *wrong[] = {&none,  &many,  &above,          &unknown, &sharing,
                                   &twice, &names, &slots_of_names, &again,   &shared_names};

    for (int i = 0; i < 99; i++) {
        snprintf(texts[i], sizeof texts[i], "n%d", i);
        hundred[i].name = texts[i];
    }
    none.permits = 0;
    many.permits = 10000;
    above.permits = REDLOCK_PERMITS_MAX + 1;
    unknown.kind = (redlock_kind)77;
    sharing.permits = SLOTS; /* shared, and slots */
    twice.also = same;
    names.also = hundred;
    names.also_count = 99;
    slots_of_names.also = MORE;
    slots_of_names.also_count = 1;
    again.reentrant = 1;
    shared_names.kind = REDLOCK_SHARED;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        expect_refusal(REDLOCK_INVALID, client, wrong[i]);
    assert_string_equal(lock_leftovers(fleet, 0), "");
    redlock_client_close(client);
}

/* Whichever other program's data has that name: it stays as it is, and is not waited for. */
static void another_programs_key_is_named_and_left_alone(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    static const char *const makers[][4] = {
        {"HSET", WANTED, "field", "value"}, {"RPUSH", WANTED, "one", "two"}, {"ZADD", WANTED, "1", "member"}};

    for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++) {
        char before[64];

        for (int node = 0; node < fleet_size(fleet); node++)
            fleet_command(fleet, node, makers[i][0], makers[i][1], makers[i][2], makers[i][3], NULL);
        snprintf(before, sizeof before, "%s", fleet_command(fleet, 0, "TYPE", WANTED, NULL));
        for (enum kind kind = 0; kind < KINDS; kind++) {
            redlock_spec spec = spec_of(kind);

            expect_refusal(REDLOCK_FOREIGN_TYPE, client, &spec);
        }
        for (int node = 0; node < fleet_size(fleet); node++) {
            assert_string_equal(fleet_command(fleet, node, "TYPE", WANTED, NULL), before);
            fleet_command(fleet, node, "DEL", WANTED, NULL);
            await(count_lock_keys(fleet, node) == 0);
        }
    }
    redlock_client_close(client);
}

/* The kinds of one name at a time: those that exclude each other are busy, a semaphore and the others are
 * different things. Whoever is refused leaves nothing. */
static void another_kind_is_refused_while_one_is_held(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS),
                   *other = line_open(fleet_urls(fleet));

    for (enum kind held = 0; held < KINDS; held++) {
        redlock_lock *lock = take(client, held);

        for (enum kind kind = 0; kind < KINDS; kind++) {
            redlock_spec spec = spec_of(kind);
            bool together = (held == SHARED && kind == SHARED) || (held == SLOT && kind == SLOT);

            if (together)
                give_back(take_spec(other, &spec));
            else
                expect_refusal((held == SLOT) != (kind == SLOT) ? REDLOCK_FOREIGN_TYPE : REDLOCK_BUSY, other,
                               &spec);
        }
        give_back(lock);
        assert_string_equal(lock_leftovers(fleet, 20000), "");
    }
    redlock_client_close(client);
    redlock_client_close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_GUARDED(fences_rise_from_kind_to_kind, start_five_guarded),
        ON_GUARDED(permits_counted_at_each_node_let_three_in_where_two_may, start_five_guarded),
        ON_GUARDED(entering_again_sends_no_command, start_five_guarded),
        ON_GUARDED(what_makes_no_sense_is_refused_in_words, start_five_guarded),
        ON_GUARDED(another_programs_key_is_named_and_left_alone, start_five_guarded),
        ON_GUARDED(another_kind_is_refused_while_one_is_held, start_five_guarded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
