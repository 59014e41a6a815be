/*
 * What is under way on one connection: bytes to be sent, bytes that came in, and the ring of requests that
 * are not answered yet; requests that may travel together become one command. It moves no bytes itself, and
 * does not know what the requests are for.
 */
#ifndef RL_WIRE_EXCHANGE_H
#define RL_WIRE_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/time.h"
#include "wire/resp_writer.h"

/* What a request was for; comes back with its reply. */
struct rl_pending {
    void *subject;
    uint32_t question;
    uint8_t kind;
    uint8_t replies; /* messages that make up its reply */
    uint8_t full;    /* sent with the whole script */
    uint8_t by_push; /* its reply may be a push that confirms a subscription */
    uint8_t native;  /* sent as a command that not all nodes have, or that its user may not say */
    uint8_t random[16];
    uint8_t together; /* how many requests went in the same command as this one; 0 it went alone */
    uint64_t number;  /* the fence that was proposed */
    struct rl_time sent;
};

struct rl_exchange {
    const struct rl_memory *memory;
    /* Writes the last `count` requests, which were enlisted, as one command; there is as much room as they
     * asked for. */
    void (*compose)(struct rl_exchange *exchange, uint32_t count, struct rl_writer *writer);
    bool open; /* requests may be put on it, and what comes in answers them; else it is greeted, or broken */
    char *out; /* to be sent: out[out_sent .. out_length) */
    size_t out_length, out_sent, out_capacity;
    char *in;
    size_t in_taken, in_length, in_capacity; /* in[in_taken .. in_length) is still to be looked at */
    struct rl_pending *ring;                 /* ring of what was asked and not answered */
    uint32_t ring_first, pending_count, ring_capacity;
    uint32_t enlisted; /* the last so many of them have not been written yet, and will be as one command */
    size_t enlisted_bytes; /* room that was promised to that */
    uint32_t answers_left; /* of a command for several requests: those that have not had theirs */
    bool refused_together; /* that command was answered by one error for all of them */
};

/* Zeroed memory becomes an exchange; false: no memory, nothing is kept. */
bool rl_exchange_init(struct rl_exchange *exchange, const struct rl_memory *memory,
                      void (*compose)(struct rl_exchange *exchange, uint32_t count,
                                      struct rl_writer *writer));
void rl_exchange_free(struct rl_exchange *exchange);

/* Forgets input and output, not the pending requests. */
void rl_exchange_empty(struct rl_exchange *exchange);

/* Whether something was asked and not answered, or written and not sent. */
bool rl_exchange_unfinished(const struct rl_exchange *exchange);

/* Everything may have been sent and answered: then room that only a lagging node made necessary is given
 * back. */
void rl_exchange_settle(struct rl_exchange *exchange);

/* ---- out ---- */

/* Reserves room for one command of up to `size` bytes; write it through the writer, then commit it with its
 * pending request. Only while open. false: no room or no memory, nothing changed. */
bool rl_exchange_reserve(struct rl_exchange *exchange, size_t size, struct rl_writer *writer);
void rl_exchange_commit(struct rl_exchange *exchange, const struct rl_writer *writer,
                        const struct rl_pending *pending);

/* For a request that may go in one command with those enlisted before it. Whatever is reserved, composed or
 * sent afterwards goes behind it. false: as above. */
bool rl_exchange_enlist(struct rl_exchange *exchange, size_t size, const struct rl_pending *pending);

/* The i-th of the last `count` pending requests; for `compose`. */
struct rl_pending *rl_exchange_recent(struct rl_exchange *exchange, uint32_t count, uint32_t i);

/* Has what is enlisted written: what comes next is not to go with it. */
void rl_exchange_compose(struct rl_exchange *exchange);

/* So many bytes of what was to be sent have been. */
void rl_exchange_sent(struct rl_exchange *exchange, size_t length);

/* The oldest unanswered request, of which there must be one; taken out: false when there is none. */
const struct rl_pending *rl_exchange_first(const struct rl_exchange *exchange);
bool rl_exchange_take(struct rl_exchange *exchange, struct rl_pending *pending);

/* ---- in ---- */

/* Room to read into, at in + in_length, growing up to the limit of a message; 0 when there can be no more. */
size_t rl_exchange_room(struct rl_exchange *exchange);

enum rl_input { RL_INPUT_REPLY, RL_INPUT_PUSH, RL_INPUT_MORE, RL_INPUT_BAD };

/* Finds the next whole reply (of as many messages as the oldest pending request wants) or push in `in` and
 * marks it as taken; it stays readable until the next call. */
enum rl_input rl_exchange_next(struct rl_exchange *exchange, size_t *start, size_t *length);

#endif
