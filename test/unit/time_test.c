/*
 * Tests of base/time.h: saturating sums and rounding against ourselves, at the edges where they matter.
 */
#include "base/time.h"
#include "support/check.h"

__extension__ typedef __int128 wide;

/* Numbers around every edge. */
static const int64_t edges[] = {
    INT64_MIN, INT64_MIN + 1, INT64_MIN / 2, -1001, -1000,         -999,          -1,       0,
    1,         999,           1000,          1001,  INT64_MAX / 2, INT64_MAX - 1, INT64_MAX};

enum { EDGES = sizeof edges / sizeof edges[0] };

static int64_t clamp(wide value)
{
    if (value > INT64_MAX)
        return INT64_MAX;
    return value < INT64_MIN ? INT64_MIN : (int64_t)value;
}

static void sums_saturate_instead_of_overflowing(void **state)
{
    (void)state;
    for (int i = 0; i < EDGES; i++)
        for (int j = 0; j < EDGES; j++) {
            wide sum = (wide)edges[i] + edges[j];

            assert_int_equal(rl_saturating_add(edges[i], edges[j]), clamp(sum));
            assert_int_equal(rl_span_add(rl_span_us(edges[i]), rl_span_us(edges[j])).us, clamp(sum));
        }
}

/* One off at the very bottom, where the negation does not exist, is accepted; it is further than any clock
 * goes. */
static void differences_saturate_instead_of_overflowing(void **state)
{
    (void)state;
    for (int i = 0; i < EDGES; i++)
        for (int j = 1; j < EDGES; j++) {
            wide difference = (wide)edges[i] - edges[j];

            assert_int_equal(rl_span_sub(rl_span_us(edges[i]), rl_span_us(edges[j])).us, clamp(difference));
        }
    assert_int_equal(rl_span_sub(rl_span_us(5), rl_span_us(INT64_MIN)).us, INT64_MAX);
}

static void never_stays_never_whatever_is_added(void **state)
{
    (void)state;
    for (int i = 0; i < EDGES; i++)
        assert_int_equal(rl_time_add(RL_TIME_NEVER, rl_span_us(edges[i])).us, INT64_MAX);
    assert_int_equal(rl_time_add((struct rl_time){10}, rl_span_us(-3)).us, 7);
}

static void milliseconds_beyond_the_range_saturate(void **state)
{
    (void)state;
    assert_int_equal(rl_span_ms(7).us, 7000);
    assert_int_equal(rl_span_ms(-7).us, -7000);
    assert_int_equal(rl_span_ms(INT64_MAX).us, INT64_MAX);
    assert_int_equal(rl_span_ms(INT64_MIN).us, INT64_MIN);
    assert_int_equal(rl_span_ms(INT64_MAX / 1000).us, INT64_MAX / 1000 * 1000);
}

static void what_is_left_rounds_down_and_what_has_passed_rounds_up(void **state)
{
    (void)state;
    for (int i = 0; i < EDGES; i++) {
        struct rl_span span = rl_span_us(edges[i]);

        assert_true((wide)rl_span_ms_down(span) * 1000 <= span.us);
        assert_true((wide)rl_span_ms_down(span) * 1000 + 1000 > span.us);
        assert_true((wide)rl_span_ms_up(span) * 1000 >= span.us);
        assert_true((wide)rl_span_ms_up(span) * 1000 - 1000 < span.us);
    }
}

static void earlier_and_later_are_told_apart(void **state)
{
    struct rl_time early = {3}, late = {4};

    (void)state;
    assert_true(rl_time_before(early, late));
    assert_false(rl_time_before(late, early));
    assert_false(rl_time_before(late, late));
    assert_int_equal(rl_time_min(early, late).us, 3);
    assert_int_equal(rl_time_max(early, late).us, 4);
    assert_int_equal(rl_time_since(late, early).us, 1);
    assert_int_equal(rl_time_since(early, late).us, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_saturate_instead_of_overflowing),
        cmocka_unit_test(differences_saturate_instead_of_overflowing),
        cmocka_unit_test(never_stays_never_whatever_is_added),
        cmocka_unit_test(milliseconds_beyond_the_range_saturate),
        cmocka_unit_test(what_is_left_rounds_down_and_what_has_passed_rounds_up),
        cmocka_unit_test(earlier_and_later_are_told_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
