/*
 * The holder of a lock, how long it has it and its fence, as far as nodes agree on them. Single nodes are not
 * its business, and it writes no words: report.c has both.
 */
#ifndef RL_ENGINE_PICTURE_H
#define RL_ENGINE_PICTURE_H

#include "engine/operation.h"

/* What an inspection saw, in few words. */
struct rl_picture {
    bool known;          /* a quorum answered */
    bool free;           /* a quorum has no key */
    bool shared;         /* readers hold it together */
    bool broken;         /* an operator has broken the holder's hold */
    uint32_t votes;      /* nodes that have the key of the owner that most of them named */
    uint64_t owner;      /* tells that one from others, if a quorum has it; 0 nobody holds it */
    uint64_t fence;      /* the highest that any node has; 0 none */
    int64_t ttl_left_ms; /* -1 never expires, -2 not known */
    struct rl_time now;
    struct rl_time ends_from, ends; /* the lease ends between the two */
    redlock_holder holder;          /* that owner, also when it has no quorum */
};

struct rl_picture rl_picture_of(const struct rl_operation *look);

/* Puts the holder into a report that has its counts. Returns whether owners were seen, but none of them is
 * known to be the holder. */
bool rl_picture_name_holder(redlock_report *report, const struct rl_operation *operation);

/* The fence of the latest holder; 0: none is known. */
uint64_t rl_picture_fence(const struct rl_operation *operation);

#endif
