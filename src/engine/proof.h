/*
 * Still the same master? A promotion breaks no connection, and what replication put into a node's memory in
 * the meantime may be a copy of its own record. So an acquire is followed, unless that was done a moment ago,
 * by the question which master it was that answered.
 */
#ifndef RL_ENGINE_PROOF_H
#define RL_ENGINE_PROOF_H

#include "engine/state.h"
#include "wire/lock_reply.h"

/* Whether that question is due. */
bool rl_proof_due(const struct rl_engine *engine, uint32_t node);

/* It goes out now. What is asked in the moment that follows needs none of its own: its answers come behind
 * this one's, and if that is not the right one they do not come at all, for the connection is broken. */
void rl_proof_asked(struct rl_engine *engine, uint32_t node);

/* The reply to such a pair of questions. Unless it is the master that was greeted, it has not voted. */
enum rl_proof rl_proof_read(const struct rl_engine *engine, uint32_t node, const char *bytes, size_t length);
void rl_proof_failed(struct rl_engine *engine, uint32_t node, enum rl_proof proof, bool voted);

#endif
