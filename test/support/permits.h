/*
 * Many processes that share a semaphore and say in common memory while they rely on a slot, so that each sees
 * on its way in whether it is one too many, or whether another one has its slot. The parent may break nodes
 * meanwhile.
 */
#ifndef TEST_SUPPORT_PERMITS_H
#define TEST_SUPPORT_PERMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "support/fleet.h"

struct permits_config {
    int processes;
    uint32_t permits; /* that may be inside at once */
    int duration_ms;
    uint32_t ttl_ms; /* and max_ttl_ms; 0: long */
    bool one_more;   /* they use a semaphore with one slot more than that: to see that it is noticed */
    /* Again and again in the parent, with a number that rises; NULL: nothing happens. */
    void (*disturb)(struct fleet *fleet, int turn);
};

struct permits_result {
    long turns;
    int crowded;  /* times somebody came in and was one too many */
    int doubled;  /* times somebody came in while another one had its slot */
    int unfenced; /* times somebody came in with a fence that its slot had met before */
    int most;     /* how many were inside at once */
    int failures;
    int crashes;
};

struct permits_result permits_run(struct fleet *fleet, const struct permits_config *config);

#endif
