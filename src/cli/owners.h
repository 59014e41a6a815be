/*
 * Which owners have a key of a name, on which nodes, and what that comes to: held, free, split, or not known.
 * It reads what redlock_inspect() reported, and asks nobody.
 */
#ifndef CLI_OWNERS_H
#define CLI_OWNERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <redlock.h>

enum cli_possession {
    CLI_POSSESSION_FREE, /* on a quorum of nodes; others may have leftovers, or somebody is just taking it */
    CLI_POSSESSION_HELD, /* one owner has a quorum of all nodes */
    /* nobody has a quorum, and too few nodes are free: leftovers, or several are just asking */
    CLI_POSSESSION_SPLIT,
    /* nobody holds it, and some nodes have something that is not a lock of this kind */
    CLI_POSSESSION_FOREIGN,
    CLI_POSSESSION_UNKNOWN /* an owner would have a quorum if the nodes that could not tell were its */
};

struct cli_owner {
    const char *value; /* its owner value, in the report's details: any bytes; may be empty */
    size_t length;
    uint32_t nodes; /* bit i: its key is on node i, from 0 */
    uint32_t node_count;
    int64_t soonest_ms, latest_ms; /* when the first and the last of its keys end; INT64_MAX never */
};

struct cli_owners {
    enum cli_possession possession;
    uint32_t count;
    uint32_t silent;     /* nodes that could not tell */
    uint32_t foreign;    /* nodes that have something else */
    uint32_t node_count; /* of the report */
    int64_t free_in_ms;  /* when a quorum will be free of these keys; INT64_MAX never */
    struct cli_owner owners[REDLOCK_NODES_MAX]; /* that with most nodes first: the holder when it is held */
};

/* The report has to outlive it. */
void cli_owners_read(struct cli_owners *owners, const redlock_report *report);

const char *
cli_owners_word(const struct cli_owners *owners); /* "held", "free", "split", "foreign", "unknown" */

/* "web-3 (pid 4242, user deploy), id 7f3a91d0, on nodes 1 and 2, 11s left" */
void cli_owners_describe(const struct cli_owner *owner, char *text, size_t size);

/* "when those keys expire, in 59s at the latest" */
void cli_owners_describe_end(const struct cli_owners *owners, char *text, size_t size);

/* Why nobody is known to hold it: "nobody at the moment: its votes are split", "not known: 2 of 5 nodes gave
 * no answer" */
void cli_owners_describe_nobody(const struct cli_owners *owners, char *text, size_t size);

/* Adds state, granted_by, free_in_ms and owners. */
void cli_owners_add_json(const struct cli_owners *owners, json_t *object);

#endif
