/*
 * Tests of core/acquire: each rule of the round, the fence round and the wait, and then random lives of it.
 * Times are in ms from the start; nodes count from 0, as in the code.
 */
#include "core/acquire.h"
#include "core/validity.h"
#include "support/check.h"
#include "support/seeded_walk.h"

enum { TTL_MS = 1000, TIMEOUT_MS = 50, WAIT_MS = 5000 };

/* One acquisition and what its latest step wanted. */
struct attempt {
    struct rl_prng prng;
    struct rl_acquire acquire;
    struct rl_effects effects;
};

static struct rl_time at(int64_t ms)
{
    return (struct rl_time){1000000 + ms * 1000};
}

static struct rl_acquire_config config_for(uint32_t node_count)
{
    return (struct rl_acquire_config){
        .node_count = node_count,
        .ttl = rl_span_ms(TTL_MS),
        .drift_ppm = 10000,
        .node_timeout = rl_span_ms(TIMEOUT_MS),
        .give_up_at = at(0),
        .retry_min = rl_span_ms(10),
        .retry_max = rl_span_ms(100),
    };
}

static void tell(struct attempt *attempt, enum rl_event_kind kind, int64_t ms)
{
    rl_acquire_step(&attempt->acquire, &(struct rl_event){.kind = kind, .now = at(ms)}, &attempt->effects);
}

static void start(struct attempt *attempt, const struct rl_acquire_config *config)
{
    attempt->prng = rl_prng_seed(1);
    rl_acquire_init(&attempt->acquire, config, &attempt->prng);
    tell(attempt, RL_EVENT_START, 0);
}

/* An attempt on so many nodes, without waiting or with. */
static void start_once(struct attempt *attempt, uint32_t node_count)
{
    struct rl_acquire_config config = config_for(node_count);

    start(attempt, &config);
}

static void start_waiting(struct attempt *attempt, uint32_t node_count)
{
    struct rl_acquire_config config = config_for(node_count);

    config.give_up_at = at(WAIT_MS);
    start(attempt, &config);
}

static void start_fenced(struct attempt *attempt, uint32_t node_count)
{
    struct rl_acquire_config config = config_for(node_count);

    config.fenced = true;
    start(attempt, &config);
}

static void answer_with(struct attempt *attempt, uint32_t question, uint32_t node, int64_t ms,
                        struct rl_answer answer)
{
    struct rl_event event = {
        .kind = RL_EVENT_ANSWER, .now = at(ms), .question = question, .node = node, .answer = answer};

    rl_acquire_step(&attempt->acquire, &event, &attempt->effects);
}

/* An answer to the round's question. */
static void vote(struct attempt *attempt, uint32_t node, int64_t ms, enum rl_verdict verdict)
{
    answer_with(attempt, attempt->acquire.round_question, node, ms, (struct rl_answer){.verdict = verdict});
}

static void grant_fence(struct attempt *attempt, uint32_t node, int64_t ms, uint64_t fence)
{
    answer_with(attempt, attempt->acquire.round_question, node, ms,
                (struct rl_answer){.verdict = RL_GRANTED, .fence = fence});
}

/* An answer to the latest question: a raise or a peek. */
static void answer_second(struct attempt *attempt, uint32_t node, int64_t ms, enum rl_verdict verdict)
{
    answer_with(attempt, attempt->acquire.question, node, ms, (struct rl_answer){.verdict = verdict});
}

static void assert_nothing(const struct attempt *attempt)
{
    assert_true(walk_no_effects(&attempt->effects));
}

static void assert_ended(const struct attempt *attempt, enum rl_outcome outcome)
{
    assert_true(attempt->effects.done);
    assert_int_equal(attempt->acquire.phase, RL_ACQUIRE_ENDED);
    assert_int_equal(attempt->acquire.outcome, outcome);
}

/* Everywhere but on nodes that said no: they have nothing of ours. */
static void assert_undone(const struct attempt *attempt)
{
    assert_int_equal(attempt->effects.release,
                     rl_node_set_all(attempt->acquire.config.node_count) & ~attempt->acquire.tally.denied);
}

static void assert_ended_undone(const struct attempt *attempt, enum rl_outcome outcome)
{
    assert_ended(attempt, outcome);
    assert_undone(attempt);
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
    vote(&attempt, 0, 0, RL_BROKEN);
    vote(&attempt, 1, 0, RL_UNFIT);
    vote(&attempt, 2, 1, RL_GRANTED);
    vote(&attempt, 3, 2, RL_GRANTED);
    vote(&attempt, 4, 3, RL_GRANTED);
    assert_ended(&attempt, RL_OUTCOME_OK);
    assert_int_equal(attempt.acquire.last[0].verdict, RL_BROKEN);
}

static void one_node_answering_twice_counts_once(void **state)
{
    struct attempt attempt;

    (void)state;
    start_once(&attempt, 3);
    vote(&attempt, 0, 1, RL_GRANTED);
    vote(&attempt, 0, 2, RL_GRANTED);
    assert_nothing(&attempt);
    assert_int_equal(attempt.acquire.phase, RL_ACQUIRE_ASKING);
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

/* That a node is down is known before any other answers. When the first of these says that the lock is held, no quorum is
 * possible and the round is over; the third node had no time to answer. The lock is busy: there is no lack of nodes. */
static void a_busy_lock_is_busy_though_one_node_is_down(void **state)
{
    struct attempt attempt;

    (void)state;
    start_once(&attempt, 3);
    vote(&attempt, 1, 0, RL_BROKEN);
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
    vote(&attempt, 0, 0, RL_BROKEN);
    vote(&attempt, 1, 0, RL_BROKEN);
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
    vote(&attempt, 1, 0, RL_BROKEN);
    vote(&attempt, 0, 0, RL_BROKEN);
    assert_ended_undone(&attempt, RL_OUTCOME_NO_QUORUM);
}

static void unfit_nodes_are_to_blame_before_the_others_answer(void **state)
{
    struct attempt attempt;

    (void)state;
    start_once(&attempt, 5);
    vote(&attempt, 0, 0, RL_BROKEN);
    vote(&attempt, 1, 1, RL_UNFIT);
    vote(&attempt, 2, 1, RL_UNFIT);
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
    assert_int_equal(attempt.acquire.phase, RL_ACQUIRE_RESTING);
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

static void a_quorum_after_validity_is_too_slow(void **state)
{
    struct rl_acquire_config config = config_for(3);
    struct attempt attempt;

    (void)state;
    config.node_timeout = rl_span_ms(5000);
    start(&attempt, &config);
    vote(&attempt, 0, 4, RL_GRANTED);
    vote(&attempt, 1, TTL_MS - 12, RL_GRANTED);
    assert_ended_undone(&attempt, RL_OUTCOME_TOO_SLOW);
}

static void the_last_moment_of_validity_still_counts(void **state)
{
    struct rl_acquire_config config = config_for(3);
    struct attempt attempt;

    (void)state;
    config.node_timeout = rl_span_ms(5000);
    start(&attempt, &config);
    vote(&attempt, 0, 4, RL_GRANTED);
    vote(&attempt, 1, TTL_MS - 13, RL_GRANTED);
    assert_ended(&attempt, RL_OUTCOME_OK);
}

/* ---- waiting ---- */

static void lose_a_round(struct attempt *attempt, int64_t ms)
{
    vote(attempt, 0, ms, RL_DENIED);
    vote(attempt, 1, ms, RL_DENIED);
    assert_int_equal(attempt->acquire.phase, RL_ACQUIRE_RESTING);
    assert_int_equal(attempt->effects.release, 4);
    assert_int_equal(attempt->effects.acquire, 0);
}

static int64_t wake_ms(const struct attempt *attempt)
{
    return (attempt->acquire.wake_at.us - at(0).us) / 1000 + 1;
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
    tell(&attempt, RL_EVENT_TIMER, wake_ms(&attempt));
    assert_int_equal(attempt.effects.acquire, 7);
    assert_int_equal(attempt.effects.question, 2);
    assert_int_equal(attempt.acquire.round, 2);
}

static void answers_to_an_earlier_round_never_count(void **state)
{
    struct attempt attempt;

    (void)state;
    start_waiting(&attempt, 3);
    lose_a_round(&attempt, 4);
    tell(&attempt, RL_EVENT_TIMER, wake_ms(&attempt));
    for (uint32_t node = 0; node < 3; node++)
        answer_with(&attempt, 1, node, 60, (struct rl_answer){.verdict = RL_GRANTED});
    assert_int_equal(attempt.acquire.phase, RL_ACQUIRE_ASKING);
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
    start_waiting(&attempt, 3);
    lose_a_round(&attempt, 4);
    tell(&attempt, RL_EVENT_TIMER, wake_ms(&attempt));
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
            tell(attempt, RL_EVENT_TIMER, wake_ms(attempt));
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
    lose_to_the_end(&attempt, RL_BROKEN);
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
    assert_ended(&attempt, RL_OUTCOME_TIMEOUT);
    assert_int_equal(attempt.effects.release, 0);
}

static void what_waiting_cannot_mend_ends_at_once(void **state)
{
    static const struct {
        struct rl_answer answer;
        enum rl_outcome outcome;
    } cases[] = {
        {{.verdict = RL_BROKEN, .cause = RL_CAUSE_RIGHTS}, RL_OUTCOME_DENIED},
        {{.verdict = RL_DENIED, .cause = RL_CAUSE_FOREIGN_TYPE}, RL_OUTCOME_FOREIGN_TYPE},
        {{.verdict = RL_UNFIT, .cause = RL_CAUSE_DUPLICATE}, RL_OUTCOME_INVALID},
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
    vote(&attempt, 0, 1, RL_UNFIT);
    vote(&attempt, 1, 1, RL_UNFIT);
    assert_int_equal(attempt.acquire.phase, RL_ACQUIRE_RESTING);
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

static void a_cancel_while_resting_has_nothing_left_to_undo(void **state)
{
    struct attempt attempt;

    (void)state;
    start_waiting(&attempt, 3);
    lose_a_round(&attempt, 4);
    tell(&attempt, RL_EVENT_CANCEL, 5);
    assert_ended(&attempt, RL_OUTCOME_CANCELED);
    assert_int_equal(attempt.effects.release, 0);
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
    assert_ended(&attempt, RL_OUTCOME_BUSY);
    assert_int_equal(attempt.effects.release, 0);
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
    assert_int_equal(attempt.acquire.phase, RL_ACQUIRE_PEEKING);
}

static void only_the_first_round_peeks(void **state)
{
    struct attempt attempt;

    (void)state;
    start_peeking(&attempt, WAIT_MS);
    answer_second(&attempt, 0, 3, RL_DENIED);
    answer_second(&attempt, 2, 3, RL_DENIED);
    assert_int_equal(attempt.acquire.phase, RL_ACQUIRE_RESTING);
    tell(&attempt, RL_EVENT_TIMER, wake_ms(&attempt));
    vote(&attempt, 0, 61, RL_DENIED);
    vote(&attempt, 1, 61, RL_DENIED);
    assert_int_equal(attempt.effects.peek, 0);
    assert_int_equal(attempt.acquire.phase, RL_ACQUIRE_RESTING);
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
    assert_ended(&attempt, RL_OUTCOME_CANCELED);
    assert_int_equal(attempt.effects.release, 0);
}

/* ---- fences ---- */

static void equal_fences_need_one_round_only(void **state)
{
    struct attempt attempt;

    (void)state;
    start_fenced(&attempt, 3);
    grant_fence(&attempt, 0, 1, 17);
    grant_fence(&attempt, 1, 2, 17);
    assert_ended(&attempt, RL_OUTCOME_OK);
    assert_int_equal(attempt.acquire.fence, 17);
}

static void without_fences_the_numbers_do_not_matter(void **state)
{
    struct attempt attempt;

    (void)state;
    start_once(&attempt, 3);
    grant_fence(&attempt, 0, 1, 17);
    grant_fence(&attempt, 1, 2, 18);
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
    assert_ended(&attempt, RL_OUTCOME_OK);
    assert_int_equal(attempt.acquire.fence, 17);
}

static void start_raising(struct attempt *attempt)
{
    start_fenced(attempt, 3);
    grant_fence(attempt, 0, 1, 15);
    grant_fence(attempt, 1, 2, 17);
    assert_int_equal(attempt->effects.raise, 1);
}

static void a_late_grant_at_the_fence_makes_the_raise_needless(void **state)
{
    struct attempt attempt;

    (void)state;
    start_raising(&attempt);
    grant_fence(&attempt, 2, 3, 17);
    assert_ended(&attempt, RL_OUTCOME_OK);
    assert_int_equal(attempt.acquire.fence, 17);
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
    assert_ended(&attempt, RL_OUTCOME_OK);
    assert_int_equal(attempt.acquire.fence, 17);
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
    assert_int_equal(attempt.acquire.phase, RL_ACQUIRE_RAISING);
}

static void a_raise_that_is_not_answered_is_no_quorum(void **state)
{
    struct attempt attempt;

    (void)state;
    start_raising(&attempt);
    vote(&attempt, 2, 3, RL_BROKEN);
    tell(&attempt, RL_EVENT_TIMER, 2 + TIMEOUT_MS);
    assert_ended_undone(&attempt, RL_OUTCOME_NO_QUORUM);
}

static void a_raise_for_which_the_rights_are_missing_says_so(void **state)
{
    struct attempt attempt;

    (void)state;
    start_raising(&attempt);
    vote(&attempt, 2, 3, RL_BROKEN);
    answer_with(&attempt, 2, 0, 4, (struct rl_answer){.verdict = RL_BROKEN, .cause = RL_CAUSE_RIGHTS});
    assert_ended_undone(&attempt, RL_OUTCOME_DENIED);
}

static void a_raise_that_takes_too_long_for_validity_is_too_slow(void **state)
{
    struct rl_acquire_config config = config_for(3);
    struct attempt attempt;

    (void)state;
    config.fenced = true;
    config.node_timeout = rl_span_ms(2000);
    start(&attempt, &config);
    grant_fence(&attempt, 0, 1, 15);
    grant_fence(&attempt, 1, 2, 17);
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
    grant_fence(&attempt, 0, 1, 15);
    grant_fence(&attempt, 1, 2, 99);
    answer_second(&attempt, 0, 3, RL_DENIED);
    vote(&attempt, 2, 3, RL_DENIED);
    assert_int_equal(attempt.acquire.phase, RL_ACQUIRE_RESTING);
    tell(&attempt, RL_EVENT_TIMER, wake_ms(&attempt));
    grant_fence(&attempt, 0, 61, 20);
    grant_fence(&attempt, 2, 61, 20);
    assert_ended(&attempt, RL_OUTCOME_OK);
    assert_int_equal(attempt.acquire.fence, 20);
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
        cmocka_unit_test(unfit_nodes_are_to_blame_before_the_others_answer),
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
        cmocka_unit_test(what_waiting_cannot_mend_ends_at_once),
        cmocka_unit_test(quarantine_is_waited_for),
        cmocka_unit_test(a_cancel_while_asking_is_undone_everywhere),
        cmocka_unit_test(a_cancel_while_raising_is_undone_everywhere),
        cmocka_unit_test(a_cancel_while_resting_has_nothing_left_to_undo),
        cmocka_unit_test(a_cancel_after_the_end_changes_nothing),
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
        cmocka_unit_test(random_lives_keep_the_rules),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
