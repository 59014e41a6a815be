/*
 * What happened at this instance: the last events, and the streams of clients that listen. What an event
 * means to a lock is decided where it happens.
 */
#ifndef SERVE_EVENTS_H
#define SERVE_EVENTS_H

#include "serve/http.h"

/* One event. Texts may be NULL, numbers 0: then it does not say so. */
struct serve_event {
    const char *type; /* "acquired", ...; a constant */
    const char *name; /* of the lock */
    size_t name_length;
    const char *session; /* its id */
    const char *owner;   /* the first 8 characters of the owner value */
    const char *detail;  /* further words */
    uint64_t fence;
    int64_t validity_ms;
    redlock_kind kind;
    int32_t slot; /* of a semaphore; -1 not known */
};

/* NULL without memory. */
struct serve_events *serve_events_new(void);
void serve_events_free(struct serve_events *events);

/* Keeps it, and tells every stream that is open for it and may hear of it. */
void serve_events_publish(struct serve_server *server, const struct serve_event *event);

/* GET /v1/events */
void serve_events_listen(struct serve_exchange *exchange);

/* Keeps streams alive, and finds those that are dead. Called once a second. */
void serve_events_tick(struct serve_server *server);

/* Writes one event of a stream; takes the reference to data over. */
void serve_events_write(struct serve_connection *connection, const char *id, const char *type, json_t *data);

#endif
