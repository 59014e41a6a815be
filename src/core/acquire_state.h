/*
 * What an acquisition is told when it begins, at plain and at guarded nodes, and all that one at plain nodes
 * remembers. acquire.c has its rounds, acquire_wait.c its waiting; nobody else changes it.
 */
#ifndef RL_CORE_ACQUIRE_STATE_H
#define RL_CORE_ACQUIRE_STATE_H

#include "base/prng.h"
#include "core/backoff.h"
#include "core/planted.h"
#include "core/tally.h"
#include "core/wait.h"

struct rl_acquire_config {
    uint32_t node_count;
    struct rl_span ttl;
    uint32_t drift_ppm;
    struct rl_span node_timeout; /* a node that has not answered by then is silent */
    struct rl_span first_wait;   /* added to it in the first round, while connections are still being made */
    struct rl_time began;        /* when the caller came; 0 with the start */
    struct rl_time give_up_at;   /* ends by then, won or not; the time when the caller came means: try once */
    struct rl_span retry_min;
    struct rl_span retry_max;
    bool queued; /* somebody in this process is before it: it begins when it is told that it is its turn */
    bool again;  /* it has won the lock in this call already, and was too slow to take it */
    /* Plain nodes only. */
    bool peek;  /* ask who holds it after the first round that was lost to another owner */
    bool watch; /* nodes can be asked to tell when it is free; else it is tried for again and again */
    /* Guarded nodes only. */
    uint64_t ticket; /* when the caller came, by its wall clock (us) */
    uint32_t slots;  /* of a semaphore; 0 it is none */
    uint32_t wish;   /* and the one to ask for first; 0 any */
    /* a semaphore's caller that does not wait: it never stands in line, and is refused when no slot can be
     * had */
    bool once;
    bool several; /* the lock has several names: a node may hand it one of them, and leave it what it has */
    bool renews;  /* the lease renews itself: what it is handed for a short time is enough to begin with */
    enum rl_planted planted; /* the simulator's */
};

enum rl_acquire_phase {
    RL_ACQUIRE_QUEUED, /* others of this process come first */
    RL_ACQUIRE_ASKING,
    RL_ACQUIRE_PEEKING,
    RL_ACQUIRE_WAITING, /* until it is free, as told by the nodes or by their clocks */
    RL_ACQUIRE_RESTING, /* until the next round, for a random time */
    RL_ACQUIRE_ENDED
};

struct rl_acquire {
    struct rl_acquire_config config;
    struct rl_prng *prng; /* shared with others; not owned */
    struct rl_backoff backoff;
    enum rl_acquire_phase phase;
    struct rl_time started;
    struct rl_time asked;    /* t0 of this round: read before its first byte was sent */
    struct rl_time wake_at;  /* when it wants RL_EVENT_TIMER */
    uint32_t question;       /* number of the latest question */
    uint32_t round_question; /* number of the latest acquire question */
    uint32_t round;          /* rounds so far */
    struct rl_tally tally;   /* of this round */
    struct rl_tally second;  /* of its peek */
    struct rl_wait wait;
    struct rl_time heard_by; /* WAITING: nodes that have not said who holds it by then will not */
    struct rl_time look_at;  /* WAITING: when to look again though no node told of a change: a safety net */
    struct rl_time poll_at;  /* WAITING: when to try again because too few nodes would tell */
    struct rl_span spread;   /* when it seems to be free, it asks after a random time of up to this */
    bool woken;              /* this round was begun because the lock seemed to be free */
    enum rl_outcome outcome; /* of the latest round; final once phase is ENDED */
    struct rl_time valid_until; /* when outcome is OK */
    /* each node's latest answer, for the report. The last: only as many as there are nodes are ever
     * cleared */
    struct rl_answer last[RL_NODES_MAX];
};

#endif
