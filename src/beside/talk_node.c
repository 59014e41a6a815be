/*
 * Connects, greets, sends to and reads from one node; see talk_node.h.
 */
#include "beside/talk_node.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "redlock.h"

enum {
    FIRST_ROOM = 4096,
    HELLO_ROOM = 4096, /* user, password and client name, and what is around them */
    REPLY_MAX = REDLOCK_VALUE_MAX + RL_RESP_MESSAGE_MAX
};

/* ---- room ---- */

static bool make_room(const struct rl_memory *memory, struct rl_room *room, size_t more)
{
    size_t capacity = room->capacity == 0 ? FIRST_ROOM : room->capacity;
    char *bytes;

    if (room->capacity - room->length >= more)
        return true;
    while (capacity - room->length < more)
        capacity *= 2;
    bytes = rl_memory_allocate(memory, capacity);
    if (bytes == NULL)
        return false;
    if (room->length > 0)
        memcpy(bytes, room->bytes, room->length);
    rl_memory_release(memory, room->bytes, room->capacity);
    room->bytes = bytes;
    room->capacity = capacity;
    return true;
}

static void free_room(const struct rl_memory *memory, struct rl_room *room)
{
    rl_memory_release(memory, room->bytes, room->capacity);
    *room = (struct rl_room){0};
}

/* ---- the connection ---- */

void rl_talk_node_fail(struct rl_talk_node *node, enum rl_cause cause, const char *why)
{
    node->failed = true;
    node->cause = cause;
    rl_text_copy(node->error, sizeof node->error, why);
    node->greeted = false;
    rl_connection_close(&node->connection, true);
}

static void send_greeting(struct rl_talk_node *node)
{
    struct rl_writer writer = rl_writer_on(node->hello.bytes, node->hello.capacity);

    rl_handshake_write(&node->handshake, &writer);
    node->hello.length = writer.length;
    node->put = 0;
}

static void begin_greeting(struct rl_talk_node *node)
{
    const struct rl_node_url *url = node->connection.url;
    struct rl_greeting greeting = {.user = url->user,
                                   .password = url->has_password ? url->password : NULL,
                                   .client_name = node->means->config->client_name,
                                   .db = url->db};

    rl_handshake_start(&node->handshake, &greeting);
    node->in.length = node->read = 0;
    send_greeting(node);
}

/* What has to be sent now: the greeting, or the commands. */
static const struct rl_room *to_send(const struct rl_talk_node *node)
{
    return node->greeted ? &node->out : &node->hello;
}

static void write_node(struct rl_talk_node *node)
{
    const struct rl_room *room = to_send(node);
    size_t put;

    if (node->put < room->length) {
        if (!rl_connection_write(&node->connection, room->bytes + node->put, room->length - node->put,
                                 &put)) {
            rl_talk_node_fail(node, node->connection.cause, node->connection.error);
            return;
        }
        node->put += put;
        node->sent = node->sent || (node->greeted && put > 0);
    }
    rl_connection_watch(&node->connection, node->put < room->length);
}

static void become_ready(struct rl_talk_node *node)
{
    node->greeted = true;
    node->put = 0;
    node->in.length = node->read = 0;
    node->deadline = rl_time_add(rl_clock_now(node->means->clock), node->means->config->node_timeout);
}

static void take_greeting(struct rl_talk_node *node, size_t end)
{
    rl_handshake_read(&node->handshake, node->in.bytes, end);
    node->in.length = 0;
    if (node->handshake.step == RL_HANDSHAKE_FAILED)
        rl_talk_node_fail(node, node->handshake.cause, node->handshake.error);
    else if (node->handshake.step == RL_HANDSHAKE_READY)
        become_ready(node);
    else
        send_greeting(node);
    if (!node->failed)
        write_node(node);
}

/* The head of a text: its size, and where it begins. False: it is something else, or not there yet. */
static bool read_head(const char *bytes, size_t length, size_t offset, size_t *size, size_t *start)
{
    const char *head = bytes + offset;
    const char *end = offset < length ? memchr(head, '\n', length - offset) : NULL;
    char digits[24];

    if (end == NULL || *head != '$' || head[1] == '-' || (size_t)(end - head) >= sizeof digits)
        return false;
    memcpy(digits, head + 1, (size_t)(end - head) - 1);
    digits[end - head - 1] = '\0';
    *size = strtoul(digits, NULL, 10);
    *start = (size_t)(end + 1 - bytes);
    return true;
}

/* A text may be longer than any message of the lock's: its head alone says where it ends. */
static enum rl_resp_status skip_message(const char *bytes, size_t length, size_t *offset)
{
    size_t size, start;

    if (*offset >= length)
        return RL_RESP_MORE;
    if (!read_head(bytes, length, *offset, &size, &start) || size < RL_RESP_MESSAGE_MAX / 2)
        return rl_resp_skip(bytes, length, offset);
    if (size > REDLOCK_VALUE_MAX)
        return RL_RESP_BAD;
    if (length - start < size + 2)
        return RL_RESP_MORE;
    *offset = start + size + 2;
    return RL_RESP_OK;
}

/* What cannot be read: something else than Redis speaks, or a value that is too long. */
static void refuse_input(struct rl_talk_node *node)
{
    size_t size = 0, start;

    node->too_long =
        read_head(node->in.bytes, node->in.length, node->read, &size, &start) && size > REDLOCK_VALUE_MAX;
    rl_talk_node_fail(node, RL_CAUSE_PROTOCOL,
                      node->too_long ? "its answer is too long" : "it does not speak the Redis protocol");
}

static void take_input(struct rl_talk_node *node)
{
    while (!node->failed && (!node->greeted || node->replies < node->commands)) {
        enum rl_resp_status status = skip_message(node->in.bytes, node->in.length, &node->read);

        if (status == RL_RESP_MORE)
            return;
        if (status == RL_RESP_BAD)
            refuse_input(node);
        else if (!node->greeted) {
            size_t end = node->read;

            node->read = 0;
            take_greeting(node, end);
        } else {
            node->replies++;
        }
    }
}

static void read_node(struct rl_talk_node *node)
{
    bool more = true;
    size_t got;

    while (more && !node->failed && !rl_talk_answered(node)) {
        if (node->in.length >= REPLY_MAX || !make_room(node->means->memory, &node->in, FIRST_ROOM)) {
            rl_talk_node_fail(node, RL_CAUSE_MEMORY, "there is no memory for its answer");
            return;
        }
        bool fine = rl_connection_read(&node->connection, node->in.bytes + node->in.length,
                                       node->in.capacity - node->in.length, &got, &more);
        node->in.length += got;
        take_input(node);
        if (!fine && !node->failed && !rl_talk_answered(node))
            rl_talk_node_fail(node, node->connection.cause, node->connection.error);
    }
}

/* The connection has come further, or has failed. */
static void follow_connection(struct rl_talk_node *node)
{
    if (node->connection.state == RL_CONNECTION_FAILED) {
        rl_talk_node_fail(node, node->connection.cause, node->connection.error);
    } else if (node->connection.state == RL_CONNECTION_OPEN) {
        begin_greeting(node);
        write_node(node);
    }
}

void rl_talk_node_begin(struct rl_talk_node *node)
{
    node->asked = node->failed = node->sent = node->too_long = false;
    node->commands = node->replies = 0;
    node->read = node->put = node->in.length = node->out.length = 0;
}

void rl_talk_node_write(struct rl_talk_node *node, const struct rl_argument *arguments, uint32_t count)
{
    size_t size = 32;
    struct rl_writer writer;

    for (uint32_t i = 0; i < count; i++)
        size += arguments[i].length + 32;
    node->asked = true;
    if (!make_room(node->means->memory, &node->out, size) ||
        !make_room(node->means->memory, &node->hello, HELLO_ROOM)) {
        rl_talk_node_fail(node, RL_CAUSE_MEMORY, "there is no memory to ask it");
        return;
    }
    writer = rl_writer_on(node->out.bytes + node->out.length, node->out.capacity - node->out.length);
    rl_write_command(&writer, count);
    for (uint32_t i = 0; i < count; i++)
        rl_write_bytes(&writer, arguments[i].bytes, arguments[i].length);
    node->out.length += writer.length;
    node->commands++;
}

void rl_talk_node_start(struct rl_talk_node *node)
{
    const struct rl_config *config = node->means->config;

    node->deadline = rl_time_add(rl_clock_now(node->means->clock),
                                 node->greeted ? config->node_timeout : config->connect_timeout);
    if (node->greeted) {
        write_node(node);
        return;
    }
    rl_connection_open(&node->connection);
    follow_connection(node);
}

void rl_talk_node_resolved(struct rl_talk_node *node, const struct rl_resolved *resolved)
{
    if (node->connection.state != RL_CONNECTION_RESOLVING)
        return;
    rl_connection_resolved(&node->connection, resolved);
    follow_connection(node);
}

void rl_talk_node_ready(struct rl_talk_node *node, const struct rl_ready *ready)
{
    if (node->connection.state == RL_CONNECTION_OPENING) {
        rl_connection_continue(&node->connection);
        follow_connection(node);
        return;
    }
    /* It has closed the connection, or says something unasked, while others are waited for: its answer counts
     * all the same. */
    if (node->connection.state == RL_CONNECTION_OPEN && ready->readable && !rl_talk_node_awaited(node)) {
        node->greeted = false;
        rl_connection_close(&node->connection, true);
        return;
    }
    if (node->connection.state == RL_CONNECTION_OPEN && ready->readable)
        read_node(node);
    if (node->connection.state == RL_CONNECTION_OPEN && node->put < to_send(node)->length)
        write_node(node);
}

void rl_talk_node_close(struct rl_talk_node *node)
{
    if (node->connection.state != RL_CONNECTION_CLOSED)
        rl_connection_close(&node->connection, false);
    free_room(node->means->memory, &node->in);
    free_room(node->means->memory, &node->out);
    free_room(node->means->memory, &node->hello);
}

/* ---- replies ---- */

bool rl_talk_skip(const struct rl_talk_node *node, size_t *offset)
{
    return skip_message(node->in.bytes, node->in.length, offset) == RL_RESP_OK;
}

bool rl_talk_item(const struct rl_talk_node *node, size_t *offset, struct rl_resp *item)
{
    const char *bytes = node->in.bytes + *offset;
    size_t end = *offset;

    if (*offset >= node->read)
        return false;
    if (rl_resp_next(node->in.bytes, node->in.length, offset, item) == RL_RESP_OK)
        return true;
    /* A text that is too long for a message of the lock's: it has been measured already. */
    if (*bytes != '$' || skip_message(node->in.bytes, node->in.length, &end) != RL_RESP_OK)
        return false;
    const char *text = (const char *)memchr(bytes, '\n', end - *offset) + 1;
    *item = (struct rl_resp){
        .type = RL_RESP_STRING, .text = text, .text_length = (size_t)(node->in.bytes + end - 2 - text)};
    *offset = end;
    return true;
}
