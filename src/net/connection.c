/*
 * Opening, moving bytes, closing; see connection.h. What a stream is made of is in stream_tcp.c and
 * stream_tls.c.
 */
#include "net/connection.h"

#include <stdio.h>

#include "base/bytes.h"

void rl_connection_init(struct rl_connection *connection, const struct rl_connection_config *config,
                        uint32_t node, const struct rl_node_url *url)
{
    connection->config = config;
    connection->node = node;
    connection->url = url;
    rl_stream_init(&connection->stream);
}

static void set_watch(struct rl_connection *connection, unsigned wants)
{
    if (connection->stream.fd < 0 || wants == connection->watched)
        return;
    if (rl_poller_watch(connection->config->poller, connection->stream.fd, wants, connection->node,
                        connection->watched != 0))
        connection->watched = wants;
}

void rl_connection_close(struct rl_connection *connection, bool reset)
{
    /* Said to the poller by hand: a forked child may keep the descriptor open, and the poller would keep it
     * too. */
    if (connection->watched != 0)
        rl_poller_forget(connection->config->poller, connection->stream.fd);
    connection->watched = 0;
    connection->state = RL_CONNECTION_CLOSED;
    if (reset)
        rl_stream_abort(&connection->stream);
    else
        rl_stream_close(&connection->stream);
}

void rl_connection_forget(struct rl_connection *connection)
{
    connection->state = RL_CONNECTION_CLOSED;
    rl_stream_forget(&connection->stream);
}

static void fail(struct rl_connection *connection, enum rl_cause cause, const char *why)
{
    connection->cause = cause;
    rl_text_copy(connection->error, sizeof connection->error, why);
    connection->state = RL_CONNECTION_FAILED;
}

static void fail_stream(struct rl_connection *connection, enum rl_io io)
{
    if (io == RL_IO_CLOSED)
        fail(connection, RL_CAUSE_UNREACHABLE, "the node closed the connection");
    else
        fail(connection, connection->stream.cause, connection->stream.error);
}

/* ---- opening ---- */

/* Tries the addresses that are left, one after the other. */
static void open_address(struct rl_connection *connection)
{
    bool tls = connection->url->transport == RL_TRANSPORT_TLS;

    connection->state = RL_CONNECTION_OPENING;
    while (connection->next_address < connection->resolved.count) {
        const struct rl_address *address = &connection->resolved.addresses[connection->next_address++];

        if (rl_stream_open(&connection->stream, address, tls ? connection->config->tls : NULL,
                           connection->url->host)) {
            rl_connection_continue(connection);
            return;
        }
    }
    fail_stream(connection, RL_IO_FAILED);
}

void rl_connection_continue(struct rl_connection *connection)
{
    enum rl_io io = rl_stream_continue(&connection->stream);

    if (io == RL_IO_DONE) {
        connection->state = RL_CONNECTION_OPEN;
    } else if (io == RL_IO_AGAIN) {
        set_watch(connection, connection->stream.wants);
    } else if (connection->next_address < connection->resolved.count) {
        rl_connection_close(connection, true);
        open_address(connection);
    } else {
        fail_stream(connection, io);
    }
}

/* Finds the address without asking anybody, if it can be had that way. */
static bool know_address(struct rl_connection *connection)
{
    struct rl_address *address = &connection->resolved.addresses[0];

    connection->next_address = 0;
    connection->resolved.count = 1;
    if (connection->url->transport == RL_TRANSPORT_UNIX) {
        rl_address_unix(address, connection->url->path);
        return true;
    }
    return rl_address_numeric(address, connection->url->host, connection->url->port);
}

void rl_connection_open(struct rl_connection *connection)
{
    if (know_address(connection)) {
        open_address(connection);
        return;
    }
    connection->state = RL_CONNECTION_RESOLVING;
    if (!rl_resolver_ask(connection->config->resolver, connection->node, connection->url->host,
                         connection->url->port))
        fail(connection, RL_CAUSE_RESOLVE, "cannot start a name look-up: out of memory or threads");
}

void rl_connection_resolved(struct rl_connection *connection, const struct rl_resolved *resolved)
{
    char why[sizeof connection->error];

    if (connection->state != RL_CONNECTION_RESOLVING)
        return;
    if (resolved->count == 0) {
        snprintf(why, sizeof why, "cannot resolve its name: %.90s", resolved->error);
        fail(connection, RL_CAUSE_RESOLVE, why);
        return;
    }
    connection->resolved = *resolved;
    connection->next_address = 0;
    open_address(connection);
}

/* ---- bytes ---- */

bool rl_connection_write(struct rl_connection *connection, const char *bytes, size_t length, size_t *put)
{
    enum rl_io io = RL_IO_DONE;

    for (*put = 0; *put < length && io == RL_IO_DONE;) {
        size_t part = 0;

        io = rl_stream_write(&connection->stream, bytes + *put, length - *put, &part);
        *put += part;
    }
    if (io != RL_IO_CLOSED && io != RL_IO_FAILED)
        return true;
    fail_stream(connection, io);
    return false;
}

/* A short read has emptied the socket; only TLS may hold more back. */
bool rl_connection_read(struct rl_connection *connection, char *bytes, size_t room, size_t *got, bool *more)
{
    enum rl_io io;

    *got = 0;
    io = rl_stream_read(&connection->stream, bytes, room, got);
    *more = io == RL_IO_DONE && (*got == room || connection->stream.ssl != NULL);
    if (io != RL_IO_CLOSED && io != RL_IO_FAILED)
        return true;
    fail_stream(connection, io);
    return false;
}

void rl_connection_watch(struct rl_connection *connection, bool unsent)
{
    set_watch(connection, RL_WANT_READ | (unsent ? connection->stream.wants : 0));
}

bool rl_connection_pending(const struct rl_connection *connection)
{
    return rl_stream_pending(&connection->stream);
}
