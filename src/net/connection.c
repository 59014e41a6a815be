/*
 * The connection's state machine: resting, resolving, opening, greeting, ready; see connection.h. Buffers and the ring of
 * tickets are in connection_buffer.c.
 */
#include "net/connection.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "net/connection_buffer.h"
#include "wire/resp_reader.h"

enum {
    RETRY_MIN_US = 20000,
    RETRY_MAX_US = 1000000,
    HUNG_MIN_US = 5000000, /* a connection that says nothing for this long is given up */
    HUNG_FACTOR = 10,      /* or for this many node timeouts, if that is more */
    READ_AT_ONCE =
        65536, /* bytes that one node may keep us busy with before timers and other nodes have their turn */
    PUSHED_MAX = 1048576 /* bytes of pushes without a single reply in between: that is a flood */
};

bool rl_connection_init(struct rl_connection *connection, const struct rl_connection_config *config,
                        uint32_t node, const struct rl_node_url *url)
{
    connection->config = config;
    connection->node = node;
    connection->url = *url;
    connection->state = RL_CONNECTION_RESTING;
    connection->backoff = rl_backoff_between(rl_span_us(RETRY_MIN_US), rl_span_us(RETRY_MAX_US));
    rl_stream_init(&connection->stream);
    rl_text_copy(connection->error, sizeof connection->error, "not connected yet");
    connection->cause = RL_CAUSE_CONNECTING;
    return rl_buffers_init(connection);
}

static void set_watch(struct rl_connection *connection, unsigned wants)
{
    if (connection->stream.fd < 0 || wants == connection->watched)
        return;
    if (rl_poller_watch(connection->config->poller, connection->stream.fd, wants, connection->node,
                        connection->watched != 0))
        connection->watched = wants;
}

static void close_stream(struct rl_connection *connection, bool reset)
{
    /* Said to the poller by hand: a forked child may keep the descriptor open, and the poller would keep it too. */
    if (connection->watched != 0)
        rl_poller_forget(connection->config->poller, connection->stream.fd);
    connection->watched = 0;
    connection->life++;
    if (reset)
        rl_stream_abort(&connection->stream);
    else
        rl_stream_close(&connection->stream);
}

void rl_connection_finish(struct rl_connection *connection)
{
    close_stream(connection, connection->out_sent < connection->out_length);
    rl_buffers_free(connection);
}

void rl_connection_forget(struct rl_connection *connection)
{
    rl_stream_forget(&connection->stream);
    rl_buffers_free(connection);
}

/* Rule: a connection with something unanswered is reset, never just closed: the kernel would go on delivering it. */
void rl_connection_break(struct rl_connection *connection, enum rl_cause cause, const char *why,
                         struct rl_time now)
{
    const struct rl_connection_user *user = connection->config->user;
    bool was_ready = connection->state == RL_CONNECTION_READY;
    struct rl_ticket ticket;

    rl_text_copy(connection->error, sizeof connection->error, why);
    connection->cause = cause;
    connection->state = RL_CONNECTION_RESTING;
    close_stream(connection, rl_buffers_unfinished(connection));
    rl_buffers_empty(connection);
    /* The first way back is free, so that a node that just restarted is not missed; later ones are paced. */
    connection->retry_at =
        was_ready ? now : rl_time_add(now, rl_backoff_next(&connection->backoff, connection->config->prng));
    if (was_ready)
        connection->disconnects++;
    while (rl_connection_take_ticket(connection, &ticket))
        user->dropped(user->context, connection, &ticket);
    user->down(user->context, connection);
}

static void break_stream(struct rl_connection *connection, enum rl_io io, struct rl_time now)
{
    char why[sizeof connection->error];

    rl_text_copy(why, sizeof why,
                 io == RL_IO_CLOSED ? "the node closed the connection" : connection->stream.error);
    rl_connection_break(connection, io == RL_IO_CLOSED ? RL_CAUSE_UNREACHABLE : connection->stream.cause, why,
                        now);
}

static void send_greeting(struct rl_connection *connection, struct rl_time now)
{
    struct rl_writer writer = rl_writer_on(connection->out, connection->out_capacity);

    rl_handshake_write(&connection->handshake, &writer);
    assert(!writer.overflow);
    connection->out_length = writer.length;
    connection->out_sent = 0;
    rl_connection_flush(connection, now);
}

static void begin_greeting(struct rl_connection *connection, struct rl_time now)
{
    struct rl_greeting greeting = {
        .user = connection->url.user,
        .password = connection->url.has_password ? connection->url.password : NULL,
        .client_name = connection->config->client_name,
        .db = connection->url.db,
    };

    connection->state = RL_CONNECTION_GREETING;
    rl_handshake_start(&connection->handshake, &greeting);
    send_greeting(connection, now);
}

static void open_address(struct rl_connection *connection, struct rl_time now);

static void continue_opening(struct rl_connection *connection, struct rl_time now)
{
    enum rl_io io = rl_stream_continue(&connection->stream);

    switch (io) {
    case RL_IO_DONE:
        begin_greeting(connection, now);
        return;
    case RL_IO_AGAIN:
        set_watch(connection, connection->stream.wants);
        return;
    case RL_IO_CLOSED:
    case RL_IO_FAILED:
        if (connection->next_address < connection->resolved.count) {
            close_stream(connection, true);
            open_address(connection, now);
        } else {
            break_stream(connection, io, now);
        }
    }
}

static void open_address(struct rl_connection *connection, struct rl_time now)
{
    bool tls = connection->url.transport == RL_TRANSPORT_TLS;

    connection->state = RL_CONNECTION_OPENING;
    while (connection->next_address < connection->resolved.count) {
        const struct rl_address *address = &connection->resolved.addresses[connection->next_address++];

        if (rl_stream_open(&connection->stream, address, tls ? connection->config->tls : NULL,
                           connection->url.host)) {
            continue_opening(connection, now);
            return;
        }
    }
    break_stream(connection, RL_IO_FAILED, now);
}

/* Finds the address without asking anybody, if it can be had that way. */
static bool know_address(struct rl_connection *connection)
{
    struct rl_address *address = &connection->resolved.addresses[0];

    connection->next_address = 0;
    connection->resolved.count = 1;
    if (connection->url.transport == RL_TRANSPORT_UNIX) {
        rl_address_unix(address, connection->url.path);
        return true;
    }
    return rl_address_numeric(address, connection->url.host, connection->url.port);
}

void rl_connection_wake(struct rl_connection *connection, struct rl_time now)
{
    if (connection->state != RL_CONNECTION_RESTING || rl_time_before(now, connection->retry_at))
        return;
    connection->deadline = rl_time_add(now, connection->config->connect_timeout);
    if (know_address(connection)) {
        open_address(connection, now);
        return;
    }
    connection->state = RL_CONNECTION_RESOLVING;
    if (!rl_resolver_ask(connection->config->resolver, connection->node, connection->url.host,
                         connection->url.port))
        rl_connection_break(connection, RL_CAUSE_UNREACHABLE,
                            "cannot start a name look-up: out of memory or threads", now);
}

void rl_connection_resolved(struct rl_connection *connection, const struct rl_resolved *resolved,
                            struct rl_time now)
{
    char why[sizeof connection->error];

    if (connection->state != RL_CONNECTION_RESOLVING)
        return;
    if (resolved->count == 0) {
        snprintf(why, sizeof why, "cannot resolve its name: %.90s", resolved->error);
        rl_connection_break(connection, RL_CAUSE_RESOLVE, why, now);
        return;
    }
    connection->resolved = *resolved;
    connection->next_address = 0;
    open_address(connection, now);
}

static void become_ready(struct rl_connection *connection)
{
    const struct rl_connection_user *user = connection->config->user;

    connection->state = RL_CONNECTION_READY;
    connection->cause = RL_CAUSE_NONE;
    connection->error[0] = '\0';
    rl_backoff_reset(&connection->backoff);
    user->ready(user->context, connection);
}

static void take_greeting(struct rl_connection *connection, const char *bytes, size_t length,
                          struct rl_time now)
{
    rl_handshake_read(&connection->handshake, bytes, length);
    if (connection->handshake.step == RL_HANDSHAKE_READY)
        become_ready(connection);
    else if (connection->handshake.step == RL_HANDSHAKE_FAILED)
        rl_connection_break(connection, connection->handshake.cause, connection->handshake.error, now);
    else
        send_greeting(connection, now);
}

static void take_push(struct rl_connection *connection, const char *bytes, size_t length, struct rl_time now)
{
    const struct rl_connection_user *user = connection->config->user;

    connection->pushed += length;
    if (connection->pushed > PUSHED_MAX)
        rl_connection_break(connection, RL_CAUSE_PROTOCOL, "it floods us with messages that nobody asked for",
                            now);
    else
        user->push(user->context, connection, bytes, length);
}

static void take_reply(struct rl_connection *connection, const char *bytes, size_t length, struct rl_time now)
{
    const struct rl_connection_user *user = connection->config->user;
    struct rl_ticket ticket;

    connection->pushed = 0;
    if (connection->state == RL_CONNECTION_GREETING)
        take_greeting(connection, bytes, length, now);
    else if (connection->ticket_count > connection->enlisted &&
             rl_connection_take_ticket(connection, &ticket))
        user->reply(user->context, connection, &ticket, bytes, length);
    else
        rl_connection_break(connection, RL_CAUSE_PROTOCOL, "it sent an answer that nothing had asked for",
                            now);
}

/* Takes whole messages out of the buffer, one reply at a time. Upcalls may break the connection: look each time. */
static void take_input(struct rl_connection *connection, struct rl_time now)
{
    size_t start, length;

    while (connection->stream.fd >= 0) {
        switch (rl_input_next(connection, &start, &length)) {
        case RL_INPUT_REPLY:
            take_reply(connection, connection->in + start, length, now);
            break;
        case RL_INPUT_PUSH:
            take_push(connection, connection->in + start, length, now);
            break;
        case RL_INPUT_MORE:
            return;
        case RL_INPUT_BAD:
            rl_connection_break(connection, RL_CAUSE_PROTOCOL, "it does not speak the Redis protocol", now);
            return;
        }
    }
}

/* Whether there is more to read that the poller would not tell of, or that there is still time for. A short read has
 * emptied the socket; only TLS may hold more back. */
static bool reads_on(const struct rl_connection *connection, bool filled, size_t total)
{
    if (total >= READ_AT_ONCE)
        return rl_stream_pending(&connection->stream);
    return filled || connection->stream.ssl != NULL;
}

/* Upcalls may break the connection, and even open it anew: then this is not the stream that was read from. */
static void read_input(struct rl_connection *connection, struct rl_time now)
{
    uint32_t life = connection->life;
    size_t got, room, total = 0;
    enum rl_io io;

    do {
        room = rl_input_room(connection);
        if (room == 0) {
            rl_connection_break(connection, RL_CAUSE_PROTOCOL, "its answer is too long", now);
            return;
        }
        got = 0;
        io = rl_stream_read(&connection->stream, connection->in + connection->in_length, room, &got);
        connection->in_length += got;
        total += got;
        if (got > 0)
            take_input(connection, now);
        if (connection->life != life)
            return;
        if (io == RL_IO_CLOSED || io == RL_IO_FAILED) {
            break_stream(connection, io, now);
            return;
        }
    } while (io == RL_IO_DONE && reads_on(connection, got == room, total));
    rl_buffers_settle(connection);
}

void rl_connection_flush(struct rl_connection *connection, struct rl_time now)
{
    enum rl_io io = RL_IO_DONE;
    size_t put;

    if (connection->state < RL_CONNECTION_GREETING)
        return;
    rl_connection_compose(connection);
    while (connection->out_sent < connection->out_length && io == RL_IO_DONE) {
        put = 0;
        io = rl_stream_write(&connection->stream, connection->out + connection->out_sent,
                             connection->out_length - connection->out_sent, &put);
        connection->out_sent += put;
    }
    if (io == RL_IO_CLOSED || io == RL_IO_FAILED) {
        break_stream(connection, io, now);
        return;
    }
    if (connection->out_sent == connection->out_length)
        connection->out_sent = connection->out_length = 0;
    set_watch(connection, RL_WANT_READ | (connection->out_length > 0 ? connection->stream.wants : 0));
}

void rl_connection_handle(struct rl_connection *connection, const struct rl_ready *ready, struct rl_time now)
{
    if (connection->state == RL_CONNECTION_OPENING || connection->state == RL_CONNECTION_GREETING)
        connection->deadline = rl_time_add(connection->deadline, connection->config->unseen);
    if (connection->state == RL_CONNECTION_OPENING) {
        continue_opening(connection, now);
        return;
    }
    if (connection->state >= RL_CONNECTION_GREETING && ready->readable)
        read_input(connection, now);
    if (connection->state >= RL_CONNECTION_GREETING && connection->out_sent < connection->out_length)
        rl_connection_flush(connection, now);
}

static struct rl_span hung_after(const struct rl_connection *connection)
{
    int64_t us = connection->config->node_timeout.us * HUNG_FACTOR;

    return rl_span_us(us > HUNG_MIN_US ? us : HUNG_MIN_US);
}

struct rl_time rl_connection_due(const struct rl_connection *connection)
{
    if (connection->state == RL_CONNECTION_RESTING)
        return RL_TIME_NEVER;
    if (connection->state != RL_CONNECTION_READY)
        return connection->deadline;
    if (connection->ticket_count == 0)
        return RL_TIME_NEVER;
    return rl_time_add(rl_tickets_first(connection)->sent, hung_after(connection));
}

void rl_connection_tick(struct rl_connection *connection, struct rl_time now)
{
    if (rl_time_before(now, rl_connection_due(connection)))
        return;
    switch (connection->state) {
    case RL_CONNECTION_RESTING:
        return;
    case RL_CONNECTION_RESOLVING:
        rl_connection_break(connection, RL_CAUSE_RESOLVE, "the look-up of its name takes too long", now);
        return;
    case RL_CONNECTION_OPENING:
        rl_connection_break(connection, RL_CAUSE_TIMED_OUT, "no connection within connect_timeout_ms", now);
        return;
    case RL_CONNECTION_GREETING:
        rl_connection_break(connection, RL_CAUSE_TIMED_OUT, "connected, but it does not answer", now);
        return;
    case RL_CONNECTION_READY:
        rl_connection_break(connection, RL_CAUSE_TIMED_OUT, "it stopped answering", now);
        return;
    }
}

bool rl_connection_silent(const struct rl_connection *connection, struct rl_time now)
{
    if (connection->state != RL_CONNECTION_READY || connection->ticket_count == 0)
        return false;
    return !rl_time_before(now,
                           rl_time_add(rl_tickets_first(connection)->sent, connection->config->node_timeout));
}
