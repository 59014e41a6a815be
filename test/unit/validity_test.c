/*
 * Tests of core/validity against exact 128-bit arithmetic: never in favour of the holder, not even by a
 * microsecond.
 */
#include "base/prng.h"
#include "core/validity.h"
#include "support/check.h"

__extension__ typedef __int128 wide;

/* The rule as it stands in the paper, without any care for width: rounded up, plus 2 ms. */
static wide exact_drift(int64_t ttl_us, uint32_t drift_ppm)
{
    return ((wide)ttl_us * drift_ppm + 999999) / 1000000 + 2000;
}

static int64_t clamp(wide value)
{
    if (value > INT64_MAX)
        return INT64_MAX;
    return value < INT64_MIN ? INT64_MIN : (int64_t)value;
}

static void check(int64_t ttl_us, uint32_t drift_ppm, int64_t asked_us)
{
    struct rl_span ttl = rl_span_us(ttl_us);
    struct rl_time end = rl_validity_end((struct rl_time){asked_us}, ttl, drift_ppm);
    wide exact_end = (wide)asked_us + ttl_us - clamp(exact_drift(ttl_us, drift_ppm));

    assert_int_equal(rl_validity_drift(ttl, drift_ppm).us, clamp(exact_drift(ttl_us, drift_ppm)));
    assert_int_equal(end.us, clamp(exact_end));
}

static void drift_and_end_are_exact_for_common_values(void **state)
{
    (void)state;
    assert_int_equal(rl_validity_drift(rl_span_ms(10000), 10000).us, 102000);
    assert_int_equal(rl_validity_end((struct rl_time){0}, rl_span_ms(10000), 10000).us, 9898000);
    assert_int_equal(rl_validity_drift(rl_span_us(1), 1).us, 2001);
    assert_int_equal(rl_validity_drift(rl_span_us(0), 1000000).us, 2000);
}

static void drift_and_end_are_exact_for_random_values(void **state)
{
    struct rl_prng prng = rl_prng_seed(11);

    (void)state;
    for (int i = 0; i < 300000; i++) {
        int64_t ttl = (int64_t)(rl_prng_next(&prng) >> rl_prng_between(&prng, 1, 63));
        uint32_t ppm = (uint32_t)rl_prng_between(&prng, 0, 1000000);

        check(ttl, ppm, rl_prng_between(&prng, 0, INT64_C(1) << rl_prng_between(&prng, 0, 60)));
    }
}

static void extremes_saturate(void **state)
{
    static const int64_t ttls[] = {0,      1,       1999,    2000,          2001,
                                   999999, 1000000, 1000001, INT64_MAX - 1, INT64_MAX};
    static const uint32_t ppms[] = {0, 1, 999999, 1000000};

    (void)state;
    for (size_t i = 0; i < sizeof ttls / sizeof ttls[0]; i++)
        for (size_t j = 0; j < sizeof ppms / sizeof ppms[0]; j++) {
            check(ttls[i], ppms[j], 0);
            check(ttls[i], ppms[j], INT64_MAX - 1);
            check(ttls[i], ppms[j], INT64_MIN / 2);
        }
}

/* A holder whose clock runs slow by the whole drift still stops before a node whose clock is right lets
 * go. */
static void the_slowest_allowed_clock_stops_before_the_node_does(void **state)
{
    struct rl_prng prng = rl_prng_seed(12);

    (void)state;
    for (int i = 0; i < 100000; i++) {
        int64_t ttl = rl_prng_between(&prng, 50000, INT64_C(86400000000));
        uint32_t ppm = (uint32_t)rl_prng_between(&prng, 0, 500000);
        wide validity = rl_validity_end((struct rl_time){0}, rl_span_us(ttl), ppm).us;

        assert_true(validity + ((wide)ttl * ppm + 999999) / 1000000 <= ttl - 2000);
    }
}

static void a_shorter_ttl_is_never_valid_longer(void **state)
{
    struct rl_prng prng = rl_prng_seed(13);

    (void)state;
    for (int i = 0; i < 100000; i++) {
        int64_t ttl = rl_prng_between(&prng, 1, INT64_C(86400000000));
        uint32_t ppm = (uint32_t)rl_prng_between(&prng, 0, 1000000);

        assert_true(rl_validity_end((struct rl_time){0}, rl_span_us(ttl - 1), ppm).us <=
                    rl_validity_end((struct rl_time){0}, rl_span_us(ttl), ppm).us);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drift_and_end_are_exact_for_common_values),
        cmocka_unit_test(drift_and_end_are_exact_for_random_values),
        cmocka_unit_test(extremes_saturate),
        cmocka_unit_test(the_slowest_allowed_clock_stops_before_the_node_does),
        cmocka_unit_test(a_shorter_ttl_is_never_valid_longer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
