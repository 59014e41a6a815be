/*
 * What nodes say of the work they were given: commands they have executed, and who waits to be told of
 * changes. For the main thread only.
 */
#ifndef TEST_SUPPORT_TRAFFIC_H
#define TEST_SUPPORT_TRAFFIC_H

#include "support/fleet.h"

/* How often a node has executed a command ("client|caching"), scripts' own calls included; NULL: any, but for
 * the INFO that asks. -1 when it does not answer. */
long traffic_calls(struct fleet *fleet, int node, const char *command);

/* The same over all nodes. */
long traffic_calls_of_all(struct fleet *fleet, const char *command);

/* Connections of a node that are told of changes, and keys they are told of. */
long traffic_tracking(struct fleet *fleet, int node);
long traffic_tracked_keys(struct fleet *fleet, int node);

/* The largest of the nodes' numbers. */
long traffic_most_tracking(struct fleet *fleet);
long traffic_most_tracked_keys(struct fleet *fleet);
long traffic_least_tracked_keys(struct fleet *fleet);

/* Processor time that a process has used, all its threads together, in microseconds; 0 when it is gone. */
long traffic_cpu_us(pid_t pid);

#endif
