/*
 * Tests of base/histogram: every value is in the bucket that its definition names, checked by squares.
 */
#include "base/histogram.h"
#include "redlock.h"
#include "support/check.h"

__extension__ typedef __int128 wide;

/* The definition: the first bucket whose limit, the root of 2^i, is above the value; squared, so that it is exact. */
static uint32_t dumb_bucket(uint64_t value)
{
    for (uint32_t bucket = 0; bucket < RL_HISTOGRAM_BUCKETS - 1; bucket++)
        if ((wide)value * value < (wide)1 << bucket)
            return bucket;
    return RL_HISTOGRAM_BUCKETS - 1;
}

static void every_small_value_is_in_its_bucket(void **state)
{
    (void)state;
    for (uint64_t value = 0; value < 2000000; value++)
        if (rl_histogram_bucket(value) != dumb_bucket(value))
            fail_msg("value %llu", (unsigned long long)value);
}

static void large_values_are_in_the_last_bucket(void **state)
{
    (void)state;
    for (int power = 20; power < 64; power++) {
        assert_int_equal(rl_histogram_bucket(UINT64_C(1) << power), RL_HISTOGRAM_BUCKETS - 1);
        assert_int_equal(rl_histogram_bucket((UINT64_C(1) << power) + 1), RL_HISTOGRAM_BUCKETS - 1);
    }
    assert_int_equal(rl_histogram_bucket(UINT64_MAX), RL_HISTOGRAM_BUCKETS - 1);
}

static void adding_counts_sums_and_sorts(void **state)
{
    struct rl_histogram histogram = {0};

    (void)state;
    rl_histogram_add(&histogram, rl_span_us(0));
    rl_histogram_add(&histogram, rl_span_us(3));
    rl_histogram_add(&histogram, rl_span_us(3));
    rl_histogram_add(&histogram, rl_span_us(INT64_MAX));
    assert_int_equal(histogram.count, 4);
    assert_int_equal(histogram.sum_us, UINT64_C(6) + INT64_MAX);
    assert_int_equal(histogram.buckets[0], 1);
    assert_int_equal(histogram.buckets[dumb_bucket(3)], 2);
    assert_int_equal(histogram.buckets[RL_HISTOGRAM_BUCKETS - 1], 1);
}

/* A clock that went back must not look like a very long time. */
static void a_negative_length_counts_as_none(void **state)
{
    struct rl_histogram histogram = {0};

    (void)state;
    rl_histogram_add(&histogram, rl_span_us(-5));
    assert_int_equal(histogram.count, 1);
    assert_int_equal(histogram.sum_us, 0);
    assert_int_equal(histogram.buckets[0], 1);
}

static void the_public_histogram_has_the_same_shape(void **state)
{
    (void)state;
    assert_int_equal(RL_HISTOGRAM_BUCKETS, REDLOCK_HISTOGRAM_BUCKETS);
    assert_int_equal(sizeof(struct rl_histogram), sizeof(redlock_histogram));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_small_value_is_in_its_bucket),
        cmocka_unit_test(large_values_are_in_the_last_bucket),
        cmocka_unit_test(adding_counts_sums_and_sorts),
        cmocka_unit_test(a_negative_length_counts_as_none),
        cmocka_unit_test(the_public_histogram_has_the_same_shape),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
