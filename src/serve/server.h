/*
 * The one process: its listeners, its connections, and what all handlers share. Nothing here knows what a
 * request means, nor what turns the loop; routes.c, resp.c and run.c do.
 */
#ifndef SERVE_SERVER_H
#define SERVE_SERVER_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <redlock.h>

#include "serve/access.h"
#include "serve/serve.h"

struct serve_connection;
struct serve_protocol;
struct serve_events;
struct serve_session;
struct serve_hold;
struct serve_later;
struct serve_line;
struct serve_names;
struct serve_board;
struct serve_route;
struct ssl_ctx_st;
struct evconnlistener;

#define SERVE_LISTENERS_MAX 16

/* A socket that is listened on. */
struct serve_listener {
    struct serve_server *server;
    struct evconnlistener *listener;
    const struct serve_protocol *protocol;
    bool is_unix, is_loopback;
    char host[64];  /* its address as a Host field may name it; empty for a unix socket */
    char path[108]; /* of a unix socket that was made here, and is removed in the end */
};

/* Counts for /metrics. */
struct serve_counts {
    uint64_t requests[6]; /* by the first digit of the status */
    uint64_t resp_commands, hang_ups, refused_connections;
};

/* What was handed out under an Idempotency-Key, for a client that asks again. Another instance may not know
 * its fence. */
struct serve_key {
    unsigned char digest[16];
    char owner[9];
    uint64_t fence;
};

#define SERVE_KEYS_MAX 1024

#define SERVE_LINES_MAX 1024

struct serve_server {
    const struct serve_settings *settings;
    redlock_client *client;
    const struct serve_route *routes; /* route_count of them */
    size_t route_count;
    struct event_base *base;
    struct event *client_event, *second, *terminate, *interrupt;
    struct ssl_ctx_st *tls; /* NULL: without */
    struct serve_access access;
    struct serve_principal anyone; /* a client over loopback, when there is no access file */
    struct serve_principal owner;  /* the user this runs as, and root, over a unix socket */
    struct serve_listener listeners[SERVE_LISTENERS_MAX];
    size_t listener_count;
    struct serve_connection *connections; /* a list */
    struct serve_connection *walk;        /* where a walk over them goes on: closing one may close others */
    size_t connection_count;
    size_t lists;                              /* requests for all locks that are under way */
    size_t waiting;                            /* requests that wait for a lock */
    size_t outstanding;                        /* callbacks of the library that have yet to run */
    struct serve_later *later, **later_end;    /* what begins at the end of this turn */
    bool asked;                                /* the library was asked for something in this turn */
    struct serve_line *lines[SERVE_LINES_MAX]; /* of waiters, by the hash of the name */
    struct serve_events *events;
    struct serve_session *sessions; /* a list */
    struct serve_hold *holds;       /* a list */
    struct serve_late *late;        /* a list of late_count */
    size_t late_count;
    bool complete; /* all nodes were connected at the last look, at most a second ago */
    struct serve_counts counts;
    struct serve_board *board; /* NULL until somebody watches */
    struct serve_names *names; /* counted for /metrics; NULL none */
    struct serve_key keys[SERVE_KEYS_MAX];
    int64_t now_ms;                               /* of the last turn, CLOCK_BOOTTIME */
    char date[32];                                /* for the Date field, of this second */
    char id[17];                                  /* of this instance */
    uint64_t seconds;                             /* since it began, as the timer counts them */
    bool looking;                                 /* at the nodes, for streams that are open */
    unsigned char node_states[REDLOCK_NODES_MAX]; /* as info.c saw them last */
    bool stopping, failed;
    int64_t stop_at_ms; /* latest end once it is stopping */
};

/* Says a formatted line through the settings. */
void serve_say(const struct serve_server *server, enum serve_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The time now, which a sleeping machine counts on; keeps it in server->now_ms too. */
int64_t serve_now(struct serve_server *server);

/* Spreads names over buckets. */
uint32_t serve_hash(const char *bytes, size_t length);

/* True when another request may wait. */
bool serve_may_wait(const struct serve_server *server);

#endif
