/*
 * A call begins that looks at what all nodes have, or ends somebody's hold: inspect, examine, init, break,
 * list, watch and wait. As in calls.h the operation ends at some time and is found in engine->ended then;
 * none of them takes a lock.
 */
#ifndef RL_ENGINE_OPERATOR_CALLS_H
#define RL_ENGINE_OPERATOR_CALLS_H

#include "engine/operation.h"

/* Puts one question about a name (or about no name) to every node: INSPECT, EXAMINE or INIT. force: init goes
 * on although locks are held. */
struct rl_operation *rl_call_survey(struct rl_engine *engine, enum rl_operation_kind kind,
                                    const redlock_spec *spec, bool force, redlock_request request,
                                    redlock_result *result, redlock_report *report);

/* Ends somebody's hold. The spec has its lengths filled in; details: room for what nodes say, which the
 * operation needs. */
struct rl_operation *rl_call_break(struct rl_engine *engine, const redlock_break_spec *spec,
                                   redlock_details *details, redlock_request request, redlock_result *result,
                                   redlock_report *report);

/* LIST, WATCH or WAIT: see listing.h for how it goes on. The spec has its lengths filled in; wait_ms is
 * WAIT's. */
struct rl_operation *rl_call_list(struct rl_engine *engine, enum rl_operation_kind kind,
                                  const redlock_list_spec *spec, int64_t wait_ms, redlock_request request,
                                  redlock_result *result, redlock_report *report);

#endif
