/*
 * Fills in details; see details.h.
 */
#include "engine/details.h"

#include <string.h>

void rl_details_clear(redlock_details *details)
{
    if (details != NULL)
        details->node_count = details->waiter_count = 0;
}

void rl_details_forget(redlock_details *details)
{
    if (details == NULL)
        return;
    details->waiter_count = 0;
    for (uint32_t node = 0; node < details->node_capacity; node++)
        details->nodes[node].has_owner = false;
}

void rl_details_add_waiter(redlock_details *details, const struct rl_waiter *waiter, uint32_t place)
{
    redlock_waiter *entry;

    if (details->waiter_count >= RL_WAITERS_KEPT)
        return;
    entry = &details->waiters[details->waiter_count++];
    redlock_holder_parse(waiter->who, waiter->who_length, &entry->who);
    entry->who.id[0] = '\0';
    entry->count = waiter->count;
    entry->place = place;
    if (place == 0)
        entry->who.since_ms = (int64_t)(waiter->ticket / 1000);
}

void rl_details_set_owner(redlock_details *details, uint32_t node, const char *owner, size_t length)
{
    struct rl_node_detail *entry = &details->nodes[node];

    entry->has_owner = true;
    entry->owner_length = (uint16_t)(length < REDLOCK_OWNER_MAX ? length : REDLOCK_OWNER_MAX);
    memcpy(entry->owner, owner, entry->owner_length);
    entry->owner[entry->owner_length] = '\0';
}
