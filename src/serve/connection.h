/*
 * One client's connection: bytes in and out, deadlines, and the call that it waits for. What the bytes mean
 * is its protocol's business.
 */
#ifndef SERVE_CONNECTION_H
#define SERVE_CONNECTION_H

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <sys/types.h>

#include "serve/server.h"

struct serve_call;

enum serve_state {
    SERVE_READING,   /* for the next request, or within one */
    SERVE_WAITING,   /* for a call to end; more bytes are kept, not read */
    SERVE_STREAMING, /* what it sends is ignored from here on */
    SERVE_CLOSING,   /* once what is on its way has been written */
    SERVE_LINGERING  /* written; the client may still be sending */
};

/* A way to talk. */
struct serve_protocol {
    const char *name;
    /* Reads what there is. Returns false when it wants more bytes first. Called only while SERVE_READING. */
    bool (*read)(struct serve_connection *connection);
    /* The time is up in the middle of a request. */
    void (*late)(struct serve_connection *connection);
    /* The instance stops; it is not waiting for anything. */
    void (*stop)(struct serve_connection *connection);
    size_t input_max; /* bytes that may be there without being read */
    int64_t idle_ms;  /* that may pass between requests */
};

struct serve_connection {
    struct serve_connection *next, *previous;
    struct serve_server *server;
    const struct serve_listener *listener;
    struct bufferevent *buffer;
    enum serve_state state;
    bool keep_alive, in_turn, begun, tls;    /* begun: within a request */
    const struct serve_principal *principal; /* by its socket or its certificate; NULL: nobody yet */
    struct serve_call *call;                 /* while SERVE_WAITING */
    void *attachment;                        /* of the protocol: a stream, a hold, a RESP client */
    void (*detach)(void *attachment);        /* called once when the connection goes */
    size_t seen;                             /* bytes of input that were looked at in vain */
    size_t needed;                           /* bytes of input before it is worth another look; 0 not known */
    int64_t deadline_ms;                     /* when the sweep ends it; INT64_MAX never */
    int64_t written_ms;                      /* when output last went on, or began */
};

/* Takes over a socket that was accepted. */
void serve_connection_open(struct serve_listener *listener, evutil_socket_t socket);

/* Ends it at once; whatever it waits for is cancelled. */
void serve_connection_close(struct serve_connection *connection);

/* Ends it when what was written has gone out. */
void serve_connection_finish(struct serve_connection *connection);

/* The answer to what it waited for, or to what it read, is written: goes on with its next request. */
void serve_connection_go_on(struct serve_connection *connection);

/* Writes bytes: at once as far as the socket takes them, which spares a turn of the loop, and the rest when
 * it can. */
void serve_connection_write(struct serve_connection *connection, const char *bytes, size_t length);

/* Ends those whose time is up. Called once a second. */
void serve_connections_sweep(struct serve_server *server);

/* ---- calls --------------------------------------------------------------------------------------------- */

/* Something asked of the nodes for a connection that waits for it. The first member of what a handler
 * keeps. */
struct serve_call {
    struct serve_server *server;
    struct serve_connection *connection; /* NULL: the client is gone, and nobody wants the answer */
    redlock_request request;
    bool waits;      /* it counts as a waiter */
    bool cancelable; /* it may be cut short when the client goes */
    /* Set while nothing was asked of the library: ends the call, because the client is gone (connection is
     * NULL) or because the instance stops. */
    void (*dismiss)(struct serve_call *call);
};

/* Makes the connection wait for a call. What is zero in it need not be set before. */
void serve_call_begin(struct serve_call *call, struct serve_connection *connection, bool waits);

/* Its callback runs. True when the client is still there; then it is reading again, and the handler
 * answers. */
bool serve_call_end(struct serve_call *call);

#endif
