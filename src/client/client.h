/*
 * What a client is made of beside its engine: threads, connections, a clock. Everything in here is guarded by the client's mutex
 * unless it says otherwise; functions expect it to be held unless they say otherwise.
 */
#ifndef RL_CLIENT_CLIENT_H
#define RL_CLIENT_CLIENT_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/list.h"
#include "client/crowd.h"
#include "client/follow.h"
#include "engine/calls.h"
#include "engine/engine.h"
#include "net/clock.h"
#include "net/connection.h"
#include "redlock.h"

/* Lives as long as the process thread that acquired its locks; see thread_token.c. */
struct rl_thread_token {
    atomic_uint refs;
    atomic_bool alive;
};

enum { RL_RANDOM_POOL = 256 };

struct redlock_client {
    struct rl_engine engine;
    pthread_mutex_t mutex;
    struct rl_link registered; /* in the list of all clients; see fork.c */
    bool inherited;            /* this process is a fork of the one that opened it */
    uint32_t refs;             /* the client itself, and every lock handle */
    uint32_t callers;          /* threads inside a blocking call */
    pthread_cond_t callers_gone;
    struct rl_clock clock;
    uint8_t random[RL_RANDOM_POOL];
    uint32_t random_left;
    struct rl_poller poller;
    struct rl_resolver *resolver;
    struct ssl_ctx_st *tls;
    struct rl_connection_config connection_config;
    uint32_t connection_capacity;
    struct rl_connection *connections; /* one for each node */
    struct rl_list completions;        /* ended asynchronous operations whose callbacks have to run */
    struct rl_followers followers;
    struct rl_crowd crowd;

    /* Who does the I/O; see driver.c. */
    pthread_t driver;           /* while driving: who */
    bool rung;                  /* the poller was rung to have something written */
    bool driving;               /* a thread waits on the poller */
    bool broke;                 /* a connection could not be made or written to: see rl_driver_turn() */
    uint32_t pollers;           /* threads inside the poller */
    struct rl_time sleep_until; /* until when */
    struct rl_time last_turn;
    uint32_t async_count; /* asynchronous operations under way */
    bool carrier_running, notifier_running;
    pthread_t carrier, notifier;
    pthread_cond_t carrier_wake, notifier_wake, callback_ended;
    struct rl_time carrier_until; /* until when it sleeps */
    bool processing;              /* a thread is inside redlock_client_process() */
    pthread_t processor;
    struct rl_time timer_set;         /* what timer_fd is set to */
    struct rl_time corked_until;      /* what a loop has asked for is written by then; 0 nothing waits */
    int outer_fd, timer_fd, ready_fd; /* for event loops; -1 while not asked for */
    /* What callbacks get to see of single nodes: those that run in redlock_client_process(), and all others. */
    redlock_details *processed, *notified;
};

/* Whether this thread is the one inside redlock_client_process(). */
static inline bool rl_client_processes(const redlock_client *client)
{
    return client->processing && pthread_equal(client->processor, pthread_self());
}

/* The client that a lock is of. */
static inline redlock_client *rl_client_of(const redlock_lock *lock)
{
    return RL_CONTAINER(lock->engine, redlock_client, engine);
}

/* ---- client.c ------------------------------------------------------------------------------------------ */

/* What its engine needs of the program around it. */
struct rl_host rl_client_host(redlock_client *client, const struct rl_config *config);

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

/* ---- fork.c ---------------------------------------------------------------------------------------------- */

void rl_fork_enlist(redlock_client *client); /* from now on it is known to fork(); not with its mutex held */
void rl_fork_delist(redlock_client *client);

/* ---- close.c --------------------------------------------------------------------------------------------- */

/* Gives back what only a working client needs. */
void rl_client_tear_down(redlock_client *client);

/* ---- options.c ----------------------------------------------------------------------------------------- */

/* Checks and copies; on failure *error says what is wrong and with which option, and nothing is kept. */
redlock_result rl_config_make(struct rl_config *config, const redlock_options *options, char *error,
                              size_t error_size);
void rl_config_free(struct rl_config *config);

/* ---- driver.c ------------------------------------------------------------------------------------------- */

/* Does I/O or sleeps until the operation is done. true: another thread has ended the call; the mutex is not held any more, and
 * neither the operation nor the client is there to be used. NULL instead of a call: that does not happen. */
bool rl_driver_wait(redlock_client *client, struct rl_operation *operation, struct rl_call *call);

/* The operation has ended: wakes the thread that waits for it. */
void rl_driver_wake(redlock_client *client, struct rl_operation *operation);

/* A deadline on the clock that threads sleep by. */
struct timespec rl_driver_wake_time(redlock_client *client, struct rl_time until);

/* One turn of I/O: flush, wait at most until `until`, handle what came, run timers. Lets go of the mutex meanwhile. */
void rl_driver_turn(redlock_client *client, struct rl_time until);

/* Sees what happened while nobody drove, so that a question is not put to a connection that is known to be dead. */
void rl_driver_refresh(redlock_client *client);

/* Before a question is put: waits until so many nodes are connected, or those that are not have failed to, or it is too late. */
void rl_driver_settle(redlock_client *client, uint32_t wanted, struct rl_time until);

void rl_driver_flush(redlock_client *client);
void rl_driver_run_timers(redlock_client *client);

/* Event loops: what was asked for goes out with the next redlock_client_process(), or without it a little later. */
void rl_driver_cork(redlock_client *client);

/* After anything that may need the background: wakes who has to know. */
void rl_driver_nudge(redlock_client *client);

/* Leaves the client after something was asked or learned: sends what has to be sent, and wakes who has to know. */
void rl_driver_leave(redlock_client *client);
bool rl_driver_start_thread(redlock_client *client, pthread_t *thread, void *(*run)(void *));
bool rl_driver_start_carrier(redlock_client *client);
void rl_driver_stop(redlock_client *client);

/* ---- notify.c ------------------------------------------------------------------------------------------- */

bool rl_notify_start(redlock_client *client);
void rl_notify_ring(redlock_client *client); /* has an event loop call redlock_client_process() */
void rl_notify_stop(redlock_client *client);

/* Looks at what has come out of the engine: wakes threads whose calls have ended, or who have to run callbacks. */
void rl_notify_attend(redlock_client *client);
bool rl_notify_run(redlock_client *client, bool completions, bool notices); /* false: nothing to do */

/* ---- async.c --------------------------------------------------------------------------------------------- */

/* Leaves the client after an asynchronous call: what it asked for goes out, alone or with others of this turn of a loop. */
void rl_async_leave(redlock_client *client);

/* ---- blocking.c ------------------------------------------------------------------------------------------ */

/* The halves of a blocking call, before and after its operation; NULL: there is none, call->result says why. */
struct rl_operation *rl_blocking_begin(redlock_client *client, struct rl_call *call);
void rl_blocking_end(redlock_client *client, struct rl_call *call, struct rl_operation *operation);
redlock_result rl_blocking_misuse(redlock_report *report);

/* ---- begin.c: calls begin --------------------------------------------------------------------------------- */

/* As those of engine/calls.h. The threads that a lock with callbacks, or an asynchronous call, needs are there before it is asked
 * for; else the result is REDLOCK_SYSTEM. */
struct rl_operation *rl_begin_acquire(redlock_client *client, const redlock_spec *spec, struct rl_time began,
                                      int64_t wait_ms, redlock_request request, redlock_result *result,
                                      redlock_report *report);
struct rl_operation *rl_begin_extend(redlock_lock *lock, uint32_t ttl_ms, redlock_request request,
                                     redlock_result *result, redlock_report *report);
struct rl_operation *rl_begin_release(redlock_lock *lock, redlock_request request, redlock_result *result,
                                      redlock_report *report);

/* A call about a lock that somebody else made: ADOPT or RELEASE. Lengths of 0 are those of texts. */
struct rl_known_call {
    enum rl_operation_kind kind;
    const redlock_spec *spec;
    const char *owner;
    size_t owner_length;
};

/* A question to every node: INSPECT or INIT. */
struct rl_survey_call {
    enum rl_operation_kind kind;
    const char *name; /* NULL none */
    size_t name_length;
    bool force; /* INIT: although locks are held */
};

struct rl_operation *rl_begin_known(redlock_client *client, const struct rl_known_call *call,
                                    redlock_request request, redlock_result *result, redlock_report *report);
struct rl_operation *rl_begin_survey(redlock_client *client, const struct rl_survey_call *call,
                                     redlock_request request, redlock_result *result, redlock_report *report);

/* The threads that an asynchronous call needs; request 0: it is none. */
bool rl_begin_request(redlock_client *client, redlock_request request, redlock_result *result,
                      redlock_report *report);

/* As rl_call_hand_out(), or rl_call_adopted() for an adoption; the handle keeps the client. */
redlock_lock *rl_begin_hand_out(struct rl_operation *operation);

/* ---- operating.c: lists, watches, waits and breaks ------------------------------------------------------- */

/* Tells the caller of a list or a watch what was found so far, without the mutex, and has it go on; false: it has ended. */
bool rl_listing_tell(redlock_client *client, struct rl_operation *operation);

/* ---- thread_token.c ------------------------------------------------------------------------------------- */

struct rl_thread_token *rl_thread_token_get(void); /* a new reference to this thread's; NULL: no memory */
void rl_thread_token_unref(struct rl_thread_token *token);

#endif
