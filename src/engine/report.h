/*
 * Fills in the report a caller owns: each node's verdict, who holds it, and the result in one readable line.
 */
#ifndef RL_ENGINE_REPORT_H
#define RL_ENGINE_REPORT_H

#include "engine/operation.h"

/* What people call an answer to that kind of call; whether a node may vote as far as is known. */
redlock_verdict rl_report_verdict(enum rl_operation_kind kind, struct rl_answer answer);
bool rl_report_eligible(const struct rl_engine *engine, uint32_t node);

/* A report may be NULL: nobody wants it. */
void rl_report_clear(redlock_report *report);
void rl_report_open(redlock_report *report, const struct rl_engine *engine);
void rl_report_operation(redlock_report *report, const struct rl_operation *operation);
void rl_report_renewal(redlock_report *report, redlock_lock *lock, redlock_result result,
                       const struct rl_tally *tally);

/* A call that came to nothing, in words; the result comes back. */
redlock_result rl_report_error(redlock_report *report, redlock_result result, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What an inspection that was made for somebody else came to. */
void rl_report_look(redlock_report *report, const struct rl_operation *operation,
                    const struct rl_operation *look);

#endif
