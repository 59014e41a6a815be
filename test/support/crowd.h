/*
 * A crowd that wants one lock while somebody holds and renews it, as processes or as threads of one process,
 * and what their waiting costs: commands that nodes executed, and processor time. In plain mode, where each
 * command is one of a client's.
 */
#ifndef TEST_SUPPORT_CROWD_H
#define TEST_SUPPORT_CROWD_H

#include <stdint.h>

#include "support/fleet.h"

struct crowd_result {
    long commands;    /* on the busiest node while all of them waited */
    long looks;       /* of which questions who holds it */
    int renewals;     /* of the holder meanwhile */
    double cpu_share; /* processor time over waited time, all of them together: 1 is a core each */
    long drain;       /* commands on the busiest node from the holder's release until everybody had it once */
    int served;       /* how many got it in the end */
};

/* The holder renews so often while they wait, and lets go; each of them takes it once then. For the main
 * thread; fails the test when somebody does not end well. */
struct crowd_result crowd_of_processes(struct fleet *fleet, int count, uint32_t renew_ms, int renewals);
struct crowd_result crowd_of_threads(struct fleet *fleet, int count, uint32_t renew_ms, int renewals);

#endif
