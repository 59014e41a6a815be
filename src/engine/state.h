/*
 * All that an engine remembers beside locks and operations, and what it lends to its files: memory, chance,
 * places for timers, words. Only files of this folder look inside; engine.h has the doors.
 */
#ifndef RL_ENGINE_STATE_H
#define RL_ENGINE_STATE_H

#include "base/list.h"
#include "base/timers.h"
#include "core/acquire.h"
#include "core/clock_watch.h"
#include "core/guard.h"
#include "core/lease.h"
#include "core/planted.h"
#include "engine/config.h"
#include "engine/host.h"
#include "engine/session.h"
#include "wire/examine_command.h"
#include "wire/guard_command.h"
#include "wire/hand_over.h"
#include "wire/owner.h"

/* What is known of one node's right to vote; see guard.c. Forgotten when its connection breaks, but for the
 * clock and what must not come back. */
struct rl_node_guard {
    enum rl_fitness fitness;
    enum rl_fitness looked;         /* by the latest look, which asks for no vote; UNKNOWN: it told nothing */
    bool awaits_floor;              /* it lacked a floor when the present sweep began */
    bool asking;                    /* an admission is on its way */
    struct rl_time asked;           /* when the latest one was sent */
    bool by_info;                   /* what INFO told in the handshake rules it out */
    bool accused;                   /* its clock stepped, and it has not taken note of that yet */
    bool clock_bad;                 /* its rate is off: it does not vote, and is asked for the time instead */
    struct rl_time again;           /* when asking once more may help */
    struct rl_time quarantine_ends; /* QUARANTINED: when it may vote, if nothing happens */
    struct rl_time probed;          /* when a bad clock may be looked at again */
    uint32_t sweep;                 /* the sweep it was last heard in */
    uint64_t high;                  /* no fence of it was above this then */
    struct rl_clock_watch watch;
    bool clock_seen;               /* its clock was looked at, for people to read: */
    int64_t clock_offset_us;       /* by so much it is ahead of our wall clock */
    struct rl_time seen_good;      /* the last good look at its clock was asked for then */
    struct rl_time suspected;      /* since when its clock is in doubt; 0 it is not */
    enum rl_cause cause;           /* why it is not fit */
    enum rl_cause told;            /* what the log was told of that */
    char record[RL_EPOCH_MAX + 1]; /* as its latest admission told it */
    char epoch[RL_EPOCH_MAX + 1];  /* the part of it that votes are asked with */
    char latest[RL_EPOCH_MAX + 1]; /* the epoch that was last heard of, also on earlier connections */
    char former[RL_EPOCH_MAX + 1]; /* and the one before that: it must not come back */
    uint64_t floor_seen;           /* in the latest epoch: it must not fall */
    struct rl_time admitted;       /* when this epoch was first heard of */
    struct rl_time announced; /* when it was last told how long our locks may be; 0 not on this connection */
    struct rl_terms terms;    /* which terms it knew when it was last heard */
    struct rl_guard_clock heard; /* by the latest search for held locks */
    char why[160];               /* in words */
    enum rl_cause refused; /* why it could not write, when it was last asked for a lock; NONE it could */
    char refusal[160];     /* in its own words */
};

/* A release that is still owed to a node whose connection broke; see debts.c and reaper.c. */
struct rl_debt {
    redlock_lock *lock; /* NULL behind the last one */
    uint32_t node;
    uint8_t random[RL_OWNER_RANDOM];
    struct rl_time due;
    struct rl_time until; /* the key is gone by itself by then */
    bool again;           /* one more after this one */
};

/* What one node is owed. Nothing is due, or over, before these times; the reaper makes them exact. */
struct rl_node_debts {
    uint32_t count;
    struct rl_time due, until;
};

/* The queues of callers inside this process, one for each name that more than one of them wants; see
 * queue.c. */
struct rl_queues {
    redlock_lock **leaders; /* table of `places` chains: the lock of each name that others queue behind */
    uint32_t places, count;
    uint64_t seed;
    struct rl_list turns; /* acquisitions whose turn has come */
    uint32_t blocked;     /* blocking calls that wait in here for others of this process */
};

/* Locks by their owner values; see owned.c. */
enum { RL_OWNED_PLACES = 16 };

struct rl_owned {
    redlock_lock **places; /* table of chains: `first`, or memory of its own */
    redlock_lock *first[RL_OWNED_PLACES];
    uint32_t place_count, count;
    uint64_t seed;
};

enum {
    RL_DEBTS_MAX = 512,
    RL_COMMAND_ROOM = 12288 /* bytes that any command fits in, but for its keys */
};

struct rl_engine {
    struct rl_host host;
    struct rl_config config;
    struct rl_time now;      /* of the call that is under way */
    enum rl_planted planted; /* the simulator's */
    struct rl_prng prng;
    struct rl_lease_terms lease_terms;
    bool closing, closed;
    bool inert;       /* this process is a fork of the one that made it: nothing may be sent */
    bool settled;     /* its nodes have had their chance to connect */
    bool looked_away; /* what is read now came a while ago: its latency tells nothing */

    /* Nodes. */
    uint32_t node_count, node_capacity;
    struct rl_session *sessions;  /* node_count of them */
    struct rl_node_guard *guards; /* likewise */
    struct rl_session_user user;
    struct rl_session_config session_config;
    struct rl_wants wants;
    bool voting;         /* locks have been asked for: before that nodes are only looked at */
    uint64_t init_floor; /* what goes with the operator's word, by the latest search */
    uint32_t sweep;      /* number of the latest sweep for a floor */
    struct rl_time sweep_began;
    struct rl_terms terms;      /* that any node has told of: if all forget, it is known here */
    struct rl_time terms_since; /* what is left of each counts from then */
    bool sweeping;
    bool stepping;          /* see steps.c */
    rl_node_set duplicates; /* the log was told that they are servers that stand in the list twice */
    /* nodes that became ready or fit, or will not: operations that wait for them are to be told */
    rl_node_set changed;

    /* Locks and operations. */
    struct rl_timers timers;
    uint32_t timers_reserved;          /* places promised to operations and locks */
    struct rl_list operations;         /* under way */
    struct rl_list rounds;             /* locks with a round under way, but for those of asynchronous calls */
    struct rl_list requested;          /* those */
    struct rl_list settling;           /* operations whose question waits for connections */
    struct rl_list lagging;            /* held locks that do not reach all nodes; see lagging.c */
    uint32_t lagging_on[RL_NODES_MAX]; /* how many of them lack each node */
    struct rl_list ended;              /* operations that are over, for their callers */
    struct rl_list turned;             /* operations that no longer queue, for threads that sleep meanwhile */
    struct rl_list notices;            /* locks whose callbacks have to run */
    struct rl_list spare_operations;
    uint32_t operation_count, spare_operation_count; /* in use; spare */
    struct rl_list spare_locks;
    uint32_t spare_lock_count;
    struct rl_list listings; /* lists, watches and waits; see listing.c */
    uint32_t observers;      /* of them: those that nodes tell of changes */
    struct rl_list watching; /* acquisitions that nodes tell of changes */
    struct rl_list standing; /* acquisitions that stand in line at the nodes */
    struct rl_list inside;   /* reentrant locks that callers have handles of */
    struct rl_owned owned;
    char channel[RL_CHANNEL_MAX +
                 1]; /* where nodes tell it that they have handed a lock over; see hearing.c */
    struct rl_queues queues;
    redlock_request last_request;
    struct rl_debt debts[RL_DEBTS_MAX]; /* debt_count of them, in no order */
    uint32_t debt_count;
    struct rl_node_debts node_debts[RL_NODES_MAX];
    bool debts_dropped; /* the log was told that there are too many, and not all have been paid since */
    redlock_stats stats;
    redlock_node_stats *node_stats; /* node_count of them */
    struct rl_node_facts *facts;    /* likewise, once nodes have been examined; NULL before that */
};

void *rl_state_allocate(struct rl_engine *engine, size_t size);
void rl_state_release(struct rl_engine *engine, void *memory, size_t size); /* NULL is fine */

/* Every operation and every lock has a place for its timer before it begins: setting one cannot fail. */
bool rl_state_reserve_timer(struct rl_engine *engine);
void rl_state_unreserve_timer(struct rl_engine *engine);

bool rl_state_random(struct rl_engine *engine, uint8_t *bytes, size_t length);
int64_t rl_state_wall_us(struct rl_engine *engine);

/* As rl_text_format(). */
void rl_state_log(struct rl_engine *engine, redlock_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Text of several lines, each for itself. Only where somebody reads it. */
void rl_state_trace(struct rl_engine *engine, const char *text);

#endif
