/*
 * Tests of core/acquire: each rule of the round, of resting and of cancelling, and then random lives of it.
 * What follows a round is in acquire_follow_up_test.c and acquire_wait_test.c. Times are in ms from the
 * start; nodes count from 0.
 */
#include "core/validity.h"
#include "support/attempt.h"
#include "support/seeded_walk.h"

enum { WAIT_MS = 5000 };

static void start_waiting(struct attempt *attempt, uint32_t node_count)
{
    struct rl_acquire_config config = config_for(node_count);

    config.give_up_at = at(WAIT_MS);
    start(attempt, &config);
}

/* ---- the round ---- */

static void the_first_round_asks_all_nodes(void **state)
{
    struct attempt attempt;

    (void)state;
    start_once(&attempt, 5);
    assert_int_equal(attempt.effects.acquire, 31);
    assert_int_equal(attempt.effects.question, 1);
    assert_int_equal(attempt.effects.release, 0);
    assert_int_equal(attempt.acquire.wake_at.us, at(TIMEOUT_MS).us);
}

static void won_at_quorum_with_validity_from_the_question_on(void **state)
{
    struct attempt attempt;

    (void)state;
    start_once(&attempt, 3);
    vote(&attempt, 0, 4, RL_GRANTED);
    assert_nothing(&attempt);
    vote(&attempt, 2, 9, RL_GRANTED);
    assert_ended(&attempt, RL_OUTCOME_OK);
    assert_int_equal(attempt.effects.release, 0);
    assert_int_equal(attempt.acquire.valid_until.us, at(TTL_MS - 12).us);
}

static void a_single_node_is_its_own_quorum(void **state)
{
    struct attempt attempt;

    (void)state;
    start_once(&attempt, 1);
    vote(&attempt, 0, 4, RL_GRANTED);
    assert_ended(&attempt, RL_OUTCOME_OK);
}

static void half_of_an_even_number_is_not_enough(void **state)
{
    struct attempt attempt;

    (void)state;
    start_once(&attempt, 4);
    vote(&attempt, 0, 1, RL_GRANTED);
    vote(&attempt, 1, 1, RL_GRANTED);
    vote(&attempt, 2, 1, RL_DENIED);
    assert_nothing(&attempt);
    vote(&attempt, 3, 1, RL_DENIED);
    assert_ended_undone(&attempt, RL_OUTCOME_BUSY);
}

static void a_minority_of_broken_nodes_does_not_spoil_a_won_round(void **state)
{
    struct attempt attempt;

    (void)state;
    start_once(&attempt, 5);
    vote(&attempt, 0, 0, RL_FAILED);
    vote(&attempt, 1, 0, RL_INELIGIBLE);
    vote(&attempt, 2, 1, RL_GRANTED);
    vote(&attempt, 3, 2, RL_GRANTED);
    vote(&attempt, 4, 3, RL_GRANTED);
    assert_ended(&attempt, RL_OUTCOME_OK);
    assert_int_equal(attempt.acquire.last[0].verdict, RL_FAILED);
}

static void one_node_answering_twice_counts_once(void **state)
{
    struct attempt attempt;

    (void)state;
    start_once(&attempt, 3);
    vote(&attempt, 0, 1, RL_GRANTED);
    vote(&attempt, 0, 2, RL_GRANTED);
    assert_nothing(&attempt);
    assert_phase(&attempt, RL_ACQUIRE_ASKING);
}

static void lost_as_soon_as_no_quorum_is_possible(void **state)
{
    struct attempt attempt;

    (void)state;
    start_once(&attempt, 5);
    vote(&attempt, 0, 1, RL_DENIED);
    vote(&attempt, 1, 1, RL_DENIED);
    assert_nothing(&attempt);
    vote(&attempt, 2, 2, RL_DENIED);
    assert_ended_undone(&attempt, RL_OUTCOME_BUSY);
}

/* That a node is down is known before any other answers. When the first of these says that the lock is held,
 * no quorum is possible and the round is over; the third node had no time to answer. The lock is busy: there
 * is no lack of nodes. */
static void a_busy_lock_is_busy_though_one_node_is_down(void **state)
{
    struct attempt attempt;

    (void)state;
    start_once(&attempt, 3);
    vote(&attempt, 1, 0, RL_FAILED);
    vote(&attempt, 0, 3, RL_DENIED);
    assert_nothing(&attempt); /* lost, but the last node decides what to call it */
    vote(&attempt, 2, 4, RL_DENIED);
    assert_ended_undone(&attempt, RL_OUTCOME_BUSY);
}

/* Two nodes down and a frozen one are no quorum, though the living ones say that it is held. */
static void a_missing_quorum_is_not_called_busy(void **state)
{
    struct attempt attempt;

    (void)state;
    start_once(&attempt, 5);
    vote(&attempt, 0, 0, RL_FAILED);
    vote(&attempt, 1, 0, RL_FAILED);
    vote(&attempt, 3, 1, RL_DENIED);
    vote(&attempt, 4, 1, RL_DENIED);
    assert_nothing(&attempt);
    tell(&attempt, RL_EVENT_TIMER, TIMEOUT_MS);
    assert_ended_undone(&attempt, RL_OUTCOME_NO_QUORUM);
}

static void too_few_nodes_up_is_no_quorum_before_the_others_answer(void **state)
{
    struct attempt attempt;

    (void)state;
    start_once(&attempt, 3);
    vote(&attempt, 1, 0, RL_FAILED);
    vote(&attempt, 0, 0, RL_FAILED);
    assert_ended_undone(&attempt, RL_OUTCOME_NO_QUORUM);
}

static void ineligible_nodes_are_to_blame_before_the_others_answer(void **state)
{
    struct attempt attempt;

    (void)state;
    start_once(&attempt, 5);
    vote(&attempt, 0, 0, RL_FAILED);
    vote(&attempt, 1, 1, RL_INELIGIBLE);
    vote(&attempt, 2, 1, RL_INELIGIBLE);
    vote(&attempt, 3, 1, RL_DENIED);
    assert_ended_undone(&attempt, RL_OUTCOME_QUARANTINE);
}

static void silent_at_the_deadline_is_no_quorum_and_undone_everywhere(void **state)
{
    struct attempt attempt;

    (void)state;
    start_once(&attempt, 3);
    vote(&attempt, 0, 4, RL_GRANTED);
    tell(&attempt, RL_EVENT_TIMER, TIMEOUT_MS - 1);
    assert_nothing(&attempt);
    tell(&attempt, RL_EVENT_TIMER, TIMEOUT_MS);
    assert_ended_undone(&attempt, RL_OUTCOME_NO_QUORUM);
}

static void a_late_grant_changes_nothing_after_the_round_was_undone(void **state)
{
    struct attempt attempt;

    (void)state;
    start_waiting(&attempt, 3);
    vote(&attempt, 0, 4, RL_GRANTED);
    tell(&attempt, RL_EVENT_TIMER, TIMEOUT_MS);
    assert_int_equal(attempt.effects.release, 7);
    vote(&attempt, 1, TIMEOUT_MS + 1, RL_GRANTED);
    vote(&attempt, 2, TIMEOUT_MS + 1, RL_GRANTED);
    assert_nothing(&attempt);
    assert_phase(&attempt, RL_ACQUIRE_RESTING);
}

static void a_late_grant_changes_nothing_after_success(void **state)
{
    struct attempt attempt;
    struct rl_acquire before;

    (void)state;
    start_once(&attempt, 3);
    vote(&attempt, 0, 4, RL_GRANTED);
    vote(&attempt, 1, 5, RL_GRANTED);
    before = attempt.acquire;
    vote(&attempt, 2, 6, RL_GRANTED);
    assert_nothing(&attempt);
    assert_memory_equal(&before, &attempt.acquire, sizeof before);
}

/* Waits for its nodes for longer than the lock lasts. */
static void start_patient(struct attempt *attempt)
{
    struct rl_acquire_config config = config_for(3);

    config.node_timeout = rl_span_ms(5 * TTL_MS);
    start(attempt, &config);
}

static void a_quorum_after_validity_is_too_slow(void **state)
{
    struct attempt attempt;

    (void)state;
    start_patient(&attempt);
    vote(&attempt, 0, 4, RL_GRANTED);
    vote(&attempt, 1, TTL_MS - 12, RL_GRANTED);
    assert_ended_undone(&attempt, RL_OUTCOME_TOO_SLOW);
}

static void the_last_moment_of_validity_still_counts(void **state)
{
    struct attempt attempt;

    (void)state;
    start_patient(&attempt);
    vote(&attempt, 0, 4, RL_GRANTED);
    vote(&attempt, 1, TTL_MS - 13, RL_GRANTED);
    assert_ended(&attempt, RL_OUTCOME_OK);
}

/* ---- waiting ---- */

static void lose_a_round(struct attempt *attempt, int64_t ms)
{
    vote(attempt, 0, ms, RL_DENIED);
    vote(attempt, 1, ms, RL_DENIED);
    assert_phase(attempt, RL_ACQUIRE_RESTING);
    assert_int_equal(attempt->effects.release, 4);
    assert_int_equal(attempt->effects.acquire, 0);
}

static void a_lost_round_is_undone_then_rested_from_then_repeated(void **state)
{
    struct attempt attempt;

    (void)state;
    start_waiting(&attempt, 3);
    lose_a_round(&attempt, 4);
    assert_true(attempt.effects.rest.us >= 10000 && attempt.effects.rest.us <= 30000);
    tell(&attempt, RL_EVENT_TIMER, 5);
    assert_nothing(&attempt);
    wake(&attempt);
    assert_int_equal(attempt.effects.acquire, 7);
    assert_int_equal(attempt.effects.question, 2);
    assert_int_equal(attempt.acquire.round, 2);
}

static void start_second_round(struct attempt *attempt)
{
    start_waiting(attempt, 3);
    lose_a_round(attempt, 4);
    wake(attempt);
}

static void answers_to_an_earlier_round_never_count(void **state)
{
    struct attempt attempt;

    (void)state;
    start_second_round(&attempt);
    for (uint32_t node = 0; node < 3; node++)
        answer_with(&attempt, 1, node, 60, (struct rl_answer){.verdict = RL_GRANTED});
    assert_phase(&attempt, RL_ACQUIRE_ASKING);
    assert_int_equal(attempt.acquire.tally.granted, 0);
    vote(&attempt, 0, 61, RL_GRANTED);
    vote(&attempt, 1, 61, RL_GRANTED);
    assert_ended(&attempt, RL_OUTCOME_OK);
}

/* The time spent on earlier rounds does not count against the lock, only that of its own round. */
static void validity_counts_from_the_round_that_was_won(void **state)
{
    struct attempt attempt;
    struct rl_time asked;

    (void)state;
    start_second_round(&attempt);
    asked = attempt.acquire.asked;
    vote(&attempt, 0, 61, RL_GRANTED);
    vote(&attempt, 1, 61, RL_GRANTED);
    assert_int_equal(attempt.acquire.valid_until.us, rl_validity_end(asked, rl_span_ms(TTL_MS), 10000).us);
}

/* Lets it lose round after round until it ends; returns how many there were. */
static uint32_t lose_to_the_end(struct attempt *attempt, enum rl_verdict verdict)
{
    while (attempt->acquire.phase != RL_ACQUIRE_ENDED) {
        if (attempt->acquire.phase == RL_ACQUIRE_RESTING)
            wake(attempt);
        for (uint32_t node = 0; node < 2 && attempt->acquire.phase == RL_ACQUIRE_ASKING; node++)
            vote(attempt, node, wake_ms(attempt) - TIMEOUT_MS, verdict);
    }
    return attempt->acquire.round;
}

static void a_wait_that_runs_out_is_a_timeout(void **state)
{
    struct attempt attempt;

    (void)state;
    start_waiting(&attempt, 3);
    assert_in_range(lose_to_the_end(&attempt, RL_DENIED), 20, 500);
    assert_ended(&attempt, RL_OUTCOME_TIMEOUT);
    assert_true(attempt.acquire.asked.us < at(WAIT_MS).us);
}

static void a_wait_without_a_quorum_ends_as_no_quorum(void **state)
{
    struct attempt attempt;

    (void)state;
    start_waiting(&attempt, 3);
    lose_to_the_end(&attempt, RL_FAILED);
    assert_ended(&attempt, RL_OUTCOME_NO_QUORUM);
}

static void the_rest_ends_with_the_wait(void **state)
{
    struct rl_acquire_config config = config_for(3);
    struct attempt attempt;

    (void)state;
    config.give_up_at = at(6);
    start(&attempt, &config);
    lose_a_round(&attempt, 4);
    assert_int_equal(attempt.acquire.wake_at.us, at(6).us);
    tell(&attempt, RL_EVENT_TIMER, 6);
    assert_ended_with_nothing_to_undo(&attempt, RL_OUTCOME_TIMEOUT);
}

/* Nodes that take no packets: a round that begins just before the wait is over must not outlive it. What the
 * round before it came to says why: others had the lock. */
static void a_round_ends_with_the_wait(void **state)
{
    struct attempt attempt;

    (void)state;
    start_waiting(&attempt, 3);
    lose_a_round(&attempt, WAIT_MS - 2);
    assert_int_equal(attempt.acquire.wake_at.us <= at(WAIT_MS).us, true);
    attempt.acquire.wake_at = at(WAIT_MS - 1); /* it rested as briefly as that */
    tell(&attempt, RL_EVENT_TIMER, WAIT_MS - 1);
    assert_int_equal(attempt.effects.acquire, 7);
    assert_int_equal(attempt.acquire.wake_at.us, at(WAIT_MS).us);
    tell(&attempt, RL_EVENT_TIMER, WAIT_MS);
    assert_ended_undone(&attempt, RL_OUTCOME_TIMEOUT);
}

static void the_time_to_connect_ends_with_the_wait(void **state)
{
    struct rl_acquire_config config = config_for(3);
    struct attempt attempt;

    (void)state;
    config.give_up_at = at(WAIT_MS);
    config.first_wait = rl_span_ms(2 * WAIT_MS);
    start(&attempt, &config);
    assert_int_equal(attempt.acquire.wake_at.us, at(WAIT_MS).us);
}

/* One that waits for a moment only is at least as well off as one that does not wait. */
static void a_wait_shorter_than_a_question_has_time_for_one(void **state)
{
    struct rl_acquire_config config = config_for(3);
    struct attempt attempt;

    (void)state;
    config.give_up_at = at(1);
    config.first_wait = rl_span_ms(WAIT_MS);
    start(&attempt, &config);
    assert_int_equal(attempt.acquire.wake_at.us, at(TIMEOUT_MS).us);
}

static void what_waiting_cannot_mend_ends_at_once(void **state)
{
    static const struct {
        struct rl_answer answer;
        enum rl_outcome outcome;
    } cases[] = {
        {{.verdict = RL_FAILED, .cause = RL_CAUSE_RIGHTS}, RL_OUTCOME_FORBIDDEN},
        {{.verdict = RL_DENIED, .cause = RL_CAUSE_FOREIGN_TYPE}, RL_OUTCOME_FOREIGN_TYPE},
        {{.verdict = RL_INELIGIBLE, .cause = RL_CAUSE_DUPLICATE}, RL_OUTCOME_INVALID},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct attempt attempt;

        start_waiting(&attempt, 3);
        answer_with(&attempt, 1, 0, 1, cases[i].answer);
        answer_with(&attempt, 1, 1, 1, cases[i].answer);
        assert_ended_undone(&attempt, cases[i].outcome);
    }
}

static void quarantine_is_waited_for(void **state)
{
    struct attempt attempt;

    (void)state;
    start_waiting(&attempt, 3);
    vote(&attempt, 0, 1, RL_INELIGIBLE);
    vote(&attempt, 1, 1, RL_INELIGIBLE);
    assert_phase(&attempt, RL_ACQUIRE_RESTING);
    assert_int_equal(attempt.acquire.outcome, RL_OUTCOME_QUARANTINE);
}

/* ---- cancel ---- */

static void a_cancel_while_asking_is_undone_everywhere(void **state)
{
    struct attempt attempt;

    (void)state;
    start_once(&attempt, 3);
    tell(&attempt, RL_EVENT_CANCEL, 2);
    assert_ended_undone(&attempt, RL_OUTCOME_CANCELED);
    vote(&attempt, 0, 3, RL_GRANTED);
    vote(&attempt, 1, 3, RL_GRANTED);
    assert_nothing(&attempt);
}

static void a_cancel_while_resting_has_nothing_left_to_undo(void **state)
{
    struct attempt attempt;

    (void)state;
    start_waiting(&attempt, 3);
    lose_a_round(&attempt, 4);
    tell(&attempt, RL_EVENT_CANCEL, 5);
    assert_ended_with_nothing_to_undo(&attempt, RL_OUTCOME_CANCELED);
    tell(&attempt, RL_EVENT_TIMER, 500);
    assert_nothing(&attempt);
}

static void a_cancel_after_the_end_changes_nothing(void **state)
{
    struct attempt attempt;

    (void)state;
    start_once(&attempt, 1);
    vote(&attempt, 0, 1, RL_GRANTED);
    tell(&attempt, RL_EVENT_CANCEL, 2);
    assert_nothing(&attempt);
    assert_int_equal(attempt.acquire.outcome, RL_OUTCOME_OK);
}

/* ---- random lives ---- */

static void random_lives_keep_the_rules(void **state)
{
    (void)state;
    assert_walks_keep_the_rules(walk_acquire, 100000, "build/test/unit-acquire_test");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_round_asks_all_nodes),
        cmocka_unit_test(won_at_quorum_with_validity_from_the_question_on),
        cmocka_unit_test(a_single_node_is_its_own_quorum),
        cmocka_unit_test(half_of_an_even_number_is_not_enough),
        cmocka_unit_test(a_minority_of_broken_nodes_does_not_spoil_a_won_round),
        cmocka_unit_test(one_node_answering_twice_counts_once),
        cmocka_unit_test(lost_as_soon_as_no_quorum_is_possible),
        cmocka_unit_test(a_busy_lock_is_busy_though_one_node_is_down),
        cmocka_unit_test(a_missing_quorum_is_not_called_busy),
        cmocka_unit_test(too_few_nodes_up_is_no_quorum_before_the_others_answer),
        cmocka_unit_test(ineligible_nodes_are_to_blame_before_the_others_answer),
        cmocka_unit_test(silent_at_the_deadline_is_no_quorum_and_undone_everywhere),
        cmocka_unit_test(a_late_grant_changes_nothing_after_the_round_was_undone),
        cmocka_unit_test(a_late_grant_changes_nothing_after_success),
        cmocka_unit_test(a_quorum_after_validity_is_too_slow),
        cmocka_unit_test(the_last_moment_of_validity_still_counts),
        cmocka_unit_test(a_lost_round_is_undone_then_rested_from_then_repeated),
        cmocka_unit_test(answers_to_an_earlier_round_never_count),
        cmocka_unit_test(validity_counts_from_the_round_that_was_won),
        cmocka_unit_test(a_wait_that_runs_out_is_a_timeout),
        cmocka_unit_test(a_wait_without_a_quorum_ends_as_no_quorum),
        cmocka_unit_test(the_rest_ends_with_the_wait),
        cmocka_unit_test(a_round_ends_with_the_wait),
        cmocka_unit_test(the_time_to_connect_ends_with_the_wait),
        cmocka_unit_test(a_wait_shorter_than_a_question_has_time_for_one),
        cmocka_unit_test(what_waiting_cannot_mend_ends_at_once),
        cmocka_unit_test(quarantine_is_waited_for),
        cmocka_unit_test(a_cancel_while_asking_is_undone_everywhere),
        cmocka_unit_test(a_cancel_while_resting_has_nothing_left_to_undo),
        cmocka_unit_test(a_cancel_after_the_end_changes_nothing),
        cmocka_unit_test(random_lives_keep_the_rules),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
