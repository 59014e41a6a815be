/*
 * Tests of core/backoff: its bounds, that it grows, that contenders spread, and that a seed decides all of
 * it.
 */
#include "core/backoff.h"
#include "support/check.h"

static void every_wait_is_within_its_bounds(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 500; seed++) {
        struct rl_prng prng = rl_prng_seed(seed);
        struct rl_backoff backoff = rl_backoff_between(rl_span_ms(10), rl_span_ms(500));
        int64_t last = 10000;

        for (int i = 0; i < 30; i++) {
            int64_t wait = rl_backoff_next(&backoff, &prng).us;

            assert_true(wait >= 10000);
            assert_true(wait <= 500000);
            assert_true(wait <= 3 * last);
            last = wait;
        }
    }
}

static void same_seed_same_waits(void **state)
{
    struct rl_prng one = rl_prng_seed(9), two = rl_prng_seed(9);
    struct rl_backoff a = rl_backoff_between(rl_span_ms(10), rl_span_ms(500)), b = a;

    (void)state;
    for (int i = 0; i < 100; i++)
        assert_int_equal(rl_backoff_next(&a, &one).us, rl_backoff_next(&b, &two).us);
}

static int64_t mean_wait(int losses)
{
    int64_t sum = 0;

    for (uint64_t seed = 0; seed < 2000; seed++) {
        struct rl_prng prng = rl_prng_seed(seed);
        struct rl_backoff backoff = rl_backoff_between(rl_span_ms(10), rl_span_ms(500));

        for (int i = 1; i < losses; i++)
            rl_backoff_next(&backoff, &prng);
        sum += rl_backoff_next(&backoff, &prng).us;
    }
    return sum / 2000;
}

static void waits_grow_with_the_number_of_losses(void **state)
{
    (void)state;
    assert_true(mean_wait(2) > mean_wait(1) * 5 / 4);
    assert_true(mean_wait(4) > mean_wait(2) * 5 / 4);
    assert_true(mean_wait(8) > mean_wait(4));
}

/* Sixteen contenders that lost at the same moment: hardly two of them come back within the same
 * millisecond. */
static void contenders_who_lost_together_come_back_apart(void **state)
{
    int alone = 0;

    (void)state;
    for (uint64_t group = 0; group < 100; group++) {
        int64_t back[16];

        for (uint64_t i = 0; i < 16; i++) {
            struct rl_prng prng = rl_prng_seed(group * 16 + i);
            struct rl_backoff backoff = rl_backoff_between(rl_span_ms(10), rl_span_ms(500));

            for (int loss = 0; loss < 4; loss++)
                rl_backoff_next(&backoff, &prng);
            back[i] = rl_backoff_next(&backoff, &prng).us / 1000;
        }
        for (int i = 0; i < 16; i++) {
            int others = 0;

            for (int j = 0; j < 16; j++)
                others += j != i && back[j] == back[i];
            alone += others == 0;
        }
    }
    assert_true(alone > 1600 * 7 / 10);
}

static void a_reset_forgets_the_losses(void **state)
{
    struct rl_prng prng = rl_prng_seed(1);
    struct rl_backoff backoff = rl_backoff_between(rl_span_ms(10), rl_span_ms(500));

    (void)state;
    for (int i = 0; i < 20; i++)
        rl_backoff_next(&backoff, &prng);
    rl_backoff_reset(&backoff);
    assert_true(rl_backoff_next(&backoff, &prng).us <= 30000);
}

static void equal_bounds_leave_no_choice(void **state)
{
    struct rl_prng prng = rl_prng_seed(1);
    struct rl_backoff backoff = rl_backoff_between(rl_span_ms(10), rl_span_ms(10));

    (void)state;
    for (int i = 0; i < 20; i++)
        assert_int_equal(rl_backoff_next(&backoff, &prng).us, 10000);
}

static void the_longest_bounds_do_not_overflow(void **state)
{
    struct rl_prng prng = rl_prng_seed(1);
    struct rl_backoff backoff = rl_backoff_between(rl_span_us(INT64_MAX / 2), rl_span_us(INT64_MAX));

    (void)state;
    for (int i = 0; i < 100; i++)
        assert_true(rl_backoff_next(&backoff, &prng).us >= INT64_MAX / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_wait_is_within_its_bounds),
        cmocka_unit_test(same_seed_same_waits),
        cmocka_unit_test(waits_grow_with_the_number_of_losses),
        cmocka_unit_test(contenders_who_lost_together_come_back_apart),
        cmocka_unit_test(a_reset_forgets_the_losses),
        cmocka_unit_test(equal_bounds_leave_no_choice),
        cmocka_unit_test(the_longest_bounds_do_not_overflow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
