/*
 * Takes a lock, works while it is held, gives it back. It neither waits nor renews.
 * Usage: hello [NODES], by default REDLOCK_NODES
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
    redlock_lock *lock;

    options.nodes = argc > 1 ? argv[1] : getenv("REDLOCK_NODES");
    if (redlock_client_open(&options, &client, &report) != REDLOCK_OK) {
        fprintf(stderr, "hello: %s\n", report.line);
        return 1;
    }

    spec.name = "hello";
    spec.ttl_ms = 10000;
    redlock_result result = redlock_try_acquire(client, &spec, &lock, &report);
    if (result == REDLOCK_OK) {
        printf("%s\nwork for at most %lld ms\n", report.line, (long long)redlock_lock_validity_ms(lock));
        result = redlock_release(lock, &report); /* tells whether it was ours to the end */
        redlock_lock_free(lock);
    }
    fprintf(result == REDLOCK_OK ? stdout : stderr, "%s\n", report.line);
    redlock_client_close(client);
    return result == REDLOCK_OK ? 0 : 1;
}
