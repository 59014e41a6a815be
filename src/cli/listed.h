/*
 * A lock as redlock list, watch and break show it: in words, as columns, and as JSON. It asks nobody.
 */
#ifndef CLI_LISTED_H
#define CLI_LISTED_H

#include <jansson.h>
#include <stddef.h>

#include <redlock.h>

#include "cli/text.h"

/* A name of any bytes as a person can read it, cut to size: what cannot be printed is a question mark. */
void cli_listed_name(const char *name, size_t length, char *text, size_t size);

/* The same for JSON: "name", and "name_hex" where that does not say all of it. */
void cli_listed_add_name(json_t *object, const char *name, size_t length);

/* name, kind, holder, ttl_left_ms, fence, votes, nodes, quorum, waiting; of a semaphore slot and slots,
 * too. */
json_t *cli_listed_json(const redlock_listed *lock);

/* ", shared", ", slot 1 of 4", or nothing. */
struct cli_span cli_listed_kind(const redlock_listed *lock);

/* "deploy@web-3 pid 4242, "pg_dump prod", id 7f3a91d0", as far as it is known. */
void cli_listed_holder(const redlock_holder *holder, char *text, size_t size);

#endif
