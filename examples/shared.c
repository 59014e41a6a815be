/*
 * Reads together with others that read, while nobody writes; with "write" it writes alone, after the readers
 * that came before it.
 * Usage: shared [read|write] [NODES], by default read and REDLOCK_NODES
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <redlock.h>

int main(int argc, char **argv)
{
    redlock_options options = REDLOCK_OPTIONS_INIT;
    redlock_spec spec = REDLOCK_SPEC_INIT;
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_client *client;
    redlock_lock *lock = NULL;
    int writes = argc > 1 && strcmp(argv[1], "write") == 0;

    options.nodes = argc > 2 ? argv[2] : getenv("REDLOCK_NODES");
    redlock_result result = redlock_client_open(&options, &client, &report);
    if (result != REDLOCK_OK) {
        fprintf(stderr, "shared: %s\n", report.line);
        return 1;
    }
    spec.name = "catalogue";
    spec.kind = writes ? REDLOCK_EXCLUSIVE : REDLOCK_SHARED;
    result = redlock_acquire(client, &spec, REDLOCK_WAIT_FOREVER, &lock, &report);
    if (result == REDLOCK_OK) {
        if (redlock_inspect(client, spec.name, 0, &report) == REDLOCK_OK && !writes)
            printf("%u read it\n", report.sharers);
        else
            printf("nobody reads it while we write\n");
        result = redlock_release(lock, &report);
    }
    if (result != REDLOCK_OK)
        fprintf(stderr, "shared: %s\n", report.line);
    redlock_lock_free(lock);
    redlock_client_close(client);
    return result == REDLOCK_OK ? 0 : 1;
}
