/*
 * Calls begin: whatever thread they need is started, then the engine has them.
 */
#ifndef RL_CLIENT_BEGIN_H
#define RL_CLIENT_BEGIN_H

#include "client/client.h"

struct rl_task;

/* Begins an operation; NULL: *result says why, and the report too. request: 0 somebody blocks on it. The
 * threads that a lock with callbacks, or an asynchronous call, needs are there before it is asked for; else
 * the result is REDLOCK_SYSTEM. */
typedef struct rl_operation *rl_begin_fn(redlock_client *client, const struct rl_task *task,
                                         redlock_request request, redlock_result *result,
                                         redlock_report *report);

/* What a call of the API asks for: how it begins, what that needs to know, and the functions to call back.
 * perform.h has what comes after the beginning. */
struct rl_task {
    rl_begin_fn *begin;
    const char *wrong; /* what is wrong with it, whatever the state of the client; NULL nothing */
    enum rl_operation_kind kind;
    redlock_lock *lock; /* EXTEND, RELEASE: of a handle */
    uint32_t ttl_ms;
    const redlock_spec *spec;  /* ACQUIRE, ADOPT, RELEASE: NULL its size is wrong; INSPECT: NULL no name */
    const char *owner;         /* ADOPT, RELEASE: of a lock that somebody else made */
    size_t owner_length;       /* 0: that of a text */
    int64_t wait_ms;           /* ACQUIRE, WAIT */
    bool force;                /* INIT: although locks are held */
    redlock_list_spec list;    /* LIST, WATCH, WAIT */
    redlock_break_spec broken; /* BREAK */
    redlock_lock **adopted;    /* ADOPT: where a blocking caller wants the handle */
    redlock_acquired_fn acquired;
    redlock_done_fn finished;
    redlock_listed_fn listed;
    redlock_event_fn happened;
    redlock_slot_fn told;
    void *context;
};

rl_begin_fn rl_begin_extend;
rl_begin_fn rl_begin_known; /* ADOPT or RELEASE, of a lock that somebody else made */

/* INSPECT, EXAMINE or INIT. What an asynchronous inspection finds is kept until its callback has run. */
rl_begin_fn rl_begin_survey;

/* The same without a task, for specs that have been checked and for handles. */
struct rl_operation *rl_begin_acquire(redlock_client *client, const redlock_spec *spec, struct rl_time began,
                                      int64_t wait_ms, redlock_request request, redlock_result *result,
                                      redlock_report *report);
struct rl_operation *rl_begin_release(redlock_lock *lock, redlock_request request, redlock_result *result,
                                      redlock_report *report);

/* The threads that an asynchronous call needs; request 0: it is none. */
bool rl_begin_request(redlock_client *client, redlock_request request, redlock_result *result,
                      redlock_report *report);

/* A blocking call of a thread that sleeps already: nothing is waited for. NULL: there is no operation,
 * call->result says why. */
struct rl_operation *rl_begin_call(redlock_client *client, struct rl_call *call);

/* A spec that says whose a reentrant lock is: the calling thread's, of calls that block, unless it says so
 * itself. *copy may be what the spec is in already. */
const redlock_spec *rl_begin_identify(const redlock_spec *spec, redlock_spec *copy, bool blocks);

/* The client cannot be entered. */
redlock_result rl_begin_misuse(redlock_report *report);

#endif
