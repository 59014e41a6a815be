/*
 * Steps for tests of waiting: somebody else who holds a lock, calls of ours that wait for it, and what their traces tell of why
 * they went on. For the main thread only.
 */
#ifndef TEST_SUPPORT_WAITERS_H
#define TEST_SUPPORT_WAITERS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "redlock.h"
#include "support/fleet.h"
#include "support/guarded.h"
#include "support/listener.h"
#include "support/steps.h"

/* The lock that everybody wants in these tests. */
#define WANTED "wanted"

/* Three nodes, in the mode of this run. */
#define ON_THREE(test)                                                       \
    {                                                                        \
#test, test, is_guarded() ? start_three_guarded : start_three_nodes, \
            is_guarded() ? stop_guarded : stop_nodes, NULL                   \
    }

/* Somebody else takes it on all nodes, and lets go. */
void occupy(struct fleet *fleet, const char *ttl_ms);
void vacate(struct fleet *fleet);
bool is_held_everywhere(struct fleet *fleet);

/* A call that waits. */
struct waiter {
    redlock_client *client;
    redlock_request request;
    redlock_lock *lock;
    redlock_result result;
    redlock_report report;
    atomic_int done;
    int place; /* in the order in which calls ended, from 1 */
};

/* What clients of open_heard say. */
extern struct listener heard;

/* Opens a client that is listened to, and waits until all its nodes have answered; what was heard before is forgotten. */
redlock_client *open_heard(const char *nodes);
redlock_client *open_heard_with(redlock_options *options);

void start_waiting(struct waiter *waiter, redlock_client *client, int64_t wait_ms);
void await_end(struct waiter *waiter, redlock_result expected);

/* Every node will tell somebody of a change. */
void await_armed(struct fleet *fleet);

/* No node will tell anybody. */
void await_nothing_armed(struct fleet *fleet);

/* A quorum of nodes told it, it did not look by itself, and its second round was its last. */
void assert_woken_by_nodes(struct fleet *fleet);

#endif
