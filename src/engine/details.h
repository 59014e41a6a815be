/*
 * What a report says of single nodes, waiters, and those who share a lock: the object that keeps it, and the
 * accessors of the API.
 */
#ifndef RL_ENGINE_DETAILS_H
#define RL_ENGINE_DETAILS_H

#include <stdbool.h>

#include "redlock.h"
#include "wire/line_command.h"

/* What a report says of one node. */
struct rl_node_detail {
    redlock_verdict verdict;
    redlock_cause cause;
    bool eligible, notifies, has_owner;
    uint16_t owner_length;
    int64_t eligible_in_ms, latency_us, ttl_left_ms;
    uint64_t fence;
    char url[160];
    char words[160];
    char owner[REDLOCK_OWNER_MAX + 1];
};

enum { RL_WAITERS_KEPT = 16, RL_SHARERS_KEPT = 16 };

struct redlock_details {
    redlock_allocator allocator;
    uint32_t node_capacity, node_count, waiter_count, sharer_count;
    redlock_waiter waiters[RL_WAITERS_KEPT];
    redlock_holder sharers[RL_SHARERS_KEPT];
    struct rl_node_detail nodes[]; /* node_capacity of them */
};

redlock_details *rl_details_create(const redlock_allocator *allocator, uint32_t node_capacity);

/* All of these take NULL. The first empties it; the second says that no node has an owner and nobody
 * waits. */
void rl_details_clear(redlock_details *details);
void rl_details_forget(redlock_details *details);
void rl_details_add_waiter(redlock_details *details, const struct rl_waiter *waiter, uint32_t place);
void rl_details_add_sharer(redlock_details *details, const char *owner, size_t length);
void rl_details_set_owner(redlock_details *details, uint32_t node, const char *owner, size_t length);

#endif
