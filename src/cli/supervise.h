/*
 * The time in which the lock is held: starts CMD through the warden, forwards signals, tells what happens to
 * the lease, and sees CMD end. The deadlines themselves are the warden's.
 */
#ifndef CLI_SUPERVISE_H
#define CLI_SUPERVISE_H

#include <stdbool.h>
#include <stdint.h>

#include <redlock.h>

#include "cli/events.h"
#include "cli/lease.h"
#include "cli/local.h"
#include "cli/metrics_file.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "cli/warden.h"

struct cli_supervision {
    redlock_client *client;
    redlock_lock *lock; /* NULL: the lease is armed already, and hears of its lock otherwise */
    const char *name;
    const char *program; /* argv[0] of CMD */
    const struct cli_signals *signals;
    const struct cli_warden *warden;
    struct cli_terminal *terminal;
    struct cli_lease *lease;
    struct cli_events *events;
    struct cli_metrics_file *metrics;
    const struct cli_local *local; /* the nodes, when they are our own; NULL otherwise */
    bool foreground;
    enum cli_on_lost on_lost;
    /* Filled in: */
    bool ended;
    int code;         /* CMD's exit code, or ours when it was stopped */
    bool started;     /* CMD ran */
    bool lost;        /* the lock was lost, or was about to be when CMD was stopped */
    bool interrupted; /* somebody asked us to end */
    bool degraded;    /* nodes were out of order at the last renewal */
    bool failing;     /* the last renewal did not reach a quorum */
};

/* Runs CMD to its end. */
void cli_supervise_run(struct cli_supervision *supervision);

/* Keeps the lock until a point in time; a signal that asks us to end ends it early. */
void cli_supervise_hold(struct cli_supervision *supervision, int64_t until_ms);

#endif
