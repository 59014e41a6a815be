/*
 * Held locks that do not reach all nodes: which they are, and on which nodes. What is done about it is the
 * lease's to say and holding.c's to carry out.
 */
#ifndef RL_ENGINE_LAGGING_H
#define RL_ENGINE_LAGGING_H

#include "engine/lock.h"

/* The nodes that it is counted as lacking; and that this may have changed: `before` is what it was. */
rl_node_set rl_lagging_of(const redlock_lock *lock);
void rl_lagging_note(redlock_lock *lock, rl_node_set before);

/* Whether a held lock lacks this node and the node is on its way: being connected to, admitted or asked. */
bool rl_lagging_on(const struct rl_engine *engine, uint32_t node);

/* How long late nodes are waited for when the client closes: connect_timeout, and at most a quarter of the
 * shortest lock, for its owner is told of it only afterwards. */
struct rl_span rl_lagging_patience(struct rl_engine *engine);

/* Whether that is so of any node; and of one that is worth waiting for so long after the beginning of the
 * wait: a node that does not even take a connection is not waited for as long as one that has. */
bool rl_lagging_any(const struct rl_engine *engine);
bool rl_lagging_worth(struct rl_engine *engine, struct rl_span waited);

#endif
