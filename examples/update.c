/*
 * Adds one to a number that a key of the first node has, without a lock: another writer makes it try again.
 * Usage: update KEY [NODES], by default REDLOCK_NODES
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <redlock.h>

/* Runs once for each try, with what the key has now; no key counts as zero. */
static int add_one(void *context, const void *value, size_t length, const void **next, size_t *next_length)
{
    char *text = context, old[24] = "";
    char *end;

    if (length >= sizeof old)
        return 1; /* no number: the key is left alone */
    memcpy(old, value == NULL ? "" : value, length);
    long long number = strtoll(old, &end, 10);
    if (*end != '\0')
        return 1;
    *next_length = (size_t)snprintf(text, 24, "%lld", number + 1);
    *next = text;
    return 0;
}

int main(int argc, char **argv)
{
    redlock_options options = REDLOCK_OPTIONS_INIT;
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_client *client = NULL;
    char text[24];

    if (argc < 2) {
        fprintf(stderr, "usage: update KEY [NODES]\n");
        return 64;
    }
    options.nodes = argc > 2 ? argv[2] : getenv("REDLOCK_NODES");
    redlock_result result = redlock_client_open(&options, &client, &report);
    if (result == REDLOCK_OK)
        result = redlock_update(client, 0, argv[1], 0, add_one, text, 0, &report);
    if (result == REDLOCK_OK)
        printf("%s is %s after %u tries\n", argv[1], text, report.rounds);
    else
        fprintf(stderr, "%s\n", report.line);
    redlock_client_close(client);
    return result == REDLOCK_OK ? 0 : 1;
}
