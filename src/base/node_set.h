/*
 * A set of nodes as one word of bits: there are at most 31 nodes. Knows only positions, nothing of the nodes.
 */
#ifndef RL_BASE_NODE_SET_H
#define RL_BASE_NODE_SET_H

#include <stdbool.h>
#include <stdint.h>

enum { RL_NODES_MAX = 31 };

typedef uint32_t rl_node_set;

static inline rl_node_set rl_node_set_all(uint32_t node_count)
{
    return (rl_node_set)((UINT64_C(1) << node_count) - 1);
}

static inline rl_node_set rl_node_set_one(uint32_t node)
{
    return (rl_node_set)1 << node;
}

static inline bool rl_node_set_has(rl_node_set set, uint32_t node)
{
    return (set >> node & 1) != 0;
}

static inline uint32_t rl_node_set_count(rl_node_set set)
{
    return (uint32_t)__builtin_popcount(set);
}

/* The lowest node of a set that is not empty; `set &= set - 1` removes it. */
static inline uint32_t rl_node_set_first(rl_node_set set)
{
    return (uint32_t)__builtin_ctz(set);
}

#endif
