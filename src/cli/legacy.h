/*
 * Legacy locks (--legacy, mode = legacy) for the commands that take, keep and give back locks: SETNX with the
 * end as the value, on one node. What they are is the library's business (redlock_legacy_acquire()); this has
 * the waiting, the renewals and the words.
 */
#ifndef CLI_LEGACY_H
#define CLI_LEGACY_H

#include <pthread.h>

#include "cli/lease.h"
#include "cli/session.h"
#include "cli/signals.h"

struct cli_legacy {
    const struct cli_session *session;
    redlock_legacy_spec spec;
    bool taken;              /* it is held; without, CMD is not wanted */
    int64_t end_ms;          /* of the lock, in the node's time; its owner value, as it were */
    int64_t valid_until_ms;  /* by cli_clock_now() */
    struct cli_lease *lease; /* told of renewals */
    uint32_t renew_ms;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    bool over, gone; /* CMD has ended; the lock was lost before */
    pthread_t thread;
};

/* 0 when there is one node and the name fits; else an exit code after having said what is wrong. */
int cli_legacy_open(struct cli_legacy *legacy, const struct cli_session *session, const char *name,
                    uint32_t ttl_ms);

/* Takes it, waiting as options say. The exit code if it is not taken, after having said why; with --skip-ok
 * that is 0. */
int cli_legacy_take(struct cli_legacy *legacy, const struct cli_options *options,
                    const struct cli_signals *signals);

/* Renews it from now on, on a thread of its own, and tells the lease; false: the system refused the
 * thread. */
bool cli_legacy_keep(struct cli_legacy *legacy, struct cli_lease *lease, uint32_t renew_ms);

/* Ends that and gives the lock back, unless it was lost. REDLOCK_LOST, REDLOCK_NOT_HELD: it was gone
 * before. */
redlock_result cli_legacy_end(struct cli_legacy *legacy);

/* acquire, extend and release, when the configuration says legacy. Return the exit code. */
int cli_legacy_acquire(const struct cli_session *session, const struct cli_options *options,
                       const struct cli_signals *signals, uint32_t ttl_ms);
int cli_legacy_extend(const struct cli_session *session, const char *name, const char *owner,
                      uint32_t ttl_ms);
int cli_legacy_release(const struct cli_session *session, const char *name, const char *owner);

#endif
