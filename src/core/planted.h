/*
 * Bugs that the simulator plants in the core and the engine, to see whether they are found. They exist only
 * where these were built for the simulator; in the library every one of these conditions is false, and gone.
 */
#ifndef RL_CORE_PLANTED_H
#define RL_CORE_PLANTED_H

#include <stdbool.h>

enum rl_planted {
    RL_PLANTED_NONE,
    RL_PLANTED_NOT_REARMED, /* waiters do not learn that a connection is there again */
    /* a vote counts although its node has been found ineligible since it was asked */
    RL_PLANTED_INELIGIBLE_VOTE,
    /* adoptions and extensions count also what ineligible nodes say; those say it, too */
    RL_PLANTED_ADOPT_INELIGIBLE,
    RL_PLANTED_INIT_CLOCK, /* the floor that the operator's word sets is by the operator's clock */
    /* a renewal ends as soon as it cannot be won, before it is known whether the lock is gone */
    RL_PLANTED_HIDDEN_LOSS,
    RL_PLANTED_LATE_RELEASE,      /* a release does not look at whether the lock's time is up */
    RL_PLANTED_HANDED_ON_ARRIVAL, /* what is handed over is valid from when that is heard */
    RL_PLANTED_HANDED_INELIGIBLE, /* it counts whichever node hands it over */
    RL_PLANTED_NEVER_GIVES_WAY,   /* of a split lock everybody keeps what it has */
    /* a caller that gives way stands in no line while nodes hand on what it gives back */
    RL_PLANTED_LEAVES_TO_GIVE_WAY,
    RL_PLANTED_GIVEN_BACK_COUNTS, /* what an earlier attempt was given counts although it was given back */
    RL_PLANTED_PLACE_NOT_KEPT,    /* waiters do not ask again by themselves */
    RL_PLANTED_EXPIRY_UNSEEN,     /* nor when a lock in front of them ends, or is deleted */
    RL_PLANTED_QUEUE_FORGOTTEN,   /* nor does a caller follow it that waits behind it in its client */
    /* a semaphore's permits are counted at each node: votes for different slots count together */
    RL_PLANTED_SLOTS_COUNTED,
    /* an adoption takes all votes for those of the slot that the first of them names */
    RL_PLANTED_SLOT_OF_FIRST_VOTE,
    RL_PLANTED_SILENT_NOT_ASKED, /* a change told by a node that owes an answer is not looked into */
};

#ifdef RL_PLANTED_BUGS
/* `of` is whatever has the field: an engine, or what the core is given by it. */
#define RL_PLANTED(of, bug) ((of)->planted == (bug))
#else
#define RL_PLANTED(of, bug) ((void)(of), false)
#endif

#endif
