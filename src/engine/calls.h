/*
 * A call for a lock begins: what blocking calls and their asynchronous twins have in common. The operation
 * that each returns ends at some time, perhaps at once, and is found in engine->ended then. Specs have been
 * checked before (spec.h); what operators ask is in operator_calls.h.
 */
#ifndef RL_ENGINE_CALLS_H
#define RL_ENGINE_CALLS_H

#include "engine/operation.h"

/* The lock object with everything the spec says about it; owner: adopted, else NULL. NULL: no memory. */
redlock_lock *rl_call_make_lock(struct rl_engine *engine, const redlock_spec *spec, const char *owner,
                                size_t owner_length, redlock_request request);

/* Begin an operation; NULL: *result says why, and the report too. request: 0 somebody blocks on it. */
struct rl_operation *rl_call_acquire(struct rl_engine *engine, const redlock_spec *spec, int64_t wait_ms,
                                     redlock_request request, redlock_result *result, redlock_report *report);

/* The same for a caller that came at `began`, and has waited for connections since: its wait counts from then
 * on. */
struct rl_operation *rl_call_acquire_since(struct rl_engine *engine, const redlock_spec *spec,
                                           struct rl_time began, int64_t wait_ms, redlock_request request,
                                           redlock_result *result, redlock_report *report);
struct rl_operation *rl_call_extend(redlock_lock *lock, uint32_t ttl_ms, redlock_request request,
                                    redlock_result *result, redlock_report *report);
struct rl_operation *rl_call_release(redlock_lock *lock, redlock_request request, redlock_result *result,
                                     redlock_report *report);

/* About a lock that somebody else made, ADOPT or RELEASE; owner_length 0: it ends in a NUL. The spec has been
 * checked. */
struct rl_operation *rl_call_known(struct rl_engine *engine, enum rl_operation_kind kind,
                                   const redlock_spec *spec, const char *owner, size_t owner_length,
                                   redlock_request request, redlock_result *result, redlock_report *report);

/* Makes the lock of an ended adoption the caller's; NULL: there is none, operation->result says why. */
redlock_lock *rl_call_adopted(struct rl_operation *operation);

/* Makes the lock of a won operation the caller's: NULL when its validity has run out on the way. A caller
 * that is ready to wait for longer then goes on waiting: the operation is not done any more. */
redlock_lock *rl_call_hand_out(struct rl_operation *operation);

/* What every call needs: to say no, in the report too (always NULL); and an operation on a lock of its own,
 * whose only reference it takes (NULL: no memory, and the lock is gone too). */
struct rl_operation *rl_call_refuse(redlock_result *result, redlock_report *report, redlock_result why,
                                    const char *words);
struct rl_operation *rl_call_begin_on_own(struct rl_engine *engine, enum rl_operation_kind kind,
                                          redlock_lock *lock, redlock_request request);

#endif
