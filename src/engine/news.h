/*
 * What of the looks of a watch is news to its caller: what differs from what it was told before. When to
 * look, and what comes after, is listing.c's.
 */
#ifndef RL_ENGINE_NEWS_H
#define RL_ENGINE_NEWS_H

#include "engine/listing_state.h"

/* Keeps the looks that there is something to tell of, and puts the others away. */
void rl_news_keep(struct rl_listing *listing);

#endif
