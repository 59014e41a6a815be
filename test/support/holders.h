/*
 * Processes that take one lock again and again, rely on it for as long as they may, and write down when. The
 * parent breaks nodes meanwhile; what became of it is read from the history.
 */
#ifndef TEST_SUPPORT_HOLDERS_H
#define TEST_SUPPORT_HOLDERS_H

#include "redlock.h"
#include "support/fleet.h"
#include "support/history.h"

struct holders_config {
    int processes;
    int duration_ms; /* at most */
    redlock_mode mode;
    uint32_t ttl_ms;       /* and max_ttl_ms */
    uint32_t keep_percent; /* of the holds are kept to the end and left to expire; the others last a moment */
    uint32_t node_timeout_ms;
    /* What each of them locks, by its number; NULL: all the same name. */
    void (*want)(int holder, redlock_spec *spec);
    /* In each child before it begins, with its number; may be NULL. */
    void (*prepare)(int holder);
    /* The number to write down as the fence of a hold; NULL: the lock's own. */
    uint64_t (*number)(const redlock_lock *lock);
    /* Again and again in the parent, with a number that rises; NULL: nothing happens. */
    void (*disturb)(struct fleet *fleet, int turn);
    /* Asked after each of these: it is over before its time; NULL: never. */
    bool (*enough)(void);
};

/* Runs them on all nodes of the fleet and returns what they wrote down; to be freed. Fails the test when a
 * process did not end well. */
struct history *holders_run(struct fleet *fleet, const struct holders_config *config);

#endif
