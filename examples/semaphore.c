/*
 * Works in one of four slots, whichever is free first, across all machines.
 * Usage: semaphore [NODES], by default REDLOCK_NODES
 */
#include <stdio.h>
#include <stdlib.h>

#include <redlock.h>

int main(int argc, char **argv)
{
    redlock_options options = REDLOCK_OPTIONS_INIT;
    redlock_spec spec = REDLOCK_SPEC_INIT;
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_client *client;
    redlock_lock *lock = NULL;

    options.nodes = argc > 1 ? argv[1] : getenv("REDLOCK_NODES");
    redlock_result result = redlock_client_open(&options, &client, &report);
    if (result != REDLOCK_OK) {
        fprintf(stderr, "semaphore: %s\n", report.line);
        return 1;
    }
    spec.kind = REDLOCK_SEMAPHORE;
    spec.permits = 4;
    spec.name = "gpus";
    result = redlock_acquire(client, &spec, REDLOCK_WAIT_FOREVER, &lock, &report);
    if (result == REDLOCK_OK) {
        printf("working on gpu %d\n", redlock_lock_slot(lock));
        result = redlock_release(lock, &report);
    }
    if (result != REDLOCK_OK)
        fprintf(stderr, "semaphore: %s\n", report.line);
    redlock_lock_free(lock);
    redlock_client_close(client);
    return result == REDLOCK_OK ? 0 : 1;
}
