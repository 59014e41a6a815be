/*
 * Shares a read/write lock with programs that use Redisson (Java): reads a price list together with its
 * readers, then changes it alone.
 * Usage: redisson [NODES], by default REDLOCK_NODES; one node for Redisson's ordinary locks, several for its
 *     RedLock
 */
#include <stdio.h>
#include <stdlib.h>

#include <redlock.h>

/* Takes the lock as a reader or alone, and gives it back when the work is done. */
static redlock_result with_prices(redlock_client *client, redlock_kind kind, const char *work)
{
    redlock_spec spec = REDLOCK_SPEC_INIT;
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_lock *lock = NULL;

    spec.name = "prices"; /* getReadWriteLock("prices") over there */
    spec.kind = kind;
    redlock_result result = redlock_acquire(client, &spec, REDLOCK_WAIT_FOREVER, &lock, &report);
    if (result == REDLOCK_OK) {
        printf("%s\n", work);
        result = redlock_release(lock, &report);
    }
    if (result != REDLOCK_OK)
        fprintf(stderr, "redisson: %s\n", report.line);
    redlock_lock_free(lock);
    return result;
}

int main(int argc, char **argv)
{
    redlock_options options = REDLOCK_OPTIONS_INIT;
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_client *client;

    options.nodes = argc > 1 ? argv[1] : getenv("REDLOCK_NODES");
    options.mode = REDLOCK_PLAIN; /* Redisson knows no fence and no guard */
    options.format = REDLOCK_FORMAT_REDISSON;
    redlock_result result = redlock_client_open(&options, &client, &report);
    if (result != REDLOCK_OK) {
        fprintf(stderr, "redisson: %s\n", report.line);
        return 1;
    }
    result = with_prices(client, REDLOCK_SHARED, "read, together with other readers");
    if (result == REDLOCK_OK)
        result = with_prices(client, REDLOCK_EXCLUSIVE, "changed, alone");
    redlock_client_close(client);
    return result == REDLOCK_OK ? 0 : 1;
}
