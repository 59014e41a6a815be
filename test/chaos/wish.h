/*
 * Which lock is to be asked for: alone, shared, a slot of a semaphore, several names, or one that its owner
 * may enter again. It writes down which kind it is, before anybody asks, and asks for nothing.
 */
#ifndef CHAOS_WISH_H
#define CHAOS_WISH_H

#include "hold.h"

/* Draws one, for a hold that is all zero but for its number, and fills in what says so in the spec, which
 * stays valid as long as the hold. Names are n1 to n<count>; semaphores have names of their own. thread:
 * the number of the calling thread; by_callback: the call will be an asynchronous one. */
void wish_draw(struct hold *hold, redlock_spec *spec, uint64_t *random, unsigned count, unsigned thread,
               bool by_callback);

/* The same in plain mode, which knows only locks that one has alone. */
void wish_draw_plain(struct hold *hold, redlock_spec *spec, uint64_t *random, unsigned count);

/* The wish of the one that is inside already: to enter once more, as another hold. */
void wish_again(struct hold *hold, redlock_spec *spec, const struct hold *outer, unsigned thread);

#endif
