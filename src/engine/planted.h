/*
 * Bugs that the simulator plants in the engine, to see whether they are found. They exist only where the engine was built for the
 * simulator; in the library every one of these conditions is false, and gone.
 */
#ifndef RL_ENGINE_PLANTED_H
#define RL_ENGINE_PLANTED_H

enum rl_planted {
    RL_PLANTED_NONE,
    RL_PLANTED_NOT_REARMED,     /* waiters do not learn that a connection is there again */
    RL_PLANTED_INELIGIBLE_VOTE, /* a vote counts although its node has been found ineligible since it was asked */
    RL_PLANTED_HALF_BATCH,      /* what a script that failed half-way may have granted is asked for again */
    RL_PLANTED_ADOPT_INELIGIBLE, /* adoptions and extensions count also what ineligible nodes say; those say it, too */
    RL_PLANTED_INIT_CLOCK, /* the floor that the operator's word sets is by the operator's clock */
};

#ifdef RL_PLANTED_BUGS
#define RL_PLANTED(engine, bug) ((engine)->planted == (bug))
#else
#define RL_PLANTED(engine, bug) ((void)(engine), false)
#endif

#endif
