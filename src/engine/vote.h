/*
 * The right to vote: may what a node answers count now? Every caller asks here, before a question is sent and
 * again when its answer is there. When nodes are asked to be admitted is in guard.c.
 */
#ifndef RL_ENGINE_VOTE_H
#define RL_ENGINE_VOTE_H

#include "engine/state.h"

/* Whether it is connected, and is a master that is in the list once: it can be asked, if only for what is no
 * vote. */
bool rl_vote_reachable(const struct rl_engine *engine, uint32_t node);

/* Whether its vote counts: it is reachable, and in guarded mode admitted, with a clock that is trusted. */
bool rl_vote_counts(const struct rl_engine *engine, uint32_t node);

/* What keeps it from counting, as far as is known. NONE: nothing does, or it has not been asked for admission
 * yet. */
enum rl_cause rl_vote_obstacle(const struct rl_engine *engine, uint32_t node);

/* Whether a node that was only looked at could not be told the highest fence if a lock were asked for now;
 * and that in words. */
bool rl_vote_lacks_floor(const struct rl_engine *engine, uint32_t node);
extern const char rl_vote_floorless[];

#endif
