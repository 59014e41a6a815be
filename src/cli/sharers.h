/*
 * Those who share a lock, in words and as JSON. Who has a lock alone is in holder.h.
 */
#ifndef CLI_SHARERS_H
#define CLI_SHARERS_H

#include <jansson.h>
#include <stdbool.h>

#include "redlock.h"

/* Whether the one with this id, or this owner value, has the lock, alone or shared, as far as the report
 * names them. */
bool cli_sharers_have(const redlock_report *report, const char *id);

/* The same, and who it is; false: *found is whom the report calls the holder. */
bool cli_sharers_find(const redlock_report *report, const char *id, redlock_holder *found);

/* Whether the report names all that share the lock: while more do than fit into it, one that it does not name
 * may still have it. */
bool cli_sharers_are_named(const redlock_report *report);

/* "web-3 (pid 4242, user deploy)", or "3 that share it, such as …" */
void cli_sharers_describe(const redlock_report *report, char *text, size_t size);

void cli_sharers_print(const redlock_report *report);

/* Adds kind, and of a shared lock sharer_count and sharers. */
void cli_sharers_add_json(const redlock_report *report, json_t *object);

#endif
