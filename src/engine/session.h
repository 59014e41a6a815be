/*
 * What is known of one node and of the talk with it: it wants a connection, greets, matches replies with what
 * was asked, notices silence and comes back after a break. It neither opens nor reads a socket, and does not
 * know what the requests are for.
 */
#ifndef RL_ENGINE_SESSION_H
#define RL_ENGINE_SESSION_H

#include "base/node_set.h"
#include "core/backoff.h"
#include "core/event.h"
#include "wire/exchange.h"
#include "wire/handshake.h"
#include "wire/node_url.h"
#include "wire/script.h"

enum rl_session_state {
    RL_SESSION_RESTING,  /* not connected; next try at retry_at */
    RL_SESSION_OPENING,  /* a connection is being made */
    RL_SESSION_GREETING, /* handshake */
    RL_SESSION_READY
};

enum rl_tracking { RL_TRACKING_OFF, RL_TRACKING_ON, RL_TRACKING_REFUSED };
enum rl_hearing { RL_HEARING_OFF, RL_HEARING_ON, RL_HEARING_REFUSED };

/* What all sessions of an engine want of the network. Closing comes before opening, and both before
 * writing. */
struct rl_wants {
    rl_node_set close; /* connections to be closed, if there are any */
    rl_node_set reset; /* of these: with a reset, so that the kernel does not go on delivering */
    rl_node_set open;  /* connections to be made */
    rl_node_set write; /* there is something to be sent */
};

struct rl_session;

/* What a session tells its user. All of it happens inside calls of the user's. */
struct rl_session_user {
    void (*ready)(void *context, struct rl_session *session);
    void (*reply)(void *context, struct rl_session *session, const struct rl_pending *pending,
                  const char *bytes, size_t length);
    void (*push)(void *context, struct rl_session *session, const char *bytes, size_t length);
    /* The connection broke before this was answered: it may have been executed or not. */
    void (*dropped)(void *context, struct rl_session *session, const struct rl_pending *pending);
    /* It broke, or could not be made; error and cause say why. After all `dropped`. */
    void (*down)(void *context, struct rl_session *session);
    void (*compose)(struct rl_exchange *exchange, uint32_t count, struct rl_writer *writer);
    void *context;
};

struct rl_session_config {
    const struct rl_session_user *user;
    const struct rl_memory *memory;
    struct rl_wants *wants;
    struct rl_prng *prng;
    const char *client_name;
    struct rl_span connect_timeout;
    struct rl_span node_timeout;
};

struct rl_session {
    const struct rl_session_config *config;
    uint32_t node;
    struct rl_node_url url;
    enum rl_session_state state;
    bool resolving; /* OPENING: the address is being looked up */
    struct rl_exchange exchange;
    size_t pushed;        /* bytes of pushes since the last reply */
    struct rl_time heard; /* when bytes last came */
    struct rl_handshake handshake;
    struct rl_time deadline; /* for becoming ready */
    struct rl_time retry_at;
    struct rl_backoff backoff;
    enum rl_cause cause; /* why it is not ready */
    char error[128];
    bool apart;                /* the user's: nothing may be enlisted here */
    rl_script_set carried;     /* the user's: scripts that this connection has carried */
    enum rl_tracking tracking; /* the user's: whether this connection can be told of changes */
    enum rl_hearing hearing;   /* the user's: whether this connection is subscribed to the client's channel */
    const char *
        hearing_right; /* the user's: what it lacks for that, as in ACL SETUSER; NULL nothing that is known */
    enum rl_cause ineligible;  /* the user's: why this node must not be asked although it is ready */
    struct rl_time look_again; /* the user's: when what the handshake told may have changed */
    uint64_t disconnects;
};

/* Zeroed memory becomes a resting session that will connect at once; false: no memory. */
bool rl_session_init(struct rl_session *session, const struct rl_session_config *config, uint32_t node,
                     const struct rl_node_url *url);
void rl_session_free(struct rl_session *session);

/* Wants a connection if it rests and its time has come. */
void rl_session_wake(struct rl_session *session, struct rl_time now);

/* The connection that it wanted is there: bytes can be sent. */
void rl_session_up(struct rl_session *session);

/* Ends the talk: the connection broke, could not be made, or must not be used any more. One with something
 * unanswered is reset. */
void rl_session_break(struct rl_session *session, enum rl_cause cause, const char *why, struct rl_time now);

/* The connection broke or could not be made. As above, but what may be behind it is said too. */
void rl_session_lost(struct rl_session *session, enum rl_cause cause, const char *why, struct rl_time now);

/* Room to read into; 0: it has sent too much for one answer, and the session was ended for that. Then so many
 * bytes came. */
size_t rl_session_room(struct rl_session *session, struct rl_time now, char **bytes);
void rl_session_received(struct rl_session *session, size_t length, struct rl_time now);

/* What is to be sent; it is told by rl_exchange_sent() how much was. */
size_t rl_session_output(struct rl_session *session, const char **bytes);

/* Looks at its deadlines; call it when `due` has come. */
void rl_session_tick(struct rl_session *session, struct rl_time now);
struct rl_time rl_session_due(const struct rl_session *session);

/* Whether its oldest request has been waiting longer than a node may take: asking it more is of no use
 * now. */
bool rl_session_silent(const struct rl_session *session, struct rl_time now);

#endif
