/*
 * The looks of a list or a watch: each lock whose key a page names is inspected by an operation of its own,
 * some of them at a time. What comes of it is for listing.c.
 */
#ifndef RL_ENGINE_LOOKS_H
#define RL_ENGINE_LOOKS_H

#include "engine/listing_state.h"

/* Begins looks at locks of the page that were not looked at before, or at those that the walk did not meet,
 * as many as may be under way at once. false: no memory. */
bool rl_looks_begin(struct rl_listing *listing);

/* The same for one lock, whose key has the prefix. */
bool rl_looks_begin_one(struct rl_listing *listing, const struct rl_page_entry *entry);

/* Ends those that are under way, and drops what was found. */
void rl_looks_stop(struct rl_listing *listing);

/* When to look at a single name again: when its lease will have ended, when somebody should have notified, or
 * soon after that happened, for nodes change one after the other. */
struct rl_span rl_looks_pause(struct rl_listing *listing, const struct rl_operation *look);

#endif
