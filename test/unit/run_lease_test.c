/*
 * When redlock run has CMD killed after its lock was lost: the points in time that the warden is given, not
 * how long that takes.
 */
#include "cli/clock.h"
#include "cli/lease.h"
#include "support/check.h"

enum { TTL_MS = 60000, RENEW_MS = 300, LAST_GRACE_MS = 1000 };

/* What of the grace is given when the nodes say that the lock is gone. */
static void check_last_grace(int64_t grace_ms, int64_t wanted_ms)
{
    const struct cli_warden warden = {.fd = -1}; /* nobody listens */
    struct cli_lease lease;
    int64_t before, after;

    assert_true(cli_lease_open(&lease, &warden, TTL_MS, RENEW_MS, grace_ms));
    before = cli_clock_now();
    cli_lease_end(&lease);
    after = cli_clock_now();
    assert_in_range(lease.kill_at_ms, before + wanted_ms, after + wanted_ms);
    cli_lease_close(&lease);
}

static void of_a_lost_lock_only_a_second_of_the_grace_is_left(void **state)
{
    (void)state;
    check_last_grace(25000, LAST_GRACE_MS);
}

static void a_shorter_grace_is_kept(void **state)
{
    (void)state;
    check_last_grace(400, 400);
}

static void without_grace_it_is_killed_at_once(void **state)
{
    (void)state;
    check_last_grace(0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_a_lost_lock_only_a_second_of_the_grace_is_left),
        cmocka_unit_test(a_shorter_grace_is_kept),
        cmocka_unit_test(without_grace_it_is_killed_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
