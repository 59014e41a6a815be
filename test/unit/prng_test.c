/*
 * Tests of base/prng: the published numbers of its algorithm, repeatability, and an even spread.
 */
#include "base/prng.h"
#include "support/check.h"

/* xoshiro256** from the state 1, 2, 3, 4, as its authors' code prints it. */
static void numbers_are_those_of_xoshiro256_star_star(void **state)
{
    static const uint64_t published[] = {
        UINT64_C(11520),
        UINT64_C(0),
        UINT64_C(1509978240),
        UINT64_C(1215971899390074240),
        UINT64_C(1216172134540287360),
        UINT64_C(607988272756665600),
    };
    struct rl_prng prng = {{1, 2, 3, 4}};

    (void)state;
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++)
        assert_true(rl_prng_next(&prng) == published[i]);
}

/* splitmix64 from 0: the first number is the well-known one. */
static void seeds_are_spread_by_splitmix64(void **state)
{
    struct rl_prng prng = rl_prng_seed(0);

    (void)state;
    assert_true(prng.state[0] == UINT64_C(0xe220a8397b1dcdaf));
    assert_true(prng.state[1] == UINT64_C(0x6e789e6aa1b965f4));
}

static void same_seed_same_numbers_and_other_seed_others(void **state)
{
    struct rl_prng a = rl_prng_seed(42), b = rl_prng_seed(42), c = rl_prng_seed(43);
    int same = 0;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        uint64_t number = rl_prng_next(&a);

        assert_true(number == rl_prng_next(&b));
        same += number == rl_prng_next(&c);
    }
    assert_int_equal(same, 0);
}

static void between_keeps_to_its_bounds_and_reaches_both(void **state)
{
    struct rl_prng prng = rl_prng_seed(7);
    int low = 0, high = 0;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        int64_t number = rl_prng_between(&prng, -2, 2);

        assert_in_range(number + 2, 0, 4);
        low += number == -2;
        high += number == 2;
    }
    assert_true(low > 100 && high > 100);
}

static void between_copes_with_the_widest_and_the_narrowest_range(void **state)
{
    struct rl_prng prng = rl_prng_seed(7);

    (void)state;
    assert_int_equal(rl_prng_between(&prng, 5, 5), 5);
    assert_int_equal(rl_prng_between(&prng, INT64_MAX, INT64_MAX), INT64_MAX);
    assert_int_equal(rl_prng_between(&prng, INT64_MIN, INT64_MIN), INT64_MIN);
    for (int i = 0; i < 100; i++)
        rl_prng_between(&prng, INT64_MIN, INT64_MAX);
    for (int i = 0; i < 100; i++)
        assert_true(rl_prng_between(&prng, INT64_MIN, INT64_MAX - 1) < INT64_MAX);
}

static void tenths_of_the_range_are_hit_about_equally(void **state)
{
    struct rl_prng prng = rl_prng_seed(3);
    int hits[10] = {0};

    (void)state;
    for (int i = 0; i < 100000; i++)
        hits[rl_prng_between(&prng, 0, 9)]++;
    for (int i = 0; i < 10; i++)
        assert_in_range(hits[i], 9500, 10500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_those_of_xoshiro256_star_star),
        cmocka_unit_test(seeds_are_spread_by_splitmix64),
        cmocka_unit_test(same_seed_same_numbers_and_other_seed_others),
        cmocka_unit_test(between_keeps_to_its_bounds_and_reaches_both),
        cmocka_unit_test(between_copes_with_the_widest_and_the_narrowest_range),
        cmocka_unit_test(tenths_of_the_range_are_hit_about_equally),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
