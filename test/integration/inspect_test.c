/*
 * Who is said to hold a lock, by redlock_inspect() and by the report of whoever was refused: the owner that a
 * quorum of nodes has, and nobody when their keys are of several owners.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/steps.h"

#define NAME "owned"

/* One letter for each node: whose key it has ("A" is "owner-A"), or '-' for none. All last for ten
 * minutes. */
static void plant(struct fleet *fleet, const char *owners)
{
    for (int i = 0; owners[i] != '\0'; i++) {
        char value[] = "owner-?";

        value[6] = owners[i];
        fleet_command(fleet, i, "DEL", NAME, NULL);
        if (owners[i] != '-')
            fleet_command(fleet, i, "SET", NAME, value, "PX", "600000", NULL);
    }
}

static redlock_report inspect(redlock_client *client, struct fleet *fleet)
{
    redlock_report report = detailed_report();

    assert_result(REDLOCK_OK, redlock_inspect(client, NAME, 0, &report), &report);
    assert_report_is_sound(&report, REDLOCK_OK, fleet);
    return report;
}

static void assert_inspected(redlock_client *client, struct fleet *fleet, const char *owners,
                             const char *holder)
{
    redlock_report report;

    plant(fleet, owners);
    report = inspect(client, fleet);
    assert_string_equal(report.holder.id, holder);
    if (holder[0] == '\0')
        assert_int_equal(report.holder_ttl_left_ms, -2);
    else
        assert_in_range(report.holder_ttl_left_ms, 1, 600000);
    for (uint32_t i = 0; i < report.node_count; i++) {
        assert_int_equal(node_of(&report, i).owner == NULL, owners[i] == '-');
        if (owners[i] != '-')
            assert_int_equal(node_of(&report, i).owner[6], owners[i]);
    }
}

static void inspect_shows_the_holder_and_takes_nothing(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_client *other = open_warm_client(fleet_urls(fleet));
    redlock_report report = detailed_report();

    assert_result(REDLOCK_OK, redlock_inspect(other, "look", 0, &report), &report);
    assert_report_is_sound(&report, REDLOCK_OK, fleet);
    assert_int_equal(report.held, 0);
    assert_string_equal(report.holder.id, "");
    assert_int_equal(fleet_key_count(fleet, 0), 0);

    redlock_lock *lock = take_lock(client, "look", LONG_TTL_MS);
    for (int i = 0; i < fleet_size(fleet); i++)
        await(fleet_key_count(fleet, i) >= 1);
    assert_result(REDLOCK_OK, redlock_inspect(other, "look", 4, &report), &report);
    assert_report_is_sound(&report, REDLOCK_OK, fleet);
    assert_int_equal(report.held, fleet_size(fleet));
    assert_memory_equal(report.holder.id, redlock_lock_owner(lock, NULL), 8);
    for (uint32_t i = 0; i < report.node_count; i++) {
        assert_string_equal(node_of(&report, i).owner, redlock_lock_owner(lock, NULL));
        assert_in_range(node_of(&report, i).ttl_left_ms, 1, LONG_TTL_MS);
    }
    give_back(lock);
    redlock_client_close(client);
    redlock_client_close(other);
}

static void the_holder_is_the_owner_on_a_quorum_of_all_nodes(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));

    assert_inspected(client, fleet, "AAAAA", "owner-A");
    assert_inspected(client, fleet, "AABBB", "owner-B");
    assert_inspected(client, fleet, "ABABA", "owner-A");
    assert_inspected(client, fleet, "AABAA", "owner-A");
    assert_inspected(client, fleet, "-A-AA", "owner-A");
    assert_inspected(client, fleet, "BACAA", "owner-A");
    assert_inspected(client, fleet, "ABCDE", "");
    assert_inspected(client, fleet, "AABBC", "");
    assert_inspected(client, fleet, "ABCBA", "");
    assert_inspected(client, fleet, "AABB-", "");
    assert_inspected(client, fleet, "AA---", "");
    assert_inspected(client, fleet, "----A", "");
    plant(fleet, "-----");
    redlock_client_close(client);
}

static void nodes_that_do_not_answer_are_nobodys(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_report report = detailed_report();

    plant(fleet, "AAABA");
    fleet_kill(fleet, 0);
    report = inspect(client, fleet);
    assert_string_equal(report.holder.id, "owner-A");
    assert_int_equal(report.held, 4);
    fleet_kill(fleet, 1);
    report = inspect(client, fleet);
    assert_string_equal(report.holder.id, "");
    assert_string_equal(node_of(&report, 2).owner, "owner-A");
    fleet_kill(fleet, 2);
    assert_result(REDLOCK_NO_QUORUM, redlock_inspect(client, NAME, 0, &report), &report);
    assert_string_equal(report.holder.id, "");
    assert_string_equal(node_of(&report, 4).owner, "owner-A");
    plant(fleet, "-----");
    redlock_client_close(client);
}

/* Values of other programs, which differ only behind a NUL. */
static void owner_values_are_compared_whole(void **state)
{
    static const char *const values[] = {"\x01\0a", "\x01\0b", "\x01\0c"};
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_report report;

    for (int i = 0; i < 3; i++)
        fleet_command_bytes(fleet, i, 3, (const char *[]){"SET", NAME, values[i]},
                            (const size_t[]){3, strlen(NAME), 3});
    report = inspect(client, fleet);
    assert_int_equal(report.held, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(node_of(&report, i).owner_length, 3);
        assert_memory_equal(node_of(&report, i).owner, values[i], 4);
    }
    assert_string_equal(report.holder.id, "");
    plant(fleet, "---");
    redlock_client_close(client);
}

static void lease_lasts_as_long_as_a_quorum_has_it(void **state)
{
    static const char *const ends[] = {"100000", "500000", "300000", "200000", "400000"};
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));

    plant(fleet, "AAAAA");
    for (int i = 0; i < 5; i++)
        fleet_command(fleet, i, "PEXPIRE", NAME, ends[i], NULL);
    assert_in_range(inspect(client, fleet).holder_ttl_left_ms, 200001, 300000);
    fleet_command(fleet, 0, "PERSIST", NAME, NULL);
    assert_in_range(inspect(client, fleet).holder_ttl_left_ms, 300001, 400000);
    fleet_command(fleet, 1, "SET", NAME, "owner-B", "PX", "900000",
                  NULL); /* of another one, it counts for nothing */
    assert_in_range(inspect(client, fleet).holder_ttl_left_ms, 200001, 300000);
    fleet_command(fleet, 2, "PERSIST", NAME, NULL);
    fleet_command(fleet, 3, "PERSIST", NAME, NULL);
    assert_int_equal(inspect(client, fleet).holder_ttl_left_ms, -1);
    plant(fleet, "-----");
    redlock_client_close(client);
}

/* ---- the report of whoever was refused ----------------------------------------------------------------- */

static redlock_report refuse(redlock_client *client, struct fleet *fleet, const char *owners, int64_t wait_ms)
{
    redlock_spec spec = spec_for(NAME, LONG_TTL_MS);
    redlock_report report = detailed_report();
    redlock_result expected = wait_ms == 0 ? REDLOCK_BUSY : REDLOCK_TIMEOUT;
    redlock_lock *none = NULL;

    plant(fleet, owners);
    assert_result(expected, redlock_acquire(client, &spec, wait_ms, &none, &report), &report);
    assert_report_is_sound(&report, expected, fleet);
    return report;
}

static void assert_split(const redlock_report *report)
{
    assert_string_equal(report->holder.id, "");
    assert_int_equal(report->holder_ttl_left_ms, -2);
    assert_non_null(strstr(report->line, "its votes are split"));
    assert_null(strstr(report->line, "held by"));
}

static void split_votes_are_nobodys_lock(void **state)
{
    static const char *const splits[] = {"ABCDE", "AABBC", "ABCBA", "AABCD"};
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));

    for (size_t i = 0; i < sizeof splits / sizeof splits[0]; i++) {
        redlock_report report = refuse(client, fleet, splits[i], 0);

        assert_split(&report);
        report = refuse(client, fleet, splits[i], 300);
        assert_split(&report);
    }
    plant(fleet, "-----");
    redlock_client_close(client);
}

/* How many nodes were heard is a matter of time; that the wrong one is never named is not. */
static void leftover_is_never_taken_for_the_holder(void **state)
{
    static const char *const held[] = {"AAAAB", "BAAAA", "AABAA", "BACAA"};
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_report report;

    for (size_t i = 0; i < 40; i++) {
        report = refuse(client, fleet, held[i % 4], 0);
        if (report.holder.id[0] == '\0')
            assert_split(&report);
        else
            assert_string_equal(report.holder.id, "owner-A");
    }
    report = refuse(client, fleet, "AAAAA", 0);
    assert_string_equal(report.holder.id, "owner-A");
    assert_in_range(report.holder_ttl_left_ms, 1, 600000);
    assert_non_null(strstr(report.line, "held by owner-A"));
    plant(fleet, "-----");
    redlock_client_close(client);
}

static void holder_is_named_though_nodes_are_down(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_report report;

    plant(fleet, "AAAAA");
    fleet_kill(fleet, 0);
    fleet_kill(fleet, 3);
    report = refuse(client, fleet, "AAAAA", 0);
    assert_string_equal(report.holder.id, "owner-A");
    report = refuse(client, fleet, "AABAC", 300);
    assert_split(&report);
    plant(fleet, "-----");
    redlock_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_1_3_5_NODES(inspect_shows_the_holder_and_takes_nothing),
        ON_NODES(the_holder_is_the_owner_on_a_quorum_of_all_nodes, start_five_nodes),
        ON_NODES(nodes_that_do_not_answer_are_nobodys, start_five_nodes),
        ON_NODES(owner_values_are_compared_whole, start_three_nodes),
        ON_NODES(lease_lasts_as_long_as_a_quorum_has_it, start_five_nodes),
        ON_NODES(split_votes_are_nobodys_lock, start_five_nodes),
        ON_NODES(leftover_is_never_taken_for_the_holder, start_five_nodes),
        ON_NODES(holder_is_named_though_nodes_are_down, start_five_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
