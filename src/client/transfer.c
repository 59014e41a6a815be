/*
 * Moves bytes, connection by connection; see transfer.h.
 */
#include "client/transfer.h"

enum {
    /* bytes that one node may keep us busy with before timers and other nodes have their turn */
    READ_AT_ONCE = 65536
};

static rl_node_set take(rl_node_set *nodes)
{
    rl_node_set taken = *nodes;

    *nodes = 0;
    return taken;
}

static void lose(redlock_client *client, const struct rl_connection *connection)
{
    client->broke = true;
    rl_engine_down(&client->engine, connection->node, connection->cause, connection->error);
}

/* Tells the engine how far a connection has got. */
static void report(redlock_client *client, const struct rl_connection *connection)
{
    struct rl_engine *engine = &client->engine;

    rl_engine_resolving(engine, connection->node, connection->state == RL_CONNECTION_RESOLVING);
    if (connection->state == RL_CONNECTION_OPEN)
        rl_engine_up(engine, connection->node);
    else if (connection->state == RL_CONNECTION_FAILED)
        lose(client, connection);
}

static void close_connections(redlock_client *client)
{
    rl_node_set reset = take(&client->engine.wants.reset);

    for (rl_node_set left = take(&client->engine.wants.close); left != 0; left &= left - 1) {
        uint32_t node = rl_node_set_first(left);

        rl_connection_close(&client->connections[node], rl_node_set_has(reset, node));
    }
}

void rl_transfer_connect(redlock_client *client)
{
    struct rl_wants *wants = &client->engine.wants;

    while (wants->close != 0 || wants->open != 0) {
        close_connections(client);
        if (wants->open != 0) {
            struct rl_connection *connection = &client->connections[rl_node_set_first(wants->open)];

            wants->open &= wants->open - 1;
            rl_connection_open(connection);
            report(client, connection);
        }
    }
}

static void write_node(redlock_client *client, struct rl_connection *connection)
{
    struct rl_engine *engine = &client->engine;
    const char *bytes;
    size_t length = rl_engine_output(engine, connection->node, &bytes), put = 0;

    if (connection->state != RL_CONNECTION_OPEN)
        return;
    if (length > 0 && !rl_connection_write(connection, bytes, length, &put)) {
        lose(client, connection);
        return;
    }
    rl_engine_sent(engine, connection->node, put);
    rl_connection_watch(connection, put < length);
}

void rl_transfer_write(redlock_client *client)
{
    rl_node_set *nodes = &client->engine.wants.write;

    while (*nodes != 0)
        write_node(client, &client->connections[rl_node_set_first(*nodes)]);
}

/* The engine may want the connection closed because of what it read: then nothing more of it counts. */
static bool is_unwanted(const redlock_client *client, const struct rl_connection *connection)
{
    return rl_node_set_has(client->engine.wants.close, connection->node);
}

static void read_node(redlock_client *client, struct rl_connection *connection)
{
    struct rl_engine *engine = &client->engine;
    size_t got, room, total = 0;
    bool fine, more;
    char *bytes;

    do {
        room = rl_engine_room(engine, connection->node, &bytes);
        if (room == 0)
            return;
        fine = rl_connection_read(connection, bytes, room, &got, &more);
        total += got;
        rl_client_now(
            /* nodes' clocks are judged by when they were heard, however long the others took before */
            client);
        if (got > 0)
            rl_engine_received(engine, connection->node, got);
        if (is_unwanted(client, connection))
            return;
        if (!fine) {
            lose(client, connection);
            return;
        }
    } while (more && (total < READ_AT_ONCE || rl_connection_pending(connection)));
    rl_engine_read_all(engine, connection->node);
}

static void take_ready(redlock_client *client, const struct rl_ready *ready)
{
    struct rl_connection *connection = &client->connections[ready->tag];

    if (connection->state == RL_CONNECTION_OPENING) {
        rl_connection_continue(connection);
        report(client, connection);
        return;
    }
    if (connection->state == RL_CONNECTION_OPEN && ready->readable)
        read_node(client, connection);
    if (connection->state == RL_CONNECTION_OPEN && !is_unwanted(client, connection) &&
        rl_engine_unsent(&client->engine, connection->node))
        write_node(client, connection);
}

static void take_resolved(redlock_client *client)
{
    struct rl_resolved resolved;

    while (rl_resolver_take(client->resolver, &resolved)) {
        struct rl_connection *connection = &client->connections[resolved.tag];

        if (connection->state != RL_CONNECTION_RESOLVING)
            continue;
        rl_connection_resolved(connection, &resolved);
        report(client, connection);
    }
}

void rl_transfer_ready(redlock_client *client, const struct rl_ready *ready, int count, struct rl_span unseen)
{
    rl_client_now(client);
    for (int i = 0; i < count; i++) {
        rl_transfer_connect(client); /* nothing is read from a connection that is to be closed */
        if (ready[i].tag == RL_POLLER_BELL) {
            take_resolved(client);
        } else {
            rl_engine_unseen(&client->engine, ready[i].tag, unseen);
            take_ready(client, &ready[i]);
        }
    }
}
