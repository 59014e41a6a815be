/*
 * Takes a lock and prints what the client counted in the text format of Prometheus, as a program's own
 * /metrics would.
 * Usage: metrics [NODES], by default REDLOCK_NODES
 */
#include <stdio.h>
#include <stdlib.h>

#include <redlock.h>

/* The text, which the caller frees; NULL when it cannot be had. */
static char *read_metrics(redlock_client *client)
{
    const redlock_label label = {"client", "example"};
    redlock_result result = REDLOCK_INVALID;
    size_t length = 0;
    char *text = NULL;

    /* The first round learns the length. Numbers may have grown by the second. */
    for (int round = 0; round < 3 && result == REDLOCK_INVALID; round++) {
        free(text);
        text = malloc(length + 1024);
        if (text == NULL)
            return NULL;
        result = redlock_stats_prometheus(client, &label, 1, text, length + 1024, &length);
    }
    if (result == REDLOCK_OK)
        return text;
    free(text);
    return NULL;
}

int main(int argc, char **argv)
{
    redlock_options options = REDLOCK_OPTIONS_INIT;
    redlock_spec spec = REDLOCK_SPEC_INIT;
    redlock_client *client;
    redlock_lock *lock = NULL;

    options.nodes = argc > 1 ? argv[1] : getenv("REDLOCK_NODES");
    if (redlock_client_open(&options, &client, NULL) != REDLOCK_OK)
        return 1;
    spec.name = "metrics";
    redlock_result result = redlock_acquire(client, &spec, 1000, &lock, NULL);
    char *text = read_metrics(client);
    if (text != NULL)
        fputs(text, stdout);
    if (lock != NULL)
        redlock_release(lock, NULL);
    redlock_lock_free(lock);
    redlock_client_close(client);
    int code = result == REDLOCK_OK && text != NULL ? 0 : 1;
    free(text);
    return code;
}
