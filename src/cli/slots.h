/*
 * Who has the slots of a semaphore, in words and as JSON. It asks the nodes only when what an inspection
 * found may be one.
 */
#ifndef CLI_SLOTS_H
#define CLI_SLOTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include <redlock.h>

#include "cli/session.h"

struct cli_slots {
    uint32_t permits, held;
    uint32_t node_count;
    json_t *holders; /* an array, one object for each slot that is held; ours to free */
};

/* Whether the name is a semaphore by what an inspection of it reported, and who has its slots. False: it is
 * none, or cannot be asked; there is nothing to free. */
bool cli_slots_find(const struct cli_session *session, const char *name, const redlock_report *report,
                    struct cli_slots *slots);

/* One line for each slot that is held, "web-3 (pid 4242, user deploy), id 7f3a91d0, 11s left, granted by 5 of
 * 5", and its number. */
void cli_slots_each(const struct cli_slots *slots, void (*say)(uint32_t slot, const char *words));

/* Adds slots, slots_held and holders; the array is gone then. */
void cli_slots_add_json(struct cli_slots *slots, json_t *object);

#endif
