/*
 * The one connection to a node: finds its address, connects, moves bytes. It reads no clock and keeps no
 * deadline, and does not know what the bytes mean; its user says when to open and when to close.
 */
#ifndef RL_NET_CONNECTION_H
#define RL_NET_CONNECTION_H

#include "net/poller.h"
#include "net/resolver.h"
#include "net/stream.h"
#include "wire/node_url.h"

enum rl_connection_state {
    RL_CONNECTION_CLOSED,
    RL_CONNECTION_RESOLVING, /* waiting for an address */
    RL_CONNECTION_OPENING,   /* connecting, TLS */
    RL_CONNECTION_OPEN,      /* bytes may be moved */
    RL_CONNECTION_FAILED     /* `cause` and `error` say why; only closing is left */
};

struct rl_connection_config {
    struct rl_poller *poller;
    struct rl_resolver *resolver;
    struct ssl_ctx_st *tls; /* for nodes that want it */
};

struct rl_connection {
    const struct rl_connection_config *config;
    const struct rl_node_url *url;
    uint32_t node;
    enum rl_connection_state state;
    struct rl_stream stream;
    struct rl_resolved resolved; /* addresses to try */
    int next_address;
    unsigned watched;    /* RL_WANT_ bits the poller watches for; 0 not at all */
    enum rl_cause cause; /* FAILED: why */
    char error[128];     /* and in words */
};

/* Zeroed memory becomes a closed connection. */
void rl_connection_init(struct rl_connection *connection, const struct rl_connection_config *config,
                        uint32_t node, const struct rl_node_url *url);

/* Begins to connect a closed one; its state tells how far that went. */
void rl_connection_open(struct rl_connection *connection);

/* The resolver answered for this node; the poller said that OPENING can go on. The state tells the rest. */
void rl_connection_resolved(struct rl_connection *connection, const struct rl_resolved *resolved);
void rl_connection_continue(struct rl_connection *connection);

/* Closes it, in whatever state; in order, or with a reset. */
void rl_connection_close(struct rl_connection *connection, bool reset);

/* The same in a forked child: not a byte to the node. */
void rl_connection_forget(struct rl_connection *connection);

/* Move what goes without waiting. false: it is FAILED now, though there may have been bytes before. */
bool rl_connection_write(struct rl_connection *connection, const char *bytes, size_t length, size_t *put);

/* more: there may be more to read that the poller would not tell of, or the room was too small. */
bool rl_connection_read(struct rl_connection *connection, char *bytes, size_t room, size_t *got, bool *more);

/* Whether it holds bytes that were received already and that no poll will tell of. */
bool rl_connection_pending(const struct rl_connection *connection);

/* Has the poller watch for input, and if there is more to be sent for the chance to do so. */
void rl_connection_watch(struct rl_connection *connection, bool unsent);

#endif
