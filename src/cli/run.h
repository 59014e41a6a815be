/*
 * Holding a lock while CMD runs, from options to exit code, for the commands that do so: run, elect, once.
 * What they add to it is a job.
 */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include <redlock.h>

#include "cli/options.h"
#include "cli/session.h"

struct cli_run_job {
    const char *command; /* "run" */
    /* Runs when the lock is held and before CMD. False: CMD is not wanted, and *code is what it comes to.
     * NULL: it is. */
    bool (*begin)(void *context, const struct cli_session *session, int *code);
    /* Runs when CMD has ended with 0, while the lock is held. Returns the exit code. NULL: 0. */
    int (*succeed)(void *context, const struct cli_session *session);
    void *context;
};

/* Returns the exit code. *lost: CMD was stopped because the lock was lost. Nothing is left behind: it may be
 * called again. */
int cli_run(const struct cli_options *options, const struct cli_run_job *job, bool *lost);

#endif
