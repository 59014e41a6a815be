/*
 * What one seed decides: how many nodes and clients, how long things take, which faults happen and how often.
 * It only draws; the world carries it out.
 */
#ifndef SIM_PLAN_H
#define SIM_PLAN_H

#include <stdbool.h>
#include <stdint.h>

/* How long a caller waits at most. */
enum { SIM_WAIT_MAX_MS = 15000 };

enum { SIM_NODES_MAX = 7, SIM_CLIENTS_MAX = 6, SIM_WORKERS_MAX = 4, SIM_NAMES_MAX = 4, SIM_SLOTS_MAX = 4 };

/* What may go wrong; each seed switches a random part of it on. */
enum sim_fault {
    SIM_FAULT_BREAK, /* a connection breaks, and what is under way on it is lost */
    /* what was under way on a broken connection may still arrive, after the next one is up */
    SIM_FAULT_STRAY,
    SIM_FAULT_DELAY,   /* a message takes far longer than usual */
    SIM_FAULT_CUT,     /* a client and a node do not hear each other for a while */
    SIM_FAULT_CUT_ONE, /* the same, in one direction only */
    /* some clients and some nodes do not hear each other, or one side does not hear the other */
    SIM_FAULT_PARTITION,
    SIM_FAULT_FREEZE,   /* a node stops for a while */
    SIM_FAULT_SLOW,     /* a node takes long for everything for a while */
    SIM_FAULT_PAUSE,    /* a client's process stops for a while */
    SIM_FAULT_SUSPEND,  /* a client's machine sleeps: a long pause, and its connections are gone */
    SIM_FAULT_MEMORY,   /* a client gets no memory for a while, so that it cannot send */
    SIM_FAULT_HAND_OUT, /* a lock is won long before its caller gets to run */
    SIM_FAULT_RESTART,  /* a node restarts and has forgotten nothing */
    SIM_FAULT_WIPE,     /* a node restarts and has forgotten everything */
    /* a node restarts, or (promotes) was a replica meanwhile, with what it knew a while ago */
    SIM_FAULT_SNAPSHOT,
    SIM_FAULT_FLUSH,     /* a node's keys are removed while it runs */
    SIM_FAULT_GUARD_KEY, /* one of the guard's own keys is removed */
    SIM_FAULT_SCRIPTS,   /* a node forgets its scripts */
    SIM_FAULT_HALF,      /* a command for several locks fails half-way */
    SIM_FAULT_ANEW,      /* all nodes forget everything, and the operator vouches that nothing is held */
    SIM_FAULT_STEP_BACK, /* a node's clock is set back */
    SIM_FAULT_WALL,      /* a client's wall clock is set anew */
    /* From here on: beyond what is promised. Only the order of fences is checked then. */
    SIM_FAULT_STEP_AHEAD, /* a node's clock is set forward */
    SIM_FAULT_RATE,       /* a node's clock runs at a wild rate for a while */
    SIM_FAULT_EVICT,      /* the key of a lock is removed, at one node or at all */
    SIM_FAULTS
};

/* Bugs to plant, to see whether they are found. */
enum sim_bug {
    SIM_BUG_NONE,
    SIM_BUG_NO_GUARD,          /* a node that forgot votes at once */
    SIM_BUG_NO_SECOND_ROUND,   /* the fence is handed out without telling the nodes below it */
    SIM_BUG_RAISE_UNOWNED,     /* a node lifts its fence for somebody who lost the lock there */
    SIM_BUG_RELEASE_UNORDERED, /* releases travel on a connection of their own */
    SIM_BUG_LATE_HAND_OUT,     /* validity counts from when the caller gets to run */
    SIM_BUG_NO_RECHECK,        /* validity is not looked at again when the caller gets to run */
    SIM_BUG_NO_DRIFT,          /* clocks are believed to be equal */
    SIM_BUG_EXTEND_RECREATES,  /* extending takes an expired lock back */
    SIM_BUG_FENCE_OR_FLOOR,    /* the floor counts only where there is no fence */
    SIM_BUG_SAME_OWNER,        /* one owner value for all rounds of an acquisition */
    SIM_BUG_ARM_AFTER_LOOK,    /* a node is asked to tell only after it was seen that the lock is held */
    SIM_BUG_PUSH_DROPPED,      /* what a node tells while a reply is waited for is thrown away */
    SIM_BUG_NOT_REARMED,       /* waiters do not learn that a connection is there again */
    SIM_BUG_PROMOTION_UNSEEN,  /* nobody asks whether a node is still the master it was */
    /* a vote counts although its node has been found ineligible since it was asked */
    SIM_BUG_INELIGIBLE_VOTE,
    SIM_BUG_INIT_CLOCK,        /* the floor that the operator's word sets is by the operator's own clock */
    SIM_BUG_ADOPT_QUARANTINED, /* a node that sits out vouches for locks that somebody wants to go on with */
    SIM_BUG_OWN_TERM, /* a node sits out for as long as the locks of whoever asks may last, and no others' */
    /* a renewal ends when it cannot be won any more, whatever other nodes are about to say */
    SIM_BUG_HIDDEN_LOSS,
    SIM_BUG_LATE_RELEASE,     /* a release does not look at whether the lock's time is up */
    SIM_BUG_SILENT_NOT_ASKED, /* a node that owes an answer is not asked about a change that it tells of */
    /* Of the hand-over. */
    SIM_BUG_NEVER_BRIEF, /* a waiter that has not been heard of for a while gets a lock for all its time */
    SIM_BUG_STOPPED_NOT_PASSED, /* of those who were stopped each gets its second */
    SIM_BUG_DEAF_NOT_PASSED,    /* a waiter that nobody hears for gets the lock */
    SIM_BUG_HANDED_ON_ARRIVAL,  /* what is handed over is valid from when that is heard */
    SIM_BUG_HANDED_INELIGIBLE,  /* any node hands on, and what it hands over counts */
    SIM_BUG_NEVER_GIVES_WAY,    /* of a split lock everybody keeps what it has */
    /* a caller that gives way stands in no line while nodes hand on what it gives back */
    SIM_BUG_LEAVES_TO_GIVE_WAY,
    SIM_BUG_GIVEN_BACK_COUNTS, /* what an earlier attempt was given counts although it was given back */
    SIM_BUG_PLACE_NOT_KEPT,    /* waiters do not ask again by themselves */
    SIM_BUG_EXPIRY_UNSEEN,     /* nor when a lock in front of them ends, or is deleted */
    /* Of locks that are shared. */
    SIM_BUG_SHARED_BESIDE, /* a node lets one in that shares a lock while another has it alone */
    SIM_BUG_HOLDS_UNSEEN,  /* those who share a lock are not in the way of one that wants it alone */
    SIM_BUG_HOLDS_AS_ONE,  /* a renewal of one that shares a lock is one for all */
    /* a semaphore's permits are counted at each node: votes for different slots count together */
    SIM_BUG_SLOTS_COUNTED,
    /* an adoption takes all votes for those of the slot that the first of them names */
    SIM_BUG_SLOT_OF_FIRST_VOTE,
    /* a slot that is handed over is numbered after others of that slot alone */
    SIM_BUG_SLOT_BELOW_OTHERS,
    /* nobody follows a caller that gave up standing in line for others of its client */
    SIM_BUG_QUEUE_FORGOTTEN,
    /* Of several names. */
    SIM_BUG_SOME_NAMES, /* a node grants them when it can give some of them */
    SIM_BUG_NAMES_KEPT, /* a node that cannot give all of them keeps those it has given to the caller */
    SIM_BUGS
};

struct sim_plan {
    uint64_t seed;
    enum sim_bug bug;
    bool wide;
    uint32_t node_count, client_count, worker_count, name_count;
    uint32_t faults;      /* bits of enum sim_fault */
    bool promotes;        /* snapshots come back by way of a replica: no restart, no broken connection */
    bool beyond;          /* faults beyond the promise: only the order of fences counts */
    bool started_by_hand; /* the operator vouched for the new fleet, so it need not sit out */
    uint32_t untold;      /* nodes that do not tell when a key changes, a bit for each */
    uint32_t old;         /* of these: nodes that speak RESP2 only */
    bool plain;           /* plain mode: no guard, no fences */
    bool mixed;           /* clients differ in how long their locks may be */
    bool init_by_call;    /* the operator vouches by a call */
    int fair_percent;     /* of acquisitions that are fair */
    int several_percent;  /* of acquisitions that are for several names */
    /* a machine that sleeps has lost all its connections: to others it is as if it had been killed */
    bool kills;
    int shared_percent; /* of acquisitions that are shared */
    bool foreign;       /* another program locks the same names in its own way, with keys of another type */
    uint32_t older;     /* clients of an older version, which knows no line; a bit for each */
    uint32_t slots[SIM_NAMES_MAX]; /* of the semaphore that a name is; 0 it is an exclusive lock */
    bool durable;                  /* nodes that restart with their memory are declared to do so */
    uint32_t gone_count;           /* nodes that are gone for good when the faults end: a minority */
    int64_t fault_every_us;
    int64_t faults_end_us; /* true time; from then on everything is well */
    int64_t stop_us;       /* from then on nobody asks for locks any more */
    int64_t end_us;
    int64_t delay_min_us, delay_max_us; /* of a message, usually */
    int64_t ttl_ms, max_ttl_ms;
    int64_t terms_ms[SIM_CLIENTS_MAX]; /* how long each client's locks may be: max_ttl_ms, or mixed */
    int64_t longest_ms;                /* of these */
    int64_t node_timeout_ms, connect_timeout_ms;
    int64_t retry_min_ms, retry_max_ms;
    int64_t think_max_us, hold_max_us;
    uint32_t drift_ppm;
    uint32_t rate_max_ppm; /* of any clock against true time */
    int64_t wall_skew_us;  /* of clients' wall clocks, at most */
    int64_t node_skew_us;  /* of nodes' clocks, at most */
};

/* wide: also what is known not to be covered; see keep_promises_apart() in plan.c. */
void sim_plan_draw(struct sim_plan *plan, uint64_t seed, enum sim_bug bug, bool wide);

/* One line for people, without the line end. */
void sim_plan_describe(const struct sim_plan *plan, char *text, int size);

static inline bool sim_plan_has(const struct sim_plan *plan, enum sim_fault fault)
{
    return (plan->faults >> fault & 1) != 0;
}

const char *sim_fault_name(enum sim_fault fault);
const char *sim_bug_name(enum sim_bug bug);

#endif
