/*
 * Connects, greets, sends and reads for calls that have connections of their own; see talk.h.
 */
#include "client/talk.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bytes.h"
#include "redlock.h"

enum {
    FIRST_ROOM = 4096,
    HELLO_ROOM = 4096, /* user, password and client name, and what is around them */
    REPLY_MAX = REDLOCK_VALUE_MAX + RL_RESP_MESSAGE_MAX,
    SLICE_MS = 50 /* how soon a closing client is noticed */
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

/* ---- one node ---- */

struct rl_time rl_talk_now(struct rl_talk *talk)
{
    return rl_clock_now(&talk->clock);
}

/* With a reset: what it was asked and has not carried out yet must not be carried out later. */
static void fail(struct rl_talk_node *node, enum rl_cause cause, const char *why)
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

static void begin_greeting(struct rl_talk *talk, struct rl_talk_node *node)
{
    const struct rl_node_url *url = node->connection.url;
    struct rl_greeting greeting = {.user = url->user,
                                   .password = url->has_password ? url->password : NULL,
                                   .client_name = talk->client->engine.config.client_name,
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
            fail(node, node->connection.cause, node->connection.error);
            return;
        }
        node->put += put;
        node->sent = node->sent || (node->greeted && put > 0);
    }
    rl_connection_watch(&node->connection, node->put < room->length);
}

static void become_ready(struct rl_talk *talk, struct rl_talk_node *node)
{
    node->greeted = true;
    node->put = 0;
    node->in.length = node->read = 0;
    node->deadline = rl_time_add(rl_talk_now(talk), talk->client->engine.config.node_timeout);
}

static void take_greeting(struct rl_talk *talk, struct rl_talk_node *node, size_t end)
{
    rl_handshake_read(&node->handshake, node->in.bytes, end);
    node->in.length = 0;
    if (node->handshake.step == RL_HANDSHAKE_FAILED)
        fail(node, node->handshake.cause, node->handshake.error);
    else if (node->handshake.step == RL_HANDSHAKE_READY)
        become_ready(talk, node);
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
    fail(node, RL_CAUSE_PROTOCOL,
         node->too_long ? "its answer is too long" : "it does not speak the Redis protocol");
}

static void take_input(struct rl_talk *talk, struct rl_talk_node *node)
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
            take_greeting(talk, node, end);
        } else {
            node->replies++;
        }
    }
}

static void read_node(struct rl_talk *talk, struct rl_talk_node *node)
{
    bool more = true;
    size_t got;

    while (more && !node->failed && !rl_talk_answered(node)) {
        if (node->in.length >= REPLY_MAX || !make_room(talk->memory, &node->in, FIRST_ROOM)) {
            fail(node, RL_CAUSE_MEMORY, "there is no memory for its answer");
            return;
        }
        bool fine = rl_connection_read(&node->connection, node->in.bytes + node->in.length,
                                       node->in.capacity - node->in.length, &got, &more);
        node->in.length += got;
        take_input(talk, node);
        if (!fine && !node->failed && !rl_talk_answered(node))
            fail(node, node->connection.cause, node->connection.error);
    }
}

/* The connection has come further, or has failed. */
static void follow_connection(struct rl_talk *talk, struct rl_talk_node *node)
{
    if (node->connection.state == RL_CONNECTION_FAILED) {
        fail(node, node->connection.cause, node->connection.error);
    } else if (node->connection.state == RL_CONNECTION_OPEN) {
        begin_greeting(talk, node);
        write_node(node);
    }
}

static void take_resolved(struct rl_talk *talk)
{
    struct rl_resolved resolved;

    while (rl_resolver_take(talk->resolver, &resolved)) {
        struct rl_talk_node *node = &talk->nodes[resolved.tag];

        if (node->connection.state != RL_CONNECTION_RESOLVING)
            continue;
        rl_connection_resolved(&node->connection, &resolved);
        follow_connection(talk, node);
    }
}

static bool is_awaited(const struct rl_talk_node *node)
{
    return node->asked && !node->failed && !rl_talk_answered(node);
}

static void take_ready(struct rl_talk *talk, const struct rl_ready *ready)
{
    struct rl_talk_node *node = &talk->nodes[ready->tag];

    if (node->connection.state == RL_CONNECTION_OPENING) {
        rl_connection_continue(&node->connection);
        follow_connection(talk, node);
        return;
    }
    /* It has closed the connection, or says something unasked, while others are waited for: its answer counts all the same. */
    if (node->connection.state == RL_CONNECTION_OPEN && ready->readable && !is_awaited(node)) {
        node->greeted = false;
        rl_connection_close(&node->connection, true);
        return;
    }
    if (node->connection.state == RL_CONNECTION_OPEN && ready->readable)
        read_node(talk, node);
    if (node->connection.state == RL_CONNECTION_OPEN && node->put < to_send(node)->length)
        write_node(node);
}

/* ---- all of them ---- */

static void ring_bell(void *context)
{
    rl_poller_ring(&((struct rl_talk *)context)->poller);
}

static size_t talk_size(uint32_t node_count)
{
    return sizeof(struct rl_talk) + node_count * sizeof(struct rl_talk_node);
}

struct rl_talk *rl_talk_open(redlock_client *client, redlock_result *result)
{
    const struct rl_memory *memory = &client->engine.host.memory;
    uint32_t node_count = client->engine.node_count;
    struct rl_talk *talk = rl_memory_allocate(memory, talk_size(node_count));

    *result = REDLOCK_NOMEM;
    if (talk == NULL)
        return NULL;
    memset(talk, 0, talk_size(node_count));
    talk->client = client;
    talk->memory = memory;
    talk->node_count = node_count;
    talk->poller.epoll_fd = talk->poller.bell_fd = -1;
    rl_clock_start(&talk->clock);
    for (uint32_t i = 0; i < node_count; i++)
        rl_connection_init(&talk->nodes[i].connection, &talk->config, i, &client->engine.sessions[i].url);
    if (!rl_poller_open(&talk->poller)) {
        *result = REDLOCK_SYSTEM;
        rl_talk_close(talk);
        return NULL;
    }
    talk->resolver = rl_resolver_create(memory->allocate, memory->release, memory->context, ring_bell, talk);
    talk->config = (struct rl_connection_config){&talk->poller, talk->resolver, client->tls};
    if (talk->resolver == NULL) {
        rl_talk_close(talk);
        return NULL;
    }
    *result = REDLOCK_OK;
    return talk;
}

void rl_talk_close(struct rl_talk *talk)
{
    if (talk == NULL)
        return;
    for (uint32_t i = 0; i < talk->node_count; i++) {
        struct rl_talk_node *node = &talk->nodes[i];

        if (node->connection.state != RL_CONNECTION_CLOSED)
            rl_connection_close(&node->connection, false);
        free_room(talk->memory, &node->in);
        free_room(talk->memory, &node->out);
        free_room(talk->memory, &node->hello);
    }
    rl_resolver_free(talk->resolver);
    rl_poller_close(&talk->poller);
    rl_memory_release(talk->memory, talk, talk_size(talk->node_count));
}

void rl_talk_begin(struct rl_talk *talk)
{
    for (uint32_t i = 0; i < talk->node_count; i++) {
        struct rl_talk_node *node = &talk->nodes[i];

        node->asked = node->failed = node->sent = node->too_long = false;
        node->commands = node->replies = 0;
        node->read = node->put = node->in.length = node->out.length = 0;
    }
}

void rl_talk_write(struct rl_talk *talk, uint32_t number, const struct rl_argument *arguments, uint32_t count)
{
    struct rl_talk_node *node = &talk->nodes[number];
    size_t size = 32;
    struct rl_writer writer;

    for (uint32_t i = 0; i < count; i++)
        size += arguments[i].length + 32;
    node->asked = true;
    if (!make_room(talk->memory, &node->out, size) || !make_room(talk->memory, &node->hello, HELLO_ROOM)) {
        fail(node, RL_CAUSE_MEMORY, "there is no memory to ask it");
        return;
    }
    writer = rl_writer_on(node->out.bytes + node->out.length, node->out.capacity - node->out.length);
    rl_write_command(&writer, count);
    for (uint32_t i = 0; i < count; i++)
        rl_write_bytes(&writer, arguments[i].bytes, arguments[i].length);
    node->out.length += writer.length;
    node->commands++;
}

static void start_node(struct rl_talk *talk, struct rl_talk_node *node)
{
    const struct rl_config *config = &talk->client->engine.config;

    node->deadline =
        rl_time_add(rl_talk_now(talk), node->greeted ? config->node_timeout : config->connect_timeout);
    if (node->greeted) {
        write_node(node);
        return;
    }
    rl_connection_open(&node->connection);
    follow_connection(talk, node);
}

/* The first deadline of those that are waited for; false: nobody is. */
static bool next_deadline(struct rl_talk *talk, struct rl_time *deadline)
{
    bool waits = false;

    *deadline = RL_TIME_NEVER;
    for (uint32_t i = 0; i < talk->node_count; i++) {
        struct rl_talk_node *node = &talk->nodes[i];

        if (!is_awaited(node))
            continue;
        if (!rl_time_before(rl_talk_now(talk), node->deadline)) {
            fail(node, RL_CAUSE_TIMED_OUT,
                 node->greeted ? "no answer within node_timeout_ms"
                               : "no connection within connect_timeout_ms");
            continue;
        }
        *deadline = rl_time_min(*deadline, node->deadline);
        waits = true;
    }
    return waits;
}

void rl_talk_exchange(struct rl_talk *talk)
{
    struct rl_ready ready[RL_NODES_MAX + 1];
    struct rl_time deadline;

    for (uint32_t i = 0; i < talk->node_count; i++)
        if (talk->nodes[i].asked && !talk->nodes[i].failed)
            start_node(talk, &talk->nodes[i]);
    while (next_deadline(talk, &deadline)) {
        int count = rl_poller_wait(&talk->poller, rl_time_since(deadline, rl_talk_now(talk)), ready,
                                   RL_NODES_MAX + 1);

        for (int i = 0; i < count; i++) {
            if (ready[i].tag == RL_POLLER_BELL)
                take_resolved(talk);
            else
                take_ready(talk, &ready[i]);
        }
    }
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

/* ---- resting ---- */

static bool is_closing(redlock_client *client)
{
    bool closing;

    pthread_mutex_lock(&client->mutex);
    closing = client->engine.closing;
    pthread_mutex_unlock(&client->mutex);
    return closing;
}

bool rl_talk_rest(struct rl_talk *talk, struct rl_span span)
{
    struct rl_time end = rl_time_add(rl_talk_now(talk), span), now;

    while (rl_time_before(now = rl_talk_now(talk), end)) {
        struct rl_span left = rl_time_since(end, now);
        struct rl_span slice = left.us < SLICE_MS * 1000 ? left : rl_span_ms(SLICE_MS);
        struct timespec pause = {.tv_sec = 0, .tv_nsec = (long)slice.us * 1000};

        if (is_closing(talk->client))
            return false;
        nanosleep(&pause, NULL);
    }
    return !is_closing(talk->client);
}
