/*
 * Questions out: writes one command for one node onto its exchange. Requests of a kind that can go together
 * are enlisted and written as one. It decides nothing; which nodes to ask is in dispatch.c.
 */
#ifndef RL_ENGINE_SEND_H
#define RL_ENGINE_SEND_H

#include "engine/lock.h"

/* Puts one command for one node on its connection; false: it cannot be sent now. random: whose owner it
 * speaks for; NULL the present one. */
bool rl_send_command(redlock_lock *lock, uint32_t node, enum rl_command_kind kind, uint32_t question,
                     const uint8_t *random, bool full);

/* What a node was asked when it was examined on behalf of a lock (that nobody wants). */
struct rl_examine_command rl_send_examine_command(const redlock_lock *lock);

/* Writes the last requests of an exchange, which were sent together. */
void rl_send_compose(struct rl_exchange *exchange, uint32_t count, struct rl_writer *writer);

/* Whether it gives back what a holder was given beside the slot that it has. Nobody owes such a release: what
 * it could not do is undone by the end of the key, and later its owner may have but the slot that it kept. */
bool rl_send_is_return(const redlock_lock *lock, const struct rl_pending *pending);

#endif
