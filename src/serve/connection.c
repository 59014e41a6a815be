/*
 * One client's connection; see connection.h. A client that hangs up is noticed at once, whatever it waits
 * for: reading is never switched off, and one that sends more than may be kept is ended instead.
 */
#include "serve/connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/tls.h"

#define GREETING_MS 10000 /* from connecting, or from the first byte, to a whole request */
#define WRITE_MS 30000    /* a client that takes nothing for so long is gone */
#define LINGER_MS 2000
#define OUTPUT_MAX (256U * 1024) /* unwritten bytes of one client */

/* ---- its life ------------------------------------------------------------------------------------------ */

static void unlink_connection(struct serve_connection *connection)
{
    if (connection->next != NULL)
        connection->next->previous = connection->previous;
    if (connection->previous != NULL)
        connection->previous->next = connection->next;
    else
        connection->server->connections = connection->next;
    if (connection->server->walk == connection)
        connection->server->walk = connection->next;
    connection->server->connection_count--;
}

/* Nobody wants the answer any more: what can be cut short is. */
static void abandon_call(struct serve_connection *connection)
{
    struct serve_call *call = connection->call;

    connection->call = NULL;
    call->connection = NULL;
    connection->server->counts.hang_ups++;
    if (call->dismiss != NULL)
        call->dismiss(call);
    else if (call->cancelable)
        (void)redlock_cancel(connection->server->client, call->request);
}

void serve_connection_close(struct serve_connection *connection)
{
    unlink_connection(connection);
    if (connection->call != NULL)
        abandon_call(connection);
    if (connection->detach != NULL)
        connection->detach(connection->attachment);
    bufferevent_free(connection->buffer);
    free(connection);
}

/* Says that no more will come, and waits for the client to say so too: closing with unread bytes would reset
 * the connection, and the client might never see the answer. */
static void linger(struct serve_connection *connection)
{
    connection->state = SERVE_LINGERING;
    connection->deadline_ms = connection->server->now_ms + LINGER_MS;
    if (connection->tls || shutdown(bufferevent_getfd(connection->buffer), SHUT_WR) != 0)
        serve_connection_close(connection);
}

void serve_connection_finish(struct serve_connection *connection)
{
    connection->state = SERVE_CLOSING;
    connection->deadline_ms = connection->server->now_ms + WRITE_MS;
}

/* ---- reading and writing ------------------------------------------------------------------------------- */

static size_t input_length(const struct serve_connection *connection)
{
    return evbuffer_get_length(bufferevent_get_input(connection->buffer));
}

static size_t output_length(const struct serve_connection *connection)
{
    return evbuffer_get_length(bufferevent_get_output(connection->buffer));
}

void serve_connection_write(struct serve_connection *connection, const char *bytes, size_t length)
{
    ssize_t written = 0;

    if (output_length(connection) == 0 && !connection->tls)
        written = send(bufferevent_getfd(connection->buffer), bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (written < 0)
        written = 0; /* what is wrong will be noticed when the rest is written */
    if ((size_t)written < length)
        bufferevent_write(connection->buffer, bytes + written, length - (size_t)written);
}

/* Ends what has been written, drops what is not wanted, refuses what is too much. The connection may be gone
 * after it. */
static void settle(struct serve_connection *connection)
{
    struct evbuffer *input = bufferevent_get_input(connection->buffer);

    if (connection->state == SERVE_STREAMING || connection->state >= SERVE_CLOSING)
        evbuffer_drain(input, input_length(connection));
    if (connection->state == SERVE_CLOSING && output_length(connection) == 0)
        linger(connection);
    else if (connection->state != SERVE_CLOSING &&
             (input_length(connection) > connection->listener->protocol->input_max ||
              output_length(connection) > OUTPUT_MAX))
        serve_connection_close(connection);
}

static void take_turn(struct serve_connection *connection)
{
    const struct serve_protocol *protocol = connection->listener->protocol;

    connection->in_turn = true;
    while (connection->state == SERVE_READING && input_length(connection) > 0 && protocol->read(connection))
        connection->deadline_ms = connection->server->now_ms + protocol->idle_ms;
    connection->in_turn = false;
    /* A request that has begun has to be whole in time, however slowly it comes. */
    bool begun = connection->state == SERVE_READING && input_length(connection) > 0;
    if (begun && !connection->begun)
        connection->deadline_ms = connection->server->now_ms + GREETING_MS;
    connection->begun = begun;
    if (connection->state == SERVE_WAITING || connection->state == SERVE_STREAMING)
        connection->deadline_ms = INT64_MAX;
    settle(connection);
}

void serve_connection_go_on(struct serve_connection *connection)
{
    if (!connection->in_turn)
        take_turn(connection);
}

static void on_read(struct bufferevent *buffer, void *context)
{
    struct serve_connection *connection = context;

    (void)buffer;
    serve_now(connection->server);
    take_turn(connection);
}

/* Everything has been written. */
static void on_written(struct bufferevent *buffer, void *context)
{
    struct serve_connection *connection = context;

    (void)buffer;
    connection->written_ms = serve_now(connection->server);
    if (connection->state == SERVE_CLOSING)
        linger(connection);
}

static void on_event(struct bufferevent *buffer, short what, void *context)
{
    struct serve_connection *connection = context;

    if (what & BEV_EVENT_CONNECTED) {
        connection->principal = serve_tls_principal(connection->server, buffer);
        return;
    }
    serve_connection_close(connection);
}

/* ---- opening ------------------------------------------------------------------------------------------- */

/* A peer whose machine is gone never says so: the kernel asks. */
static void watch_peer(evutil_socket_t socket)
{
    int on = 1, idle_s = 10, interval_s = 5, count = 3;

    (void)setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    (void)setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
    (void)setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
}

/* Who is at the other end of a unix socket: the kernel knows. */
static const struct serve_principal *find_peer(const struct serve_server *server, evutil_socket_t socket)
{
    struct ucred peer;
    socklen_t length = sizeof peer;

    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
        return NULL;
    bool by_login = serve_access_has(&server->access, SERVE_USER);
    const struct passwd *entry = by_login ? getpwuid(peer.uid) : NULL;
    const struct serve_principal *named =
        entry == NULL ? NULL : serve_access_by_name(&server->access, SERVE_USER, entry->pw_name);
    if (named != NULL)
        return named;
    return peer.uid == geteuid() || peer.uid == 0 ? &server->owner : NULL;
}

static const struct serve_principal *find_principal(const struct serve_listener *listener,
                                                    evutil_socket_t socket)
{
    if (listener->is_unix)
        return find_peer(listener->server, socket);
    return listener->is_loopback && listener->server->access.count == 0 ? &listener->server->anyone : NULL;
}

static struct bufferevent *wrap(const struct serve_listener *listener, evutil_socket_t socket)
{
    struct serve_server *server = listener->server;

    if (server->tls != NULL && !listener->is_unix)
        return serve_tls_wrap(server->tls, server->base, socket);
    return bufferevent_socket_new(server->base, socket, BEV_OPT_CLOSE_ON_FREE);
}

static void link_connection(struct serve_server *server, struct serve_connection *connection)
{
    connection->next = server->connections;
    if (connection->next != NULL)
        connection->next->previous = connection;
    server->connections = connection;
    server->connection_count++;
}

void serve_connection_open(struct serve_listener *listener, evutil_socket_t socket)
{
    struct serve_server *server = listener->server;
    struct serve_connection *connection = calloc(1, sizeof *connection);
    struct bufferevent *buffer = connection == NULL ? NULL : wrap(listener, socket);

    if (buffer == NULL) {
        free(connection);
        close(socket);
        return;
    }
    if (!listener->is_unix)
        watch_peer(socket);
    connection->server = server;
    connection->listener = listener;
    connection->buffer = buffer;
    connection->tls = serve_tls_of(buffer) != NULL;
    connection->state = SERVE_READING;
    connection->principal = find_principal(listener, socket);
    connection->deadline_ms = serve_now(server) + GREETING_MS;
    link_connection(server, connection);
    bufferevent_setcb(buffer, on_read, on_written, on_event, connection);
    bufferevent_enable(buffer, EV_READ | EV_WRITE);
}

/* ---- once a second ------------------------------------------------------------------------------------- */

static bool is_stuck(const struct serve_connection *connection, int64_t now_ms)
{
    return output_length(connection) > 0 && now_ms - connection->written_ms > WRITE_MS;
}

void serve_connections_sweep(struct serve_server *server)
{
    int64_t now_ms = serve_now(server);

    for (struct serve_connection *each = server->connections; each != NULL; each = server->walk) {
        server->walk = each->next;
        if (output_length(each) == 0)
            each->written_ms = now_ms;
        if (is_stuck(each, now_ms))
            serve_connection_close(each);
        else if (now_ms < each->deadline_ms)
            continue;
        else if (each->state == SERVE_READING && each->begun) {
            each->listener->protocol->late(each);
            settle(each);
        } else
            serve_connection_close(each);
    }
}

/* ---- calls --------------------------------------------------------------------------------------------- */

void serve_call_begin(struct serve_call *call, struct serve_connection *connection, bool waits)
{
    call->server = connection->server;
    call->connection = connection;
    call->waits = waits;
    connection->call = call;
    connection->state = SERVE_WAITING;
    connection->server->waiting += waits;
    connection->server->outstanding++;
    connection->server->asked = true;
}

bool serve_call_end(struct serve_call *call)
{
    struct serve_connection *connection = call->connection;

    call->server->waiting -= call->waits;
    call->server->outstanding--;
    call->waits = false;
    if (connection == NULL)
        return false;
    call->connection = NULL;
    connection->call = NULL;
    connection->state = SERVE_READING;
    return true;
}
