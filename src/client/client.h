/*
 * What a client, a lock and an operation are made of, for the files of this folder. Everything in here is guarded by the
 * client's mutex unless it says otherwise; functions expect it to be held unless they say otherwise.
 */
#ifndef RL_CLIENT_CLIENT_H
#define RL_CLIENT_CLIENT_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/list.h"
#include "base/timers.h"
#include "client/crowd.h"
#include "client/follow.h"
#include "client/queue.h"
#include "core/acquire.h"
#include "core/clock_watch.h"
#include "core/guard.h"
#include "core/lease.h"
#include "net/clock.h"
#include "net/connection.h"
#include "redlock.h"
#include "wire/guard_command.h"
#include "wire/line_command.h"
#include "wire/lock_command.h"
#include "wire/owner.h"

/* What one node told in the last round of an operation, kept for its report. */
struct rl_node_record {
    struct rl_answer answer;
    int64_t latency_us; /* -1 none */
    char detail[96];
};

/* What a report says of one node. */
struct rl_node_detail {
    redlock_verdict verdict;
    redlock_cause cause;
    bool eligible, notifies, has_owner;
    uint16_t owner_length;
    int64_t eligible_in_ms, latency_us, ttl_left_ms;
    uint64_t fence;
    char url[160];
    char words[160];
    char owner[REDLOCK_OWNER_MAX + 1];
};

enum { RL_WAITERS_KEPT = 16 };

struct redlock_details {
    redlock_allocator allocator;
    uint32_t node_capacity, node_count, waiter_count;
    redlock_waiter waiters[RL_WAITERS_KEPT];
    struct rl_node_detail nodes[]; /* node_capacity of them */
};

struct rl_record {
    redlock_holder holder; /* the owner that most nodes named */
    int64_t holder_ttl_left_ms;
    uint64_t named;           /* that owner, as in answer.holder of the nodes; 0 no node named one */
    bool timed_out;           /* the round ended because time did: who had not answered is silent */
    redlock_details *details; /* where an inspection puts owner values and waiters; NULL nobody wants them */
    uint32_t waiting;         /* INSPECT: callers who wait, as the node that knows most has it */
    uint32_t waiter_count;    /* and how many of them are in details */
    struct rl_node_record *nodes; /* node_count of them */
};

enum rl_operation_kind {
    RL_OPERATION_ACQUIRE,
    RL_OPERATION_ADOPT,
    RL_OPERATION_EXTEND,
    RL_OPERATION_RELEASE,
    RL_OPERATION_INSPECT,
    RL_OPERATION_INIT
};

/* One call of the API while it is under way. Pooled. */
struct rl_operation {
    struct rl_link link;      /* in client->operations, client->completions or client->spare_operations */
    struct rl_link on_lock;   /* in lock->waiting */
    struct rl_link following; /* in one of client->followers, or in client->crowd.ended */
    struct rl_call *call;     /* of a crowd, or of the thread that sleeps: whom to tell; NULL no such */
    struct rl_link in_queue;  /* ACQUIRE: in the queue behind another lock of this name, or in queues.turns */
    struct rl_link watching;  /* ACQUIRE: in client->watching while nodes tell it of changes */
    enum rl_operation_kind kind;
    redlock_lock *lock;
    struct rl_acquire acquire; /* ACQUIRE */
    struct rl_tally tally;     /* INSPECT */
    struct rl_timer timer;     /* ACQUIRE, INSPECT: the lease has the lock's */
    struct rl_time started;
    bool fair;             /* ACQUIRE: it stands in the nodes' lines; see place.c */
    bool shown;            /* ACQUIRE: nodes were told that it waits */
    struct rl_place place; /* ACQUIRE: who stands there, or waits */
    rl_node_set taken_in;  /* ACQUIRE, fair: nodes that have it in their line */
    uint64_t seen;         /* ACQUIRE: the highest fence any node told for this name */
    rl_node_set offered;   /* ACQUIRE, fair: nodes that last offered the free lock to somebody else */
    uint32_t awaits;       /* EXTEND: the lease's question that will settle it */
    bool done;
    redlock_result result;
    redlock_request request; /* 0: somebody blocks on it */
    redlock_acquired_fn acquired;
    redlock_done_fn finished;
    void *context;
    struct rl_record record;
    uint32_t ranks[RL_NODES_MAX];         /* ACQUIRE, fair: its place in each node's line; 0 not known */
    struct rl_node_record node_records[]; /* where record.nodes points */
};

enum rl_lock_stage {
    RL_LOCK_ASKING, /* being acquired, adopted or inspected */
    RL_LOCK_HELD,   /* the lease decides what that means */
    RL_LOCK_OVER    /* released, lost, never acquired */
};

/* Lives as long as the process thread that acquired its locks; see thread_token.c. */
struct rl_thread_token {
    atomic_uint refs;
    atomic_bool alive;
};

/* A renewal that its caller is to be told of. */
struct rl_renewal {
    redlock_renewed_fn tell;
    struct rl_tally tally;
    enum rl_outcome outcome;
};

/* Widest first: there may be a hundred thousand of them. */
struct redlock_lock {
    redlock_client *client;
    struct rl_link link; /* in client->rounds while nodes are owed or asked, or in client->spare_locks */
    union {
        struct rl_link notice;   /* in client->notices */
        struct rl_post unwanted; /* without callbacks: freed by its caller; see crowd.c */
    };
    struct rl_operation *asking; /* ASKING: the operation */
    struct rl_list waiting;      /* operations that wait for an extension round or for the release */
    struct rl_lease lease;
    struct rl_timer timer;
    uint64_t fence; /* handed out with it; while it is asked for: the proposal, then the one to raise to */
    redlock_lost_fn on_lost;
    struct rl_renewal *renewal; /* the latest; NULL: nobody wants to be told */
    void *context;
    struct rl_thread_token *thread; /* NULL: not bound to a thread */
    redlock_lock *next_leader;      /* in the table of leaders; see queue.c */
    struct rl_list queue;           /* operations that want the same name after it */
    struct rl_time queue_since;     /* since when the name is handed on inside this process */
    uint32_t refs;                  /* handle, operations, tickets, reaper */
    struct rl_time kept_until;      /* every key that was sent for it has ended by itself by then */
    rl_node_set touched;            /* nodes that were sent something that may have left a key there */
    rl_node_set stray;   /* nodes where a broken connection's last words about this owner may still arrive */
    rl_node_set owed;    /* nodes that still have to be sent the present question */
    rl_node_set let_go;  /* nodes to release it on once its loss has been told */
    rl_node_set instant; /* nodes that cannot be asked: their answers wait to be counted */
    uint32_t owed_question;
    uint32_t ttl_ms;
    uint16_t capacity;   /* of text, and of the renewal behind it */
    uint16_t key_length; /* prefix and name */
    uint16_t owner_length;
    enum rl_command_kind owed_kind : 8;
    enum rl_lock_stage stage : 8;
    bool handle;                /* the caller has it and has not freed it */
    bool owner_fixed;           /* adopted: the owner value is not ours to make */
    bool lost_due, renewed_due; /* callbacks to run */
    bool calling;               /* a callback of it runs now */
    bool left;                  /* left at the nodes on purpose: nobody cleans up after it */
    bool timed_out;             /* its latest round ended because time did */
    bool leads;                 /* it is the one of its name in the table */
    char text[];                /* key, NUL, owner, NUL */
};

/* A release that is still owed to a node whose connection broke; see reaper.c. */
struct rl_debt {
    redlock_lock *lock; /* NULL: free place */
    uint32_t node;
    uint8_t random[RL_OWNER_RANDOM];
    struct rl_time due;
    struct rl_time until; /* the key is gone by itself by then */
    bool again;           /* one more after this one */
};

/* What is known of one node's right to vote; see guard.c. Forgotten when its connection breaks, but for the clock. */
struct rl_node_guard {
    enum rl_fitness fitness;
    bool awaits_floor;              /* it lacked a floor when the present sweep began */
    bool asking;                    /* an admission is on its way */
    struct rl_time asked;           /* when the latest one was sent */
    bool by_info;                   /* what INFO told in the handshake rules it out */
    bool accused;                   /* its clock stepped, and it has not taken note of that yet */
    bool clock_bad;                 /* its rate is off: it does not vote, and is asked for the time instead */
    struct rl_time again;           /* when asking once more may help */
    struct rl_time quarantine_ends; /* QUARANTINED: when it may vote, if nothing happens */
    struct rl_time proved; /* it was last asked then whether it is still the master that was greeted */
    struct rl_time probed; /* when a bad clock may be looked at again */
    uint32_t sweep;        /* the sweep it was last heard in */
    uint64_t high;         /* no fence of it was above this then */
    struct rl_clock_watch watch;
    struct rl_time seen_good; /* the last good look at its clock was asked for then */
    struct rl_time suspected; /* since when its clock is in doubt; 0 it is not */
    enum rl_cause cause;      /* why it is not fit */
    enum rl_cause told;       /* what the log was told of that */
    char epoch[RL_EPOCH_MAX + 1];
    char why[128]; /* in words */
};

enum { RL_DEBTS_MAX = 512, RL_RANDOM_POOL = 256 };

/* Options, checked and with defaults filled in. Texts are owned. */
struct rl_config {
    char *texts; /* one block for all of them */
    size_t texts_size;
    const char *key_prefix;
    size_t key_prefix_length;
    const char *client_name;
    const char *host;
    const char *login;
    uint32_t pid; /* a forked child cannot use the client, so it stays true */
    bool anonymous;
    bool guarded;
    struct rl_span max_ttl;
    uint32_t drift_ppm;
    struct rl_span connect_timeout;
    struct rl_span node_timeout;
    struct rl_span retry_min;
    struct rl_span retry_max;
    redlock_allocator allocator;
    void (*log)(void *context, redlock_log_level level, const char *line);
    void *log_context;
    void (*trace)(void *context, const char *line);
    void *trace_context;
};

struct redlock_client {
    pthread_mutex_t mutex;
    struct rl_link registered; /* in the list of all clients; see client.c */
    bool inherited;            /* this process is a fork of the one that opened it */
    uint32_t refs;             /* the client itself, and every lock handle */
    bool closing, closed;
    bool settled;     /* its nodes have had their chance to connect */
    uint32_t callers; /* threads inside a blocking call */
    pthread_cond_t callers_gone;
    struct rl_config config;
    struct rl_clock clock;
    struct rl_prng prng;
    struct rl_lease_terms lease_terms;
    uint8_t random[RL_RANDOM_POOL];
    uint32_t random_left;
    struct rl_poller poller;
    struct rl_resolver *resolver;
    struct ssl_ctx_st *tls;
    struct rl_connection_user user;
    struct rl_connection_config connection_config;
    uint32_t node_count;
    uint32_t connection_capacity;
    struct rl_connection *connections; /* node_count of them */
    struct rl_node_guard *guards;      /* node_count of them */
    bool voting;                       /* locks have been asked for: before that nodes are only looked at */
    int64_t quarantine_ms;             /* the longest this client, or another one any node knows of, wants */
    uint32_t sweep;                    /* number of the latest sweep for a floor */
    struct rl_time sweep_began;
    bool sweeping;
    rl_node_set dirty; /* connections with something to flush */
    struct rl_timers timers;
    uint32_t timers_reserved;   /* places promised to operations and locks */
    struct rl_list operations;  /* under way */
    struct rl_list rounds;      /* locks with a round under way */
    struct rl_list completions; /* ended asynchronous operations whose callbacks have to run */
    struct rl_list notices;     /* locks whose callbacks have to run */
    struct rl_list spare_operations;
    uint32_t operation_count, spare_operation_count; /* in use; spare */
    struct rl_list spare_locks;
    uint32_t spare_lock_count;
    struct rl_list watching; /* acquisitions that nodes tell of changes */
    struct rl_queues queues;
    struct rl_followers followers;
    struct rl_span trip;     /* how long the latest round took */
    uint32_t patience, heat; /* how crowded the latest acquisition found it, and how fast it changes hands */
    struct rl_crowd crowd;
    redlock_request last_request;
    struct rl_debt debts[RL_DEBTS_MAX];
    uint32_t debt_count;

    /* Who does the I/O; see driver.c. */
    pthread_t driver;           /* while driving: who */
    bool rung;                  /* the poller was rung to have something written */
    bool driving;               /* a thread waits on the poller */
    uint32_t pollers;           /* threads inside the poller */
    struct rl_time sleep_until; /* until when */
    struct rl_time last_turn;
    bool looked_away;     /* what is read now came a while ago: its latency tells nothing */
    uint32_t async_count; /* asynchronous operations under way */
    bool carrier_running, notifier_running;
    pthread_t carrier, notifier;
    pthread_cond_t carrier_wake, notifier_wake, callback_ended;
    struct rl_time carrier_until; /* until when it sleeps */
    bool processing;              /* a thread is inside redlock_client_process() */
    pthread_t processor;
    struct rl_time timer_set;         /* what timer_fd is set to */
    int outer_fd, timer_fd, ready_fd; /* for event loops; -1 while not asked for */

    redlock_stats stats;
    redlock_node_stats *node_stats; /* node_count of them */
    /* What callbacks get to see of single nodes: those that run in redlock_client_process(), and all others. */
    redlock_details *processed, *notified;
};

/* ---- client.c ------------------------------------------------------------------------------------------ */

void *rl_client_allocate(redlock_client *client, size_t size);
void rl_client_release(redlock_client *client, void *memory, size_t size);

/* Stands first in every call of the API that may write, wait or wake: none of them is a cancellation point. A thread that ended
 * in the middle of one would keep the mutex, or be waited for by the close for ever. */
#define RL_NO_CANCELLATION \
    int cancellation __attribute__((cleanup(rl_cancellation_restore), unused)) = rl_cancellation_stop()

static inline int rl_cancellation_stop(void)
{
    int before;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void rl_cancellation_restore(const int *before)
{
    int ours;

    pthread_setcancelstate(*before, &ours);
}

/* Locks the client for a call of the API: false (and not locked) after fork or close. */
bool rl_client_enter(redlock_client *client);
void rl_client_leave(redlock_client *client);

void rl_client_unref(redlock_client *client); /* unlocks it, and frees it with the last reference */

struct rl_time rl_client_now(redlock_client *client); /* reads the clock */
bool rl_client_reserve_timer(redlock_client *client);
void rl_client_unreserve_timer(redlock_client *client);
bool rl_client_random(redlock_client *client, uint8_t *bytes, size_t length);
void rl_client_log(redlock_client *client, redlock_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void rl_client_trace(redlock_client *client, const char *text);

/* ---- fork.c ---------------------------------------------------------------------------------------------- */

void rl_fork_enlist(redlock_client *client); /* from now on it is known to fork(); not with its mutex held */
void rl_fork_delist(redlock_client *client);

/* ---- close.c --------------------------------------------------------------------------------------------- */

/* Gives back what only a working client needs. */
void rl_client_tear_down(redlock_client *client);
void rl_client_free_nodes(redlock_client *client); /* what there is once per node */

redlock_allocator rl_system_allocator(void);

/* ---- options.c ----------------------------------------------------------------------------------------- */

/* Checks and copies; on failure *error says what is wrong and with which option, and nothing is kept. */
redlock_result rl_config_make(struct rl_config *config, const redlock_options *options, char *error,
                              size_t error_size);
void rl_config_free(struct rl_config *config);

/* ---- lock.c -------------------------------------------------------------------------------------------- */

/* A lock in stage ASKING with one reference; NULL: no memory. */
redlock_lock *rl_lock_create(redlock_client *client, const redlock_spec *spec, size_t name_length,
                             const char *owner, size_t owner_length);
void rl_lock_ref(redlock_lock *lock);
void rl_lock_unref(redlock_lock *lock);

/* The caller's handle is gone; the lock it was a handle of is left at the nodes if it was held. Not the client's reference. */
void rl_lock_let_go(redlock_lock *lock);

/* Draws a fresh owner for the next attempt. */
bool rl_lock_renew_owner(redlock_lock *lock);

/* The random part of the present owner, RL_OWNER_RANDOM bytes; zeros where it is not ours. */
void rl_lock_random(const redlock_lock *lock, uint8_t *random);

/* The owner value that goes with a random part (an earlier attempt's perhaps; NULL the present one's), in buffer of
 * RL_OWNER_MAX + 1. */
size_t rl_lock_owner_text(const redlock_lock *lock, const uint8_t *random, char *buffer);

/* ---- operation.c --------------------------------------------------------------------------------------- */

/* An operation on a lock (whose reference it takes over); NULL: no memory. */
struct rl_operation *rl_operation_create(redlock_client *client, enum rl_operation_kind kind,
                                         redlock_lock *lock);
void rl_operation_free(redlock_client *client, struct rl_operation *operation);
void rl_operation_drop_spares(redlock_client *client, uint32_t kept);
void rl_operation_start_acquire(struct rl_operation *operation, const struct rl_acquire_config *config);
void rl_operation_start_survey(struct rl_operation *operation, enum rl_command_kind kind);
void rl_operation_event(struct rl_operation *operation, const struct rl_event *event);
void rl_operation_finish(struct rl_operation *operation, redlock_result result);

/* ---- watching.c: what nodes tell of changes ------------------------------------------------------------- */

/* Puts the question on the connection, and switches telling on where it is not; false: it cannot be sent now. */
bool rl_watching_send(redlock_lock *lock, uint32_t node, uint32_t question);
void rl_watching_begin(struct rl_operation *operation);
void rl_watching_end(struct rl_operation *operation);
void rl_watching_push(redlock_client *client, uint32_t node, const char *bytes, size_t length);
void rl_watching_tracked(redlock_client *client, uint32_t node, const char *bytes, size_t length);

/* A node came or went. */
void rl_watching_node(redlock_client *client, uint32_t node, enum rl_event_kind kind);

/* ---- place.c: the place of a waiter in the nodes' lines ---------------------------------------------------- */

void rl_place_begin(struct rl_operation *operation);

/* Whether it is near enough to the front of a node's line to care about the lock itself. */
bool rl_place_near(const struct rl_operation *operation, uint32_t node);

/* Its own lease at the nodes, in a buffer of RL_KEY_LINE_MAX: it is touched when the waiter moves up. */
size_t rl_place_lease_key(const struct rl_operation *operation, char *buffer);

/* Watches that, and asks where it stands; the answer. */
bool rl_place_ask(struct rl_operation *operation, uint32_t node, uint32_t question);
void rl_place_told(redlock_lock *lock, uint32_t node, const struct rl_ticket *ticket, const char *bytes,
                   size_t length);

/* Takes what a node said of the line, and makes it mean the same to a fair waiter as to any other. */
void rl_place_answer(struct rl_operation *operation, uint32_t node, const struct rl_ticket *ticket,
                     struct rl_lock_reply *reply);

/* The lock's key changed at a node, or (moved) its own lease did. */
void rl_place_changed(struct rl_operation *operation, uint32_t node, bool moved);

/* Gives the place up everywhere but on nodes that granted the lock, who have done so themselves. */
void rl_place_leave(struct rl_operation *operation);

/* Lets people see that somebody waits for an ordinary lock, or does so no longer. */
void rl_place_show(struct rl_operation *operation, bool leaving);

/* ---- holding.c: a lock after it was acquired ------------------------------------------------------------ */

struct rl_lease_terms rl_holding_terms(redlock_client *client); /* once its options are known */
struct rl_lease_config rl_holding_config(const redlock_client *client, const redlock_spec *spec);
void rl_holding_event(redlock_lock *lock, const struct rl_event *event);

/* Whether all it wants is to be renewed, and validity lasts long enough to do that a little later. */
bool rl_holding_can_wait(const redlock_lock *lock, struct rl_time now);
void rl_holding_abandon(redlock_lock *lock); /* leave it at the nodes and look after it no more */
void rl_holding_let_go(redlock_lock *lock);  /* its loss has been told: release what is left of it */
void rl_holding_discard(redlock_lock *lock); /* release it everywhere without waiting for anybody */
void rl_holding_start(redlock_lock *lock, struct rl_time asked, struct rl_time valid_until);

/* ---- dispatch.c: questions out --------------------------------------------------------------- */

enum { RL_DISPATCH_ROOM = 8192 }; /* bytes that any command fits in, but for its keys */

/* Sends a question to nodes; those that cannot be asked end up in lock->instant, those that are on their way to being
 * ready in lock->owed. */
void rl_dispatch_ask(redlock_lock *lock, rl_node_set nodes, enum rl_command_kind kind, uint32_t question);

/* The answer of a node that could not be asked, one at a time; false: there are no more. */
bool rl_dispatch_take_instant(redlock_lock *lock, struct rl_event *event);

/* Releases the lock's present owner on nodes; what cannot be sent goes to the reaper. Question 0: nobody waits. */
void rl_dispatch_release(redlock_lock *lock, rl_node_set nodes, uint32_t question);

/* Nobody waits for the nodes in lock->owed any more; releases among them go to the reaper. */
void rl_dispatch_forget_owed(redlock_lock *lock);

/* Puts one command for one node on its connection; false: it cannot be sent now. random: whose owner it speaks for; NULL the
 * present one. */
bool rl_dispatch_send(redlock_lock *lock, uint32_t node, enum rl_command_kind kind, uint32_t question,
                      const uint8_t *random, bool full);

/* Writes the last requests of a connection, which were sent together. */
void rl_dispatch_compose(struct rl_connection *connection, uint32_t count, struct rl_writer *writer);

/* Brings locks whose round is under way up to date with a node that became ready or fit, or that will not. */
void rl_dispatch_settle(redlock_client *client, uint32_t node);

/* ---- record.c: what nodes said, for reports and statistics ------------------------------------------------ */

/* The answer of a node that could not be asked, or whose vote is withheld. */
struct rl_answer rl_record_refusal_answer(redlock_client *client, uint32_t node);

/* Write down what a node said, or why it was not asked, for whoever waits for the lock's present question. */
void rl_record_refusal(redlock_lock *lock, uint32_t node);
void rl_record_reply(redlock_lock *lock, uint32_t node, enum rl_command_kind kind, int64_t latency_us,
                     const struct rl_lock_reply *reply);

/* A round ended because time did: those who have not answered were silent. */
void rl_record_silence(redlock_lock *lock, const struct rl_tally *tally);
void rl_record_line(redlock_lock *lock, const char *bytes, size_t length); /* who waits, for an inspection */
void rl_record_count(redlock_client *client, uint32_t node, enum rl_command_kind kind,
                     struct rl_answer answer);

/* ---- stats.c ---------------------------------------------------------------------------------------------- */

void rl_stats_add(redlock_histogram *histogram, struct rl_span value);
void rl_stats_operation(redlock_client *client, const struct rl_operation *operation); /* it has ended */
void rl_stats_renewal(redlock_client *client, bool fine, struct rl_span took);
void rl_stats_validity(redlock_client *client, struct rl_span left); /* when a lock was extended or renewed */
void rl_stats_verdict(redlock_client *client, uint32_t node, redlock_verdict verdict, enum rl_cause cause);

/* ---- answers.c: answers in ------------------------------------------------------------------------------- */

void rl_answers_connect(redlock_client *client); /* fills in client->user */

/* Brings an answer to whoever it is for; drops it when nobody waits for it any more. */
void rl_answers_deliver(redlock_lock *lock, uint32_t node, const struct rl_ticket *ticket,
                        const struct rl_answer *answer);

/* ---- guard.c: may a node vote ---------------------------------------------------------------------------- */

/* Votes are wanted from now on: nodes will be asked whether they may. */
void rl_guard_begin(redlock_client *client);
void rl_guard_ready(redlock_client *client, uint32_t node);
void rl_guard_down(redlock_client *client, uint32_t node);

/* Asks the node to be admitted; word is "", "init" or "suspect". lock: who is told (init), NULL nobody. */
bool rl_guard_admit(redlock_client *client, uint32_t node, const char *word, redlock_lock *lock, bool full);
/* false: it was sent again, and the answer is still to come. */
bool rl_guard_reply(redlock_client *client, uint32_t node, const struct rl_ticket *ticket, const char *bytes,
                    size_t length);
void rl_guard_dropped(redlock_client *client, uint32_t node);

/* Its clock stepped: it has to sit out, for everybody. Goes on until the node has taken note, over breaks of the
 * connection too. */
void rl_guard_accuse(redlock_client *client, uint32_t node);

/* It does not vote, and why. */
void rl_guard_set_unfit(redlock_client *client, uint32_t node, enum rl_cause cause, const char *why);

/* clocks.c: a node told its time in an answer. false: its clock cannot be trusted, so this answer does not count as a grant. */
bool rl_guard_clock(redlock_client *client, uint32_t node, struct rl_time sent, int64_t node_us);

/* Finds out who may vote without changing anything at the nodes, for an inspection. */
void rl_guard_look(redlock_client *client);

/* It said that its epoch is another: ask it anew. */
void rl_guard_refused(redlock_client *client, uint32_t node);

enum rl_right { RL_MAY_VOTE, RL_MAY_NOT_VOTE, RL_MAY_VOTE_SOON };

/* Whether it may be asked for a lock now; SOON: an admission is on its way. Asks anew where that may help. */
enum rl_right rl_guard_right(redlock_client *client, uint32_t node);

/* ---- proof.c: still the same master? ---------------------------------------------------------------------- */

/* A promotion breaks no connection, and what replication put into a node's memory in the meantime may be a copy of its own
 * record. So an acquire is followed, unless that was done a moment ago, by the question which master it was that
 * answered. Whether that is due. */
bool rl_proof_due(const redlock_client *client, uint32_t node);

/* That question goes out now. What is asked in the moment that follows needs none of its own: its answers come behind this
 * one's, and if that is not the right one they do not come at all, for the connection is broken. */
void rl_proof_asked(redlock_client *client, uint32_t node);

/* The reply to such a pair of questions. Unless it is the master that was greeted, it has not voted. */
enum rl_proof rl_proof_read(const redlock_client *client, uint32_t node, const char *bytes, size_t length);
void rl_proof_failed(redlock_client *client, uint32_t node, enum rl_proof proof, bool voted);

/* ---- reaper.c ------------------------------------------------------------------------------------------- */

/* A release is owed to a node, to be sent after a pause. random: as above. */
void rl_reaper_add(redlock_lock *lock, uint32_t node, const uint8_t *random, struct rl_span pause);

/* Whether a node is owed a release that was not sent at all yet. */
bool rl_reaper_waits(const redlock_client *client, uint32_t node);
void rl_reaper_pay(redlock_client *client, struct rl_time now); /* sends what is due where it can be sent */
struct rl_time rl_reaper_due(const redlock_client *client);
void rl_reaper_drop_all(redlock_client *client);

/* ---- driver.c ------------------------------------------------------------------------------------------- */

/* Does I/O or sleeps until the operation is done. true: another thread has ended the call; the mutex is not held any more, and
 * neither the operation nor the client is there to be used. NULL instead of a call: that does not happen. */
bool rl_driver_wait(redlock_client *client, struct rl_operation *operation, struct rl_call *call);

/* The operation has ended: wakes the thread that waits for it. */
void rl_driver_wake(redlock_client *client, struct rl_operation *operation);

/* The next moment at which something has to be done without any node having said anything. */
struct rl_time rl_driver_due(const redlock_client *client);

/* A deadline on the clock that threads sleep by. */
struct timespec rl_driver_wake_time(redlock_client *client, struct rl_time until);

/* One turn of I/O: flush, wait at most until `until`, handle what came, run timers. Lets go of the mutex meanwhile. */
void rl_driver_turn(redlock_client *client, struct rl_time until);

/* Sees what happened while nobody drove, so that a question is not put to a connection that is known to be dead. */
void rl_driver_refresh(redlock_client *client);

/* Before a question is put: waits until so many nodes are connected, or those that are not have failed to. */
void rl_driver_settle(redlock_client *client, uint32_t wanted);

/* Whether too few nodes are connected for a quorum, and some are on their way. */
bool rl_driver_connecting(redlock_client *client);
void rl_driver_flush(redlock_client *client);
void rl_driver_run_timers(redlock_client *client);

/* After anything that may need the background: wakes who has to know. */
void rl_driver_nudge(redlock_client *client);

/* Leaves the client after something was asked or learned: sends what has to be sent, and wakes who has to know. */
void rl_driver_leave(redlock_client *client);
bool rl_driver_start_thread(redlock_client *client, pthread_t *thread, void *(*run)(void *));
bool rl_driver_start_carrier(redlock_client *client);
void rl_driver_stop(redlock_client *client);

/* Whether this thread is the one inside redlock_client_process(). */
static inline bool rl_client_processes(const redlock_client *client)
{
    return client->processing && pthread_equal(client->processor, pthread_self());
}

/* ---- notify.c ------------------------------------------------------------------------------------------- */

bool rl_notify_start(redlock_client *client);
void rl_notify_stop(redlock_client *client);
void rl_notify_lock(redlock_lock *lock); /* it has callbacks to run */
void rl_notify_completion(struct rl_operation *operation);
bool rl_notify_run(redlock_client *client, bool completions, bool notices); /* false: nothing to do */

/* ---- sized.c: structs of other versions ------------------------------------------------------------------- */

/* Whether a caller's struct, which begins with its size, can be read and written as one of `ours` bytes. */
bool rl_sized_ok(const void *given, size_t ours);

/* Copies it to ours, with zeros for what it lacks; false: as above. And back, as much of it as the caller knows. */
bool rl_sized_read(void *ours, size_t size, const void *given);
void rl_sized_write(void *given, const void *ours, size_t size);

/* A caller's report while a call fills it in: `report` is it, or a copy when it is of another version. */
struct rl_report_frame {
    redlock_report *given, *report;
    redlock_report copy;
};

bool rl_report_accept(struct rl_report_frame *frame, redlock_report *given); /* false: its size is wrong */
redlock_result rl_report_return(const struct rl_report_frame *frame, redlock_result result); /* the result */

/* A caller's spec as this version knows it: itself, or a copy; NULL: its size is wrong. */
const redlock_spec *rl_spec_accept(const redlock_spec *given, redlock_spec *copy);

/* ---- details.c ------------------------------------------------------------------------------------------- */

redlock_details *rl_details_create(const redlock_allocator *allocator, uint32_t node_capacity);

/* All of these take NULL. The first empties it; the second says that no node has an owner and nobody waits. */
void rl_details_clear(redlock_details *details);
void rl_details_forget(redlock_details *details);
void rl_details_add_waiter(redlock_details *details, const struct rl_waiter *waiter, uint32_t place);
void rl_details_set_owner(redlock_details *details, uint32_t node, const char *owner, size_t length);

/* ---- report.c ------------------------------------------------------------------------------------------- */

/* What people call an answer to that kind of call; whether a node may vote as far as is known. */
redlock_verdict rl_report_verdict(enum rl_operation_kind kind, struct rl_answer answer);
bool rl_report_eligible(const redlock_client *client, uint32_t node);
void rl_report_clear(redlock_report *report);
void rl_report_open(redlock_report *report, const redlock_client *client);
void rl_report_operation(redlock_report *report, const struct rl_operation *operation);
void rl_report_error(redlock_report *report, redlock_result result, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void rl_report_renewal(redlock_report *report, redlock_lock *lock, redlock_result result,
                       const struct rl_tally *tally);

/* ---- blocking.c ------------------------------------------------------------------------------------------ */

/* The halves of a blocking call, before and after its operation; NULL: there is none, call->result says why. */
struct rl_operation *rl_blocking_begin(redlock_client *client, struct rl_call *call);
void rl_blocking_end(redlock_client *client, struct rl_call *call, struct rl_operation *operation);
redlock_result rl_blocking_misuse(redlock_report *report);

/* An owner value that a caller gave; length 0: it ends in a NUL. */
struct rl_owner_value {
    const char *bytes;
    size_t length;
};

/* ---- calls.c: what blocking calls and their asynchronous twins share ------------------------------------- */

/* A spec with its defaults filled in; on REDLOCK_INVALID the report names what is wrong. */
redlock_result rl_call_check_spec(redlock_client *client, const redlock_spec *spec, redlock_spec *checked,
                                  redlock_report *report);

/* The threads that a lock with callbacks, or an asynchronous call, needs must be there before it is asked for. */
bool rl_call_start_background(redlock_client *client, const redlock_spec *spec, redlock_request request);

/* The lock object with everything the spec says about it; owner: adopted, else NULL. NULL: no memory. */
redlock_lock *rl_call_make_lock(redlock_client *client, const redlock_spec *spec, const char *owner,
                                size_t owner_length, redlock_request request);

/* Begin an operation; NULL: *result says why, and the report too. */
struct rl_operation *rl_call_acquire(redlock_client *client, const redlock_spec *spec, int64_t wait_ms,
                                     redlock_request request, redlock_result *result, redlock_report *report);
struct rl_operation *rl_call_extend(redlock_lock *lock, uint32_t ttl_ms, redlock_request request,
                                    redlock_result *result, redlock_report *report);
struct rl_operation *rl_call_release(redlock_lock *lock, redlock_request request, redlock_result *result,
                                     redlock_report *report);

/* Makes the lock of a won operation the caller's: NULL when its validity has run out on the way. */
redlock_lock *rl_call_hand_out(struct rl_operation *operation);

/* ---- thread_token.c ------------------------------------------------------------------------------------- */

struct rl_thread_token *rl_thread_token_get(void); /* a new reference to this thread's; NULL: no memory */
void rl_thread_token_unref(struct rl_thread_token *token);

#endif
