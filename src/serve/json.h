/*
 * What the library says, as JSON: holders, nodes, reports. It sends nothing.
 */
#ifndef SERVE_JSON_H
#define SERVE_JSON_H

#include <jansson.h>
#include <stdbool.h>

#include <redlock.h>

/* A text in which bytes that are not UTF-8, and control characters, are question marks: others write into
 * locks what they like. */
json_t *serve_json_text(const char *bytes, size_t length);

json_t *serve_json_holder(const redlock_holder *holder);
json_t *serve_json_nodes(const redlock_report *report);
json_t *serve_json_waiters(const redlock_report *report); /* in the order of the report */
json_t *serve_json_sharers(const redlock_report *report); /* likewise */

/* Adds a slot of a semaphore to a list of them, where its number belongs. */
void serve_json_add_slot(json_t *list, const redlock_slot *slot);

/* Members for a problem: holder, nodes, counts, and after how long to come again. */
json_t *serve_json_report(const redlock_report *report);

#endif
