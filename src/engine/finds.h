/*
 * What a list or a watch has found and the client has not told of yet. It asks nobody.
 */
#ifndef RL_ENGINE_FINDS_H
#define RL_ENGINE_FINDS_H

#include "engine/listing_state.h"

/* An inspection that is not needed any more; NULL is fine. */
void rl_finds_drop(struct rl_engine *engine, struct rl_operation *look);

/* The one that was told of; and all. */
void rl_finds_put_away(struct rl_listing *listing);
void rl_finds_drop_all(struct rl_listing *listing);

/* For the client, when the operation has ended, perhaps only for now: the next lock, or event, to tell of;
 * false: there are no more for now. What it points to lasts until the next call. */
bool rl_finds_next(struct rl_operation *operation, redlock_event *event);

/* Calls the caller's function with it; false: the caller wants no more. It looks at nothing that may change
 * meanwhile. */
bool rl_finds_tell(const struct rl_operation *operation, const redlock_event *event);

#endif
