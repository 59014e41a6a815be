/*
 * A connection's memory: what is to be sent, what came in, and the ring of tickets. No I/O and no state changes here.
 */
#ifndef RL_NET_CONNECTION_BUFFER_H
#define RL_NET_CONNECTION_BUFFER_H

#include "net/connection.h"

bool rl_buffers_init(struct rl_connection *connection);
void rl_buffers_free(struct rl_connection *connection);

/* Forgets input and output, not the tickets. */
void rl_buffers_empty(struct rl_connection *connection);

/* Whether something was asked and not answered, or written and not sent. */
bool rl_buffers_unfinished(const struct rl_connection *connection);

/* Everything may have been sent and answered: then room that only a lagging node made necessary is given back. */
void rl_buffers_settle(struct rl_connection *connection);

const struct rl_ticket *rl_tickets_first(const struct rl_connection *connection);

/* Room to read into, growing up to the limit of a message; 0 when there can be no more. */
size_t rl_input_room(struct rl_connection *connection);

enum rl_input { RL_INPUT_REPLY, RL_INPUT_PUSH, RL_INPUT_MORE, RL_INPUT_BAD };

/* Finds the next whole reply (of as many messages as the oldest ticket wants) or push in `in` and marks it as taken; it
 * stays readable until the next call. */
enum rl_input rl_input_next(struct rl_connection *connection, size_t *start, size_t *length);

#endif
