/*
 * Tests of core/stand: a caller at guarded nodes that does not wait, and how the nodes agree on its fence.
 * Times are in ms from the start, nodes count from 0. Callers that stand in line are in stand_test.c.
 */
#include "core/stand.h"

#include "support/check.h"

enum { TTL_MS = 10000, TIMEOUT_MS = 50 };

struct attempt {
    struct rl_prng prng;
    struct rl_stand stand;
    struct rl_effects effects;
};

static struct rl_time at(int64_t ms)
{
    return (struct rl_time){1 + ms * 1000};
}

static void start_with(struct attempt *attempt, uint32_t node_count, int64_t ttl_ms, int64_t first_wait_ms)
{
    struct rl_acquire_config config = {.node_count = node_count,
                                       .ttl = rl_span_ms(ttl_ms),
                                       .drift_ppm = 10000,
                                       .node_timeout = rl_span_ms(TIMEOUT_MS),
                                       .first_wait = rl_span_ms(first_wait_ms),
                                       .give_up_at = at(0),
                                       .retry_min = rl_span_ms(10),
                                       .retry_max = rl_span_ms(100)};

    attempt->prng = rl_prng_seed(7);
    rl_stand_init(&attempt->stand, &config, &attempt->prng);
    rl_stand_step(&attempt->stand, &(struct rl_event){.kind = RL_EVENT_START, .now = at(0)},
                  &attempt->effects);
    assert_int_equal(attempt->effects.acquire, rl_node_set_all(node_count));
    assert_true(attempt->effects.fresh);
}

static void start(struct attempt *attempt, uint32_t node_count)
{
    start_with(attempt, node_count, TTL_MS, 0);
}

static void answer(struct attempt *attempt, uint32_t question, uint32_t node, int64_t ms,
                   struct rl_answer what)
{
    rl_stand_step(&attempt->stand,
                  &(struct rl_event){.kind = RL_EVENT_ANSWER,
                                     .now = at(ms),
                                     .node = node,
                                     .question = question,
                                     .sent = at(0),
                                     .answer = what},
                  &attempt->effects);
}

static void vote(struct attempt *attempt, uint32_t node, int64_t ms, enum rl_verdict verdict)
{
    answer(attempt, 1, node, ms, (struct rl_answer){.verdict = verdict, .ttl_left_ms = -2});
}

static void grant(struct attempt *attempt, uint32_t node, int64_t ms, uint64_t fence)
{
    answer(attempt, 1, node, ms, (struct rl_answer){.verdict = RL_GRANTED, .fence = fence});
}

static void raised(struct attempt *attempt, uint32_t node, int64_t ms, enum rl_verdict verdict)
{
    answer(attempt, attempt->stand.question, node, ms, (struct rl_answer){.verdict = verdict});
}

static void tell(struct attempt *attempt, enum rl_event_kind kind, uint32_t node, int64_t ms)
{
    rl_stand_step(&attempt->stand, &(struct rl_event){.kind = kind, .now = at(ms), .node = node},
                  &attempt->effects);
}

static void assert_goes_on(const struct attempt *attempt)
{
    assert_false(attempt->effects.done);
    assert_int_equal(attempt->effects.acquire, 0);
    assert_int_equal(attempt->effects.release, 0);
    assert_int_equal(attempt->effects.raise, 0);
}

static void assert_won(const struct attempt *attempt, uint64_t fence)
{
    assert_true(attempt->effects.done);
    assert_int_equal(attempt->stand.outcome, RL_OUTCOME_OK);
    assert_int_equal(attempt->stand.fence, fence);
    assert_int_equal(attempt->effects.release, 0);
}

static void assert_lost(const struct attempt *attempt, enum rl_outcome outcome, rl_node_set release)
{
    assert_true(attempt->effects.done);
    assert_int_equal(attempt->stand.outcome, outcome);
    assert_int_equal(attempt->effects.release, release);
    assert_int_equal(attempt->effects.acquire, 0);
}

/* ---- asking once ---- */

static void a_lock_that_somebody_has_is_busy_at_once(void **state)
{
    struct attempt attempt;

    (void)state;
    start(&attempt, 3);
    vote(&attempt, 0, 1, RL_DENIED);
    assert_goes_on(&attempt);
    vote(&attempt, 1, 2, RL_DENIED);
    assert_lost(&attempt, RL_OUTCOME_BUSY, 4); /* where it was denied there is nothing to undo */
}

static void a_place_that_a_node_gives_unasked_is_a_denial(void **state)
{
    struct attempt attempt;

    (void)state;
    start(&attempt, 1);
    answer(&attempt, 1, 0, 1,
           (struct rl_answer){.verdict = RL_DENIED, .rank = 1, .ticket = 5, .armed = true});
    assert_lost(&attempt, RL_OUTCOME_BUSY, 0);
}

static void a_half_run_is_undone_where_it_may_have_left_something(void **state)
{
    struct attempt attempt;

    (void)state;
    start(&attempt, 3);
    grant(&attempt, 0, 1, 17);
    vote(&attempt, 1, 2, RL_DENIED);
    vote(&attempt, 2, 3, RL_FAILED);
    assert_lost(&attempt, RL_OUTCOME_BUSY, 5);
}

static void silent_at_the_deadline_is_no_quorum_and_nobody_is_asked_again(void **state)
{
    struct attempt attempt;

    (void)state;
    start(&attempt, 3);
    grant(&attempt, 0, 1, 17);
    assert_int_equal(attempt.stand.wake_at.us, at(TIMEOUT_MS).us);
    tell(&attempt, RL_EVENT_TIMER, 0, TIMEOUT_MS);
    assert_lost(&attempt, RL_OUTCOME_NO_QUORUM, 7);
}

static void a_grant_that_ends_before_the_others_come_is_not_asked_for_again(void **state)
{
    struct attempt attempt;

    (void)state;
    start_with(&attempt, 3, 20, 0);
    grant(&attempt, 0, 1, 17);
    tell(&attempt, RL_EVENT_TIMER, 0, 25);
    assert_goes_on(&attempt);
    grant(&attempt, 1, 26, 17);
    grant(&attempt, 2, 27, 17);
    assert_lost(&attempt, RL_OUTCOME_TOO_SLOW, 7);
}

static void connections_that_are_being_made_are_waited_for(void **state)
{
    struct attempt attempt;

    (void)state;
    start_with(&attempt, 1, TTL_MS, 2000);
    tell(&attempt, RL_EVENT_TIMER, 0, 2 * TIMEOUT_MS);
    assert_goes_on(&attempt);
    grant(&attempt, 0, 1900, 17);
    assert_won(&attempt, 17);
}

static void a_connection_that_comes_later_is_not_asked(void **state)
{
    struct attempt attempt;

    (void)state;
    start(&attempt, 3);
    vote(&attempt, 0, 1, RL_FAILED);
    tell(&attempt, RL_EVENT_UP, 0, 2);
    assert_goes_on(&attempt);
}

static void a_cancel_is_undone_everywhere(void **state)
{
    struct attempt attempt;

    (void)state;
    start(&attempt, 3);
    grant(&attempt, 0, 1, 10);
    tell(&attempt, RL_EVENT_CANCEL, 0, 2);
    assert_lost(&attempt, RL_OUTCOME_CANCELED, 7);
}

/* ---- the fence ---- */

static void unequal_fences_are_raised_to_the_highest(void **state)
{
    struct attempt attempt;

    (void)state;
    start(&attempt, 5);
    grant(&attempt, 0, 1, 15);
    grant(&attempt, 1, 2, 17);
    grant(&attempt, 2, 3, 16);
    assert_int_equal(attempt.effects.raise, 5);
    assert_int_equal(attempt.effects.fence, 17);
    raised(&attempt, 0, 4, RL_GRANTED);
    assert_goes_on(&attempt);
    raised(&attempt, 2, 5, RL_GRANTED);
    assert_won(&attempt, 17);
}

static void start_raising(struct attempt *attempt)
{
    start(attempt, 3);
    grant(attempt, 0, 1, 15);
    grant(attempt, 1, 2, 17);
    assert_int_equal(attempt->effects.raise, 1);
}

static void a_late_grant_at_the_fence_makes_the_raise_needless(void **state)
{
    struct attempt attempt;

    (void)state;
    start_raising(&attempt);
    grant(&attempt, 2, 3, 17);
    assert_won(&attempt, 17);
}

static void a_late_grant_above_the_fence_does_not_stop_the_raise(void **state)
{
    struct attempt attempt;

    (void)state;
    start_raising(&attempt);
    grant(&attempt, 2, 3, 18);
    assert_goes_on(&attempt);
    raised(&attempt, 0, 4, RL_GRANTED);
    assert_won(&attempt, 17);
}

/* Node 2 may have had the number 17 from an earlier holder, which was handed it: it held it on nodes 0 and 2,
 * on node 0 after us. Were a late grant of 18 taken for "at least 17", both would own fence 17. So the others
 * are raised to 18. */
static void a_late_grant_above_the_fence_proves_nothing(void **state)
{
    struct attempt attempt;

    (void)state;
    start_raising(&attempt);
    grant(&attempt, 2, 3, 18);
    raised(&attempt, 0, 4, RL_DENIED);
    assert_int_equal(attempt.effects.raise, 2);
    assert_int_equal(attempt.effects.fence, 18);
    raised(&attempt, 1, 5, RL_GRANTED);
    assert_won(&attempt, 18);
}

static void a_late_grant_below_the_fence_is_raised_in_turn(void **state)
{
    struct attempt attempt;

    (void)state;
    start_raising(&attempt);
    raised(&attempt, 0, 3, RL_DENIED);
    assert_goes_on(&attempt);
    grant(&attempt, 2, 4, 16);
    assert_int_equal(attempt.effects.raise, 4);
    raised(&attempt, 2, 5, RL_GRANTED);
    assert_won(&attempt, 17);
}

/* The raise was carried out before the lock was given anew: that it succeeded says nothing of the number
 * there now. */
static void a_node_that_gives_the_lock_anew_has_another_number(void **state)
{
    struct attempt attempt;

    (void)state;
    start_raising(&attempt);
    grant(&attempt, 1, 3, 19);
    assert_goes_on(&attempt);
    raised(&attempt, 0, 4, RL_GRANTED);
    assert_goes_on(&attempt);
    vote(&attempt, 2, 5, RL_DENIED);
    assert_int_equal(attempt.effects.raise, 1);
    assert_int_equal(attempt.effects.fence, 19);
    raised(&attempt, 0, 6, RL_GRANTED);
    assert_won(&attempt, 19);
}

static void a_raise_that_is_not_answered_is_no_quorum(void **state)
{
    struct attempt attempt;

    (void)state;
    start_raising(&attempt);
    vote(&attempt, 2, 3, RL_FAILED);
    tell(&attempt, RL_EVENT_TIMER, 0, 2 + TIMEOUT_MS);
    assert_lost(&attempt, RL_OUTCOME_NO_QUORUM, 7);
}

static void a_lock_that_slipped_away_before_the_raise_is_too_slow(void **state)
{
    struct attempt attempt;

    (void)state;
    start_raising(&attempt);
    vote(&attempt, 2, 3, RL_DENIED);
    raised(&attempt, 0, 4, RL_DENIED);
    assert_lost(&attempt, RL_OUTCOME_TOO_SLOW, 7);
}

static void a_raise_for_which_the_rights_are_missing_says_so(void **state)
{
    struct attempt attempt;

    (void)state;
    start_raising(&attempt);
    vote(&attempt, 2, 3, RL_FAILED);
    answer(&attempt, 2, 0, 4, (struct rl_answer){.verdict = RL_FAILED, .cause = RL_CAUSE_RIGHTS});
    assert_lost(&attempt, RL_OUTCOME_FORBIDDEN, 7);
}

static void a_raise_that_takes_too_long_for_validity_is_too_slow(void **state)
{
    struct attempt attempt;

    (void)state;
    start_raising(&attempt);
    raised(&attempt, 0, TTL_MS - 12, RL_GRANTED);
    assert_lost(&attempt, RL_OUTCOME_TOO_SLOW, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lock_that_somebody_has_is_busy_at_once),
        cmocka_unit_test(a_place_that_a_node_gives_unasked_is_a_denial),
        cmocka_unit_test(a_half_run_is_undone_where_it_may_have_left_something),
        cmocka_unit_test(silent_at_the_deadline_is_no_quorum_and_nobody_is_asked_again),
        cmocka_unit_test(a_grant_that_ends_before_the_others_come_is_not_asked_for_again),
        cmocka_unit_test(connections_that_are_being_made_are_waited_for),
        cmocka_unit_test(a_connection_that_comes_later_is_not_asked),
        cmocka_unit_test(a_cancel_is_undone_everywhere),
        cmocka_unit_test(unequal_fences_are_raised_to_the_highest),
        cmocka_unit_test(a_late_grant_at_the_fence_makes_the_raise_needless),
        cmocka_unit_test(a_late_grant_above_the_fence_does_not_stop_the_raise),
        cmocka_unit_test(a_late_grant_above_the_fence_proves_nothing),
        cmocka_unit_test(a_late_grant_below_the_fence_is_raised_in_turn),
        cmocka_unit_test(a_node_that_gives_the_lock_anew_has_another_number),
        cmocka_unit_test(a_raise_that_is_not_answered_is_no_quorum),
        cmocka_unit_test(a_lock_that_slipped_away_before_the_raise_is_too_slow),
        cmocka_unit_test(a_raise_for_which_the_rights_are_missing_says_so),
        cmocka_unit_test(a_raise_that_takes_too_long_for_validity_is_too_slow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
