/*
 * What an operator does with locks: lists them, watches one, waits until it is free, or ends somebody's hold.
 * Usage: operate list|watch|wait|break NODES [NAME [ID]]
 */
#include <stdio.h>
#include <string.h>

#include <redlock.h>

/* Names are any bytes: this example's are text. */
static int print_lock(void *context, const redlock_listed *lock)
{
    (void)context;
    printf("%s: held by %s on %s, id %s, on %u of %u nodes, %u waiting", lock->name, lock->holder.user,
           lock->holder.host, lock->holder.id, lock->votes, lock->node_count, lock->waiting);
    if (lock->holder.permits > 0) /* a semaphore: one call for each slot that is held */
        printf(", slot %u of %u", lock->holder.slot, lock->holder.permits);
    printf("\n");
    return 0; /* go on */
}

static int print_event(void *context, const redlock_event *event)
{
    (void)context;
    printf("%s: %s %s\n", event->lock.name, redlock_change_name(event->change), event->lock.holder.id);
    return event->change == REDLOCK_CHANGE_RELEASED; /* this example ends there */
}

static redlock_result watch_one(redlock_client *client, const char *name, redlock_report *report)
{
    redlock_list_spec spec = REDLOCK_LIST_SPEC_INIT;

    spec.name = name;
    return redlock_watch(client, &spec, print_event, NULL, report);
}

/* The id comes from a list or from redlock_inspect(): a successor has another one, and is never hit. */
static redlock_result break_one(redlock_client *client, const char *name, const char *id,
                                redlock_report *report)
{
    redlock_break_spec spec = REDLOCK_BREAK_SPEC_INIT;
    redlock_result result;

    spec.name = name;
    spec.id = id;
    result = redlock_break(client, &spec, report);
    if (result == REDLOCK_OK)
        printf("%s is broken; others get in within %lld ms\n", name, (long long)report->holder_ttl_left_ms);
    return result;
}

static redlock_result operate(redlock_client *client, int argc, char **argv, redlock_report *report)
{
    if (strcmp(argv[1], "watch") == 0 && argc > 3)
        return watch_one(client, argv[3], report);
    if (strcmp(argv[1], "wait") == 0 && argc > 3)
        return redlock_wait(client, argv[3], 0, REDLOCK_WAIT_FOREVER, report);
    if (strcmp(argv[1], "break") == 0 && argc > 4)
        return break_one(client, argv[3], argv[4], report);
    return redlock_list(client, NULL, print_lock, NULL, report);
}

int main(int argc, char **argv)
{
    redlock_options options = REDLOCK_OPTIONS_INIT;
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_client *client;
    redlock_result result;

    options.nodes = argc > 2 ? argv[2] : NULL;
    if (argc < 3 || redlock_client_open(&options, &client, &report) != REDLOCK_OK) {
        fprintf(stderr, "usage: operate list|watch|wait|break NODES [NAME [ID]]\n%s\n", report.line);
        return 1;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    result = operate(client, argc, argv, &report);
    if (result != REDLOCK_OK && result != REDLOCK_CANCELED)
        fprintf(stderr, "operate: %s\n", report.line);
    redlock_client_close(client);
    return result == REDLOCK_OK || result == REDLOCK_CANCELED ? 0 : 1;
}
