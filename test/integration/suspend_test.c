/*
 * A machine that sleeps while a lock is held, as the library sees it: CLOCK_BOOTTIME has moved on, and
 * nothing else has.
 */
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "support/steps.h"

static atomic_int slept_s;

/* Ours comes before the system's, for the library too. */
int clock_gettime(clockid_t which, struct timespec *at)
{
    int result = (int)syscall(SYS_clock_gettime, which, at);

    if (result == 0 && which == CLOCK_BOOTTIME)
        at->tv_sec += atomic_load(&slept_s);
    return result;
}

static char line[sizeof((redlock_report *)NULL)->line];

static void count(void *context, redlock_lock *lock, const redlock_report *report)
{
    (void)lock;
    strcpy(line, report->line);
    atomic_fetch_add((atomic_int *)context, 1);
}

static void a_lease_that_was_slept_through_is_told_on_waking_up(void **state)
{
    static atomic_int lost;
    redlock_client *client = open_client(fleet_urls(*state));
    redlock_spec spec = spec_for("lock", LONG_TTL_MS);
    redlock_lock *lock;

    spec.on_lost = count;
    spec.context = &lost;
    lock = take_spec(client, &spec);
    sleep_ms(100); /* everybody is asleep by now */
    assert_int_equal(atomic_load(&lost), 0);
    atomic_store(&slept_s, 10 * LONG_TTL_MS / 1000);
    await(atomic_load(&lost) == 1); /* waiting for the rest of the TTL would take longer than this does */
    assert_non_null(strstr(line, "lost: it was not renewed in time, its validity has ended"));
    redlock_lock_free(lock);
    redlock_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_NODES(a_lease_that_was_slept_through_is_told_on_waking_up, start_three_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
