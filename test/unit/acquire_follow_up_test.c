/*
 * Tests of core/acquire: each rule of the look at who holds the lock, which may follow a round that was lost.
 * Times are in ms from the start; nodes count from 0.
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_first_round_asks_the_voters_who_holds_it),
        cmocka_unit_test(a_silent_peek_does_not_hold_up_the_answer_for_ever),
        cmocka_unit_test(late_votes_are_not_taken_for_peeks),
        cmocka_unit_test(only_the_first_round_peeks),
        cmocka_unit_test(a_peek_that_finds_another_type_ends_the_wait),
        cmocka_unit_test(a_cancel_while_peeking_has_nothing_left_to_undo),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
