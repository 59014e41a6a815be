/*
 * Buffers and tickets of a connection; see connection_buffer.h. They are born at a working size, grow only when a burst
 * needs it, up to a limit, and shrink again when it is over.
 */
#include "net/connection_buffer.h"

#include <assert.h>
#include <string.h>

#include "wire/resp_reader.h"

enum {
    BUFFER_BORN = 16384,
    OUT_MAX = 1048576,
    IN_MAX = 2 * RL_RESP_MESSAGE_MAX,
    TICKETS_BORN = 64,
    TICKETS_MAX = 65536
};

static void *allocate(struct rl_connection *connection, size_t size)
{
    return connection->config->user->allocate(connection->config->user->context, size);
}

static void release(struct rl_connection *connection, void *memory, size_t size)
{
    if (memory != NULL)
        connection->config->user->release(connection->config->user->context, memory, size);
}

bool rl_buffers_init(struct rl_connection *connection)
{
    connection->out = allocate(connection, BUFFER_BORN);
    connection->in = allocate(connection, BUFFER_BORN);
    connection->tickets = allocate(connection, TICKETS_BORN * sizeof *connection->tickets);
    connection->out_capacity = connection->in_capacity = BUFFER_BORN;
    connection->ticket_capacity = TICKETS_BORN;
    if (connection->out != NULL && connection->in != NULL && connection->tickets != NULL)
        return true;
    rl_buffers_free(connection);
    return false;
}

void rl_buffers_free(struct rl_connection *connection)
{
    release(connection, connection->tickets, connection->ticket_capacity * sizeof *connection->tickets);
    release(connection, connection->in, connection->in_capacity);
    release(connection, connection->out, connection->out_capacity);
    connection->tickets = NULL;
    connection->in = connection->out = NULL;
}

void rl_buffers_empty(struct rl_connection *connection)
{
    connection->out_length = connection->out_sent = 0;
    connection->in_length = connection->in_taken = 0;
    connection->enlisted = connection->answers_left = 0;
    connection->enlisted_bytes = 0;
}

bool rl_buffers_unfinished(const struct rl_connection *connection)
{
    return connection->ticket_count > 0 || connection->out_sent < connection->out_length;
}

/* A copy of a buffer in another size, or false with the old one untouched. */
static bool resize(struct rl_connection *connection, char **buffer, size_t *capacity, size_t used,
                   size_t wanted)
{
    char *resized = allocate(connection, wanted);

    if (resized == NULL)
        return false;
    memcpy(resized, *buffer, used);
    release(connection, *buffer, *capacity);
    *buffer = resized;
    *capacity = wanted;
    return true;
}

static bool resize_tickets(struct rl_connection *connection, uint32_t wanted)
{
    uint32_t capacity = connection->ticket_capacity;
    struct rl_ticket *resized = allocate(connection, wanted * sizeof *resized);

    if (resized == NULL)
        return false;
    for (uint32_t i = 0; i < connection->ticket_count; i++)
        resized[i] = connection->tickets[(connection->first_ticket + i) % capacity];
    release(connection, connection->tickets, capacity * sizeof *resized);
    connection->tickets = resized;
    connection->ticket_capacity = wanted;
    connection->first_ticket = 0;
    return true;
}

static bool grow_tickets(struct rl_connection *connection)
{
    uint32_t wanted = connection->ticket_capacity * 2;

    return wanted <= TICKETS_MAX && resize_tickets(connection, wanted);
}

void rl_buffers_settle(struct rl_connection *connection)
{
    if (rl_buffers_unfinished(connection))
        return;
    if (connection->out_capacity > BUFFER_BORN &&
        resize(connection, &connection->out, &connection->out_capacity, 0, BUFFER_BORN))
        connection->out_length = connection->out_sent = 0;
    if (connection->ticket_capacity > TICKETS_BORN)
        resize_tickets(connection, TICKETS_BORN);
}

static void move_out_to_front(struct rl_connection *connection)
{
    if (connection->out_sent == 0)
        return;
    connection->out_length -= connection->out_sent;
    memmove(connection->out, connection->out + connection->out_sent, connection->out_length);
    connection->out_sent = 0;
}

/* Room for a ticket and for so many bytes behind what is written. */
static bool make_room(struct rl_connection *connection, size_t size)
{
    size_t wanted = connection->out_capacity;

    if (connection->state != RL_CONNECTION_READY)
        return false;
    if (connection->ticket_count == connection->ticket_capacity && !grow_tickets(connection))
        return false;
    if (connection->out_capacity - connection->out_length < size)
        move_out_to_front(connection);
    while (wanted - connection->out_length < size && wanted < OUT_MAX)
        wanted *= 2;
    if (wanted - connection->out_length < size)
        return false;
    return wanted == connection->out_capacity ||
           resize(connection, &connection->out, &connection->out_capacity, connection->out_length, wanted);
}

static struct rl_writer write_behind(struct rl_connection *connection)
{
    return rl_writer_on(connection->out + connection->out_length,
                        connection->out_capacity - connection->out_length);
}

bool rl_connection_reserve(struct rl_connection *connection, size_t size, struct rl_writer *writer)
{
    rl_connection_compose(connection);
    if (!make_room(connection, size))
        return false;
    *writer = write_behind(connection);
    return true;
}

static void add_ticket(struct rl_connection *connection, const struct rl_ticket *ticket)
{
    assert(connection->ticket_count < connection->ticket_capacity);
    connection->tickets[(connection->first_ticket + connection->ticket_count) % connection->ticket_capacity] =
        *ticket;
    connection->ticket_count++;
}

void rl_connection_commit(struct rl_connection *connection, const struct rl_writer *writer,
                          const struct rl_ticket *ticket)
{
    assert(!writer->overflow);
    connection->out_length += writer->length;
    add_ticket(connection, ticket);
}

bool rl_connection_enlist(struct rl_connection *connection, size_t size, const struct rl_ticket *ticket)
{
    if (!make_room(connection, connection->enlisted_bytes + size))
        return false;
    add_ticket(connection, ticket);
    connection->enlisted++;
    connection->enlisted_bytes += size;
    return true;
}

struct rl_ticket *rl_connection_recent(struct rl_connection *connection, uint32_t count, uint32_t i)
{
    assert(i < count && count <= connection->ticket_count);
    return &connection->tickets[(connection->first_ticket + connection->ticket_count - count + i) %
                                connection->ticket_capacity];
}

void rl_connection_compose(struct rl_connection *connection)
{
    const struct rl_connection_user *user = connection->config->user;
    struct rl_writer writer = write_behind(connection);
    uint32_t count = connection->enlisted;

    if (count == 0)
        return;
    connection->enlisted = 0;
    connection->enlisted_bytes = 0;
    user->compose(user->context, connection, count, &writer);
    assert(!writer.overflow);
    connection->out_length += writer.length;
}

const struct rl_ticket *rl_tickets_first(const struct rl_connection *connection)
{
    assert(connection->ticket_count > 0);
    return &connection->tickets[connection->first_ticket];
}

bool rl_connection_take_ticket(struct rl_connection *connection, struct rl_ticket *ticket)
{
    if (connection->ticket_count == 0)
        return false;
    *ticket = *rl_tickets_first(connection);
    connection->first_ticket = (connection->first_ticket + 1) % connection->ticket_capacity;
    connection->ticket_count--;
    return true;
}

size_t rl_input_room(struct rl_connection *connection)
{
    if (connection->in_taken > 0) {
        connection->in_length -= connection->in_taken;
        memmove(connection->in, connection->in + connection->in_taken, connection->in_length);
        connection->in_taken = 0;
    }
    if (connection->in_length == connection->in_capacity && connection->in_capacity < IN_MAX)
        resize(connection, &connection->in, &connection->in_capacity, connection->in_length,
               connection->in_capacity * 2);
    return connection->in_capacity - connection->in_length;
}

static void reverse(char *bytes, size_t length)
{
    for (size_t i = 0; i < length / 2; i++) {
        char byte = bytes[i];

        bytes[i] = bytes[length - 1 - i];
        bytes[length - 1 - i] = byte;
    }
}

/* Pushes may come between two messages of one reply: take such a one out of the middle. */
static enum rl_input take_inner_push(struct rl_connection *connection, size_t at, size_t end, size_t *start,
                                     size_t *length)
{
    char *in = connection->in;
    size_t size = end - at, taken = connection->in_taken;

    /* To the front of the reply with it: both parts are turned round, and then the whole. */
    if (at > taken) {
        reverse(in + taken, at - taken);
        reverse(in + at, size);
        reverse(in + taken, end - taken);
    }
    *start = taken;
    *length = size;
    connection->in_taken += size;
    return RL_INPUT_PUSH;
}

/* A command for several requests is answered by an array with an answer for each of them, whose head is passed over, or by
 * one error, which all of them get. */
static enum rl_input open_common_reply(struct rl_connection *connection, uint32_t count)
{
    size_t end = connection->in_taken;
    struct rl_resp head;
    enum rl_resp_status status;

    if (end == connection->in_length)
        return RL_INPUT_MORE;
    if (connection->in[end] == '>')
        return RL_INPUT_PUSH;
    connection->refused_together = connection->in[end] == '-';
    if (!connection->refused_together) {
        status = rl_resp_next(connection->in, connection->in_length, &end, &head);
        if (status == RL_RESP_MORE)
            return RL_INPUT_MORE;
        if (status != RL_RESP_OK || head.type != RL_RESP_ARRAY || head.element_count != count)
            return RL_INPUT_BAD;
        connection->in_taken = end;
    }
    connection->answers_left = count;
    return RL_INPUT_REPLY;
}

/* One request fewer waits for its part of a common reply; an error stays until the last one had it. */
static void pass_common_reply(struct rl_connection *connection, size_t start)
{
    if (connection->answers_left == 0)
        return;
    connection->answers_left--;
    if (connection->refused_together && connection->answers_left > 0)
        connection->in_taken = start;
}

enum rl_input rl_input_next(struct rl_connection *connection, size_t *start, size_t *length)
{
    const struct rl_ticket *first = NULL;
    uint32_t wanted = 1;
    size_t at, end;

    /* What is enlisted has not been sent: nothing can be an answer to it. */
    if (connection->state == RL_CONNECTION_READY && connection->ticket_count > connection->enlisted)
        first = rl_tickets_first(connection);
    if (first != NULL)
        wanted = first->replies;
    if (first != NULL && first->together > 1 && connection->answers_left == 0) {
        enum rl_input head = open_common_reply(connection, first->together);

        if (head == RL_INPUT_MORE || head == RL_INPUT_BAD)
            return head;
    }
    at = connection->in_taken;
    for (uint32_t i = 0; i < wanted; i++, at = end) {
        enum rl_resp_status status;

        end = at;
        status = rl_resp_skip(connection->in, connection->in_length, &end);
        if (status != RL_RESP_OK)
            return status == RL_RESP_BAD ? RL_INPUT_BAD : RL_INPUT_MORE;
        if (connection->in[at] == '>')
            return take_inner_push(connection, at, end, start, length);
    }
    *start = connection->in_taken;
    *length = at - connection->in_taken;
    connection->in_taken = at;
    pass_common_reply(connection, *start);
    return RL_INPUT_REPLY;
}
