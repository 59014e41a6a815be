/*
 * All nodes at once: how many are connected, what is still to be sent to them, when one of them has to be
 * looked at.
 */
#ifndef RL_ENGINE_NODES_H
#define RL_ENGINE_NODES_H

#include "engine/state.h"

/* How many are connected and, if their vote is wanted, have said whether they may vote; and how many are on
 * their way to that. */
uint32_t rl_nodes_arrived(struct rl_engine *engine, uint32_t *on_the_way);

/* Whether too few nodes have arrived for a quorum, and some are on their way. */
bool rl_nodes_connecting(struct rl_engine *engine);

/* Whether a node has to be sent more than went without waiting; silent ones count only if `silent`. */
bool rl_nodes_unsent(const struct rl_engine *engine, bool silent);

/* Whether a node has not answered everything yet. */
bool rl_nodes_unanswered(const struct rl_engine *engine);

/* Whether so many nodes have more than enough to answer that one more question would find no quorum in good
 * time. */
bool rl_nodes_backlogged(const struct rl_engine *engine);

#endif
