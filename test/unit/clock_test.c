/*
 * The clock against the system's own: it may run ahead of them by next to nothing, and behind them never.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "net/clock.h"

static int64_t system_us(clockid_t which)
{
    struct timespec at;

    clock_gettime(which, &at);
    return (int64_t)at.tv_sec * 1000000 + at.tv_nsec / 1000;
}

/* Reading it a million times a second once made it run fast by almost a percent: the moment between looking
 * at the one clock and at the other was added at every reading. */
static void reading_it_often_does_not_make_it_run_fast(void **state)
{
    struct rl_clock clock;
    int64_t begin, passed, counted;
    struct rl_time first;

    (void)state;
    rl_clock_start(&clock);
    begin = system_us(CLOCK_MONOTONIC_RAW);
    first = rl_clock_now(&clock);
    while (system_us(CLOCK_MONOTONIC_RAW) - begin < 500000)
        rl_clock_now(&clock);
    counted = rl_time_since(rl_clock_now(&clock), first).us;
    passed = system_us(CLOCK_MONOTONIC_RAW) - begin;
    assert_true(counted * 1000 <=
                passed * 1002); /* a tenth of a percent would already be much; slews stay below */
}

static void it_is_never_behind_either_clock(void **state)
{
    struct rl_clock clock;
    int64_t boot, raw;
    struct rl_time first;

    (void)state;
    rl_clock_start(&clock);
    first = rl_clock_now(&clock);
    boot = system_us(CLOCK_BOOTTIME);
    raw = system_us(CLOCK_MONOTONIC_RAW);
    for (int i = 0; i < 100000; i++) {
        int64_t boot_now = system_us(CLOCK_BOOTTIME), raw_now = system_us(CLOCK_MONOTONIC_RAW);
        int64_t counted = rl_time_since(rl_clock_now(&clock), first).us;

        assert_true(counted >= boot_now - boot - 2); /* whole microseconds */
        assert_true(counted >= raw_now - raw - 2);
    }
}

static void it_never_goes_back(void **state)
{
    struct rl_clock clock;
    struct rl_time last, now;

    (void)state;
    rl_clock_start(&clock);
    last = rl_clock_now(&clock);
    for (int i = 0; i < 300000; i++) {
        now = rl_clock_now(&clock);
        assert_false(rl_time_before(now, last));
        last = now;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_it_often_does_not_make_it_run_fast),
        cmocka_unit_test(it_is_never_behind_either_clock),
        cmocka_unit_test(it_never_goes_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
