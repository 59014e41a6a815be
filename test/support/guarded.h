/*
 * Steps for tests of guarded nodes: clients with a short quarantine, who may vote and why not, and which keys
 * on the nodes are locks. The guard's own keys are no leftovers: they are what it remembers by. For the main
 * thread only.
 */
#ifndef TEST_SUPPORT_GUARDED_H
#define TEST_SUPPORT_GUARDED_H

#include <stdbool.h>
#include <stdint.h>

#include "redlock.h"
#include "support/fleet.h"

/* Short enough for a test to sit out: a node that forgot is back after QUARANTINE_MS. */
enum { SHORT_MAX_TTL_MS = 300, QUARANTINE_MS = 1305 };

redlock_options guarded_options(const char *nodes, uint32_t max_ttl_ms);

/* A client whose nodes may all vote: it gives the operator's word for them. */
redlock_client *open_admitted(const char *nodes, uint32_t max_ttl_ms);
void admit_all_nodes(redlock_client *client);

/* Whether a node votes, by taking a lock that nobody else wants and looking where it is; nobody does while
 * there is no quorum. detail, of 160 bytes or NULL, says why it does not. */
bool node_votes(redlock_client *client, uint32_t node, char *detail);

/* How many nodes vote, by the same means. */
uint32_t count_votes(redlock_client *client);

/* Whether a key is the guard's own, whatever stands before it. */
bool is_side_key(const char *key);

/* Waits at most wait_ms for releases that are under way; then the lock keys that remain, as "node 0: key"
 * lines, and how many there are. They belong to the caller until the next call. */
const char *lock_leftovers(struct fleet *fleet, int wait_ms);
int count_lock_keys(struct fleet *fleet, int node);

/* Fixtures as in steps.h, but at the end only lock keys count as left behind. */
int start_one_guarded(void **state);
int start_three_guarded(void **state);
int start_five_guarded(void **state);
int stop_guarded(void **state);

#define ON_GUARDED(test, start)                \
    {                                          \
#test, test, start, stop_guarded, NULL \
    }

#endif
