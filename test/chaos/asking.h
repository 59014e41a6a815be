/*
 * The ways to ask for a lock: at once, waiting, by a callback that is waited for or cancelled, or going on
 * with one that another process gave away. Each writes down what it asks for and what it is answered.
 */
#ifndef CHAOS_ASKING_H
#define CHAOS_ASKING_H

#include "hold.h"

enum {
    NEVER_CANCEL = -1 /* instead of a time after which to cancel */
};

/* The call blocks. wait_ms as redlock_acquire() has it. */
redlock_result ask(struct hold *hold, const redlock_spec *spec, int64_t wait_ms);

/* By a callback, for which it waits; cancels the request when it has not run after so long. */
redlock_result ask_async(struct hold *hold, const redlock_spec *spec, int64_t wait_ms, int cancel_ms);

/* Gives it back by a callback, for which it waits. */
redlock_result release_async(struct hold *hold);

/* Gives it away: frees the handle and leaves the owner value where another process finds it. */
void give_away(struct hold *hold);

/* Goes on with a lock of that name that somebody gave away. REDLOCK_BUSY: nobody did. */
redlock_result ask_for_gift(struct hold *hold, const redlock_spec *spec);

#endif
