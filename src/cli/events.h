/*
 * What happens to a lock, as JSON lines on the descriptor of --status-fd. It is for programs; words for
 * people are output.c's.
 */
#ifndef CLI_EVENTS_H
#define CLI_EVENTS_H

#include <jansson.h>
#include <stdint.h>

struct cli_events {
    int fd; /* -1: nobody listens */
    const char *name;
};

/* 0, or an exit code after having said why the descriptor cannot be used. Before any other descriptor is
 * opened. CMD does not inherit it, unless it is one of the standard three. */
int cli_events_open(struct cli_events *events, int64_t fd, const char *name);

/* Writes {"event":…,"name":…,"time_ms":…} and the members of `more` (may be NULL; consumed). A reader that is
 * gone or does not read for a second is given up. */
void cli_events_emit(struct cli_events *events, const char *event, json_t *more);

#endif
