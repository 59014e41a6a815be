/*
 * The warden: a small process between redlock and CMD that starts CMD, forwards signals to it and ends it in
 * time. It knows nothing of nodes or leases, only two points in time that move on with every renewal.
 *
 * Why a process of its own: it acts on its deadlines even when redlock hangs, is stopped (SIGSTOP, Ctrl-Z) or
 * is killed, in which case it ends everything below itself, also what called setsid(). Being the subreaper
 * for CMD only, it can sweep without touching children that redlock inherited. If the warden itself is
 * killed, CMD dies by its parent-death signal and redlock sweeps the rest. What nobody ends: processes that
 * changed their user (sudo), and, when redlock and the warden are both killed at once, descendants of CMD
 * other than CMD itself.
 */
#ifndef CLI_WARDEN_H
#define CLI_WARDEN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <redlock.h>

#include "cli/child.h"
#include "cli/options.h"

/* Known before the lock is held. */
struct cli_warden_plan {
    struct cli_child_plan child;
    enum cli_on_lost on_lost;
    int64_t max_time_ms; /* CLI_NOT_GIVEN: no limit */
    int64_t grace_ms;    /* between TERM and KILL after max_time_ms */
};

struct cli_warden {
    pid_t pid; /* 0 when there is none */
    int fd;    /* readable when cli_warden_listen() has something */
    uint64_t started;
    char *variables; /* for CMD: texts in memory that both processes see, an empty one at the end */
    size_t variables_used;
};

enum cli_warden_event {
    CLI_WARDEN_NOTHING,
    CLI_WARDEN_STARTED,   /* number: pid of CMD */
    CLI_WARDEN_FAILED,    /* number: errno; ETIME: its lease was over before it could start */
    CLI_WARDEN_SUSPENDED, /* number: the signal that stopped CMD */
    CLI_WARDEN_STOPPING,  /* reason */
    CLI_WARDEN_ENDED,     /* number: wait status; reason; survivors */
    CLI_WARDEN_GONE       /* it was killed: cli_warden_sweep() is due */
};

enum cli_stop_reason { CLI_STOP_NONE, CLI_STOP_LOST, CLI_STOP_MAX_TIME };

struct cli_warden_notice {
    enum cli_warden_event event;
    int number;
    enum cli_stop_reason reason;
    int survivors; /* processes below CMD that could not be ended */
};

/* Forks it. Before any thread is started. The plan has to live on. False when the system refuses. */
bool cli_warden_open(const struct cli_warden_plan *plan, struct cli_warden *warden);

/* When CMD gets TERM and when KILL unless later points are set in time. Any thread; never blocks. */
void cli_warden_set_deadline(const struct cli_warden *warden, int64_t term_at_ms, int64_t kill_at_ms);

/* Sets a variable in the environment of CMD, or with NULL removes it. Before CMD is started. False when there
 * are too many. */
bool cli_warden_set_variable(struct cli_warden *warden, const char *name, const char *value);

/* Starts CMD. */
void cli_warden_start(const struct cli_warden *warden);

/* Signals CMD's group. */
void cli_warden_forward(const struct cli_warden *warden, int number);

/* The next thing it said, without waiting. */
struct cli_warden_notice cli_warden_listen(const struct cli_warden *warden);

/* After CLI_WARDEN_GONE: kills what is left below redlock. Returns the survivors. */
int cli_warden_sweep(const struct cli_warden *warden);

/* Lets go of it. If CMD still runs it is killed, with everything below it. */
void cli_warden_close(struct cli_warden *warden);

#endif
