/*
 * The guard: which nodes may vote. It keeps the answers to admissions until connections break, and sees to it
 * that a node which lost its fences learns the highest one.
 */
#ifndef RL_ENGINE_GUARD_H
#define RL_ENGINE_GUARD_H

#include "engine/lock.h"

/* Votes are wanted from now on: nodes will be asked whether they may. */
void rl_guard_begin(struct rl_engine *engine);
void rl_guard_ready(struct rl_engine *engine, uint32_t node);
void rl_guard_down(struct rl_engine *engine, uint32_t node);

/* The answer to an admission. false: it was sent again, and the answer is still to come. */
bool rl_guard_reply(struct rl_engine *engine, uint32_t node, const struct rl_pending *pending,
                    const char *bytes, size_t length);
void rl_guard_dropped(struct rl_engine *engine, uint32_t node);

/* Finds out which nodes may vote without changing anything there, for an inspection. */
void rl_guard_look(struct rl_engine *engine);

/* Rule: a vote counts only when the node knew our term before any node that lost its data in this round can
 * be back. */
bool rl_guard_in_time(const struct rl_engine *engine, uint32_t node, struct rl_time round_began);

/* It said that its epoch is another: ask it anew. */
void rl_guard_refused(struct rl_engine *engine, uint32_t node);

enum rl_right { RL_MAY_VOTE, RL_MAY_NOT_VOTE, RL_MAY_VOTE_SOON };

/* Whether it may be asked for a lock now; SOON: an admission is on its way. Asks anew where that may help. */
enum rl_right rl_guard_right(struct rl_engine *engine, uint32_t node);

#endif
