/*
 * The walk through the keys of nodes, page by page, and through as many nodes as every quorum has one of.
 * What is done with a page, and with the end, is listing.c's.
 */
#ifndef RL_ENGINE_WALK_H
#define RL_ENGINE_WALK_H

#include "engine/listing_state.h"

enum rl_walk {
    RL_WALK_ASKED,  /* a node was asked for a page */
    RL_WALK_PAGE,   /* there is one: listing->answer */
    RL_WALK_DONE,   /* enough nodes were gone through */
    RL_WALK_FAILED, /* too few can be; the record has why */
    RL_WALK_NO_MEMORY
};

enum rl_walk rl_walk_begin(struct rl_listing *listing);

/* A node answered; its page is kept until rl_walk_drop_page(). */
enum rl_walk rl_walk_take(struct rl_listing *listing, const struct rl_pending *pending, const char *bytes,
                          size_t length);
void rl_walk_drop_page(struct rl_listing *listing);

/* On to the next page of this node, or to the next node. */
enum rl_walk rl_walk_on(struct rl_listing *listing);

/* The node cannot be gone through: on to another one. */
enum rl_walk rl_walk_leave(struct rl_listing *listing, enum rl_cause cause, const char *words, size_t length);

/* For the report: which nodes were gone through, and why others were not; those that there was no need to ask
 * are left out. */
void rl_walk_record(struct rl_listing *listing);

/* The same, and why too few were. */
redlock_result rl_walk_why_failed(struct rl_listing *listing);

#endif
