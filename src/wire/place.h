/*
 * What kinds whose waiters stand in line have in common: the keys of the line, what a caller tells of its
 * place, and how a refusal reads. What a vote is about is each kind's own business.
 */
#ifndef RL_WIRE_PLACE_H
#define RL_WIRE_PLACE_H

#include "wire/lock_reply.h"

/* The key of the line's order. */
void rl_place_write_order(struct rl_writer *writer, const struct rl_lock_command *command);

/* "ticket settled lease channel"; a caller that does not wait has no place. */
void rl_place_write(struct rl_writer *writer, const struct rl_lock_command *command);

/* An ordinary refusal, or one with place, ticket and the holder's ticket behind it. */
bool rl_place_read_denial(const struct rl_resp *items, uint32_t count, struct rl_lock_reply *reply);

#endif
