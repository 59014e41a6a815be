/*
 * One of many processes leads: it waits for the lock, leads while it holds it, and waits again when it lost
 * it. Stops after so many steps.
 * Usage: elect STEPS [NODES], by default REDLOCK_NODES
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <redlock.h>

static void on_lost(void *context, redlock_lock *lock, const redlock_report *report)
{
    (void)lock;
    fprintf(stderr, "no longer the leader: %s\n", report->line);
    atomic_store((atomic_bool *)context, true);
}

/* Leads until it has done its steps, or has lost the lock; returns how many steps are left. */
static int lead(const redlock_lock *lock, const atomic_bool *lost, int steps)
{
    printf("leads, term %llu\n", (unsigned long long)redlock_lock_fence(lock));
    fflush(stdout);
    /* The term goes with everything that a leader writes: a store that checks it refuses a leader of the
     * past. */
    for (; steps > 0 && !atomic_load(lost); steps--)
        usleep(100000);
    return steps;
}

int main(int argc, char **argv)
{
    redlock_options options = REDLOCK_OPTIONS_INIT;
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_client *client = NULL;
    int steps = argc > 1 ? atoi(argv[1]) : 0;

    options.nodes = argc > 2 ? argv[2] : getenv("REDLOCK_NODES");
    redlock_result result = redlock_client_open(&options, &client, &report);
    while (result == REDLOCK_OK && steps > 0) {
        atomic_bool lost = false;
        redlock_spec spec = REDLOCK_SPEC_INIT;
        redlock_lock *lock = NULL;

        spec.name = "leader";
        spec.ttl_ms = 2000;
        spec.auto_extend = 1;
        spec.on_lost = on_lost;
        spec.context = &lost;
        result = redlock_acquire(client, &spec, REDLOCK_WAIT_FOREVER, &lock, &report);
        if (result == REDLOCK_OK) {
            steps = lead(lock, &lost, steps);
            redlock_release(lock, NULL);
        }
        redlock_lock_free(lock);
    }
    if (result != REDLOCK_OK)
        fprintf(stderr, "%s\n", report.line);
    redlock_client_close(client);
    return result == REDLOCK_OK ? 0 : 1;
}
