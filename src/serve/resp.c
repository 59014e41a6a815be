/*
 * The RESP port; see resp.h. It reads commands and keeps what is known of a client; resp_commands.c does what
 * they ask for.
 */
#include "serve/resp.h"

#include <stdio.h>
#include <stdlib.h>

#include "serve/resp_commands.h"

static struct serve_resp_client *client_of(struct serve_connection *connection)
{
    if (connection->attachment == NULL) {
        struct serve_resp_client *client = calloc(1, sizeof *client);
        if (client != NULL)
            client->version = 2;
        connection->attachment = client;
        connection->detach = free;
    }
    return connection->attachment;
}

static bool read_command(struct serve_connection *connection)
{
    struct evbuffer *input = bufferevent_get_input(connection->buffer);
    size_t length = evbuffer_get_length(input);
    const char *bytes = (const char *)evbuffer_pullup(input, -1);
    struct serve_resp_client *client = client_of(connection);
    struct serve_command command;
    char words[200];

    if (bytes == NULL || client == NULL) {
        serve_resp_error(connection, "ERR redlock: out of memory");
        serve_connection_finish(connection);
        return false;
    }
    int status = serve_command_read(bytes, length, &command);
    if (status == SERVE_COMMAND_WRONG) {
        snprintf(words, sizeof words, "ERR Protocol error: %s", command.problem);
        serve_resp_error(connection, words);
        serve_connection_finish(connection);
        return false;
    }
    if (status == SERVE_COMMAND_MORE)
        return false;
    serve_resp_handle(&(struct serve_asked){connection, client, command.words, command.count});
    evbuffer_drain(input, command.length);
    return true;
}

/* Clients of a pool stay connected for as long as they like. */
static void be_late(struct serve_connection *connection)
{
    serve_resp_error(connection, "ERR Protocol error: the command was not whole in time");
    serve_connection_finish(connection);
}

static void stop(struct serve_connection *connection)
{
    serve_connection_close(connection);
}

const struct serve_protocol serve_resp = {
    .name = "RESP",
    .read = read_command,
    .late = be_late,
    .stop = stop,
    .input_max = 2 * SERVE_COMMAND_MAX,
    .idle_ms = INT64_MAX / 2,
};
