/*
 * Does a job at most once an hour over all hosts, whatever their clocks say: that it was done is noted at the
 * nodes while the lock is held.
 * Usage: once [NODES], by default REDLOCK_NODES
 */
#include <stdio.h>
#include <stdlib.h>

#include <redlock.h>

#define PERIOD_MS (INT64_C(3600) * 1000)

/* With the lock held, so that nobody else does it meanwhile. */
static redlock_result do_once(redlock_client *client, redlock_report *report)
{
    int64_t age_ms;
    redlock_result result = redlock_marked(client, "hourly", 0, &age_ms, report);

    if (result == REDLOCK_OK && age_ms < PERIOD_MS) {
        printf("was done %lld s ago\n", (long long)age_ms / 1000);
        return result;
    }
    if (result != REDLOCK_OK && result != REDLOCK_NOT_HELD)
        return result; /* it cannot be seen whether it was done: better not */
    printf("done\n");  /* the job; one that fails is not noted, and will be tried again */
    return redlock_mark(client, "hourly", 0, 0, 2 * PERIOD_MS, report);
}

int main(int argc, char **argv)
{
    redlock_options options = REDLOCK_OPTIONS_INIT;
    redlock_spec spec = REDLOCK_SPEC_INIT;
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_client *client = NULL;
    redlock_lock *lock = NULL;

    options.nodes = argc > 1 ? argv[1] : getenv("REDLOCK_NODES");
    spec.name = "hourly";
    redlock_result result = redlock_client_open(&options, &client, &report);
    if (result == REDLOCK_OK)
        result = redlock_acquire(client, &spec, 10000, &lock, &report);
    if (result == REDLOCK_OK) {
        result = do_once(client, &report);
        redlock_release(lock, NULL);
    }
    if (result != REDLOCK_OK)
        fprintf(stderr, "%s\n", report.line);
    redlock_lock_free(lock);
    redlock_client_close(client);
    return result == REDLOCK_OK ? 0 : 1;
}
