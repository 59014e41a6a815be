/*
 * Tests of core/clock_watch: wrong rates and steps are noticed, and nothing else ever is. The node's true
 * clock is known here; the watch sees it only through answers that took their time.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/prng.h"
#include "core/clock_watch.h"
#include "support/check.h"

enum { DRIFT_PPM = 10000, SECOND = 1000000, MS = 1000 };

/* A node's clock: at our time t it shows t + offset + t * rate. */
struct node_clock {
    int64_t offset_us;
    int64_t rate_ppm;
    int64_t since_us; /* the rate holds from then on */
};

static int64_t shows(const struct node_clock *node, int64_t at_us)
{
    return at_us + node->offset_us + (at_us - node->since_us) * node->rate_ppm / 1000000;
}

/* Asks at `sent`; the node reads its clock after `there`, and the answer is back after another `back`. */
static enum rl_clock_state look(struct rl_clock_watch *watch, const struct node_clock *node, int64_t sent_us,
                                int64_t there_us, int64_t back_us)
{
    return rl_clock_watch_add(watch, (struct rl_time){sent_us},
                              (struct rl_time){sent_us + there_us + back_us}, shows(node, sent_us + there_us),
                              DRIFT_PPM);
}

/* How long after the rate changed it is noticed, looking every `every`; -1 when it is not within a minute. */
static int64_t time_to_notice(int64_t rate_ppm, int64_t every_us, int64_t delay_us)
{
    struct node_clock node = {.offset_us = 12345};
    struct rl_clock_watch watch = {0};
    int64_t now = SECOND;

    for (; now < 5 * SECOND; now += every_us)
        assert_int_equal(look(&watch, &node, now, delay_us, delay_us), RL_CLOCK_GOOD);
    node.rate_ppm = rate_ppm;
    node.since_us = now;
    for (; now < node.since_us + 60 * SECOND; now += every_us)
        if (look(&watch, &node, now, delay_us, delay_us) != RL_CLOCK_GOOD)
            return now - node.since_us;
    return -1;
}

static void nothing_is_known_before_the_first_look(void **state)
{
    struct rl_clock_watch watch = {0};

    (void)state;
    assert_int_equal(rl_clock_watch_node_us(&watch, (struct rl_time){5 * SECOND}), 0);
}

static void the_first_look_is_never_judged(void **state)
{
    struct node_clock node = {.offset_us = INT64_C(1700000000) * SECOND};
    struct rl_clock_watch watch = {0};

    (void)state;
    assert_int_equal(look(&watch, &node, SECOND, 3 * SECOND, 0), RL_CLOCK_GOOD);
}

static void a_slew_as_chrony_does_it_is_noticed_within_about_a_second(void **state)
{
    (void)state;
    assert_in_range(time_to_notice(83333, 20 * MS, 100), 1, 1100 * MS);
    assert_in_range(time_to_notice(-83333, 20 * MS, 100), 1, 1100 * MS);
    assert_in_range(time_to_notice(83333, 100 * MS, 2 * MS), 1, 1300 * MS);
}

static void a_rate_just_beyond_half_the_drift_is_noticed(void **state)
{
    (void)state;
    assert_true(time_to_notice(7000, 100 * MS, 100) >= 0);
    assert_true(time_to_notice(-7000, 100 * MS, 100) >= 0);
}

static void a_rate_within_half_the_drift_is_let_pass(void **state)
{
    (void)state;
    assert_int_equal(time_to_notice(5000, 100 * MS, 100), -1);
    assert_int_equal(time_to_notice(-5000, 100 * MS, 100), -1);
}

/* What an answer that took long cannot tell is not held against the node. */
static void a_slew_hides_behind_slow_answers_only_for_a_while(void **state)
{
    int64_t noticed = time_to_notice(83333, 100 * MS, 100 * MS);

    (void)state;
    assert_true(noticed > 1500 * MS);
    assert_true(noticed < 10 * (int64_t)SECOND);
}

static void a_node_whose_rate_is_right_again_is_good_again(void **state)
{
    struct node_clock node = {.rate_ppm = 83333};
    struct rl_clock_watch watch = {0};
    int64_t now = 0;

    (void)state;
    for (; now < 15 * SECOND; now += 50 * MS)
        look(&watch, &node, now, 100, 100);
    assert_int_equal(watch.state, RL_CLOCK_RATE);
    assert_in_range(watch.rate_ppm, 80000, 86000);
    node.offset_us = shows(&node, now) - now;
    node.rate_ppm = 0;
    for (; now < 40 * SECOND; now += 50 * MS)
        look(&watch, &node, now, 100, 100);
    assert_int_equal(watch.state, RL_CLOCK_GOOD);
}

static void expect_step(int64_t step_us, int64_t pause_us, int64_t delay_us)
{
    struct node_clock node = {0};
    struct rl_clock_watch watch = {0};
    int64_t now = SECOND;

    for (int i = 0; i < 50; i++, now += 100 * MS)
        assert_int_equal(look(&watch, &node, now, delay_us, delay_us), RL_CLOCK_GOOD);
    node.offset_us += step_us;
    now += pause_us;
    assert_int_equal(look(&watch, &node, now, delay_us, delay_us), RL_CLOCK_STEP);
    assert_in_range(watch.step_us - step_us + 2 * SECOND, 0, 4 * SECOND);
    /* Said once: from here on the new time is what it is watched against. */
    for (int i = 0; i < 200; i++, now += 100 * MS)
        assert_int_equal(look(&watch, &node, now + 100 * MS, delay_us, delay_us), RL_CLOCK_GOOD);
    assert_int_equal(rl_clock_watch_node_us(&watch, (struct rl_time){now}),
                     now + step_us + delay_us + delay_us / 200 + 1);
}

static void steps_are_noticed_at_the_next_look_and_said_once(void **state)
{
    (void)state;
    expect_step(30 * SECOND, 0, 100);
    expect_step(-60 * SECOND, 0, 100);
    expect_step(30 * SECOND, 20 * SECOND, 100);
    expect_step(-60 * SECOND, 0, 200 * MS);
}

/* Too little for the time that passed to tell it from a rate: but the node does not count, and that is what
 * matters. */
static void small_steps_are_noticed_too(void **state)
{
    (void)state;
    for (int64_t step_us = -300 * MS; step_us <= 300 * MS; step_us += 600 * MS) {
        struct node_clock node = {0};
        struct rl_clock_watch watch = {0};

        for (int i = 0; i < 50; i++)
            assert_int_equal(look(&watch, &node, i * 100 * MS, 100, 100), RL_CLOCK_GOOD);
        node.offset_us += step_us;
        assert_int_not_equal(look(&watch, &node, 5 * SECOND, 100, 100), RL_CLOCK_GOOD);
    }
}

static void a_step_within_the_uncertainty_is_no_step(void **state)
{
    struct node_clock node = {0};
    struct rl_clock_watch watch = {0};

    (void)state;
    look(&watch, &node, 0, 600 * MS, 0);
    node.offset_us = 500 * MS;
    assert_int_equal(look(&watch, &node, SECOND, 0, 600 * MS), RL_CLOCK_GOOD);
}

/* A rule for "not after": what the node may show is never guessed too early, or a good question would be
 * refused. */
static void the_nodes_time_is_never_guessed_too_early(void **state)
{
    struct rl_prng prng = rl_prng_seed(7);

    (void)state;
    for (int i = 0; i < 100000; i++) {
        struct node_clock node = {.offset_us = rl_prng_between(&prng, -100, 100) * SECOND};
        struct rl_clock_watch watch = {0};
        int64_t there = rl_prng_between(&prng, 0, SECOND), back = rl_prng_between(&prng, 0, SECOND);
        int64_t sent = rl_prng_between(&prng, 0, 1000) * SECOND, later = sent + 3 * SECOND;

        look(&watch, &node, sent, there, back);
        assert_true(rl_clock_watch_node_us(&watch, (struct rl_time){later}) >= shows(&node, later));
    }
}

/* One node with a permitted rate, and a network that delays as it likes, for a while. */
static void walk_an_honest_clock(uint64_t seed)
{
    static const int64_t delays_us[] = {0, 50, 1 * MS, 30 * MS, 500 * MS, 5 * SECOND, 60 * SECOND};
    static const int64_t pauses_us[] = {10, 1 * MS, 50 * MS, SECOND, 20 * SECOND, 3600 * (int64_t)SECOND};
    struct rl_prng prng = rl_prng_seed(seed);
    struct node_clock node = {.offset_us = rl_prng_between(&prng, -1000, 1000) * SECOND,
                              .rate_ppm = rl_prng_between(&prng, -DRIFT_PPM / 2, DRIFT_PPM / 2)};
    int64_t delay_max = delays_us[rl_prng_between(&prng, 0, 6)];
    int64_t pause_max = pauses_us[rl_prng_between(&prng, 0, 5)];
    struct rl_clock_watch watch = {0};
    int64_t now = 0;

    if (seed % 4 == 0)
        node.rate_ppm = node.rate_ppm < 0 ? -DRIFT_PPM / 2 : DRIFT_PPM / 2;
    for (int i = 0; i < 300; i++) {
        bool lopsided = rl_prng_between(&prng, 0, 1) == 0;
        int64_t there = lopsided ? 0 : rl_prng_between(&prng, 0, delay_max);
        int64_t back = lopsided ? delay_max : rl_prng_between(&prng, 0, delay_max);
        enum rl_clock_state told = rl_prng_between(&prng, 0, 1) == 0 ? look(&watch, &node, now, there, back)
                                                                     : look(&watch, &node, now, back, there);

        if (told != RL_CLOCK_GOOD) {
            print_error("seed %llu, look %d: %d; REDLOCK_SEED repeats it\n", (unsigned long long)seed, i,
                        told);
            fail();
        }
        now += there + back + rl_prng_between(&prng, 0, pause_max);
    }
}

static void an_honest_clock_is_never_accused_whatever_the_network_does(void **state)
{
    const char *only = getenv("REDLOCK_SEED");

    (void)state;
    for (uint64_t seed = 1; seed <= 20000 && only == NULL; seed++)
        walk_an_honest_clock(seed);
    if (only != NULL)
        walk_an_honest_clock(strtoull(only, NULL, 10));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_known_before_the_first_look),
        cmocka_unit_test(the_first_look_is_never_judged),
        cmocka_unit_test(a_slew_as_chrony_does_it_is_noticed_within_about_a_second),
        cmocka_unit_test(a_rate_just_beyond_half_the_drift_is_noticed),
        cmocka_unit_test(a_rate_within_half_the_drift_is_let_pass),
        cmocka_unit_test(a_slew_hides_behind_slow_answers_only_for_a_while),
        cmocka_unit_test(a_node_whose_rate_is_right_again_is_good_again),
        cmocka_unit_test(steps_are_noticed_at_the_next_look_and_said_once),
        cmocka_unit_test(small_steps_are_noticed_too),
        cmocka_unit_test(a_step_within_the_uncertainty_is_no_step),
        cmocka_unit_test(the_nodes_time_is_never_guessed_too_early),
        cmocka_unit_test(an_honest_clock_is_never_accused_whatever_the_network_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
