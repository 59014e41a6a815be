/*
 * The words in which the core is spoken to: what happened (events, answers) and what it wants done (effects).
 * The client, the simulator, the fuzzers and the tests all speak them; there is no I/O behind any of them.
 */
#ifndef RL_CORE_EVENT_H
#define RL_CORE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/node_set.h"
#include "base/time.h"

/* What one node came to in one round. The numbers are those of redlock_verdict. */
enum rl_verdict {
    RL_SILENT = 0, /* no answer by the deadline: it may have done what it was asked, or may do so later */
    RL_GRANTED = 1,
    RL_DENIED = 2,
    RL_INELIGIBLE = 3, /* it must not vote */
    RL_FAILED = 4      /* it could not be asked, or answered with an error */
};

/* Why a node was ineligible, failed or, for a foreign type and a hold that an operator broke, denied. The
 * numbers are those of redlock_cause. */
enum rl_cause {
    RL_CAUSE_NONE = 0,
    RL_CAUSE_CONNECTING = 1,    /* the first connection has not been made yet */
    RL_CAUSE_REFUSED = 2,       /* connection refused */
    RL_CAUSE_UNREACHABLE = 3,   /* no connection, or it broke before the answer */
    RL_CAUSE_TIMED_OUT = 4,     /* no connection or no answer in time */
    RL_CAUSE_SILENT = 5,        /* an older question is still unanswered: it was not asked another one */
    RL_CAUSE_RESOLVE = 6,       /* its name could not be looked up */
    RL_CAUSE_TLS = 7,           /* certificate, protocol, or no TLS there */
    RL_CAUSE_PROTOCOL = 8,      /* it does not speak RESP, or answered something else than was asked */
    RL_CAUSE_CREDENTIALS = 9,   /* NOAUTH, WRONGPASS */
    RL_CAUSE_RIGHTS = 10,       /* NOPERM */
    RL_CAUSE_REPLICA = 11,      /* READONLY, or its role says so */
    RL_CAUSE_LOADING = 12,      /* LOADING, MASTERDOWN */
    RL_CAUSE_MEMORY = 13,       /* OOM */
    RL_CAUSE_SCRIPT = 14,       /* BUSY: a script hogs the node */
    RL_CAUSE_DISK = 15,         /* MISCONF: it cannot persist; NOREPLICAS: too few copies */
    RL_CAUSE_CLUSTER = 16,      /* MOVED, ASK, CROSSSLOT, CLUSTERDOWN */
    RL_CAUSE_SENTINEL = 17,     /* it is a sentinel */
    RL_CAUSE_TOO_OLD = 18,      /* it lacks what guarded mode needs */
    RL_CAUSE_FOREIGN_TYPE = 19, /* WRONGTYPE: held by another kind of lock, or not a lock */
    RL_CAUSE_LATE = 20,         /* the question reached it too late to be carried out */
    RL_CAUSE_ERROR = 21,        /* any other error reply */
    RL_CAUSE_DUPLICATE = 22,    /* the same server under two URLs */
    RL_CAUSE_EVICTION = 23,     /* its eviction policy may drop a lock */
    RL_CAUSE_QUARANTINE = 24,   /* it may have forgotten locks that are still held */
    RL_CAUSE_FENCES = 25,       /* it may have forgotten fences, and nobody could tell it the highest yet */
    RL_CAUSE_EPOCH = 26,      /* it is not the node it was: flushed, or another one behind the same address */
    RL_CAUSE_CLOCK_STEP = 27, /* its clock stepped */
    RL_CAUSE_CLOCK_RATE = 28, /* its clock runs at another rate than allowed */
    RL_CAUSE_BROKEN = 29      /* denied: an operator has broken the hold */
};

/* Whether credentials or rights are what is missing. */
static inline bool rl_cause_forbids(enum rl_cause cause)
{
    return cause == RL_CAUSE_CREDENTIALS || cause == RL_CAUSE_RIGHTS;
}

/* Whether the node is well but for not being able to store anything. */
static inline bool rl_cause_is_inability(enum rl_cause cause)
{
    return cause == RL_CAUSE_MEMORY || cause == RL_CAUSE_DISK;
}

static inline bool rl_cause_is_clock(enum rl_cause cause)
{
    return cause == RL_CAUSE_CLOCK_STEP || cause == RL_CAUSE_CLOCK_RATE;
}

/* The largest fence: above it the nodes' arithmetic (doubles, exact to 2^53) has no next number. As
 * microseconds that is the year 2255. */
#define RL_FENCE_MAX INT64_C(9007199254740990)

/* The largest ticket that a caller takes along to all nodes: they count on from it, for as many as may
 * come. */
#define RL_TICKET_MAX (RL_FENCE_MAX - (INT64_C(1) << 40))

/* The longest that a key is said to have left, whatever the node says: times and margins are added to it. */
#define RL_TTL_LEFT_MAX_MS RL_FENCE_MAX

/* One node's answer to one question. */
struct rl_answer {
    enum rl_verdict verdict;
    enum rl_cause cause;
    int64_t ttl_left_ms; /* of the key that is in the way: -1 it has no end, -2 not known */
    uint64_t fence;      /* the node's number for this grant, or the highest it knows; 0 none */
    uint64_t holder;     /* tells one holder from another; 0 not known */
    bool marked;         /* the holder that is in the way was broken by an operator, and may not know yet */
    bool shared;         /* readers hold it together, and the holder is one of them */
    uint32_t sharers;    /* how many they are; 0 not known */
    bool armed;          /* it will tell when the key changes, once */
    /* of a lock with a line: the place in this node's line, 1 is the first; 0 it did not tell */
    uint32_t rank;
    /* extend: it was not there, and is again; no grant, for somebody may have had it meanwhile */
    bool planted;
    uint64_t ticket; /* and the ticket that counts there; 0 it did not tell */
    uint32_t name; /* of a lock with several names: which of them was in the way, from 1; 0 it did not tell */
    uint64_t holder_ticket; /* and the ticket of the one that has the lock there; 0 not known */
    int64_t node_us;        /* the node's time when it answered; 0 it did not tell */
    /* of a semaphore: the one that is granted, or held by whom was looked for; 0 none, or it was not told */
    uint32_t slot;
    uint32_t permits; /* a look: it is a semaphore of so many slots; 0 it is none */
};

/* As many slots as a semaphore may have: nodes look at all of them with each question. */
enum { RL_SLOTS_MAX = 1000 };

enum rl_event_kind {
    RL_EVENT_START,   /* begin */
    RL_EVENT_ANSWER,  /* a node answered, or it is certain that it will not */
    RL_EVENT_TIMER,   /* wake_at has come (coming early or twice is harmless) */
    RL_EVENT_CANCEL,  /* the caller wants no more */
    RL_EVENT_TURN,    /* acquire only: the caller before it in this process is gone */
    RL_EVENT_CHANGED, /* acquire and stand: the key changed on a node that was armed */
    RL_EVENT_UP,      /* a node can be asked again */
    RL_EVENT_MISSED,  /* lease only: a node does not have it, or not for as long as it is valid */
    RL_EVENT_DOWN,    /* acquire and stand: a node is gone, and what was armed there with it */
    /* stand only: a node said who has the lock, and whether it will tell when that changes */
    RL_EVENT_WATCHED,
    RL_EVENT_HANDED,  /* stand only: a node handed it the lock, and says so without having been asked */
    RL_EVENT_EXTEND,  /* lease only: the caller wants ttl from now */
    RL_EVENT_RELEASE, /* lease only: the caller is done */
    RL_EVENT_ABANDON  /* lease only: nobody owns it any more; stop renewing */
};

struct rl_event {
    enum rl_event_kind kind;
    struct rl_time now;
    uint32_t node; /* RL_EVENT_ANSWER, CHANGED, UP, MISSED, DOWN, WATCHED, HANDED */
    /* RL_EVENT_ANSWER */
    uint32_t question; /* which question this answers: late answers to older ones are told apart by it */
    struct rl_answer answer; /* HANDED: fence, and node_us, the node's time when it gave the lock */
    struct rl_time sent;     /* stand only: when that question was sent */
    bool eligible; /* HANDED: it is known that the node may vote now; else the lock has to be asked for */
    /* RL_EVENT_EXTEND; HANDED: for how long it was given */
    struct rl_span ttl;
    /* RL_EVENT_TURN */
    bool others_first; /* other processes are to have a chance before it asks */
};

/* What is to be done, in this order: release, ask, wake, tell; `asks_first`: ask, then release. An empty set
 * means nothing. */
struct rl_effects {
    rl_node_set release; /* undo the attempt that was under way */
    rl_node_set acquire; /* ask these for the lock, with a fresh owner (stand: only if `fresh`) */
    rl_node_set raise;   /* ask these to lift their fence to `fence` if the lock is still ours */
    rl_node_set peek;    /* ask these who holds it */
    rl_node_set watch;   /* ask these who holds it, and to tell when that changes */
    rl_node_set extend;  /* ask these to let it live for `ttl` from now */
    rl_node_set mend;    /* ask these to have it for rl_lease_left(), with RL_QUESTION_MEND: no vote */
    uint32_t question;   /* number of the question asked by acquire, raise, peek, watch, extend or release */
    uint64_t fence;
    struct rl_span ttl;
    /* acquire: it begins to rest for so long; 0 it does not. Nothing to do: wake_at has it */
    struct rl_span rest;
    bool lost;  /* acquire: a round was not won */
    bool lined; /* stand: a quorum has it in line now, for the first time */
    bool fresh; /* stand: what is asked for is another attempt, with a fresh owner */
    /* stand: the fresh owner asks before the one before it is released, so that it is in line by then */
    bool asks_first;
    bool done;     /* acquire: it has ended; lease: it has ended (released or lost) */
    bool extended; /* lease: an extension round ended; look at the lease for its result */
};

#endif
