/*
 * Reports that say something of every node, and what they say. Their memory is given back when the program
 * ends; a report from here may be copied and kept.
 */
#ifndef TEST_SUPPORT_DETAILS_H
#define TEST_SUPPORT_DETAILS_H

#include "redlock.h"

redlock_report detailed_report(void);

/* What a report says of a node or a waiter, from 0; fails the test when it says nothing. */
redlock_node_report node_of(const redlock_report *report, uint32_t node);
redlock_waiter waiter_of(const redlock_report *report, uint32_t waiter);

/* What a client has counted of a node. */
redlock_node_stats node_stats_of(redlock_client *client, uint32_t node);

/* How many of its calls wait at the moment, for another holder or for nodes. */
uint64_t waiting_of(redlock_client *client);

#endif
