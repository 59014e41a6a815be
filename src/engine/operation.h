/*
 * Operations: calls of the API while they are under way. What each kind does is in acquisition.c, holding.c
 * and survey.c.
 */
#ifndef RL_ENGINE_OPERATION_H
#define RL_ENGINE_OPERATION_H

#include "core/stand.h"
#include "engine/details.h"
#include "engine/lock.h"

/* What one node told in the last round of an operation, kept for its report. */
struct rl_node_record {
    struct rl_answer answer;
    int64_t latency_us; /* -1 none */
    uint64_t fence;     /* INSPECT: the highest that it has stored for this name; 0 none */
    char detail[96];
};

struct rl_record {
    redlock_holder holder; /* the owner that most nodes named */
    int64_t holder_ttl_left_ms;
    uint64_t named;           /* that owner, as in answer.holder of the nodes; 0 no node named one */
    bool timed_out;           /* the round ended because time did: nodes that had not answered are silent */
    redlock_details *details; /* where an inspection puts owner values and waiters; NULL nobody wants them */
    uint32_t waiting;         /* INSPECT: callers that wait, as the node that knows most has it */
    uint32_t waiter_count;    /* and how many of them are in details */
    uint32_t sharer_count;    /* likewise of those who share it */
    struct rl_node_record *nodes; /* node_count of them */
};

enum rl_operation_kind {
    RL_OPERATION_ACQUIRE,
    RL_OPERATION_ADOPT,
    RL_OPERATION_EXTEND,
    RL_OPERATION_RELEASE,
    RL_OPERATION_INSPECT,
    RL_OPERATION_EXAMINE,
    RL_OPERATION_INIT,
    RL_OPERATION_BREAK, /* begins as an inspection */
    RL_OPERATION_LIST,
    RL_OPERATION_WATCH,
    RL_OPERATION_WAIT
};

struct rl_call;
struct rl_known;
struct rl_listing;

/* One call of the API while it is under way. Pooled. */
struct rl_operation {
    /* in engine->operations, engine->ended or engine->spare_operations; once ended the client's */
    struct rl_link link;
    struct rl_link on_lock;  /* in lock->waiting */
    struct rl_link in_queue; /* ACQUIRE: in the queue behind another lock of this name, or in queues.turns */
    struct rl_link turned;   /* ACQUIRE: in engine->turned */
    struct rl_link watching; /* ACQUIRE: in engine->watching while nodes tell it of changes, */
    struct rl_link standing; /* or in engine->standing while it stands in line */
    struct rl_link settling; /* in engine->settling while it waits for connections; see settling.c */
    uint32_t wanted;         /* and for how many of them */
    enum rl_operation_kind kind;
    redlock_lock *lock;
    bool watches;          /* ACQUIRE, in line: nodes tell it of changes */
    bool stands;           /* ACQUIRE: its state is `stand`, and not `acquire` */
    struct rl_tally tally; /* INSPECT */
    struct rl_timer timer; /* ACQUIRE, INSPECT: the lease has the lock's */
    struct rl_time started;
    struct rl_place place;   /* ACQUIRE, in line: what nodes are told of it */
    uint64_t seen;           /* ACQUIRE: the highest fence any node told for this name */
    uint32_t awaits;         /* EXTEND: the lease's question that will settle it */
    rl_node_set slot_voters; /* ADOPT of a semaphore: nodes that have said which slot it has there, and */
    uint16_t slot_votes[RL_NODES_MAX]; /* which; see adopting.c */
    bool breaks;                 /* INSPECT: to find the hold to break; the lock has the id for its owner */
    bool ambiguous;              /* and at one node several have that id */
    uint32_t breaks_slot;        /* of a semaphore: only if it has this slot, from 1; 0 any */
    bool any_grace;              /* nobody chose: */
    uint32_t grace_ms;           /* and how long others are kept out then */
    struct rl_listing *listing;  /* LIST, WATCH, WAIT: how far it has come; see listing.c */
    const struct rl_page *page;  /* LIST, WATCH: which one to ask for */
    struct rl_list looks;        /* LIST, WATCH, WAIT: inspections of theirs that have ended */
    uint32_t looking;            /* and how many are under way */
    struct rl_operation *parent; /* INSPECT: the operation that wants it; NULL a caller */
    struct rl_known *known;      /* INSPECT of a watch: what is known of the lock */
    redlock_change change;       /* and what has changed */
    bool foreign;                /* INSPECT of a list: another program made it */
    bool slotted;                /* INSPECT of a watch: the name is a semaphore; its slots are looked at */
    bool searching, force;       /* INIT: looks for held locks first; goes on whatever that finds */
    /* ACQUIRE, RELEASE: its owner is inside of the lock already, or stays inside; no node is asked */
    bool enters;
    bool done;
    redlock_result result;

    /* Who called: the client's business. */
    struct rl_link following; /* among threads that sleep */
    struct rl_call *call;     /* the one to tell; NULL nobody sleeps for it */
    redlock_request request;  /* 0: somebody blocks on it */
    redlock_acquired_fn acquired;
    redlock_done_fn finished;
    redlock_listed_fn listed;
    redlock_event_fn happened;
    redlock_slot_fn told;
    void *context;

    struct rl_record record;

    /* From here on only what is used is ever cleared. */
    struct rl_acquire acquire; /* ACQUIRE; one that stands in line leaves here what came of it */
    struct rl_stand stand;
    struct rl_node_record node_records[]; /* where record.nodes points */
};

/* An operation on a lock (whose reference it takes over); NULL: no memory. */
struct rl_operation *rl_operation_create(struct rl_engine *engine, enum rl_operation_kind kind,
                                         redlock_lock *lock);
void rl_operation_free(struct rl_engine *engine, struct rl_operation *operation);
void rl_operation_drop_spares(struct rl_engine *engine, uint32_t kept);

/* Nothing is known of any node yet. */
void rl_operation_clear_record(struct rl_operation *operation);

/* It has ended: its caller finds it in engine->ended. */
void rl_operation_finish(struct rl_operation *operation, redlock_result result);

/* It goes on after all, with another lock, whose reference it takes over. */
void rl_operation_begin_again(struct rl_operation *operation, redlock_lock *lock);

/* The lock is not asked for any more: nodes that have not been asked yet need not be. */
void rl_operation_stop_asking(const struct rl_operation *operation);

/* The acquisition that asks for a lock; NULL none does. */
struct rl_operation *rl_operation_acquiring(const redlock_lock *lock);

/* The same, if it stands in the nodes' lines. */
struct rl_operation *rl_operation_in_line(const redlock_lock *lock);

/* The proposal: now, by the wall clock, but above every fence met for this name. When all nodes take it as it
 * is, one round is enough. */
void rl_operation_propose_fence(const struct rl_operation *operation);

#endif
