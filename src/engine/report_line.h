/*
 * The result of a call in one readable line. What nodes said is worked out by report.c.
 */
#ifndef RL_ENGINE_REPORT_LINE_H
#define RL_ENGINE_REPORT_LINE_H

#include "engine/operation.h"

/* What there is to say of one node, before anybody decides where it goes. */
struct rl_report_view {
    redlock_verdict verdict;
    enum rl_cause cause;
    const char *words; /* the cause in words; empty when there is nothing to say */
};

/* All nodes of a client. */
struct rl_report_views {
    const struct rl_engine *engine;
    struct rl_report_view nodes[RL_NODES_MAX];
};

/* The counts, the result and the holder of the report are filled in. split: owners were seen, but none of
 * them is known to be the holder. */
void rl_report_write_line(redlock_report *report, const redlock_lock *lock,
                          const struct rl_report_views *views, enum rl_operation_kind kind, bool split);

/* The same for a reentrant lock that its owner has entered again, or left while it is still inside. */
void rl_report_write_entry(redlock_report *report, const redlock_lock *lock, bool entered);

#endif
