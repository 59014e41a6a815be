/*
 * All that a caller in line remembers, and what follows from that. stand.c has its waiting, split.c what it
 * does when the lock is split; nothing else changes it.
 */
#ifndef RL_CORE_STAND_STATE_H
#define RL_CORE_STAND_STATE_H

#include "core/acquire_state.h"

/* What it knows of one node in the present attempt. */
enum rl_stand_state {
    RL_STAND_OUT,   /* it cannot or must not vote, or could not be asked */
    RL_STAND_ASKED, /* a question is under way */
    RL_STAND_LINED, /* it stands in line there */
    RL_STAND_HAS    /* the lock is its own there, until `ends` */
};

struct rl_stand_node {
    enum rl_stand_state state;
    struct rl_time sent;    /* its latest question that was answered was sent then, */
    struct rl_span took;    /* took so long, */
    int64_t node_us;        /* and answered at this node time */
    struct rl_time given;   /* HAS: the node gave it no earlier than that, by our clock, */
    struct rl_time ends;    /* and the key lives until then at least */
    struct rl_time look_at; /* LINED, near the front: the one that has the lock there has it until then */
    uint64_t fence;         /* HAS: its number there, which a raise lifts */
    uint32_t slot;          /* HAS, of a semaphore: which one */
    bool watched;           /* LINED: it tells when the lock's key changes, or cannot */
    bool heard;             /* ASKED: it handed the lock over before it answered */
    bool yields;            /* it must not give the lock to this caller: another one has a quorum */
    uint32_t valid_from; /* number of the first question whose answer counts, after its vote was given back */
    uint64_t seen_holder; /* LINED: who had the lock there at the last look at a split; 0 there was none, */
    int64_t seen_ends_ms; /* and until when, by the node's clock */
    struct rl_answer last;
};

enum rl_stand_phase {
    RL_STAND_WAITING, /* asking, and standing in line */
    RL_STAND_RAISING, /* a quorum has given it the lock; their numbers are being made the same */
    RL_STAND_RESTING, /* too few nodes could be asked: until the next attempt */
    RL_STAND_ENDED
};

struct rl_stand {
    struct rl_acquire_config config;
    struct rl_prng *prng; /* not owned */
    struct rl_backoff backoff;
    enum rl_stand_phase phase;
    struct rl_time started;
    /* nodes that have had it in their line in any attempt: a quorum of them settles the ticket */
    rl_node_set lined;
    uint64_t ticket;   /* the highest that a node gave it */
    bool settled;      /* all nodes are to go by it */
    uint32_t question; /* number of the latest question; all with one owner count from `attempt` on */
    uint32_t attempt;  /* number of the first question that was asked with the present owner */
    uint32_t attempts; /* how many owners it has had */
    /* of a semaphore: the one that is counted, which most of its nodes have given it; 0 of any other lock */
    uint32_t slot;
    uint32_t wish; /* the one that it would like best */
    bool only;     /* it wants no other one, and gives others back: its votes are split */
    /* of several names: it had all of them at a node, and others may have left it those that it was handed */
    bool keeps;
    uint32_t handed_in_vain; /* of several names: how often it was handed one of them in this attempt */
    bool handed;             /* in this attempt a node has handed it the lock; others are about to */
    rl_node_set raising;     /* nodes that are being asked to lift their number to the fence */
    uint64_t fence;          /* RAISING and won: the one to hand out */
    struct rl_time asked_by; /* nodes that have not answered by then are silent; NEVER nothing is under way */
    struct rl_time split_at; /* it has some nodes and nothing is under way: when to see who has the others */
    struct rl_span patience; /* between two such looks */
    bool looked;             /* that is what was asked for last */
    bool confirmed;          /* of a semaphore: there was one already, which gave nothing back */
    struct rl_time watch_at; /* near the front: when to have the key watched where it is not */
    struct rl_time keep_at;  /* when to ask again, so that its places are kept */
    struct rl_time wake_at;  /* when it wants RL_EVENT_TIMER */
    enum rl_outcome outcome; /* what it came to; before its end what the last attempt came to */
    struct rl_time valid_until;               /* when outcome is OK */
    struct rl_stand_node nodes[RL_NODES_MAX]; /* the last: only as many as there are nodes are ever cleared */
};

/* The nodes in a state. */
rl_node_set rl_stand_nodes(const struct rl_stand *stand, enum rl_stand_state state);

/* The nodes whose votes count together: where the lock is its own, and of a semaphore the slot that is
 * counted. */
rl_node_set rl_stand_votes(const struct rl_stand *stand);

/* The nodes where it has another slot than that. */
rl_node_set rl_stand_others(const struct rl_stand *stand);

/* The slot that most nodes have given it, of equals the lowest; 0 none. */
uint32_t rl_stand_best_slot(const struct rl_stand *stand);

/* The nodes where the lock is its own and its number the fence. */
rl_node_set rl_stand_nodes_at_fence(const struct rl_stand *stand);

/* Whether it is ready to wait. A caller that is not asks once, and no node has it in line. */
bool rl_stand_waits(const struct rl_stand *stand);

/* Whether nodes are to have it in line: it waits, and not only for a second question. */
bool rl_stand_lines(const struct rl_stand *stand);

/* Of how many nodes it needs the lock. */
uint32_t rl_stand_quorum(const struct rl_stand *stand);

/* What the nodes said in the present attempt, as a tally: HAS is granted, being in line denied. */
struct rl_tally rl_stand_tally(const struct rl_stand *stand);

/* Whether the nodes that have not answered yet decide why it fails; as in acquire.c. */
bool rl_stand_reason_open(const struct rl_stand *stand);

/* The nodes that have not answered any question of this attempt yet. */
rl_node_set rl_stand_unheard(const struct rl_stand *stand);

/* Why it has not got the lock by now; and why those have not that queue behind it. */
enum rl_outcome rl_stand_reason(const struct rl_stand *stand, struct rl_time now);
enum rl_outcome rl_stand_reason_behind(const struct rl_stand *stand, struct rl_time now);

/* Until when a quorum of its keys lives where its fence is stored; 0 it has none. */
struct rl_time rl_stand_valid_until(const struct rl_stand *stand);

/* How long a quorum took to answer, as far as is known. */
struct rl_span rl_stand_exchange(const struct rl_stand *stand);

/* When the first of the grants that it has was given, no later; now, if it has none. */
struct rl_time rl_stand_since(const struct rl_stand *stand, struct rl_time now);

/* Its place in line as most nodes see it, from 1; 0 not known. */
uint32_t rl_stand_place(const struct rl_stand *stand);

#endif
