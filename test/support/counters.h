/*
 * Many processes that increment a number in a file without any protection but the lock: whatever lets two of
 * them in at once loses an increment. The parent may break nodes meanwhile.
 */
#ifndef TEST_SUPPORT_COUNTERS_H
#define TEST_SUPPORT_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "support/fleet.h"

struct counters_result {
    long claimed;     /* increments the processes made while they held the lock */
    long reads;       /* how often one that shares it looked at the number, */
    long beside;      /* and another did so at the same time */
    long counted;     /* what the file says */
    int overlaps;     /* times somebody came in while another was inside */
    int failures;     /* calls that failed where they must not */
    int last_failure; /* the redlock_result of one of them */
    int crashes;      /* processes that did not end well */
};

/* Runs the processes for so long. disturb, which may be NULL, is called again and again by the parent
 * meanwhile, with a number that rises; it takes as long as it likes. */
struct counters_result counters_run(struct fleet *fleet, int processes, int duration_ms,
                                    void (*disturb)(struct fleet *fleet, int turn));

/* The same with others that only look at the number, and share the lock for that. One that finds a writer
 * inside is an overlap. cheat: they look without the lock, to see whether that is found. ttl_ms: of all
 * locks, and the longest there may be. */
struct counters_result counters_share(struct fleet *fleet, int writers, int readers, bool cheat,
                                      uint32_t ttl_ms, int duration_ms,
                                      void (*disturb)(struct fleet *fleet, int turn));

#endif
