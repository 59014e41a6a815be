/*
 * Counts and chooses; see gathering.h.
 */
#include "core/gathering.h"

#include <assert.h>
#include <string.h>

#include "core/tally.h"

/* ---- one party, at all nodes ---- */

/* Linear in pairs: there are at most 31 nodes. */
bool rl_attendance_through(const struct rl_attendance *attendance)
{
    const uint64_t *opening = attendance->opening;

    for (uint32_t i = 0; i < attendance->node_count; i++) {
        uint32_t same = 0;

        for (uint32_t k = 0; k < attendance->node_count; k++)
            same += opening[i] != 0 && opening[k] == opening[i];
        if (same >= rl_quorum(attendance->node_count))
            return true;
    }
    return false;
}

uint32_t rl_attendance_count(const struct rl_attendance *attendance, enum rl_at_node at)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < attendance->node_count; i++)
        count += attendance->at[i] == at;
    return count;
}

bool rl_attendance_out(const struct rl_attendance *attendance)
{
    uint32_t without =
        rl_attendance_count(attendance, RL_AT_LEFT) + rl_attendance_count(attendance, RL_AT_NEVER);

    return attendance->node_count - without < rl_quorum(attendance->node_count);
}

bool rl_attendance_lost(const struct rl_attendance *attendance)
{
    for (uint32_t i = 0; i < attendance->node_count; i++)
        if (attendance->opening[i] == 0 &&
            (attendance->at[i] == RL_AT_MAYBE || attendance->at[i] == RL_AT_THERE))
            return false;
    return !rl_attendance_through(attendance) && !rl_attendance_out(attendance);
}

/* ---- all parties, as an opener sees them ---- */

/* Linear: there are some hundreds at most. */
static struct rl_party *find(struct rl_gathering *gathering, const char *id)
{
    for (uint32_t i = 0; i < gathering->count; i++)
        if (memcmp(gathering->parties[i].id, id, RL_PARTY_ID) == 0)
            return &gathering->parties[i];
    return NULL;
}

void rl_gathering_add(struct rl_gathering *gathering, uint32_t node, const char *id)
{
    struct rl_party *party = find(gathering, id);

    assert(node < gathering->node_count);
    if (party == NULL && gathering->count == RL_GATHERING_MAX)
        return;
    if (party == NULL) {
        party = &gathering->parties[gathering->count++];
        *party = (struct rl_party){0};
        memcpy(party->id, id, RL_PARTY_ID);
    }
    party->seen_by |= rl_node_set_one(node);
}

bool rl_gathering_choose(const struct rl_gathering *gathering, uint32_t parties, const char **ids)
{
    uint32_t chosen = 0;

    /* A node opens for all of them or not at all: those that some may not know come last, and those without a
     * quorum never. */
    for (uint32_t known = gathering->node_count; known >= rl_quorum(gathering->node_count); known--)
        for (uint32_t i = 0; i < gathering->count && chosen < parties; i++)
            if (rl_node_set_count(gathering->parties[i].seen_by) == known)
                ids[chosen++] = gathering->parties[i].id;
    return parties > 0 && chosen == parties;
}

uint32_t rl_gathering_waiting(const uint32_t *counts, rl_node_set heard, uint32_t node_count)
{
    uint32_t waiting = 0;

    for (uint32_t i = 0; i < node_count; i++) {
        uint32_t as_many = 0;

        for (uint32_t k = 0; k < node_count; k++)
            as_many += rl_node_set_has(heard, k) && counts[k] >= counts[i];
        if (rl_node_set_has(heard, i) && as_many >= rl_quorum(node_count) && counts[i] > waiting)
            waiting = counts[i];
    }
    return waiting;
}
