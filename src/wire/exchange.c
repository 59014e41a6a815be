/*
 * Buffers and pending requests of a connection; see exchange.h. They are born at a working size, grow only
 * when a burst needs it, up to a limit, and shrink again when it is over.
 */
#include "wire/exchange.h"

#include <assert.h>
#include <string.h>

#include "wire/resp_reader.h"

enum {
    BUFFER_BORN = 16384,
    OUT_MAX = 1048576,
    IN_MAX = 2 * RL_RESP_MESSAGE_MAX,
    RING_BORN = 64,
    RING_MAX = 65536
};

static void *allocate(struct rl_exchange *exchange, size_t size)
{
    return rl_memory_allocate(exchange->memory, size);
}

static void release(struct rl_exchange *exchange, void *bytes, size_t size)
{
    rl_memory_release(exchange->memory, bytes, size);
}

bool rl_exchange_init(struct rl_exchange *exchange, const struct rl_memory *memory,
                      void (*compose)(struct rl_exchange *exchange, uint32_t count, struct rl_writer *writer))
{
    exchange->memory = memory;
    exchange->compose = compose;
    exchange->out = allocate(exchange, BUFFER_BORN);
    exchange->in = allocate(exchange, BUFFER_BORN);
    exchange->ring = allocate(exchange, RING_BORN * sizeof *exchange->ring);
    exchange->out_capacity = exchange->in_capacity = BUFFER_BORN;
    exchange->ring_capacity = RING_BORN;
    if (exchange->out != NULL && exchange->in != NULL && exchange->ring != NULL)
        return true;
    rl_exchange_free(exchange);
    return false;
}

void rl_exchange_free(struct rl_exchange *exchange)
{
    release(exchange, exchange->ring, exchange->ring_capacity * sizeof *exchange->ring);
    release(exchange, exchange->in, exchange->in_capacity);
    release(exchange, exchange->out, exchange->out_capacity);
    exchange->ring = NULL;
    exchange->in = exchange->out = NULL;
}

void rl_exchange_empty(struct rl_exchange *exchange)
{
    exchange->out_length = exchange->out_sent = 0;
    exchange->in_length = exchange->in_taken = 0;
    exchange->enlisted = exchange->answers_left = 0;
    exchange->enlisted_bytes = 0;
}

bool rl_exchange_unfinished(const struct rl_exchange *exchange)
{
    return exchange->pending_count > 0 || exchange->out_sent < exchange->out_length;
}

/* A copy of a buffer in another size, or false with the old one untouched. */
static bool resize(struct rl_exchange *exchange, char **buffer, size_t *capacity, size_t used, size_t wanted)
{
    char *resized = allocate(exchange, wanted);

    if (resized == NULL)
        return false;
    memcpy(resized, *buffer, used);
    release(exchange, *buffer, *capacity);
    *buffer = resized;
    *capacity = wanted;
    return true;
}

static bool resize_ring(struct rl_exchange *exchange, uint32_t wanted)
{
    uint32_t capacity = exchange->ring_capacity;
    struct rl_pending *resized = allocate(exchange, wanted * sizeof *resized);

    if (resized == NULL)
        return false;
    for (uint32_t i = 0; i < exchange->pending_count; i++)
        resized[i] = exchange->ring[(exchange->ring_first + i) % capacity];
    release(exchange, exchange->ring, capacity * sizeof *resized);
    exchange->ring = resized;
    exchange->ring_capacity = wanted;
    exchange->ring_first = 0;
    return true;
}

static bool grow_ring(struct rl_exchange *exchange)
{
    uint32_t wanted = exchange->ring_capacity * 2;

    return wanted <= RING_MAX && resize_ring(exchange, wanted);
}

void rl_exchange_settle(struct rl_exchange *exchange)
{
    if (rl_exchange_unfinished(exchange))
        return;
    if (exchange->out_capacity > BUFFER_BORN &&
        resize(exchange, &exchange->out, &exchange->out_capacity, 0, BUFFER_BORN))
        exchange->out_length = exchange->out_sent = 0;
    if (exchange->ring_capacity > RING_BORN)
        resize_ring(exchange, RING_BORN);
}

static void move_out_to_front(struct rl_exchange *exchange)
{
    if (exchange->out_sent == 0)
        return;
    exchange->out_length -= exchange->out_sent;
    memmove(exchange->out, exchange->out + exchange->out_sent, exchange->out_length);
    exchange->out_sent = 0;
}

/* Room for a pending request and for so many bytes behind what is written. */
static bool make_room(struct rl_exchange *exchange, size_t size)
{
    size_t wanted = exchange->out_capacity;

    if (!exchange->open)
        return false;
    if (exchange->pending_count == exchange->ring_capacity && !grow_ring(exchange))
        return false;
    if (exchange->out_capacity - exchange->out_length < size)
        move_out_to_front(exchange);
    while (wanted - exchange->out_length < size && wanted < OUT_MAX)
        wanted *= 2;
    if (wanted - exchange->out_length < size)
        return false;
    return wanted == exchange->out_capacity ||
           resize(exchange, &exchange->out, &exchange->out_capacity, exchange->out_length, wanted);
}

static struct rl_writer write_behind(struct rl_exchange *exchange)
{
    return rl_writer_on(exchange->out + exchange->out_length, exchange->out_capacity - exchange->out_length);
}

bool rl_exchange_reserve(struct rl_exchange *exchange, size_t size, struct rl_writer *writer)
{
    rl_exchange_compose(exchange);
    if (!make_room(exchange, size))
        return false;
    *writer = write_behind(exchange);
    return true;
}

static void add_pending(struct rl_exchange *exchange, const struct rl_pending *pending)
{
    assert(exchange->pending_count < exchange->ring_capacity);
    exchange->ring[(exchange->ring_first + exchange->pending_count) % exchange->ring_capacity] = *pending;
    exchange->pending_count++;
}

void rl_exchange_commit(struct rl_exchange *exchange, const struct rl_writer *writer,
                        const struct rl_pending *pending)
{
    assert(!writer->overflow);
    exchange->out_length += writer->length;
    add_pending(exchange, pending);
}

bool rl_exchange_enlist(struct rl_exchange *exchange, size_t size, const struct rl_pending *pending)
{
    if (!make_room(exchange, exchange->enlisted_bytes + size))
        return false;
    add_pending(exchange, pending);
    exchange->enlisted++;
    exchange->enlisted_bytes += size;
    return true;
}

struct rl_pending *rl_exchange_recent(struct rl_exchange *exchange, uint32_t count, uint32_t i)
{
    assert(i < count && count <= exchange->pending_count);
    return &exchange->ring[(exchange->ring_first + exchange->pending_count - count + i) %
                           exchange->ring_capacity];
}

void rl_exchange_compose(struct rl_exchange *exchange)
{
    struct rl_writer writer = write_behind(exchange);
    uint32_t count = exchange->enlisted;

    if (count == 0)
        return;
    exchange->enlisted = 0;
    exchange->enlisted_bytes = 0;
    exchange->compose(exchange, count, &writer);
    assert(!writer.overflow);
    exchange->out_length += writer.length;
}

void rl_exchange_sent(struct rl_exchange *exchange, size_t length)
{
    assert(length <= exchange->out_length - exchange->out_sent);
    exchange->out_sent += length;
    if (exchange->out_sent == exchange->out_length)
        exchange->out_sent = exchange->out_length = 0;
}

const struct rl_pending *rl_exchange_first(const struct rl_exchange *exchange)
{
    assert(exchange->pending_count > 0);
    return &exchange->ring[exchange->ring_first];
}

bool rl_exchange_take(struct rl_exchange *exchange, struct rl_pending *pending)
{
    if (exchange->pending_count == 0)
        return false;
    *pending = *rl_exchange_first(exchange);
    exchange->ring_first = (exchange->ring_first + 1) % exchange->ring_capacity;
    exchange->pending_count--;
    return true;
}

size_t rl_exchange_room(struct rl_exchange *exchange)
{
    if (exchange->in_taken > 0) {
        exchange->in_length -= exchange->in_taken;
        memmove(exchange->in, exchange->in + exchange->in_taken, exchange->in_length);
        exchange->in_taken = 0;
    }
    if (exchange->in_length == exchange->in_capacity && exchange->in_capacity < IN_MAX)
        resize(exchange, &exchange->in, &exchange->in_capacity, exchange->in_length,
               exchange->in_capacity * 2);
    return exchange->in_capacity - exchange->in_length;
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
static enum rl_input take_inner_push(struct rl_exchange *exchange, size_t at, size_t end, size_t *start,
                                     size_t *length)
{
    char *in = exchange->in;
    size_t size = end - at, taken = exchange->in_taken;

    /* To the front of the reply with it: both parts are turned round, and then the whole. */
    if (at > taken) {
        reverse(in + taken, at - taken);
        reverse(in + at, size);
        reverse(in + taken, end - taken);
    }
    *start = taken;
    *length = size;
    exchange->in_taken += size;
    return RL_INPUT_PUSH;
}

/* A command for several requests is answered by an array with an answer for each of them, whose head is
 * passed over, or by one error, which all of them get. */
static enum rl_input open_common_reply(struct rl_exchange *exchange, uint32_t count)
{
    size_t end = exchange->in_taken;
    struct rl_resp head;
    enum rl_resp_status status;

    if (end == exchange->in_length)
        return RL_INPUT_MORE;
    if (exchange->in[end] == '>')
        return RL_INPUT_PUSH;
    exchange->refused_together = exchange->in[end] == '-';
    if (!exchange->refused_together) {
        status = rl_resp_next(exchange->in, exchange->in_length, &end, &head);
        if (status == RL_RESP_MORE)
            return RL_INPUT_MORE;
        if (status != RL_RESP_OK || head.type != RL_RESP_ARRAY || head.element_count != count)
            return RL_INPUT_BAD;
        exchange->in_taken = end;
    }
    exchange->answers_left = count;
    return RL_INPUT_REPLY;
}

/* One request fewer waits for its part of a common reply; an error stays until the last one had it. */
static void pass_common_reply(struct rl_exchange *exchange, size_t start)
{
    if (exchange->answers_left == 0)
        return;
    exchange->answers_left--;
    if (exchange->refused_together && exchange->answers_left > 0)
        exchange->in_taken = start;
}

/* Whether a push is what the oldest request waits for: in RESP3 a subscription is confirmed by one. */
static bool confirms(const struct rl_pending *first, const char *bytes, size_t length)
{
    static const char subscribe[] = "subscribe";
    struct rl_resp head, kind;
    size_t offset = 0;

    return first != NULL && first->by_push && rl_resp_next(bytes, length, &offset, &head) == RL_RESP_OK &&
           head.element_count == 3 && rl_resp_next(bytes, length, &offset, &kind) == RL_RESP_OK &&
           kind.type == RL_RESP_STRING && kind.text_length == sizeof subscribe - 1 &&
           memcmp(kind.text, subscribe, sizeof subscribe - 1) == 0;
}

enum rl_input rl_exchange_next(struct rl_exchange *exchange, size_t *start, size_t *length)
{
    const struct rl_pending *first = NULL;
    uint32_t wanted = 1;
    size_t at, end;

    /* What is enlisted has not been sent: nothing can be an answer to it. */
    if (exchange->open && exchange->pending_count > exchange->enlisted)
        first = rl_exchange_first(exchange);
    if (first != NULL)
        wanted = first->replies;
    if (first != NULL && first->together > 1 && exchange->answers_left == 0) {
        enum rl_input head = open_common_reply(exchange, first->together);

        if (head == RL_INPUT_MORE || head == RL_INPUT_BAD)
            return head;
    }
    at = exchange->in_taken;
    for (uint32_t i = 0; i < wanted; i++, at = end) {
        enum rl_resp_status status;

        end = at;
        status = rl_resp_skip(exchange->in, exchange->in_length, &end);
        if (status != RL_RESP_OK)
            return status == RL_RESP_BAD ? RL_INPUT_BAD : RL_INPUT_MORE;
        if (exchange->in[at] == '>' && !confirms(first, exchange->in + at, end - at))
            return take_inner_push(exchange, at, end, start, length);
    }
    *start = exchange->in_taken;
    *length = at - exchange->in_taken;
    exchange->in_taken = at;
    pass_common_reply(exchange, *start);
    return RL_INPUT_REPLY;
}
