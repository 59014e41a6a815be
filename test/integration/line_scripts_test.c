/*
 * Tests of the scripts for those who wait, on a real node: the line of a fair lock with every branch of its gate, and leaving
 * it. The guard's keys are planted by hand. Who is told and who is shown is in waiting_scripts_test.c.
 */
#include <stdio.h>
#include <string.h>

#include "support/guarded.h"
#include "support/line_calls.h"
#include "support/script_calls.h"
#include "support/steps.h"

/* ---- being taken in ------------------------------------------------------------------------------------ */

static void a_free_lock_that_nobody_waits_for_is_granted_at_once(void **state)
{
    struct fleet *fleet = *state;

    plant_guard(fleet);
    expect_granted(ask(fleet, 'a', T0));
    assert_value(fleet, "lock", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    assert_in_range(ttl_of(fleet, "lock"), 1, LONG_TTL_MS);
    expect_nobody(fleet);
    expect_state(fleet, "high", decimal(T0));
    assert_in_range(ttl_of(fleet, STATE), 60001, 10 * LEASE_MS);
    free_lock(fleet);
}

/* The gate is before the vote, not instead of it. */
static void a_grant_is_numbered_as_any_other(void **state)
{
    struct fleet *fleet = *state;
    int64_t ahead;
    const char *answer;

    plant_guard(fleet);
    ahead = node_now(fleet) + 4 * SECOND_US;
    plant(fleet, "redlock-fence:{lock}", decimal(ahead));
    answer = ask(fleet, 'a', T0);
    assert_int_equal(count_lines(answer), 3);
    assert_int_equal(number_at(answer, 0), 1);
    assert_int_equal(number_at(answer, 2), ahead + 1);
    free_lock(fleet);
}

static void whoever_finds_it_held_is_taken_in_with_a_lease(void **state)
{
    struct fleet *fleet = *state;

    plant_guard(fleet);
    hold(fleet);
    expect_denied(ask(fleet, 'a', T0), "holder", 1, T0);
    expect_line(fleet, "a");
    assert_string_equal(fleet_command(fleet, 0, "ZSCORE", LINE, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL),
                        decimal(T0));
    assert_value(fleet, A_LEASE, "|pid=1");
    assert_in_range(ttl_of(fleet, A_LEASE), 1, LEASE_MS);
    assert_in_range(ttl_of(fleet, LINE), 60001, 10 * LEASE_MS);
    assert_in_range(ttl_of(fleet, STATE), 60001, 10 * LEASE_MS);
    assert_value(fleet, "lock", "holder");
    empty_line(fleet);
}

static void asking_again_renews_the_lease_and_keeps_the_place(void **state)
{
    struct fleet *fleet = *state;

    wait_in_line(fleet, "ab");
    fleet_command(fleet, 0, "PEXPIRE", A_LEASE, "1000", NULL);
    expect_denied(ask(fleet, 'a', T0), "holder", 1, T0);
    assert_in_range(ttl_of(fleet, A_LEASE), 1001, LEASE_MS);
    expect_line(fleet, "ab");
    empty_line(fleet);
}

static void a_line_lives_for_a_minute_at_least(void **state)
{
    struct fleet *fleet = *state;
    struct rl_place place = place_of('a', T0);

    plant_guard(fleet);
    hold(fleet);
    place.lease_ms = 1000;
    ask_with(fleet, &place, EPOCH, NEVER_LATE);
    assert_in_range(ttl_of(fleet, LINE), 10001, 60000);
    assert_in_range(ttl_of(fleet, STATE), 10001, 60000);
    empty_line(fleet);
}

static void a_clock_that_is_behind_wins_nothing(void **state)
{
    struct fleet *fleet = *state;

    plant_guard(fleet);
    hold(fleet);
    expect_denied(ask(fleet, 'a', T0), "holder", 1, T0);
    expect_denied(ask(fleet, 'b', T0 - 50000), "holder", 2, T0 + 1);
    expect_denied(ask(fleet, 'c', T0 - 2000), "holder", 3, T0 + 2);
    expect_line(fleet, "abc");
    expect_state(fleet, "high", decimal(T0 + 2));
    leave(fleet, 'a');
    leave(fleet, 'b');
    leave(fleet, 'c');
    /* What was taken in once counts, even when nobody waits any more. */
    expect_denied(ask(fleet, 'a', T0 - 2000), "holder", 1, T0 + 3);
    empty_line(fleet);
}

/* Who came at the same moment may reach other nodes the other way round: there the tickets decide, so here too. */
static void who_comes_at_the_same_moment_is_sorted_by_ticket(void **state)
{
    struct fleet *fleet = *state;

    plant_guard(fleet);
    hold(fleet);
    expect_denied(ask(fleet, 'a', T0), "holder", 1, T0);
    expect_denied(ask(fleet, 'b', T0 - 1999), "holder", 1, T0 - 1999);
    expect_line(fleet, "ba");
    empty_line(fleet);
}

static void a_ticket_may_rise_but_does_not_fall(void **state)
{
    struct fleet *fleet = *state;

    wait_in_line(fleet, "ab");
    expect_denied(ask(fleet, 'a', T0 + 2), "holder", 2, T0 + 2);
    expect_denied(ask(fleet, 'a', T0), "holder", 2, T0 + 2);
    expect_state(fleet, "high", decimal(T0 + 2));
    empty_line(fleet);
}

static void a_settled_ticket_counts_as_it_is(void **state)
{
    struct fleet *fleet = *state;

    plant_guard(fleet);
    hold(fleet);
    ask(fleet, 'a', T0);
    ask(fleet, 'b', T0 + 10);
    /* Not known here, although a quorum knew it. */
    expect_denied(ask_settled(fleet, 'c', T0 + 5), "holder", 2, T0 + 5);
    expect_state(fleet, "high", decimal(T0 + 10));
    /* Taken in here with another number than the one that was settled. */
    expect_denied(ask_settled(fleet, 'b', T0 + 1), "holder", 2, T0 + 1);
    expect_line(fleet, "abc");
    empty_line(fleet);
}

/* ---- the free lock ------------------------------------------------------------------------------------- */

static void a_free_lock_is_granted_to_the_first_and_to_nobody_else(void **state)
{
    struct fleet *fleet = *state;

    wait_in_line(fleet, "ab");
    free_lock(fleet);
    expect_denied(ask(fleet, 'b', T0 + 1), "", 2, T0 + 1);
    expect_denied(ask(fleet, 'c', T0 + 2), "", 3, T0 + 2);
    assert_value(fleet, "lock", "(nil)");
    expect_granted(ask(fleet, 'a', T0));
    expect_line(fleet, "bc");
    assert_value(fleet, A_LEASE, "(nil)");
    expect_state(fleet, "offer", "(nil)");
    free_lock(fleet);
    expect_granted(ask(fleet, 'b', T0 + 1));
    free_lock(fleet);
    expect_granted(ask(fleet, 'c', T0 + 2));
    expect_nobody(fleet);
    free_lock(fleet);
}

/* A loser gives back at once and keeps his ticket: he had it before those who came meanwhile. */
static void who_won_too_few_nodes_comes_back_to_the_front(void **state)
{
    struct fleet *fleet = *state;

    wait_in_line(fleet, "ab");
    free_lock(fleet);
    expect_granted(ask(fleet, 'a', T0));
    free_lock(fleet);
    expect_granted(ask_settled(fleet, 'a', T0));
    free_lock(fleet);
    leave(fleet, 'b');
}

static void a_dead_head_is_dropped(void **state)
{
    struct fleet *fleet = *state;
    struct rl_place brief = place_of('a', T0);

    plant_guard(fleet);
    hold(fleet);
    brief.lease_ms = 1;
    ask_with(fleet, &brief, EPOCH, NEVER_LATE);
    while (ttl_of(fleet, A_LEASE) != -2)
        ;
    expect_denied(ask(fleet, 'b', T0 + 1), "holder", 1, T0 + 1);
    expect_line(fleet, "b");
    expect_denied(ask(fleet, 'c', T0 + 2), "holder", 2, T0 + 2);
    free_lock(fleet);
    fleet_command(fleet, 0, "DEL", B_LEASE, NULL);
    expect_granted(ask(fleet, 'c', T0 + 2));
    expect_nobody(fleet);
    free_lock(fleet);
}

static void the_last_of_a_line_of_dead_ones_leaves_it_empty(void **state)
{
    struct fleet *fleet = *state;

    wait_in_line(fleet, "ab");
    fleet_command(fleet, 0, "DEL", A_LEASE, B_LEASE, NULL);
    free_lock(fleet);
    expect_granted(ask(fleet, 'c', T0 + 2));
    expect_nobody(fleet);
    free_lock(fleet);
}

/* Two wait, the lock is free, and the second has asked: it is the first one's for the grace. */
static void offer_to_the_first_of_two(struct fleet *fleet)
{
    wait_in_line(fleet, "ab");
    free_lock(fleet);
    ask(fleet, 'b', T0 + 1);
}

static void a_head_that_does_not_take_it_is_skipped_after_the_grace(void **state)
{
    struct fleet *fleet = *state;

    wait_in_line(fleet, "abc");
    free_lock(fleet);
    expect_denied(ask(fleet, 'c', T0 + 2), "", 3, T0 + 2);
    age_offer(fleet, (GRACE_MS - 2000) * INT64_C(1000));
    expect_denied(ask(fleet, 'c', T0 + 2), "", 3, T0 + 2);
    assert_in_range(number_at(ask(fleet, 'c', T0 + 2), 3), 1, 2000);
    age_offer(fleet, 2000 * INT64_C(1000));
    /* It is offered to the next, with a grace of his own. */
    expect_denied(ask(fleet, 'c', T0 + 2), "", 2, T0 + 2);
    expect_line(fleet, "bc");
    assert_value(fleet, A_LEASE, "(nil)");
    assert_in_range(number_at(ask(fleet, 'c', T0 + 2), 3), 2001, GRACE_MS);
    /* Who was skipped and is alive comes back with his settled ticket. */
    expect_granted(ask_settled(fleet, 'a', T0));
    free_lock(fleet);
    expect_granted(ask(fleet, 'b', T0 + 1));
    free_lock(fleet);
    leave(fleet, 'c');
}

static void who_skips_the_head_and_is_next_has_the_lock(void **state)
{
    struct fleet *fleet = *state;

    offer_to_the_first_of_two(fleet);
    age_offer(fleet, GRACE_MS * INT64_C(1000));
    expect_granted(ask(fleet, 'b', T0 + 1));
    expect_nobody(fleet);
    free_lock(fleet);
}

/* Otherwise an offer from before the last holder would cost the head his place. */
static void an_offer_ends_when_the_lock_is_taken(void **state)
{
    struct fleet *fleet = *state;

    offer_to_the_first_of_two(fleet);
    age_offer(fleet, GRACE_MS * INT64_C(1000));
    hold(fleet);
    expect_denied(ask(fleet, 'b', T0 + 1), "holder", 2, T0 + 1);
    expect_state(fleet, "offer", "(nil)");
    free_lock(fleet);
    expect_denied(ask(fleet, 'b', T0 + 1), "", 2, T0 + 1);
    /* Nobody of the line was there to see it taken: the fence tells. */
    age_offer(fleet, GRACE_MS * INT64_C(1000));
    fleet_command(fleet, 0, "SET", "redlock-fence:{lock}", decimal(node_now(fleet)), NULL);
    expect_denied(ask(fleet, 'b', T0 + 1), "", 2, T0 + 1);
    assert_in_range(number_at(ask(fleet, 'b', T0 + 1), 3), GRACE_MS / 2, GRACE_MS);
    leave(fleet, 'a');
    leave(fleet, 'b');
}

static void an_offer_from_the_future_begins_anew(void **state)
{
    struct fleet *fleet = *state;

    offer_to_the_first_of_two(fleet);
    age_offer(fleet, -3600 * INT64_C(1000000));
    expect_denied(ask(fleet, 'b', T0 + 1), "", 2, T0 + 1);
    leave(fleet, 'a');
    leave(fleet, 'b');
}

/* ---- what is refused ----------------------------------------------------------------------------------- */

static void who_is_refused_is_not_taken_in(void **state)
{
    struct fleet *fleet = *state;
    struct rl_place place = place_of('a', T0);
    const char *answer;

    plant_guard(fleet);
    hold(fleet);
    answer = ask_with(fleet, &place, "1 other id 1000 0", NEVER_LATE);
    assert_int_equal(count_lines(answer), 2);
    assert_int_equal(number_at(answer, 0), -3);
    answer = ask_with(fleet, &place, EPOCH, node_now(fleet) - 1);
    assert_int_equal(count_lines(answer), 2);
    assert_int_equal(number_at(answer, 0), -4);
    free_lock(fleet);
    fleet_command(fleet, 0, "HSET", "lock", "field", "value", NULL);
    assert_non_null(strstr(ask(fleet, 'a', T0), "WRONGTYPE")); /* Redis 6 has words before it */
    expect_nobody(fleet);
    expect_state(fleet, "high", "(nil)");
    free_lock(fleet);
    expect_granted(ask(fleet, 'a', T0));
    free_lock(fleet);
}

static void a_holder_with_a_long_name_and_no_end_is_shown_cut(void **state)
{
    struct fleet *fleet = *state;
    char owner[601], answer[ANSWER_MAX];

    plant_guard(fleet);
    memset(owner, 'x', 600);
    owner[600] = '\0';
    plant(fleet, "lock", owner);
    snprintf(answer, sizeof answer, "%s", ask(fleet, 'a', T0));
    assert_int_equal(number_at(answer, 3), -1);
    assert_int_equal(strspn(strchr(answer, 'x'), "x"), 511);
    empty_line(fleet);
}

/* ---- leaving ------------------------------------------------------------------------------------------- */

static void who_leaves_is_gone_at_once(void **state)
{
    struct fleet *fleet = *state;

    offer_to_the_first_of_two(fleet);
    assert_string_equal(leave(fleet, 'a'), "1");
    assert_string_equal(leave(fleet, 'a'), "0");
    expect_line(fleet, "b");
    expect_state(fleet, "offer", "(nil)");
    expect_granted(ask(fleet, 'b', T0 + 1));
    assert_string_equal(leave(fleet, 'b'), "0");
    expect_nobody(fleet);
    expect_state(fleet, "high", decimal(T0 + 1));
    free_lock(fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_A_FLUSHED_NODE(a_free_lock_that_nobody_waits_for_is_granted_at_once),
        ON_A_FLUSHED_NODE(a_grant_is_numbered_as_any_other),
        ON_A_FLUSHED_NODE(whoever_finds_it_held_is_taken_in_with_a_lease),
        ON_A_FLUSHED_NODE(asking_again_renews_the_lease_and_keeps_the_place),
        ON_A_FLUSHED_NODE(a_line_lives_for_a_minute_at_least),
        ON_A_FLUSHED_NODE(a_clock_that_is_behind_wins_nothing),
        ON_A_FLUSHED_NODE(who_comes_at_the_same_moment_is_sorted_by_ticket),
        ON_A_FLUSHED_NODE(a_ticket_may_rise_but_does_not_fall),
        ON_A_FLUSHED_NODE(a_settled_ticket_counts_as_it_is),
        ON_A_FLUSHED_NODE(a_free_lock_is_granted_to_the_first_and_to_nobody_else),
        ON_A_FLUSHED_NODE(who_won_too_few_nodes_comes_back_to_the_front),
        ON_A_FLUSHED_NODE(a_dead_head_is_dropped),
        ON_A_FLUSHED_NODE(the_last_of_a_line_of_dead_ones_leaves_it_empty),
        ON_A_FLUSHED_NODE(a_head_that_does_not_take_it_is_skipped_after_the_grace),
        ON_A_FLUSHED_NODE(who_skips_the_head_and_is_next_has_the_lock),
        ON_A_FLUSHED_NODE(an_offer_ends_when_the_lock_is_taken),
        ON_A_FLUSHED_NODE(an_offer_from_the_future_begins_anew),
        ON_A_FLUSHED_NODE(who_is_refused_is_not_taken_in),
        ON_A_FLUSHED_NODE(a_holder_with_a_long_name_and_no_end_is_shown_cut),
        ON_A_FLUSHED_NODE(who_leaves_is_gone_at_once),
    };

    return cmocka_run_group_tests(tests, start_one_guarded, stop_guarded);
}
