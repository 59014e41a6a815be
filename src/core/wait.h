/*
 * What a waiting acquisition knows of the key that is in its way: where it is watched, where it is gone, when
 * it ends by itself. It says when a new round may be won; it asks nobody and decides nothing.
 */
#ifndef RL_CORE_WAIT_H
#define RL_CORE_WAIT_H

#include "core/event.h"

struct rl_wait {
    uint32_t node_count;
    rl_node_set asked;                 /* nodes whose first word about the key is still to come */
    rl_node_set watched;               /* nodes that will tell when it changes */
    rl_node_set freed;                 /* nodes where it was gone when last heard of, or has changed since */
    rl_node_set foreign;               /* nodes where something else than a lock is in the way */
    struct rl_time ends[RL_NODES_MAX]; /* when it is gone by itself; RL_TIME_NEVER not known */
    uint64_t holder;                   /* the one that a node named last; 0 none */
    uint64_t before;                   /* the one that it had named before its key changed */
    bool renews; /* the holder was met again after a change: changes of its key mean little */
};

/* Forgets all but the holders that were met. */
void rl_wait_begin(struct rl_wait *wait, uint32_t node_count, rl_node_set asked);

/* A node said who holds it, that nobody does, or nothing useful. */
void rl_wait_answer(struct rl_wait *wait, uint32_t node, const struct rl_answer *answer, struct rl_time now);

/* The key changed on a node; false: it was not watched there, so this is old news. */
bool rl_wait_changed(struct rl_wait *wait, uint32_t node);
void rl_wait_down(struct rl_wait *wait, uint32_t node);

/* Nodes that would grant it now, as far as is known. */
rl_node_set rl_wait_free(const struct rl_wait *wait, struct rl_time now);

/* When a quorum of nodes will be free if nobody does anything; RL_TIME_NEVER: that cannot be told. */
struct rl_time rl_wait_free_at(const struct rl_wait *wait);

/* Whether enough nodes will speak up by themselves for a release to be noticed. */
bool rl_wait_will_tell(const struct rl_wait *wait);

/* Whether every node will. */
bool rl_wait_sees_all(const struct rl_wait *wait);

#endif
