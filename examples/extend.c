/*
 * Lengthens a lock by hand between the steps of its work, so that it lasts as long as there is progress.
 * Usage: extend [NODES], by default REDLOCK_NODES
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <redlock.h>

/* Makes sure that there is time for one more step. A lock that has ended is not taken back. */
static redlock_result make_time(redlock_lock *lock, int64_t needed_ms, redlock_report *report)
{
    if (redlock_lock_validity_ms(lock) >= needed_ms)
        return REDLOCK_OK;
    redlock_result result = redlock_extend(lock, 0, report);
    printf("%s, valid %lld ms\n", report->line, (long long)report->validity_ms);
    return result;
}

int main(int argc, char **argv)
{
    redlock_options options = REDLOCK_OPTIONS_INIT;
    redlock_spec spec = REDLOCK_SPEC_INIT;
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_client *client;
    redlock_lock *lock = NULL;

    options.nodes = argc > 1 ? argv[1] : getenv("REDLOCK_NODES");
    redlock_result result = redlock_client_open(&options, &client, &report);
    spec.name = "batch";
    spec.ttl_ms = 5000;
    if (result == REDLOCK_OK)
        result = redlock_try_acquire(client, &spec, &lock, &report);
    for (int step = 1; step <= 6 && result == REDLOCK_OK; step++) {
        usleep(300000); /* the work of one step */
        result = make_time(lock, 4000, &report);
    }
    if (result == REDLOCK_OK)
        result = redlock_release(lock, &report);
    fprintf(result == REDLOCK_OK ? stdout : stderr, "%s\n", report.line);
    redlock_lock_free(lock);
    redlock_client_close(client);
    return result == REDLOCK_OK ? 0 : 1;
}
