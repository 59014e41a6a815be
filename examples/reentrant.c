/*
 * Functions that each take the lock they need, and may call each other all the same: the owner that is inside
 * enters again, without asking any node. Two threads that work for one owner share an identity.
 * Usage: reentrant [NODES], by default REDLOCK_NODES
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <redlock.h>

enum { THIS_IMPORT = 1 }; /* any number that only those have who are one owner; 0: each thread is one */

static redlock_lock *enter(redlock_client *client)
{
    redlock_spec spec = REDLOCK_SPEC_INIT;
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_lock *lock = NULL;

    spec.name = "catalogue";
    spec.reentrant = 1;
    spec.identity = THIS_IMPORT;
    if (redlock_acquire(client, &spec, REDLOCK_WAIT_FOREVER, &lock, &report) != REDLOCK_OK)
        fprintf(stderr, "reentrant: %s\n", report.line);
    return lock;
}

/* As often as it was entered; the last one gives it back to the nodes. */
static void leave(redlock_lock *lock)
{
    redlock_report report = REDLOCK_REPORT_INIT;

    if (redlock_release(lock, &report) != REDLOCK_OK)
        fprintf(stderr, "reentrant: %s\n", report.line);
    redlock_lock_free(lock);
}

/* May be called alone as well. */
static int store(redlock_client *client, const char *what)
{
    redlock_lock *lock = enter(client);

    if (lock == NULL)
        return 1;
    printf("%s stored, %u deep\n", what, redlock_lock_entries(lock));
    leave(lock);
    return 0;
}

static void *store_pictures(void *client)
{
    return store(client, "pictures") == 0 ? client : NULL;
}

static int import(redlock_client *client)
{
    redlock_lock *lock = enter(client);
    pthread_t helper;
    void *done = NULL;
    int failed;

    if (lock == NULL)
        return 1;
    failed = store(client, "texts");
    if (pthread_create(&helper, NULL, store_pictures, client) == 0)
        pthread_join(helper, &done);
    leave(lock);
    return failed || done == NULL;
}

int main(int argc, char **argv)
{
    redlock_options options = REDLOCK_OPTIONS_INIT;
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_client *client;

    options.nodes = argc > 1 ? argv[1] : getenv("REDLOCK_NODES");
    if (redlock_client_open(&options, &client, &report) != REDLOCK_OK) {
        fprintf(stderr, "reentrant: %s\n", report.line);
        return 1;
    }
    int failed = import(client) || store(client, "a correction");
    redlock_client_close(client);
    return failed;
}
