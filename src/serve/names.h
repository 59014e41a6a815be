/*
 * Events counted by the names of locks, where the setting metrics_name asks for it; metrics.c writes them.
 * There are at most SERVE_NAMES_MAX names, for there is no end to them.
 */
#ifndef SERVE_NAMES_H
#define SERVE_NAMES_H

#include "serve/server.h"

enum { SERVE_NAMES_MAX = 100, SERVE_NAME_EVENTS = 3 };

/* The events that are counted. */
extern const char *const serve_name_events[SERVE_NAME_EVENTS];

struct serve_counted_name {
    char *name;
    size_t length;
    uint64_t counts[SERVE_NAME_EVENTS];
};

struct serve_names {
    struct serve_counted_name names[SERVE_NAMES_MAX];
    size_t count;
    uint64_t left_out; /* events of further names */
};

/* Counts an event for its name, when the setting matches it. */
void serve_names_count(struct serve_server *server, const char *event, const char *name, size_t length);
void serve_names_free(struct serve_server *server);

#endif
