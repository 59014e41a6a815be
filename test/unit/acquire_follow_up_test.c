/*
 * Tests of core/acquire: each rule of what may follow a round at once, a look at who holds the lock when it was lost, and the
 * raising of fences when it was won. Times are in ms from the start; nodes count from 0.
 */
#include "support/attempt.h"

enum { WAIT_MS = 5000 };

/* ---- peek ---- */

static void start_peeking(struct attempt *attempt, int64_t wait_ms)
{
    struct rl_acquire_config config = config_for(3);

    config.peek = true;
    config.give_up_at = at(wait_ms);
    start(attempt, &config);
    vote(attempt, 0, 1, RL_DENIED);
    vote(attempt, 2, 2, RL_DENIED);
}

static void a_lost_first_round_asks_the_voters_who_holds_it(void **state)
{
    struct attempt attempt;

    (void)state;
    start_peeking(&attempt, 0);
    assert_int_equal(attempt.effects.release, 2);
    assert_int_equal(attempt.effects.peek, 5);
    assert_int_equal(attempt.effects.question, 2);
    answer_second(&attempt, 0, 3, RL_DENIED);
    assert_nothing(&attempt);
    answer_second(&attempt, 2, 3, RL_DENIED);
    assert_ended_with_nothing_to_undo(&attempt, RL_OUTCOME_BUSY);
}

static void a_silent_peek_does_not_hold_up_the_answer_for_ever(void **state)
{
    struct attempt attempt;

    (void)state;
    start_peeking(&attempt, 0);
    tell(&attempt, RL_EVENT_TIMER, 2 + TIMEOUT_MS);
    assert_ended(&attempt, RL_OUTCOME_BUSY);
}

static void late_votes_are_not_taken_for_peeks(void **state)
{
    struct attempt attempt;

    (void)state;
    start_peeking(&attempt, 0);
    vote(&attempt, 1, 3, RL_GRANTED);
    vote(&attempt, 0, 3, RL_GRANTED);
    vote(&attempt, 2, 3, RL_GRANTED);
    assert_nothing(&attempt);
    assert_phase(&attempt, RL_ACQUIRE_PEEKING);
}

static void only_the_first_round_peeks(void **state)
{
    struct attempt attempt;

    (void)state;
    start_peeking(&attempt, WAIT_MS);
    answer_second(&attempt, 0, 3, RL_DENIED);
    answer_second(&attempt, 2, 3, RL_DENIED);
    assert_phase(&attempt, RL_ACQUIRE_RESTING);
    wake(&attempt);
    vote(&attempt, 0, 61, RL_DENIED);
    vote(&attempt, 1, 61, RL_DENIED);
    assert_int_equal(attempt.effects.peek, 0);
    assert_phase(&attempt, RL_ACQUIRE_RESTING);
}

static void a_peek_that_finds_another_type_ends_the_wait(void **state)
{
    struct rl_answer foreign = {.verdict = RL_DENIED, .cause = RL_CAUSE_FOREIGN_TYPE};
    struct attempt attempt;

    (void)state;
    start_peeking(&attempt, WAIT_MS);
    answer_with(&attempt, 2, 0, 3, foreign);
    answer_with(&attempt, 2, 2, 3, foreign);
    assert_ended(&attempt, RL_OUTCOME_FOREIGN_TYPE);
}

static void a_cancel_while_peeking_has_nothing_left_to_undo(void **state)
{
    struct attempt attempt;

    (void)state;
    start_peeking(&attempt, WAIT_MS);
    tell(&attempt, RL_EVENT_CANCEL, 3);
    assert_ended_with_nothing_to_undo(&attempt, RL_OUTCOME_CANCELED);
}

/* ---- fences ---- */

static void start_fenced(struct attempt *attempt, uint32_t node_count)
{
    struct rl_acquire_config config = config_for(node_count);

    config.fenced = true;
    start(attempt, &config);
}

static void grant_fence(struct attempt *attempt, uint32_t node, int64_t ms, uint64_t fence)
{
    answer_with(attempt, attempt->acquire.round_question, node, ms,
                (struct rl_answer){.verdict = RL_GRANTED, .fence = fence});
}

/* Two nodes grant it, with these. */
static void grant_fences(struct attempt *attempt, uint64_t first, uint64_t second)
{
    grant_fence(attempt, 0, 1, first);
    grant_fence(attempt, 1, 2, second);
}

static void assert_won_with_fence(const struct attempt *attempt, uint64_t fence)
{
    assert_ended(attempt, RL_OUTCOME_OK);
    assert_int_equal(attempt->acquire.fence, fence);
}

static void equal_fences_need_one_round_only(void **state)
{
    struct attempt attempt;

    (void)state;
    start_fenced(&attempt, 3);
    grant_fences(&attempt, 17, 17);
    assert_won_with_fence(&attempt, 17);
}

static void without_fences_the_numbers_do_not_matter(void **state)
{
    struct attempt attempt;

    (void)state;
    start_once(&attempt, 3);
    grant_fences(&attempt, 17, 18);
    assert_ended(&attempt, RL_OUTCOME_OK);
}

static void unequal_fences_are_raised_to_the_highest(void **state)
{
    struct attempt attempt;

    (void)state;
    start_fenced(&attempt, 5);
    grant_fence(&attempt, 0, 1, 15);
    grant_fence(&attempt, 1, 2, 17);
    grant_fence(&attempt, 2, 3, 16);
    assert_int_equal(attempt.effects.raise, 5);
    assert_int_equal(attempt.effects.fence, 17);
    assert_int_equal(attempt.effects.question, 2);
    answer_second(&attempt, 0, 4, RL_GRANTED);
    assert_nothing(&attempt);
    answer_second(&attempt, 2, 5, RL_GRANTED);
    assert_won_with_fence(&attempt, 17);
}

static void start_raising(struct attempt *attempt)
{
    start_fenced(attempt, 3);
    grant_fences(attempt, 15, 17);
    assert_int_equal(attempt->effects.raise, 1);
}

static void a_late_grant_at_the_fence_makes_the_raise_needless(void **state)
{
    struct attempt attempt;

    (void)state;
    start_raising(&attempt);
    grant_fence(&attempt, 2, 3, 17);
    assert_won_with_fence(&attempt, 17);
}

/* Node 2 may have had the number 17 from an earlier holder, who was handed it: he held it on nodes 0 and 2, on node 0
 * after us. Were a late grant of 18 taken for "at least 17", both of us would own fence 17. */
static void a_late_grant_above_the_fence_proves_nothing(void **state)
{
    struct attempt attempt;

    (void)state;
    start_raising(&attempt);
    grant_fence(&attempt, 2, 3, 18);
    assert_nothing(&attempt);
    answer_second(&attempt, 0, 4, RL_DENIED);
    assert_ended_undone(&attempt, RL_OUTCOME_TOO_SLOW);
}

static void a_late_grant_above_the_fence_does_not_stop_the_raise(void **state)
{
    struct attempt attempt;

    (void)state;
    start_raising(&attempt);
    grant_fence(&attempt, 2, 3, 18);
    answer_second(&attempt, 0, 4, RL_GRANTED);
    assert_won_with_fence(&attempt, 17);
}

static void a_late_grant_below_the_fence_does_not_count(void **state)
{
    struct attempt attempt;

    (void)state;
    start_raising(&attempt);
    answer_second(&attempt, 0, 3, RL_DENIED);
    assert_nothing(&attempt);
    grant_fence(&attempt, 2, 4, 16);
    assert_ended_undone(&attempt, RL_OUTCOME_TOO_SLOW);
}

static void a_raise_that_nobody_asked_for_does_not_count(void **state)
{
    struct attempt attempt;

    (void)state;
    start_raising(&attempt);
    answer_second(&attempt, 2, 3, RL_GRANTED);
    assert_nothing(&attempt);
    assert_phase(&attempt, RL_ACQUIRE_RAISING);
}

static void a_raise_that_is_not_answered_is_no_quorum(void **state)
{
    struct attempt attempt;

    (void)state;
    start_raising(&attempt);
    vote(&attempt, 2, 3, RL_FAILED);
    tell(&attempt, RL_EVENT_TIMER, 2 + TIMEOUT_MS);
    assert_ended_undone(&attempt, RL_OUTCOME_NO_QUORUM);
}

static void a_raise_for_which_the_rights_are_missing_says_so(void **state)
{
    struct attempt attempt;

    (void)state;
    start_raising(&attempt);
    vote(&attempt, 2, 3, RL_FAILED);
    answer_with(&attempt, 2, 0, 4, (struct rl_answer){.verdict = RL_FAILED, .cause = RL_CAUSE_RIGHTS});
    assert_ended_undone(&attempt, RL_OUTCOME_FORBIDDEN);
}

static void a_raise_that_takes_too_long_for_validity_is_too_slow(void **state)
{
    struct rl_acquire_config config = config_for(3);
    struct attempt attempt;

    (void)state;
    config.fenced = true;
    config.node_timeout = rl_span_ms(2000);
    start(&attempt, &config);
    grant_fences(&attempt, 15, 17);
    answer_second(&attempt, 0, TTL_MS - 12, RL_GRANTED);
    assert_ended_undone(&attempt, RL_OUTCOME_TOO_SLOW);
}

static void a_new_round_knows_nothing_of_the_fences_before(void **state)
{
    struct rl_acquire_config config = config_for(3);
    struct attempt attempt;

    (void)state;
    config.fenced = true;
    config.give_up_at = at(WAIT_MS);
    start(&attempt, &config);
    grant_fences(&attempt, 15, 99);
    answer_second(&attempt, 0, 3, RL_DENIED);
    vote(&attempt, 2, 3, RL_DENIED);
    assert_phase(&attempt, RL_ACQUIRE_RESTING);
    wake(&attempt);
    grant_fence(&attempt, 0, 61, 20);
    grant_fence(&attempt, 2, 61, 20);
    assert_won_with_fence(&attempt, 20);
}

static void a_cancel_while_raising_is_undone_everywhere(void **state)
{
    struct attempt attempt;

    (void)state;
    start_fenced(&attempt, 3);
    grant_fence(&attempt, 0, 1, 10);
    grant_fence(&attempt, 1, 1, 11);
    tell(&attempt, RL_EVENT_CANCEL, 2);
    assert_ended_undone(&attempt, RL_OUTCOME_CANCELED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_first_round_asks_the_voters_who_holds_it),
        cmocka_unit_test(a_silent_peek_does_not_hold_up_the_answer_for_ever),
        cmocka_unit_test(late_votes_are_not_taken_for_peeks),
        cmocka_unit_test(only_the_first_round_peeks),
        cmocka_unit_test(a_peek_that_finds_another_type_ends_the_wait),
        cmocka_unit_test(a_cancel_while_peeking_has_nothing_left_to_undo),
        cmocka_unit_test(equal_fences_need_one_round_only),
        cmocka_unit_test(without_fences_the_numbers_do_not_matter),
        cmocka_unit_test(unequal_fences_are_raised_to_the_highest),
        cmocka_unit_test(a_late_grant_at_the_fence_makes_the_raise_needless),
        cmocka_unit_test(a_late_grant_above_the_fence_proves_nothing),
        cmocka_unit_test(a_late_grant_above_the_fence_does_not_stop_the_raise),
        cmocka_unit_test(a_late_grant_below_the_fence_does_not_count),
        cmocka_unit_test(a_raise_that_nobody_asked_for_does_not_count),
        cmocka_unit_test(a_raise_that_is_not_answered_is_no_quorum),
        cmocka_unit_test(a_raise_for_which_the_rights_are_missing_says_so),
        cmocka_unit_test(a_raise_that_takes_too_long_for_validity_is_too_slow),
        cmocka_unit_test(a_new_round_knows_nothing_of_the_fences_before),
        cmocka_unit_test(a_cancel_while_raising_is_undone_everywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
