/*
 * How a round, an acquisition, an extension or a release ends.
 */
#ifndef RL_CORE_OUTCOME_H
#define RL_CORE_OUTCOME_H

/* The numbers are those of redlock_result. */
enum rl_outcome {
    RL_OUTCOME_OK = 0,
    RL_OUTCOME_BUSY = 1,
    RL_OUTCOME_TIMEOUT = 2,
    RL_OUTCOME_NOT_HELD = 3,
    RL_OUTCOME_LOST = 4,
    RL_OUTCOME_CANCELED = 5,
    RL_OUTCOME_NO_QUORUM = 16,
    RL_OUTCOME_TOO_SLOW = 17,
    RL_OUTCOME_QUARANTINE = 18,
    RL_OUTCOME_FORBIDDEN = 19,
    RL_OUTCOME_FOREIGN_TYPE = 20,
    RL_OUTCOME_INVALID = 32,
    RL_OUTCOME_MISUSE = 33
};

#endif
