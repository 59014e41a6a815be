/*
 * Makes, fills in and reads details; see details.h.
 */
#include "engine/details.h"

#include <string.h>

#include "engine/sized.h"

static size_t details_size(uint32_t node_capacity)
{
    return sizeof(redlock_details) + node_capacity * sizeof(struct rl_node_detail);
}

redlock_details *rl_details_create(const redlock_allocator *allocator, uint32_t node_capacity)
{
    redlock_details *details = allocator->allocate(allocator->context, details_size(node_capacity));

    if (details == NULL)
        return NULL;
    memset(details, 0, details_size(node_capacity));
    details->allocator = *allocator;
    details->node_capacity = node_capacity;
    return details;
}

void redlock_details_free(redlock_details *details)
{
    redlock_allocator allocator;

    if (details == NULL)
        return;
    allocator = details->allocator;
    allocator.release(allocator.context, details, details_size(details->node_capacity));
}

void rl_details_clear(redlock_details *details)
{
    if (details != NULL)
        details->node_count = details->waiter_count = details->sharer_count = 0;
}

void rl_details_forget(redlock_details *details)
{
    if (details == NULL)
        return;
    details->waiter_count = details->sharer_count = 0;
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

void rl_details_add_sharer(redlock_details *details, const char *owner, size_t length)
{
    if (details->sharer_count < RL_SHARERS_KEPT)
        redlock_holder_parse(owner, length, &details->sharers[details->sharer_count++]);
}

void rl_details_set_owner(redlock_details *details, uint32_t node, const char *owner, size_t length)
{
    struct rl_node_detail *entry = &details->nodes[node];

    entry->has_owner = true;
    entry->owner_length = (uint16_t)(length < REDLOCK_OWNER_MAX ? length : REDLOCK_OWNER_MAX);
    memcpy(entry->owner, owner, entry->owner_length);
    entry->owner[entry->owner_length] = '\0';
}

/* ---- what callers read ---- */

static redlock_result copy_details(redlock_details *copy, const redlock_details *details)
{
    rl_details_clear(copy);
    if (copy == NULL || details == NULL)
        return REDLOCK_OK;
    if (copy->node_capacity < details->node_count)
        return REDLOCK_INVALID;
    memcpy(copy->nodes, details->nodes, details->node_count * sizeof copy->nodes[0]);
    memcpy(copy->waiters, details->waiters, details->waiter_count * sizeof copy->waiters[0]);
    memcpy(copy->sharers, details->sharers, details->sharer_count * sizeof copy->sharers[0]);
    copy->sharer_count = details->sharer_count;
    copy->node_count = details->node_count;
    copy->waiter_count = details->waiter_count;
    return REDLOCK_OK;
}

redlock_result redlock_report_copy(redlock_report *copy, const redlock_report *report)
{
    redlock_report theirs, ours;

    if (!rl_sized_read(&theirs, sizeof theirs, report) || !rl_sized_read(&ours, sizeof ours, copy))
        return REDLOCK_INVALID;
    if (ours.details != theirs.details && copy_details(ours.details, theirs.details) != REDLOCK_OK)
        return REDLOCK_INVALID;
    theirs.details = ours.details;
    if (ours.details == NULL)
        theirs.waiter_count = 0;
    rl_sized_write(copy, &theirs, sizeof theirs);
    return REDLOCK_OK;
}

int redlock_report_node(const redlock_report *report, uint32_t number, redlock_node_report *node)
{
    const struct rl_node_detail *entry;
    redlock_node_report full;

    if (report == NULL || !rl_sized_ok(report, sizeof *report) || report->details == NULL ||
        number >= report->details->node_count || !rl_sized_ok(node, sizeof *node))
        return 0;
    entry = &report->details->nodes[number];
    full = (redlock_node_report){
        .size = sizeof full,
        .verdict = entry->verdict,
        .cause = entry->cause,
        .eligible = entry->eligible,
        .notifies = entry->notifies,
        .eligible_in_ms = entry->eligible_in_ms,
        .latency_us = entry->latency_us,
        .ttl_left_ms = entry->ttl_left_ms,
        .fence = entry->fence,
        .url = entry->url,
        .detail = entry->words,
        .owner = entry->has_owner ? entry->owner : NULL,
        .owner_length = entry->has_owner ? entry->owner_length : 0,
    };
    rl_sized_write(node, &full, sizeof full);
    return 1;
}

int redlock_report_waiter(const redlock_report *report, uint32_t number, redlock_waiter *waiter)
{
    if (report == NULL || !rl_sized_ok(report, sizeof *report) || report->details == NULL ||
        number >= report->details->waiter_count || !rl_sized_ok(waiter, sizeof *waiter))
        return 0;
    rl_sized_write(waiter, &report->details->waiters[number], sizeof *waiter);
    return 1;
}

int redlock_report_sharer(const redlock_report *report, uint32_t number, redlock_holder *sharer)
{
    if (report == NULL || !rl_sized_ok(report, sizeof *report) || report->details == NULL || sharer == NULL ||
        number >= report->details->sharer_count)
        return 0;
    *sharer = report->details->sharers[number];
    return 1;
}
