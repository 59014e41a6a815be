/*
 * Takes a lock in a loop of our own, so that signals end it at once and a waiting user sees the holder.
 * What is done with the lock is the caller's business.
 */
#ifndef CLI_ACQUIRING_H
#define CLI_ACQUIRING_H

#include <redlock.h>

#include "cli/events.h"
#include "cli/options.h"
#include "cli/session.h"
#include "cli/signals.h"

struct cli_acquiring {
    const struct cli_session *session;
    const redlock_spec *spec;
    int64_t wait_ms;
    const struct cli_signals *signals;
    struct cli_events *events; /* may be NULL */
    /* Filled in: */
    redlock_lock *lock;
    redlock_report report; /* its result is the answer */
    int signal;            /* that ended it, 0 when none did; then nothing is held */
};

/* Checks the options that all commands share which take a lock. 0, or an exit code after having said what is
 * wrong. */
int cli_acquiring_check(const struct cli_options *options);

/* The kind of lock that is wanted, if these nodes can give it. The same. */
int cli_acquiring_kind(const struct cli_session *session, const struct cli_options *options,
                       redlock_kind *kind);

/* Returns when the lock is held or never will be. */
void cli_acquiring_run(struct cli_acquiring *acquiring);

#endif
