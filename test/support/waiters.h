/*
 * Steps for tests of waiting: somebody else who holds a lock, calls of ours that wait for it, and what their
 * traces tell of why they went on. For the main thread only.
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

/* Somebody else takes it on every node that runs, for longer than any test or for so long; and lets go. */
void occupy(struct fleet *fleet);
void occupy_for(struct fleet *fleet, const char *ttl_ms);
void vacate(struct fleet *fleet);

/* Whether anybody holds it on every node that runs. */
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

/* Opens a client that is listened to, and waits until all its nodes have answered; what was heard before is
 * forgotten. */
redlock_client *open_heard(const char *nodes);
redlock_client *open_heard_with(redlock_options *options);

/* Begins to wait for ever, for the lock that everybody wants or for another. */
void start_waiting(struct waiter *waiter, redlock_client *client);
void start_waiting_for(struct waiter *waiter, redlock_client *client, const redlock_spec *spec);
void await_end(struct waiter *waiter, redlock_result expected);
void cancel_wait(struct waiter *waiter); /* and sees it end */

/* Somebody else has it, and a call of a new client that is listened to waits until all nodes tell it. */
redlock_client *wait_behind_somebody(struct fleet *fleet, struct waiter *waiter);

/* It has the lock at last, gives it back, and its client is closed. */
void have_it_and_close(struct waiter *waiter);

/* Every node will tell somebody of a change. */
void await_armed(struct fleet *fleet);

/* No node will tell anybody. */
void await_nothing_armed(struct fleet *fleet);

/* A quorum of nodes told it, it did not look by itself, and its second round was its last. */
void assert_woken_by_nodes(struct fleet *fleet);

#endif
