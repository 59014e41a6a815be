/*
 * What a client is made of beside its engine: threads, connections, a clock. Everything in here is guarded by
 * the client's mutex unless it says otherwise; functions expect it to be held unless they say otherwise.
 * docs/architecture.md has the files of this folder from the bottom up.
 */
#ifndef RL_CLIENT_CLIENT_H
#define RL_CLIENT_CLIENT_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/list.h"
#include "client/call.h"
#include "engine/calls.h"
#include "engine/engine.h"
#include "net/clock.h"
#include "net/connection.h"
#include "redlock.h"

enum { RL_RANDOM_POOL = 256 };

/* What the client's own threads run. It is given when the client is opened: the file that starts them is
 * below what they do. */
struct rl_own_threads {
    void *(*carry)(void *client);
    void *(*notify)(void *client);
};

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

    /* Which thread does the I/O; see driver.c. */
    pthread_t driver;           /* while driving: the thread that does */
    bool rung;                  /* the poller was rung to have something written */
    bool driving;               /* a thread waits on the poller */
    bool broke;                 /* a connection could not be made or written to: see rl_driver_turn() */
    uint32_t pollers;           /* threads inside the poller */
    struct rl_time sleep_until; /* until when */
    struct rl_time last_turn;
    struct rl_time loop_turn; /* when an event loop last came round */
    uint32_t async_count;     /* asynchronous operations under way */
    struct rl_own_threads own_threads;
    bool carrier_running, notifier_running;
    pthread_t carrier, notifier;
    pthread_cond_t carrier_wake, notifier_wake, callback_ended;
    struct rl_time carrier_until; /* until when it sleeps */
    struct rl_time carrier_due;   /* when it was last woken to plan for */
    bool processing;              /* a thread is inside redlock_client_process() */
    pthread_t processor;
    struct rl_time timer_set;         /* what timer_fd is set to */
    struct rl_time corked_until;      /* what a loop has asked for is written by then; 0 nothing waits */
    int outer_fd, timer_fd, ready_fd; /* for event loops; -1 while not asked for */
    bool loop_rung;                   /* ready_fd is readable */
    /* What callbacks get to see of single nodes: those that run in redlock_client_process(), and all
     * others. */
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

/* What its engine needs of the program around it. */
struct rl_host rl_client_host(redlock_client *client, const struct rl_config *config);

/* Stands first in what a call of the API does that may write, wait or wake: no call is a cancellation point.
 * A thread that ended in the middle of one would keep the mutex, or be waited for by the close for ever. */
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

/* Locks the client for a call of the API: false (and not locked) after fork or close. leave.h has the way
 * out. */
bool rl_client_enter(redlock_client *client);

struct rl_time rl_client_now(redlock_client *client); /* reads the clock */

#endif
