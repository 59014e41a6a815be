/*
 * Tests of core/acquire_wait: each rule by which those who wait for the same lock keep out of each other's way, in crowds and
 * in the queue of a process. Times are in ms from the start; nodes count from 0.
 */
#include "support/watching.h"

/* ---- crowds ---- */

/* Woken and beaten to it, so many times, each time by another one and a while after it began to watch. */
static void be_beaten(struct attempt *waiter, int times, void (*lose_round)(struct attempt *waiter))
{
    for (; times > 0; times--) {
        change_on_two(waiter, ms_of(waiter->acquire.watching_since) + 100);
        if (waiter->acquire.phase == RL_ACQUIRE_RESTING)
            wake(waiter);
        assert_round(waiter);
        lose_round(waiter);
        show_all(waiter, ms_of(waiter->acquire.asked) + 6, (uint64_t)(YOU + times));
    }
}

static void patience_grows_with_wake_ups_that_came_to_nothing(void **state)
{
    struct attempt waiter;

    (void)state;
    start_watching(&waiter, 3);
    assert_int_equal(waiter.acquire.patience, 0);
    be_beaten(&waiter, 3, lose);
    assert_int_equal(waiter.acquire.patience, 3);
}

/* Whoever came too late is told so, at the price of a round; split votes cost everybody one. */
static void it_grows_further_where_votes_are_split(void **state)
{
    struct attempt waiter;
    uint32_t late;

    (void)state;
    start_watching(&waiter, 3);
    be_beaten(&waiter, 20, lose);
    late = waiter.acquire.patience;
    assert_in_range(late, 4, RL_PATIENCE_MAX - 1);
    be_beaten(&waiter, 20, lose_a_split_vote);
    assert_int_equal(waiter.acquire.patience, RL_PATIENCE_MAX);
}

/* Free again so soon after it was watched that nobody can have done much with it. */
static void be_beaten_to_a_hot_lock(struct attempt *waiter)
{
    change_on_two(waiter, ms_of(waiter->acquire.watching_since) + 10);
    assert_round(waiter);
    lose(waiter);
}

static void assert_dozes(const struct attempt *waiter)
{
    assert_phase(waiter, RL_ACQUIRE_RESTING);
    assert_int_equal(waiter->effects.watch, 0);
    assert_true(waiter->effects.rest.us > 0);
}

/* Looks, is told by all that somebody has it, and waits. */
static void wake_and_look(struct attempt *waiter)
{
    int64_t ms = wake_ms(waiter);

    wake(waiter);
    assert_int_equal(waiter->effects.watch, rl_node_set_all(3));
    show_all(waiter, ms + 1, (uint64_t)ms);
    assert_waits(waiter);
}

static void who_comes_too_late_for_a_hot_lock_stays_away_and_then_looks(void **state)
{
    struct attempt waiter;

    (void)state;
    start_watching(&waiter, 3);
    be_beaten_to_a_hot_lock(&waiter);
    assert_dozes(&waiter);
    wake_and_look(&waiter);
    be_beaten_to_a_hot_lock(&waiter); /* it asks at once: the others are away */
    assert_dozes(&waiter);
    assert_int_equal(waiter.acquire.heat, 2);
}

static void who_stands_in_a_line_does_not_stay_away(void **state)
{
    struct rl_acquire_config config = waiting_config(3);
    struct attempt waiter;

    (void)state;
    config.in_line = true;
    config.heat = RL_HEAT_MAX;
    start_hidden(&waiter, &config);
    lose(&waiter);
    assert_phase(&waiter, RL_ACQUIRE_WAITING);
}

static void nobody_stays_away_longer_than_the_longest_pause(void **state)
{
    struct attempt waiter;

    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct rl_acquire_config config = waiting_config(3);

        config.retry_max = rl_span_ms(30);
        config.heat = RL_HEAT_MAX;
        start_hidden(&waiter, &config);
        waiter.prng = rl_prng_seed(seed);
        lose(&waiter);
        assert_dozes(&waiter);
        assert_true(waiter.effects.rest.us <= 30000);
    }
}

static void a_lock_that_is_held_for_longer_is_not_hot(void **state)
{
    struct attempt waiter;

    (void)state;
    start_watching(&waiter, 3);
    be_beaten_to_a_hot_lock(&waiter);
    wake_and_look(&waiter);
    change_on_two(&waiter, ms_of(waiter.acquire.watching_since) + 500);
    assert_int_equal(waiter.acquire.heat, 0);
    if (waiter.acquire.phase == RL_ACQUIRE_RESTING)
        wake(&waiter);
    lose(&waiter);
    assert_waits(&waiter); /* told by the nodes, not away */
}

static void time_runs_out_while_it_stays_away_too(void **state)
{
    struct rl_acquire_config config = waiting_config(3);
    struct attempt waiter;

    (void)state;
    config.heat = 1;
    config.give_up_at = at(10);
    start_hidden(&waiter, &config);
    lose(&waiter);
    assert_dozes(&waiter);
    tell(&waiter, RL_EVENT_TIMER, 10);
    assert_ended(&waiter, RL_OUTCOME_TIMEOUT);
}

static void a_patient_waiter_comes_at_a_random_time_within_its_patience(void **state)
{
    int64_t least = INT64_MAX, most = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct rl_acquire_config config = waiting_config(3);
        struct attempt waiter;
        int64_t rest;

        config.patience = 3;
        start_watching_with(&waiter, &config);
        waiter.prng = rl_prng_seed(seed);
        change_on_two(&waiter, 100);
        rest = waiter.effects.acquire != 0 ? 0 : waiter.effects.rest.us;
        assert_true(rest <= 4 * 4000); /* its round took 4 ms: up to 2^2 of these */
        least = rest < least ? rest : least;
        most = rest > most ? rest : most;
    }
    assert_true(least < 2000);
    assert_true(most > 14000);
}

static void no_patience_is_longer_than_the_longest_pause(void **state)
{
    struct rl_acquire_config config = waiting_config(3);

    (void)state;
    config.patience = RL_PATIENCE_MAX;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct attempt waiter;

        start_watching_with(&waiter, &config);
        waiter.prng = rl_prng_seed(seed);
        change_on_two(&waiter, 100);
        assert_true(waiter.effects.rest.us <= rl_span_ms(RETRY_MAX_MS).us);
    }
}

/* ---- the queue of its process ---- */

static void start_queued(struct attempt *waiter, int64_t give_up_ms)
{
    struct rl_acquire_config config = waiting_config(3);

    config.queued = true;
    config.give_up_at = at(give_up_ms);
    start_hidden(waiter, &config);
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

static void out_of_courtesy_it_looks_before_it_asks(void **state)
{
    struct attempt waiter;

    (void)state;
    start_queued(&waiter, FOREVER_MS);
    waiter.acquire.trip = rl_span_ms(2);
    step(&waiter, (struct rl_event){.kind = RL_EVENT_TURN, .courtesy = true}, 100);
    assert_waits(&waiter);
    assert_int_equal(waiter.effects.watch, 7);
    show_free(&waiter, 0, 102);
    show_free(&waiter, 1, 102);
    assert_true(waiter.effects.rest.us > 0 && waiter.effects.rest.us <= 32000);
    wake(&waiter);
    assert_round(&waiter);
    assert_int_equal(waiter.acquire.round, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patience_grows_with_wake_ups_that_came_to_nothing),
        cmocka_unit_test(it_grows_further_where_votes_are_split),
        cmocka_unit_test(who_comes_too_late_for_a_hot_lock_stays_away_and_then_looks),
        cmocka_unit_test(who_stands_in_a_line_does_not_stay_away),
        cmocka_unit_test(nobody_stays_away_longer_than_the_longest_pause),
        cmocka_unit_test(a_lock_that_is_held_for_longer_is_not_hot),
        cmocka_unit_test(time_runs_out_while_it_stays_away_too),
        cmocka_unit_test(a_patient_waiter_comes_at_a_random_time_within_its_patience),
        cmocka_unit_test(no_patience_is_longer_than_the_longest_pause),
        cmocka_unit_test(in_the_queue_it_asks_nobody_until_its_turn),
        cmocka_unit_test(time_runs_out_in_the_queue_too),
        cmocka_unit_test(who_leaves_the_queue_leaves_nothing_behind),
        cmocka_unit_test(out_of_courtesy_it_looks_before_it_asks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
