/*
 * Holds a lock for longer than its TTL by renewing it, and stops working when it is lost.
 * Usage: renew [NODES], by default REDLOCK_NODES
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <redlock.h>

/* Both run on a thread of the library, so they only leave a note. */
static void on_lost(void *context, redlock_lock *lock, const redlock_report *report)
{
    (void)lock;
    fprintf(stderr, "renew: %s\n", report->line);
    atomic_store((atomic_bool *)context, true);
}

static void on_renewed(void *context, redlock_lock *lock, const redlock_report *report)
{
    (void)context;
    (void)lock;
    fprintf(stderr, "renew: %s\n", report->line); /* not always good news: report->result tells */
}

int main(int argc, char **argv)
{
    redlock_options options = REDLOCK_OPTIONS_INIT;
    redlock_spec spec = REDLOCK_SPEC_INIT;
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_client *client;
    redlock_lock *lock = NULL;
    atomic_bool lost = false;
    int steps = 0;

    options.nodes = argc > 1 ? argv[1] : getenv("REDLOCK_NODES");
    redlock_result result = redlock_client_open(&options, &client, &report);
    spec.name = "import";
    spec.ttl_ms = 4000; /* a dead holder is noticed this soon, however long the work is */
    spec.auto_extend = 1;
    spec.on_lost = on_lost;
    spec.on_renewed = on_renewed;
    spec.context = &lost;
    if (result == REDLOCK_OK)
        result = redlock_acquire(client, &spec, REDLOCK_WAIT_FOREVER, &lock, &report);
    if (result == REDLOCK_OK) {
        for (; steps < 50 && !atomic_load(&lost); steps++)
            usleep(100000); /* a step of the work that may be the last */
        result = redlock_release(lock, &report);
    }
    printf("%d steps, %s\n", steps, report.line);
    redlock_lock_free(lock); /* from here on no callback of it runs */
    redlock_client_close(client);
    return result == REDLOCK_OK ? 0 : 1;
}
