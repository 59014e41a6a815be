/*
 * Tests of base/histogram: every value is in the bucket that its definition names, checked by squares.
 */
#include "base/histogram.h"
#include "redlock.h"
#include "support/check.h"

__extension__ typedef __int128 wide;

/* The definition: the first bucket whose limit, the root of 2^i, is above the value; squared, so that it is
 * exact. */
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

static void large_values_are_in_their_bucket_up_to_more_than_an_hour(void **state)
{
    (void)state;
    for (int power = 20; power < 64; power++)
        for (int more = -1; more <= 1; more++) {
            uint64_t value = (UINT64_C(1) << power) + (uint64_t)more;

            assert_int_equal(rl_histogram_bucket(value), dumb_bucket(value));
        }
    assert_int_equal(rl_histogram_bucket(UINT64_MAX), RL_HISTOGRAM_BUCKETS - 1);
    assert_true(rl_histogram_bucket(UINT64_C(3600) * 1000000) < RL_HISTOGRAM_BUCKETS - 1);
}

/* The bound is the first value that is not in the bucket any more, and the bounds rise. */
static void bounds_are_where_the_buckets_end(void **state)
{
    (void)state;
    for (uint32_t bucket = 0; bucket < RL_HISTOGRAM_BUCKETS - 1; bucket++) {
        uint64_t bound = redlock_histogram_bound_us(bucket);

        assert_true(dumb_bucket(bound) > bucket);
        assert_true(dumb_bucket(bound - 1) <= bucket);
    }
    assert_int_equal(redlock_histogram_bound_us(64), UINT64_C(1) << 32);
    assert_int_equal(redlock_histogram_bound_us(RL_HISTOGRAM_BUCKETS - 1), UINT64_MAX);
    assert_int_equal(redlock_histogram_bound_us(UINT32_MAX), UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_small_value_is_in_its_bucket),
        cmocka_unit_test(large_values_are_in_their_bucket_up_to_more_than_an_hour),
        cmocka_unit_test(bounds_are_where_the_buckets_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
