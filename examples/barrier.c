/*
 * Waits until three processes have come, wherever they run, and goes on with them.
 * Usage: barrier [NODES], by default REDLOCK_NODES
 */
#include <stdio.h>
#include <stdlib.h>

#include <redlock.h>

/* Some times a second; anything but 0 would give up. */
static int say(void *context, uint32_t arrived)
{
    uint32_t *last = context;

    if (arrived != *last)
        printf("%u have come\n", arrived);
    fflush(stdout);
    *last = arrived;
    return 0;
}

int main(int argc, char **argv)
{
    redlock_options options = REDLOCK_OPTIONS_INIT;
    redlock_barrier_spec spec = REDLOCK_BARRIER_SPEC_INIT;
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_client *client = NULL;
    uint32_t last = 0;

    options.nodes = argc > 1 ? argv[1] : getenv("REDLOCK_NODES");
    spec.name = "start";
    spec.parties = 3;
    spec.waiting = say;
    spec.context = &last;
    redlock_result result = redlock_client_open(&options, &client, &report);
    if (result == REDLOCK_OK)
        result = redlock_barrier(client, &spec, 60000, &report);
    fprintf(result == REDLOCK_OK ? stdout : stderr, "%s\n", report.line);
    redlock_client_close(client);
    return result == REDLOCK_OK ? 0 : 1;
}
