/*
 * A held lock as the command sees it: carries what the library's threads report to the main loop and, without
 * the main loop's help, to the warden. It decides when CMD has to end, but ends nothing.
 */
#ifndef CLI_LEASE_H
#define CLI_LEASE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <redlock.h>

#include "cli/warden.h"

/* What happened since it was last asked for. */
struct cli_lease_news {
    bool lost;
    bool renewed;         /* the last round */
    bool failed;          /* the last round did not reach a quorum */
    bool late;            /* no node is to blame: it was not renewed in time */
    bool broken;          /* lost: by an operator */
    uint32_t name_number; /* of several names the one that is gone, as in redlock_report */
    uint32_t granted, not_held, node_count, quorum;
    uint32_t out_of_order; /* nodes that could not be used; one that has not answered yet is not among them */
    int64_t validity_ms;
};

struct cli_lease {
    int fd; /* readable when there is news; -1 before it is open */
    const struct cli_warden *warden;
    int64_t grace_ms, margin_ms;
    int64_t kill_at_ms; /* as the warden was told last */
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    bool over;                  /* CMD does not run any more */
    struct cli_lease_news news; /* under the mutex, as are the deadlines and their order */
};

/* How long before validity ends TERM and KILL are sent. `grace_ms` is shortened so that a renewal that is on
 * time never comes too late. False when the system refuses a descriptor. */
bool cli_lease_open(struct cli_lease *lease, const struct cli_warden *warden, uint32_t ttl_ms,
                    uint32_t renew_ms, int64_t grace_ms);

/* Callbacks for redlock_spec; their context is the struct cli_lease. */
void cli_lease_on_lost(void *context, redlock_lock *lock, const redlock_report *report);
void cli_lease_on_renewed(void *context, redlock_lock *lock, const redlock_report *report);

/* Tells the warden how long the lock may be relied on. */
void cli_lease_arm(struct cli_lease *lease, const redlock_lock *lock);

/* The same for a lock that is not one of the library's: until then, by cli_clock_now(). */
void cli_lease_arm_until(struct cli_lease *lease, int64_t valid_until_ms);

/* What happened to such a lock. */
void cli_lease_renewed(struct cli_lease *lease, int64_t valid_until_ms);
void cli_lease_lost(struct cli_lease *lease);

/* The lock counts as lost, whatever its nodes say from now on: tells the warden. */
void cli_lease_end(struct cli_lease *lease);

/* CMD does not run any more: a loss need not wait for it. */
void cli_lease_over(struct cli_lease *lease);

/* Takes the news; false when there is none. */
bool cli_lease_take_news(struct cli_lease *lease, struct cli_lease_news *news);

/* Only when no callback can come any more. */
void cli_lease_close(struct cli_lease *lease);

#endif
