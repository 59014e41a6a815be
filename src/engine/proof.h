/*
 * Still the same master? A promotion breaks no connection, and what replication put into a node's memory in
 * the meantime may be a copy of its own record. Scripts that give locks look at that themselves; an adoption
 * is followed by the question which master it was that answered.
 */
#ifndef RL_ENGINE_PROOF_H
#define RL_ENGINE_PROOF_H

#include "engine/state.h"
#include "wire/lock_reply.h"

/* Whether the node tells which master it is. */
bool rl_proof_possible(const struct rl_session *session);

/* The reply to such a pair of questions. Unless it is the master that was greeted, it has not voted. */
enum rl_proof rl_proof_read(const struct rl_engine *engine, uint32_t node, const char *bytes, size_t length);
void rl_proof_failed(struct rl_engine *engine, uint32_t node, enum rl_proof proof, bool voted);

#endif
