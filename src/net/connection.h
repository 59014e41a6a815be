/*
 * The one ordered connection to a node: it connects, greets, sends in order, matches replies with what was asked, notices
 * silence and comes back after a break. It does not know what the requests are for; its user does.
 */
#ifndef RL_NET_CONNECTION_H
#define RL_NET_CONNECTION_H

#include "core/backoff.h"
#include "core/event.h"
#include "net/poller.h"
#include "net/resolver.h"
#include "net/stream.h"
#include "wire/handshake.h"
#include "wire/node_url.h"
#include "wire/resp_writer.h"

enum rl_connection_state {
    RL_CONNECTION_RESTING,   /* not connected; next try at retry_at */
    RL_CONNECTION_RESOLVING, /* waiting for an address */
    RL_CONNECTION_OPENING,   /* connecting, TLS */
    RL_CONNECTION_GREETING,  /* handshake */
    RL_CONNECTION_READY
};

enum rl_tracking { RL_TRACKING_OFF, RL_TRACKING_ON, RL_TRACKING_REFUSED };

/* What a request was for; comes back with its reply. */
struct rl_ticket {
    void *subject;
    uint32_t question;
    uint8_t kind;
    uint8_t replies; /* messages that make up its reply */
    uint8_t full;    /* sent with the whole script */
    uint8_t native;  /* sent as a command that not all nodes have, or that its user may not say */
    uint8_t random[16];
    uint8_t together; /* how many requests went in the same command as this one; 0 it went alone */
    uint64_t number;  /* the fence that was proposed */
    struct rl_time sent;
};

struct rl_connection;

/* What a connection tells its user. All of it happens inside calls of the user's. */
struct rl_connection_user {
    void (*ready)(void *context, struct rl_connection *connection);
    void (*reply)(void *context, struct rl_connection *connection, const struct rl_ticket *ticket,
                  const char *bytes, size_t length);
    /* Writes the last `count` requests, which were enlisted, as one command; there is as much room as they asked for. */
    void (*compose)(void *context, struct rl_connection *connection, uint32_t count,
                    struct rl_writer *writer);
    void (*push)(void *context, struct rl_connection *connection, const char *bytes, size_t length);
    /* The connection broke before this was answered: it may have been executed or not. */
    void (*dropped)(void *context, struct rl_connection *connection, const struct rl_ticket *ticket);
    /* It broke, or could not be made; error and cause say why. After all `dropped`. */
    void (*down)(void *context, struct rl_connection *connection);
    void *(*allocate)(void *context, size_t size);
    void (*release)(void *context, void *memory, size_t size);
    void *context;
};

struct rl_connection_config {
    const struct rl_connection_user *user;
    struct rl_poller *poller;
    struct rl_resolver *resolver;
    struct rl_prng *prng;
    struct ssl_ctx_st *tls; /* for nodes that want it */
    const char *client_name;
    struct rl_span connect_timeout;
    struct rl_span node_timeout;
    struct rl_span
        unseen; /* how long nobody looked before what is handled now; a node is not to blame for that */
};

struct rl_connection {
    const struct rl_connection_config *config;
    uint32_t node;
    struct rl_node_url url;
    enum rl_connection_state state;
    struct rl_stream stream;
    uint32_t life; /* rises whenever the stream is closed: whoever holds an older number has lost it */
    size_t pushed; /* bytes of pushes since the last reply */
    struct rl_resolved resolved; /* addresses to try */
    int next_address;
    unsigned watched; /* RL_WANT_ bits the poller watches for; 0 not at all */
    struct rl_handshake handshake;
    struct rl_time deadline; /* for becoming ready */
    struct rl_time retry_at;
    struct rl_backoff backoff;
    char *out; /* to be sent: out[out_sent .. out_length) */
    size_t out_length, out_sent, out_capacity;
    char *in;
    size_t in_taken, in_length, in_capacity; /* in[in_taken .. in_length) is still to be looked at */
    struct rl_ticket *tickets;               /* ring of what was asked and not answered */
    uint32_t first_ticket, ticket_count, ticket_capacity;
    uint32_t enlisted; /* the last so many of them have not been written yet, and will be as one command */
    size_t enlisted_bytes; /* room that was promised to that */
    uint32_t answers_left; /* of a command for several requests: those that have not had theirs */
    bool refused_together; /* that command was answered by one error for all of them */
    enum rl_cause cause;   /* why it is not ready */
    char error[128];
    bool apart;      /* the user's: nothing may be enlisted here */
    unsigned loaded; /* the user's: scripts this connection has carried, a bit for each kind of command */
    enum rl_tracking tracking; /* the user's: whether this connection can be told of changes */
    enum rl_cause unfit;       /* the user's: why this node must not be asked although it is ready */
    struct rl_time look_again; /* the user's: when what the handshake told may have changed */
    uint64_t disconnects;
};

/* Zeroed memory becomes a resting connection that will connect at once; false: no memory. */
bool rl_connection_init(struct rl_connection *connection, const struct rl_connection_config *config,
                        uint32_t node, const struct rl_node_url *url);

/* Closes it in order if everything was sent, else with a reset, without upcalls, and frees its buffers. */
void rl_connection_finish(struct rl_connection *connection);

/* The same in a forked child: not a byte to the node. */
void rl_connection_forget(struct rl_connection *connection);

/* Starts to connect if it rests and its time has come. */
void rl_connection_wake(struct rl_connection *connection, struct rl_time now);

/* Reserves room for one command of up to `size` bytes; write it through the writer, then commit it with its ticket. Only
 * while READY. false: no room or no memory, nothing changed. */
bool rl_connection_reserve(struct rl_connection *connection, size_t size, struct rl_writer *writer);
void rl_connection_commit(struct rl_connection *connection, const struct rl_writer *writer,
                          const struct rl_ticket *ticket);

/* For a request that may go in one command with those enlisted before it. Whatever is reserved, enlisted by `compose` or
 * flushed afterwards goes behind it. false: as above. */
bool rl_connection_enlist(struct rl_connection *connection, size_t size, const struct rl_ticket *ticket);

/* The i-th of the last `count` tickets; for `compose`. */
struct rl_ticket *rl_connection_recent(struct rl_connection *connection, uint32_t count, uint32_t i);

/* Has what is enlisted written: what comes next is not to go with it. */
void rl_connection_compose(struct rl_connection *connection);

/* Takes the oldest unanswered ticket out, for a user who closes; false when there is none. */
bool rl_connection_take_ticket(struct rl_connection *connection, struct rl_ticket *ticket);

/* Sends what is committed, as far as it goes without waiting. */
void rl_connection_flush(struct rl_connection *connection, struct rl_time now);

/* The poller said so. */
void rl_connection_handle(struct rl_connection *connection, const struct rl_ready *ready, struct rl_time now);

/* The resolver answered for this node. */
void rl_connection_resolved(struct rl_connection *connection, const struct rl_resolved *resolved,
                            struct rl_time now);

/* Looks at its deadlines; call it when `due` has come. */
void rl_connection_tick(struct rl_connection *connection, struct rl_time now);
struct rl_time rl_connection_due(const struct rl_connection *connection);

/* Whether its oldest request has been waiting longer than a node may take: asking it more is of no use now. */
bool rl_connection_silent(const struct rl_connection *connection, struct rl_time now);

/* Breaks it with a reset, as for a node that must not be spoken to any more. */
void rl_connection_break(struct rl_connection *connection, enum rl_cause cause, const char *why,
                         struct rl_time now);

#endif
