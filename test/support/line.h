/*
 * The lines that nodes keep of those who wait for the lock that everybody wants, as the nodes themselves
 * tell; and processes that stand in them, to be killed or stopped. For the main thread only.
 */
#ifndef TEST_SUPPORT_LINE_H
#define TEST_SUPPORT_LINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "redlock.h"
#include "support/fleet.h"

/* How many stand in a node's line; -1 when it does not answer. */
int line_length(struct fleet *fleet, int node);

/* Whether so many stand in the line of every node that runs. */
bool line_is(struct fleet *fleet, int length);

/* The id of the one at a place of a node's line, from 1; it belongs to the fleet until the next command to
 * that node. */
const char *line_at(struct fleet *fleet, int node, int place);

/* Whether somebody is the first of so many on a quorum of nodes. One that did not grant the lock to its
 * holder has no line. */
bool line_is_led_by(struct fleet *fleet, const char *id, int length);

/* Whether nothing of any waiter is left at the nodes: no line, no lease. What they remember of tickets does
 * not count. */
bool line_is_gone(struct fleet *fleet);

/* Forgets those who were killed: at a node where nobody asked after them they stay until their lease ends. */
void line_clear(struct fleet *fleet);

/* A client that is connected with all nodes, and takes a slow one for slow, not for silent. */
redlock_client *line_open(const char *nodes);

/* For the lock that everybody wants (waiters.h), for longer than any test. */
redlock_spec line_spec(redlock_kind kind);

/* A process of its own that stands in line for the lock, says when it has it, and gives it back when it is
 * told to. */
struct line_process {
    pid_t pid;
    struct line_process_state *state; /* shared with it */
};

struct line_process_state {
    atomic_int has_it, let_go, result;
    atomic_int waits; /* times it was told no and went on waiting */
};

/* Fork before there are threads. It asks once it is told to. */
struct line_process line_process_start(const char *nodes, atomic_int *may_ask);
bool line_process_has_it(const struct line_process *process);

/* Lets it give the lock back and waits for its end; false: it did not end well. */
bool line_process_finish(struct line_process *process);
void line_process_kill(struct line_process *process);

/* A number that forked processes share. */
atomic_int *line_share(void);

#endif
