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
    redlock_slot *list; /* those that are held, from the first to the last */
    uint32_t count;
};

/* Whether the name is a semaphore by what an inspection of it reported, and who has its slots. False: it is
 * none, or cannot be asked; there is nothing to free. */
bool cli_slots_find(const struct cli_session *session, const char *name, const redlock_report *report,
                    struct cli_slots *slots);
void cli_slots_free(struct cli_slots *slots);

/* The slot whose holder has this id, or an owner value that begins with it; NULL: none. */
const redlock_slot *cli_slots_held_by(const struct cli_slots *slots, const char *id);

/* One line for each slot that is held, "web-3 (pid 4242, user deploy), for 12m04s, id 7f3a91d0, 11s left,
 * granted by 5 of 5", and its number. */
void cli_slots_each(const struct cli_slots *slots, void (*say)(uint32_t slot, const char *words));

/* Adds kind, state, slots, slots_held and holders; none of them is the holder, or an owner of the name's own
 * key. */
void cli_slots_add_json(const struct cli_slots *slots, json_t *object);

#endif
