/*
 * Tests of core/acquire_wait: each rule by which those who wait for the same lock keep out of each other's
 * way, in crowds and in the queue of a process. Times are in ms from the start; nodes count from 0.
 */
#include "support/watching.h"

/* ---- crowds ---- */

/* Woken and beaten to it, so many times, each time by another one. */
static void be_beaten(struct attempt *waiter, int times, void (*lose_round)(struct attempt *waiter))
{
    for (; times > 0; times--) {
        change_on_two(waiter, ms_of(waiter->acquire.asked) + 100);
        if (waiter->acquire.phase == RL_ACQUIRE_RESTING)
            wake(waiter);
        assert_round(waiter);
        lose_round(waiter);
        show_all(waiter, ms_of(waiter->acquire.asked) + 6, (uint64_t)(YOU + ms_of(waiter->acquire.asked)));
    }
}

/* Whoever came too late is told so, at the price of a round: it is enough not to come all at once. */
static void who_comes_in_vain_spreads_from_then_on(void **state)
{
    struct attempt waiter;

    (void)state;
    start_watching(&waiter, 3);
    assert_int_equal(waiter.acquire.spread.us, 0);
    be_beaten(&waiter, 1, lose);
    assert_int_equal(waiter.acquire.spread.us, waiter.acquire.config.retry_min.us);
    be_beaten(&waiter, 20, lose);
    assert_int_equal(waiter.acquire.spread.us, waiter.acquire.config.retry_min.us);
}

/* Split votes cost everybody a round, and would do so for ever. */
static void it_spreads_wider_where_votes_are_split(void **state)
{
    struct attempt waiter;
    int64_t before_us;

    (void)state;
    start_watching(&waiter, 3);
    be_beaten(&waiter, 1, lose_a_split_vote);
    before_us = waiter.acquire.spread.us;
    be_beaten(&waiter, 1, lose_a_split_vote);
    assert_int_equal(waiter.acquire.spread.us, 2 * before_us);
    be_beaten(&waiter, 20, lose_a_split_vote);
    assert_int_equal(waiter.acquire.spread.us, rl_span_ms(RETRY_MAX_MS).us);
}

static void it_comes_at_a_random_time_within_its_spread(void **state)
{
    int64_t least = INT64_MAX, most = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct attempt waiter;
        int64_t rest;

        start_watching(&waiter, 3);
        be_beaten(&waiter, 1, lose);
        waiter.prng = rl_prng_seed(seed);
        change_on_two(&waiter, ms_of(waiter.acquire.asked) + 100);
        rest = waiter.effects.acquire != 0 ? 0 : waiter.effects.rest.us;
        assert_true(rest <= waiter.acquire.spread.us);
        least = rest < least ? rest : least;
        most = rest > most ? rest : most;
    }
    assert_true(least < 1000);
    assert_true(most > 9000);
}

static void time_runs_out_while_it_rests(void **state)
{
    struct rl_acquire_config config = waiting_config(3);
    struct attempt waiter;

    (void)state;
    config.give_up_at = at(205);
    start_watching_with(&waiter, &config);
    be_beaten(&waiter, 1, lose);
    waiter.acquire.spread = rl_span_ms(FOREVER_MS);
    change_on_two(&waiter, 200);
    assert_phase(&waiter, RL_ACQUIRE_RESTING);
    assert_int_equal(waiter.acquire.wake_at.us, at(205).us);
    tell(&waiter, RL_EVENT_TIMER, 205);
    assert_ended(&waiter, RL_OUTCOME_TIMEOUT);
}

/* ---- the queue of its process ---- */

static void start_queued(struct attempt *waiter, int64_t give_up_ms)
{
    struct rl_acquire_config config = waiting_config(3);

    config.queued = true;
    config.give_up_at = at(give_up_ms);
    start(waiter, &config);
    assert_phase(waiter, RL_ACQUIRE_QUEUED);
    assert_nothing(waiter);
}

static void in_the_queue_it_asks_nobody_until_its_turn(void **state)
{
    struct attempt waiter;

    (void)state;
    start_queued(&waiter, FOREVER_MS);
    change(&waiter, 0, 50);
    tell_of_node(&waiter, RL_EVENT_UP, 0, 50);
    tell(&waiter, RL_EVENT_TIMER, 50);
    assert_phase(&waiter, RL_ACQUIRE_QUEUED);
    tell(&waiter, RL_EVENT_TURN, 100);
    assert_round(&waiter);
    assert_int_equal(waiter.acquire.asked.us, at(100).us);
    tell(&waiter, RL_EVENT_TURN, 101);
    assert_nothing(&waiter);
}

static void time_runs_out_in_the_queue_too(void **state)
{
    struct attempt waiter;

    (void)state;
    start_queued(&waiter, 300);
    assert_int_equal(waiter.acquire.wake_at.us, at(300).us);
    tell(&waiter, RL_EVENT_TIMER, 300);
    assert_ended_with_nothing_to_undo(&waiter, RL_OUTCOME_TIMEOUT);
}

static void who_leaves_the_queue_leaves_nothing_behind(void **state)
{
    struct attempt waiter;

    (void)state;
    start_queued(&waiter, FOREVER_MS);
    tell(&waiter, RL_EVENT_CANCEL, 10);
    assert_ended_with_nothing_to_undo(&waiter, RL_OUTCOME_CANCELED);
}

static void to_let_others_come_first_it_looks_before_it_asks(void **state)
{
    struct attempt waiter;

    (void)state;
    start_queued(&waiter, FOREVER_MS);
    step(&waiter, (struct rl_event){.kind = RL_EVENT_TURN, .others_first = true}, 100);
    assert_waits(&waiter);
    assert_int_equal(waiter.effects.watch, 7);
    show_free(&waiter, 0, 102);
    show_free(&waiter, 1, 102);
    assert_true(waiter.effects.rest.us > 0 && waiter.effects.rest.us <= waiter.acquire.config.retry_min.us);
    wake(&waiter);
    assert_round(&waiter);
    assert_int_equal(waiter.acquire.round, 1);
}

static void a_turn_that_comes_at_the_last_moment_is_a_busy_lock(void **state)
{
    struct attempt waiter;

    (void)state;
    start_queued(&waiter, 300);
    tell(&waiter, RL_EVENT_TURN, 299);
    wake(&waiter);
    assert_ended(&waiter, RL_OUTCOME_TIMEOUT);
}

/* The lock came free at the last moment, and no node has answered the round that began then. */
static void a_round_that_is_cut_short_says_what_the_one_before_came_to(void **state)
{
    struct attempt waiter;

    (void)state;
    start_watching(&waiter, 3);
    waiter.acquire.config.give_up_at = at(101);
    change_on_two(&waiter, 100);
    assert_round(&waiter);
    assert_int_equal(waiter.acquire.wake_at.us, at(101).us);
    wake(&waiter);
    assert_ended(&waiter, RL_OUTCOME_TIMEOUT);
}

/* Nodes that had all the time that a node has are missing. */
static void a_round_that_nobody_answers_in_time_has_no_quorum(void **state)
{
    struct attempt waiter;

    (void)state;
    start_watching(&waiter, 3);
    waiter.acquire.config.give_up_at = at(100 + TIMEOUT_MS);
    change_on_two(&waiter, 100);
    wake(&waiter);
    assert_ended(&waiter, RL_OUTCOME_NO_QUORUM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_comes_in_vain_spreads_from_then_on),
        cmocka_unit_test(it_spreads_wider_where_votes_are_split),
        cmocka_unit_test(it_comes_at_a_random_time_within_its_spread),
        cmocka_unit_test(time_runs_out_while_it_rests),
        cmocka_unit_test(in_the_queue_it_asks_nobody_until_its_turn),
        cmocka_unit_test(a_turn_that_comes_at_the_last_moment_is_a_busy_lock),
        cmocka_unit_test(a_round_that_is_cut_short_says_what_the_one_before_came_to),
        cmocka_unit_test(a_round_that_nobody_answers_in_time_has_no_quorum),
        cmocka_unit_test(time_runs_out_in_the_queue_too),
        cmocka_unit_test(who_leaves_the_queue_leaves_nothing_behind),
        cmocka_unit_test(to_let_others_come_first_it_looks_before_it_asks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
