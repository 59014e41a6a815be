/*
 * Calls begin: whatever thread they need is started, then the engine has them.
 */
#ifndef RL_CLIENT_BEGIN_H
#define RL_CLIENT_BEGIN_H

#include "client/client.h"

/* As those of engine/calls.h. The threads that a lock with callbacks, or an asynchronous call, needs are
 * there before it is asked for; else the result is REDLOCK_SYSTEM. */
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

/* A blocking call of a thread that sleeps already: nothing is waited for. NULL: there is no operation,
 * call->result says why. */
struct rl_operation *rl_begin_call(redlock_client *client, struct rl_call *call);

/* A spec that says whose a reentrant lock is: the calling thread's, of calls that block, unless it says so
 * itself. *copy may be what the spec is in already. */
const redlock_spec *rl_begin_identify(const redlock_spec *spec, redlock_spec *copy, bool blocks);

/* The client cannot be entered. */
redlock_result rl_begin_misuse(redlock_report *report);

#endif
