/*
 * Nodes that stop answering or die: a minority costs nothing, a majority is said plainly, nothing is left
 * behind, and all is well again when they come back.
 */
#include <stdio.h>
#include <string.h>

#include "support/steps.h"

static void freeze_first(struct fleet *fleet, int count)
{
    for (int i = 0; i < count; i++)
        fleet_freeze(fleet, i);
}

static void thaw_first(struct fleet *fleet, int count)
{
    for (int i = 0; i < count; i++)
        fleet_thaw(fleet, i);
}

static void kill_first(struct fleet *fleet, int count)
{
    for (int i = 0; i < count; i++)
        fleet_kill(fleet, i);
}

static void restart_first(struct fleet *fleet, int count)
{
    for (int i = 0; i < count; i++)
        assert_true(fleet_restart(fleet, i));
}

/* The slowest node has the key too. */
static void await_held_by_all(struct fleet *fleet)
{
    for (int i = 0; i < fleet_size(fleet); i++)
        await(fleet_key_count(fleet, i) == 1);
}

/* So patient that whoever waits for a node that does not answer stands out. */
enum { PATIENCE_MS = 20000 };

static redlock_options patient_options(const struct fleet *fleet)
{
    redlock_options options = options_for(fleet_urls(fleet));

    options.node_timeout_ms = PATIENCE_MS;
    return options;
}

static redlock_client *open_patient_client(const struct fleet *fleet)
{
    redlock_options options = patient_options(fleet);

    return open_with(&options);
}

static void assert_settled_at_once(const redlock_report *report, const struct fleet *fleet)
{
    assert_report_is_sound(report, REDLOCK_OK, fleet);
    assert_int_equal(report->rounds, 1);
    assert_in_range(report->waited_ms, 0, PATIENCE_MS / 2);
}

/* Acquires, extends and releases a few times, and expects each to be settled in the first round, without
 * waiting for the nodes that are not there. */
static void assert_one_round_each(redlock_client *client, const struct fleet *fleet)
{
    redlock_spec spec = spec_for("loss", LONG_TTL_MS);
    redlock_report report = detailed_report();

    for (int i = 0; i < 20; i++) {
        redlock_lock *lock = NULL;
        assert_result(REDLOCK_OK, redlock_try_acquire(client, &spec, &lock, &report), &report);
        assert_settled_at_once(&report, fleet);
        assert_result(REDLOCK_OK, redlock_extend(lock, 0, &report), &report);
        assert_settled_at_once(&report, fleet);
        assert_result(REDLOCK_OK, redlock_release(lock, &report), &report);
        assert_settled_at_once(&report, fleet);
        redlock_lock_free(lock);
    }
}

/* ---- a minority ---------------------------------------------------------------------------------------- */

static void minority_of_frozen_nodes_costs_no_round(void **state)
{
    struct fleet *fleet = *state;

    for (int frozen = 1; frozen <= 2; frozen++) {
        redlock_client *client = open_patient_client(fleet);
        await_all_nodes(client);
        freeze_first(fleet, frozen);
        assert_one_round_each(client, fleet);
        thaw_first(fleet, frozen);
        redlock_client_close(client);
    }
}

static void minority_frozen_before_the_client_opens_costs_no_round(void **state)
{
    struct fleet *fleet = *state;
    redlock_options options = patient_options(fleet);

    redlock_client_close(open_with(&options)); /* the nodes are admitted */
    freeze_first(fleet, 2);
    redlock_client *client = open_unadmitted(&options);
    assert_one_round_each(client, fleet);
    thaw_first(fleet, 2);
    redlock_client_close(client);
}

static void minority_of_killed_nodes_costs_no_round(void **state)
{
    struct fleet *fleet = *state;

    for (int dead = 1; dead <= 2; dead++) {
        redlock_client *early = open_patient_client(fleet);
        await_all_nodes(early);
        kill_first(fleet, dead);
        assert_one_round_each(early, fleet);
        redlock_client *late = open_patient_client(fleet);
        assert_one_round_each(late, fleet);
        restart_first(fleet, dead);
        redlock_client_close(early);
        redlock_client_close(late);
    }
}

/* Without an answer nobody knows whether the node kept the key, and the release must get there all the
 * same. */
static void node_frozen_while_the_lock_is_held_is_released_when_it_thaws(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, "held", LONG_TTL_MS);

    await_held_by_all(fleet);
    freeze_first(fleet, 2);
    give_back(lock);
    thaw_first(fleet, 2);
    assert_string_equal(fleet_leftovers(fleet, 10000), "");
    redlock_client_close(client);
}

static void frozen_node_has_no_orphan_after_it_thaws(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    char name[32];

    freeze_first(fleet, 2);
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof(name), "orphan:%d", i);
        give_back(take_lock(client, name, LONG_TTL_MS));
    }
    thaw_first(fleet, 2);
    assert_string_equal(fleet_leftovers(fleet, 10000), "");
    redlock_client_close(client);
}

static void frozen_node_has_no_orphan_after_the_client_closed(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));

    freeze_first(fleet, 2);
    give_back(take_lock(client, "closed", LONG_TTL_MS));
    redlock_client_close(client);
    thaw_first(fleet, 2);
    /* What the closed client had under way is all in the node's hands now. */
    sleep_ms(200);
    assert_string_equal(fleet_leftovers(fleet, 5000), "");
}

/* Frozen for longer than a node may take to answer: the connection is given up with an acquire under way on
 * it. */
static void node_frozen_for_long_has_no_orphan_after_it_thaws(void **state)
{
    struct fleet *fleet = *state;
    redlock_options options = options_for(fleet_urls(fleet));

    options.node_timeout_ms = 200;
    options.connect_timeout_ms = 300;
    redlock_client *client = open_with(&options);
    await_all_nodes(client);
    freeze_first(fleet, 2);
    for (int i = 0; i < 15; i++) {
        give_back(take_lock(client, "long", LONG_TTL_MS));
        sleep_ms(100);
    }
    thaw_first(fleet, 2);
    assert_string_equal(fleet_leftovers(fleet, 10000), "");
    redlock_client_close(client);
}

/* ---- a majority ---------------------------------------------------------------------------------------- */

static void assert_verdicts(const redlock_report *report, int count, redlock_verdict verdict)
{
    for (int i = 0; i < count; i++) {
        assert_int_equal(node_of(report, i).verdict, verdict);
        assert_true(node_of(report, i).detail[0] != '\0' || verdict == REDLOCK_VERDICT_SILENT);
        assert_int_equal(node_of(report, i).latency_us, -1);
    }
}

static void frozen_majority_is_no_quorum_and_names_the_silent(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_report report = detailed_report();

    freeze_first(fleet, 3);
    assert_not_had(REDLOCK_NO_QUORUM, client, "majority", &report);
    assert_report_is_sound(&report, REDLOCK_NO_QUORUM, fleet);
    assert_verdicts(&report, 3, REDLOCK_VERDICT_SILENT);
    assert_int_equal(report.granted, 2);
    assert_null(strstr(report.line, "busy"));
    /* The two that granted it were told to forget it, while the others are still silent. */
    assert_string_equal(fleet_leftovers(fleet, 5000), "");

    thaw_first(fleet, 3);
    assert_string_equal(fleet_leftovers(fleet, 10000), "");
    give_back(await_lock(client, "majority"));
    redlock_client_close(client);
}

static void expect_recovery_of_the_killed(struct fleet *fleet, redlock_client *client)
{
    restart_first(fleet, 3);
    await_all_nodes(client);
    admit_new_nodes(client);
    give_back(await_lock(client, "majority"));
}

static void killed_majority_is_no_quorum_and_says_why(void **state)
{
    struct fleet *fleet = *state;
    redlock_report report = detailed_report();

    kill_first(fleet, 3);
    redlock_client *client = open_client(fleet_urls(fleet));
    assert_not_had(REDLOCK_NO_QUORUM, client, "majority", &report);
    assert_report_is_sound(&report, REDLOCK_NO_QUORUM, fleet);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(node_of(&report, i).verdict, REDLOCK_VERDICT_FAILED);
        assert_non_null(strstr(node_of(&report, i).detail, "connection refused"));
    }
    assert_string_equal(fleet_leftovers(fleet, 5000), "");
    expect_recovery_of_the_killed(fleet, client);
    redlock_client_close(client);
}

static void majority_killed_under_an_open_client_is_no_quorum(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_report report = detailed_report();

    kill_first(fleet, 3);
    assert_not_had(REDLOCK_NO_QUORUM, client, "majority", &report);
    assert_verdicts(&report, 3, REDLOCK_VERDICT_FAILED);
    assert_string_equal(fleet_leftovers(fleet, 5000), "");
    expect_recovery_of_the_killed(fleet, client);
    redlock_client_close(client);
}

static void waiting_ends_with_no_quorum_when_the_nodes_stay_away(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = spec_for("away", LONG_TTL_MS);
    redlock_report report = detailed_report();
    redlock_lock *lock = NULL;

    kill_first(fleet, 3);
    assert_result(REDLOCK_NO_QUORUM, redlock_acquire(client, &spec, 500, &lock, &report), &report);
    assert_null(lock);
    assert_true(report.rounds >= 2);
    assert_true(report.waited_ms >= 500);
    redlock_client_close(client);
}

static void release_without_a_quorum_says_so_and_still_cleans_up(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, "release", LONG_TTL_MS);
    redlock_report report = detailed_report();

    await_held_by_all(fleet);
    freeze_first(fleet, 3);
    assert_result(REDLOCK_NO_QUORUM, redlock_release(lock, &report), &report);
    assert_int_equal(redlock_lock_validity_ms(lock), 0);
    assert_result(REDLOCK_NOT_HELD, redlock_release(lock, NULL), NULL);
    assert_string_equal(fleet_leftovers(fleet, 5000), "");
    redlock_lock_free(lock);
    thaw_first(fleet, 3);
    assert_string_equal(fleet_leftovers(fleet, 10000), "");
    redlock_client_close(client);
}

static void extend_without_a_quorum_does_not_end_the_lease(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, "extend", LONG_TTL_MS);
    redlock_report report = detailed_report();

    freeze_first(fleet, 3);
    int64_t before_ms = redlock_lock_validity_ms(lock);
    assert_result(REDLOCK_NO_QUORUM, redlock_extend(lock, 2 * LONG_TTL_MS, &report), &report);
    assert_in_range(redlock_lock_validity_ms(lock), 1, before_ms);
    thaw_first(fleet, 3);
    await(redlock_extend(lock, 2 * LONG_TTL_MS, &report) == REDLOCK_OK);
    assert_in_range(redlock_lock_validity_ms(lock), LONG_TTL_MS, 2 * LONG_TTL_MS);
    give_back(lock);
    redlock_client_close(client);
}

/* Two of three contenders' nodes are down for both: held elsewhere is busy, not "no quorum", and the other
 * way round. */
static void held_and_down_are_told_apart(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_client *other = open_warm_client(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, "apart", LONG_TTL_MS);
    redlock_report report = detailed_report();

    await_held_by_all(fleet);
    freeze_first(fleet, 2);
    assert_not_had(REDLOCK_BUSY, other, "apart", &report);
    fleet_freeze(fleet, 2);
    assert_not_had(REDLOCK_NO_QUORUM, other, "apart", &report);
    thaw_first(fleet, 3);
    await_all_nodes(client);
    give_back(lock);
    redlock_client_close(client);
    redlock_client_close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_NODES(minority_of_frozen_nodes_costs_no_round, start_five_nodes),
        ON_NODES(minority_frozen_before_the_client_opens_costs_no_round, start_five_nodes),
        ON_NODES(minority_of_killed_nodes_costs_no_round, start_five_nodes),
        ON_NODES(node_frozen_while_the_lock_is_held_is_released_when_it_thaws, start_five_nodes),
        ON_NODES(frozen_node_has_no_orphan_after_it_thaws, start_five_nodes),
        {"frozen_node_has_no_orphan_after_it_thaws_over_tcp", frozen_node_has_no_orphan_after_it_thaws,
         start_five_tcp_nodes, stop_nodes, NULL},
        ON_NODES(frozen_node_has_no_orphan_after_the_client_closed, start_five_nodes),
        {"frozen_node_has_no_orphan_after_the_client_closed_over_tcp",
         frozen_node_has_no_orphan_after_the_client_closed, start_five_tcp_nodes, stop_nodes, NULL},
        ON_NODES(node_frozen_for_long_has_no_orphan_after_it_thaws, start_five_nodes),
        {"node_frozen_for_long_has_no_orphan_after_it_thaws_over_tcp",
         node_frozen_for_long_has_no_orphan_after_it_thaws, start_five_tcp_nodes, stop_nodes, NULL},
        ON_NODES(frozen_majority_is_no_quorum_and_names_the_silent, start_five_nodes),
        {"frozen_majority_is_no_quorum_and_names_the_silent_over_tcp",
         frozen_majority_is_no_quorum_and_names_the_silent, start_five_tcp_nodes, stop_nodes, NULL},
        ON_NODES(killed_majority_is_no_quorum_and_says_why, start_five_nodes),
        {"killed_majority_is_no_quorum_and_says_why_over_tcp", killed_majority_is_no_quorum_and_says_why,
         start_five_tcp_nodes, stop_nodes, NULL},
        ON_NODES(majority_killed_under_an_open_client_is_no_quorum, start_five_nodes),
        ON_NODES(waiting_ends_with_no_quorum_when_the_nodes_stay_away, start_five_nodes),
        ON_NODES(release_without_a_quorum_says_so_and_still_cleans_up, start_five_nodes),
        ON_NODES(extend_without_a_quorum_does_not_end_the_lease, start_five_nodes),
        ON_NODES(held_and_down_are_told_apart, start_five_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
