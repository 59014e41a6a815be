/*
 * Counts and chooses; see gathering.h.
 */
#include "core/gathering.h"

#include <assert.h>
#include <string.h>

#include "core/tally.h"

void rl_gathering_hear(struct rl_gathering *gathering, uint32_t node)
{
    assert(node < gathering->node_count);
    gathering->heard |= rl_node_set_one(node);
}

/* Linear: there are some hundreds at most. */
static struct rl_party *find(struct rl_gathering *gathering, const char *id)
{
    for (uint32_t i = 0; i < gathering->count; i++)
        if (memcmp(gathering->parties[i].id, id, RL_PARTY_ID) == 0)
            return &gathering->parties[i];
    return NULL;
}

void rl_gathering_add(struct rl_gathering *gathering, uint32_t node, const char *id, uint64_t opening)
{
    struct rl_party *party = find(gathering, id);

    assert(rl_node_set_has(gathering->heard, node));
    if (party == NULL && gathering->count == RL_GATHERING_MAX)
        return;
    if (party == NULL) {
        party = &gathering->parties[gathering->count++];
        *party = (struct rl_party){0};
        memcpy(party->id, id, RL_PARTY_ID);
    }
    party->seen_by |= rl_node_set_one(node);
    party->opening = party->opening || opening != 0;
}

static bool has_quorum(const struct rl_gathering *gathering)
{
    return rl_node_set_count(gathering->heard) >= rl_quorum(gathering->node_count);
}

uint32_t rl_gathering_waiting(const struct rl_gathering *gathering)
{
    uint32_t waiting = 0;

    for (uint32_t i = 0; i < gathering->count && has_quorum(gathering); i++)
        waiting += !gathering->parties[i].opening;
    return waiting;
}

bool rl_gathering_through(const uint64_t *openings, uint32_t node_count)
{
    for (uint32_t i = 0; i < node_count; i++) {
        uint32_t same = 0;

        for (uint32_t k = 0; k < node_count; k++)
            same += openings[i] != 0 && openings[k] == openings[i];
        if (same >= rl_quorum(node_count))
            return true;
    }
    return false;
}

bool rl_gathering_out(rl_node_set left, uint32_t node_count)
{
    return node_count - rl_node_set_count(left) < rl_quorum(node_count);
}

bool rl_gathering_choose(const struct rl_gathering *gathering, uint32_t parties, const char **ids)
{
    uint32_t chosen = 0;

    if (parties == 0 || rl_gathering_waiting(gathering) < parties)
        return false;
    /* A node opens for all of them or not at all: those that it may not know yet come last. */
    for (uint32_t known = gathering->node_count; known > 0; known--)
        for (uint32_t i = 0; i < gathering->count && chosen < parties; i++) {
            const struct rl_party *party = &gathering->parties[i];

            if (!party->opening && rl_node_set_count(party->seen_by) == known)
                ids[chosen++] = party->id;
        }
    return chosen == parties;
}
