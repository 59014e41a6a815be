/*
 * redlock_legacy_acquire() and its like on a real node: a lock of the oldest kind is shared with programs
 * that do the same, and nobody else's is touched.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/steps.h"

static redlock_legacy_spec legacy_for(uint32_t ttl_ms)
{
    redlock_legacy_spec spec = REDLOCK_LEGACY_SPEC_INIT;

    spec.name = "old";
    spec.ttl_ms = ttl_ms;
    return spec;
}

static int64_t wall_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void legacy_lock_is_the_time_of_its_end(void **state)
{
    redlock_options options = options_for(fleet_urls(*state));
    redlock_legacy_spec spec = legacy_for(LONG_TTL_MS);
    redlock_report report = REDLOCK_REPORT_INIT;
    int64_t end_ms = 0, other_ms = 0;

    options.mode = REDLOCK_PLAIN;
    redlock_client *client = open_with(&options);
    assert_result(REDLOCK_OK, redlock_legacy_acquire(client, &spec, 0, &end_ms, &report), &report);
    assert_true(report.validity_ms > 0);
    assert_int_equal(strtoll(fleet_command(*state, 0, "GET", "old", NULL), NULL, 10), end_ms);
    assert_result(REDLOCK_BUSY, redlock_legacy_acquire(client, &spec, 0, &other_ms, &report), &report);
    assert_result(REDLOCK_TIMEOUT, redlock_legacy_acquire(client, &spec, 50, &other_ms, &report), &report);
    other_ms = end_ms;
    assert_result(REDLOCK_OK, redlock_legacy_extend(client, &spec, &end_ms, &report), &report);
    assert_true(end_ms >= other_ms);
    assert_result(REDLOCK_OK, redlock_legacy_release(client, &spec, end_ms, &report), &report);
    assert_string_equal(fleet_command(*state, 0, "EXISTS", "old", NULL), "0");
    assert_result(REDLOCK_NOT_HELD, redlock_legacy_release(client, &spec, end_ms, &report), &report);
    assert_result(REDLOCK_LOST, redlock_legacy_release(client, &spec, 1, &report), &report);
    redlock_client_close(client);
}

static void legacy_lock_that_has_ended_is_taken_over_whatever_its_unit(void **state)
{
    redlock_options options = options_for(fleet_urls(*state));
    redlock_legacy_spec spec = legacy_for(LONG_TTL_MS);
    redlock_report report = REDLOCK_REPORT_INIT;
    char text[40];
    int64_t end_ms = 0;

    options.mode = REDLOCK_PLAIN;
    redlock_client *client = open_with(&options);
    const int64_t ended_ms = wall_ms() - 5000, held_ms = wall_ms() + LONG_TTL_MS;
    const char *const fractions[] = {"", "", ".25"}; /* milliseconds, seconds, seconds as Python has them */
    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof text, "%lld%s", (long long)(i == 0 ? held_ms : held_ms / 1000), fractions[i]);
        fleet_command(*state, 0, "SET", "old", text, NULL);
        assert_result(REDLOCK_BUSY, redlock_legacy_acquire(client, &spec, 0, &end_ms, &report), &report);
        assert_string_equal(fleet_command(*state, 0, "GET", "old", NULL), text);
        snprintf(text, sizeof text, "%lld%s", (long long)(i == 0 ? ended_ms : ended_ms / 1000), fractions[i]);
        fleet_command(*state, 0, "SET", "old", text, NULL);
        assert_result(REDLOCK_OK, redlock_legacy_acquire(client, &spec, 0, &end_ms, &report), &report);
        assert_result(REDLOCK_OK, redlock_legacy_release(client, &spec, end_ms, &report), &report);
    }
    fleet_command(*state, 0, "SET", "old", "somebody", NULL);
    assert_result(REDLOCK_FOREIGN_TYPE, redlock_legacy_acquire(client, &spec, 0, &end_ms, &report), &report);
    fleet_command(*state, 0, "DEL", "old", NULL);
    fleet_command(*state, 0, "RPUSH", "old", "x", NULL);
    assert_result(REDLOCK_FOREIGN_TYPE, redlock_legacy_acquire(client, &spec, 0, &end_ms, &report), &report);
    fleet_command(*state, 0, "DEL", "old", NULL);
    spec.seconds = 1;
    assert_result(REDLOCK_OK, redlock_legacy_acquire(client, &spec, 0, &end_ms, &report), &report);
    assert_int_equal(strlen(fleet_command(*state, 0, "GET", "old", NULL)), 10);
    assert_result(REDLOCK_OK, redlock_legacy_release(client, &spec, end_ms, &report), &report);
    spec.ttl_ms = 500;
    assert_result(REDLOCK_INVALID, redlock_legacy_acquire(client, &spec, 0, &end_ms, &report), &report);
    redlock_client_close(client);
}

static void lock_of_another_program_is_not_touched(void **state)
{
    redlock_options options = options_for(fleet_urls(*state));
    redlock_legacy_spec spec = legacy_for(LONG_TTL_MS);
    redlock_report report = REDLOCK_REPORT_INIT;
    int64_t end_ms = 0;
    char theirs[24];

    options.mode = REDLOCK_PLAIN;
    redlock_client *client = open_with(&options);
    for (int i = 0; i < 2; i++) {
        fleet_command(*state, 0, "DEL", "old", NULL);
        spec.seconds = i;
        assert_result(REDLOCK_OK, redlock_legacy_acquire(client, &spec, 0, &end_ms, &report), &report);
        const int64_t later_ms = wall_ms() + 10 * LONG_TTL_MS, kept_ms = end_ms;
        snprintf(theirs, sizeof theirs, "%lld", (long long)(i == 0 ? later_ms : later_ms / 1000));
        fleet_command(*state, 0, "SET", "old", theirs, NULL);
        assert_result(REDLOCK_LOST, redlock_legacy_extend(client, &spec, &end_ms, &report), &report);
        assert_int_equal(end_ms, kept_ms);
        assert_string_equal(fleet_command(*state, 0, "GET", "old", NULL), theirs);
        assert_result(REDLOCK_LOST, redlock_legacy_release(client, &spec, end_ms, &report), &report);
        assert_string_equal(fleet_command(*state, 0, "GET", "old", NULL), theirs);
    }
    fleet_command(*state, 0, "DEL", "old", NULL);
    redlock_client_close(client);
}

static void extending_never_shortens(void **state)
{
    redlock_options options = options_for(fleet_urls(*state));
    redlock_legacy_spec spec = legacy_for(10 * LONG_TTL_MS);
    redlock_report report = REDLOCK_REPORT_INIT;
    int64_t end_ms = 0;

    options.mode = REDLOCK_PLAIN;
    redlock_client *client = open_with(&options);
    assert_result(REDLOCK_OK, redlock_legacy_acquire(client, &spec, 0, &end_ms, &report), &report);
    const int64_t before_ms = end_ms;
    spec.ttl_ms = REDLOCK_TTL_MIN_MS;
    assert_result(REDLOCK_OK, redlock_legacy_extend(client, &spec, &end_ms, &report), &report);
    assert_int_equal(end_ms, before_ms);
    assert_true(report.validity_ms > LONG_TTL_MS);
    assert_result(REDLOCK_OK, redlock_legacy_release(client, &spec, end_ms, &report), &report);
    redlock_client_close(client);
}

static void legacy_lock_needs_exactly_one_node(void **state)
{
    redlock_client *client = open_client(fleet_urls(*state));
    redlock_legacy_spec spec = legacy_for(LONG_TTL_MS);
    redlock_report report = REDLOCK_REPORT_INIT;
    int64_t end_ms;

    assert_result(REDLOCK_INVALID, redlock_legacy_acquire(client, &spec, 0, &end_ms, &report), &report);
    assert_result(REDLOCK_INVALID, redlock_legacy_acquire(client, NULL, 0, &end_ms, &report), &report);
    assert_result(REDLOCK_MISUSE, redlock_legacy_acquire(NULL, &spec, 0, &end_ms, &report), &report);
    redlock_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_NODES(legacy_lock_is_the_time_of_its_end, start_one_node),
        ON_NODES(legacy_lock_that_has_ended_is_taken_over_whatever_its_unit, start_one_node),
        ON_NODES(lock_of_another_program_is_not_touched, start_one_node),
        ON_NODES(extending_never_shortens, start_one_node),
        ON_NODES(legacy_lock_needs_exactly_one_node, start_three_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
