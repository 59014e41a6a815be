/*
 * Hands a lock to another program: takes it, runs itself anew, and goes on with it under the same owner
 * value.
 * Usage: adopt [NODES], by default REDLOCK_NODES
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <redlock.h>

/* The first program: the lock stays at the nodes when its handle is freed. */
static redlock_result hand_over(redlock_client *client, const redlock_spec *spec, redlock_report *report)
{
    redlock_lock *lock;
    redlock_result result = redlock_try_acquire(client, spec, &lock, report);

    if (result != REDLOCK_OK)
        return result;
    printf("taken by process %d\n", (int)getpid());
    fflush(stdout);
    setenv("REDLOCK_OWNER", redlock_lock_owner(lock, NULL), 1); /* not an argument: anybody can read those */
    redlock_lock_free(lock);
    return REDLOCK_OK;
}

/* The second program has until the TTL ends to get here. */
static redlock_result go_on(redlock_client *client, const redlock_spec *spec, redlock_report *report)
{
    redlock_lock *lock;
    redlock_result result = redlock_adopt(client, spec, getenv("REDLOCK_OWNER"), 0, &lock, report);

    if (result != REDLOCK_OK)
        return result;
    printf("adopted, %lld ms left\n", (long long)redlock_lock_validity_ms(lock));
    result = redlock_release(lock, report);
    redlock_lock_free(lock);
    return result;
}

int main(int argc, char **argv)
{
    redlock_options options = REDLOCK_OPTIONS_INIT;
    redlock_spec spec = REDLOCK_SPEC_INIT;
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_client *client;
    int first = getenv("REDLOCK_OWNER") == NULL;

    options.nodes = argc > 1 ? argv[1] : getenv("REDLOCK_NODES");
    redlock_result result = redlock_client_open(&options, &client, &report);
    spec.name = "handover";
    spec.ttl_ms = 10000;
    if (result == REDLOCK_OK)
        result = first ? hand_over(client, &spec, &report) : go_on(client, &spec, &report);
    redlock_client_close(client);
    if (result == REDLOCK_OK && first)
        execvp(argv[0], argv);
    fprintf(result == REDLOCK_OK ? stdout : stderr, "%s\n", report.line);
    return result == REDLOCK_OK && !first ? 0 : 1;
}
