/*
 * Takes a lock that other programs take by SETNX and GETSET, on the one node that they use. For new programs
 * use redlock_acquire().
 * Usage: legacy NODE, by default REDLOCK_NODES
 */
#include <stdio.h>
#include <stdlib.h>

#include <redlock.h>

int main(int argc, char **argv)
{
    redlock_options options = REDLOCK_OPTIONS_INIT;
    redlock_legacy_spec spec = REDLOCK_LEGACY_SPEC_INIT;
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_client *client = NULL;
    int64_t end_ms;

    options.nodes = argc > 1 ? argv[1] : getenv("REDLOCK_NODES");
    options.mode = REDLOCK_PLAIN; /* no guard is wanted on a node that others use like this */
    spec.name = "lock.foo";
    spec.ttl_ms = 10000;
    redlock_result result = redlock_client_open(&options, &client, &report);
    if (result == REDLOCK_OK)
        result = redlock_legacy_acquire(client, &spec, 1000, &end_ms, &report);
    if (result == REDLOCK_OK) {
        printf("held until %lld, work for at most %lld ms\n", (long long)end_ms,
               (long long)report.validity_ms);
        result = redlock_legacy_extend(client, &spec, &end_ms, &report);
        if (result == REDLOCK_OK)
            result = redlock_legacy_release(client, &spec, end_ms, &report);
    }
    fprintf(result == REDLOCK_OK ? stdout : stderr, "%s\n", report.line);
    redlock_client_close(client);
    return result == REDLOCK_OK ? 0 : 1;
}
