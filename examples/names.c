/*
 * Moves something from one place to another under a lock on both, whichever order others name them in; and
 * enters a lock again that it is inside of.
 * Usage: names [NODES], by default REDLOCK_NODES
 */
#include <stdio.h>
#include <stdlib.h>

#include <redlock.h>

/* Writes to the log, under a lock: alone, or inside of one who has it already. */
static redlock_result append_to_log(redlock_client *client, const char *words, redlock_report *report)
{
    redlock_spec spec = REDLOCK_SPEC_INIT;
    redlock_lock *lock = NULL;

    spec.name = "log";
    spec.reentrant = 1; /* this thread may be inside already */
    redlock_result result = redlock_acquire(client, &spec, 10000, &lock, report);
    if (result != REDLOCK_OK)
        return result;
    printf("%s (%u deep)\n", words, redlock_lock_entries(lock));
    result = redlock_release(lock, report); /* the outermost one gives it back */
    redlock_lock_free(lock);
    return result;
}

static redlock_result move(redlock_client *client, redlock_report *report)
{
    static const redlock_name other = {.name = "account:7"};
    redlock_spec spec = REDLOCK_SPEC_INIT;
    redlock_lock *lock = NULL;

    spec.name = "account:3";
    spec.also = &other; /* both, or none of them */
    spec.also_count = 1;
    redlock_result result = redlock_acquire(client, &spec, 10000, &lock, report);
    if (result != REDLOCK_OK)
        return result;
    for (uint32_t i = 0; i < redlock_lock_name_count(lock); i++)
        printf("%s, fence %llu\n", redlock_lock_name_at(lock, i, NULL),
               (unsigned long long)redlock_lock_fence_at(lock, i));
    result = redlock_release(lock, report);
    redlock_lock_free(lock);
    return result;
}

static redlock_result log_twice(redlock_client *client, redlock_report *report)
{
    redlock_spec spec = REDLOCK_SPEC_INIT;
    redlock_lock *lock = NULL;

    spec.name = "log";
    spec.reentrant = 1;
    redlock_result result = redlock_acquire(client, &spec, 10000, &lock, report);
    if (result != REDLOCK_OK)
        return result;
    result = append_to_log(client, "moved", report);
    if (result == REDLOCK_OK)
        result = append_to_log(client, "done", report);
    if (redlock_release(lock, report) != REDLOCK_OK)
        result = report->result;
    redlock_lock_free(lock);
    return result;
}

int main(int argc, char **argv)
{
    redlock_options options = REDLOCK_OPTIONS_INIT;
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_client *client;

    options.nodes = argc > 1 ? argv[1] : getenv("REDLOCK_NODES");
    redlock_result result = redlock_client_open(&options, &client, &report);
    if (result != REDLOCK_OK) {
        fprintf(stderr, "names: %s\n", report.line);
        return 1;
    }
    result = move(client, &report);
    if (result == REDLOCK_OK)
        result = log_twice(client, &report);
    if (result != REDLOCK_OK)
        fprintf(stderr, "names: %s\n", report.line);
    redlock_client_close(client);
    return result == REDLOCK_OK ? 0 : 1;
}
