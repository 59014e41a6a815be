/*
 * Looks at a lock that is split, giving way and yielding; see split.h.
 */
#include "core/split.h"

#include <assert.h>

/* Of a semaphore each slot that is given back may bring the votes that are missing. */
enum { LOOK_MIN_MS = 2, LOOK_MIN_FOR_SLOTS_MS = 8, LOOK_MAX_MS = 250 };

/* At how many nodes the holder at this one has the lock. */
static uint32_t count_held_alike(const struct rl_stand *stand, uint32_t number)
{
    uint64_t holder = stand->nodes[number].last.holder;
    uint32_t count = 0;

    for (rl_node_set left = rl_stand_nodes(stand, RL_STAND_LINED); left != 0; left &= left - 1)
        count += stand->nodes[rl_node_set_first(left)].last.holder == holder;
    return holder != 0 ? count : 0;
}

/* When the key that is in the way ends, by the node's own clock, to the ms; 0 not known. */
static int64_t holder_ends_ms(const struct rl_answer *answer)
{
    return answer->node_us != 0 && answer->ttl_left_ms >= 0 ? answer->node_us / 1000 + answer->ttl_left_ms
                                                            : 0;
}

/* Whether the one that has the lock at a node is after it, too. Contenders look at a split again and again,
 * as we do, and each look lets their keys live longer; the keys of one that had the lock before, or that is
 * dead, only end. */
static bool contends(const struct rl_stand_node *node)
{
    return node->last.holder != 0 && node->last.holder == node->seen_holder && node->seen_ends_ms != 0 &&
           holder_ends_ms(&node->last) > node->seen_ends_ms + 1;
}

/* What a look has shown, for the next one; of a split that is over nothing. */
static void note_look(struct rl_stand *stand, rl_node_set nodes)
{
    for (uint32_t number = 0; number < stand->config.node_count; number++) {
        struct rl_stand_node *node = &stand->nodes[number];
        bool shown = rl_node_set_has(nodes, number);

        node->seen_holder = shown ? node->last.holder : 0;
        node->seen_ends_ms = shown ? holder_ends_ms(&node->last) : 0;
    }
}

/* Rule: of a lock that is split the later ticket gives way to one that contends for it. The same ticket as
 * its own is that of a caller that came in the same microsecond: both begin anew. */
static bool must_give_way(const struct rl_stand *stand)
{
    if (RL_PLANTED(&stand->config, RL_PLANTED_NEVER_GIVES_WAY))
        return false;
    for (rl_node_set left = rl_stand_nodes(stand, RL_STAND_LINED); left != 0; left &= left - 1) {
        const struct rl_stand_node *node = &stand->nodes[rl_node_set_first(left)];
        uint64_t theirs = node->last.holder_ticket;

        if (theirs != 0 && theirs <= stand->ticket && contends(node))
            return true;
    }
    return false;
}

/* When it looks at a split again: not before what is on its way can be there, and less and less often, but
 * always in time for its own keys, which each look lets live longer. */
static void plan_look(struct rl_stand *stand, struct rl_time now)
{
    struct rl_span most = rl_span_us(stand->config.ttl.us / 4), wait = rl_stand_exchange(stand);

    if (wait.us < stand->patience.us)
        wait = stand->patience;
    if (most.us > rl_span_ms(LOOK_MAX_MS).us)
        most = rl_span_ms(LOOK_MAX_MS);
    stand->split_at = rl_time_add(now, wait.us < most.us ? wait : most);
    stand->patience.us = stand->patience.us < most.us / 2 ? 2 * stand->patience.us : most.us;
}

/* Rule: the holder is to have the lock wherever it can. A lone vote would only be missing there when nodes
 * die: the caller stands in line without it, until something changes. */
static bool is_had_by_another(const struct rl_stand *stand)
{
    for (rl_node_set left = rl_stand_nodes(stand, RL_STAND_LINED); left != 0; left &= left - 1)
        if (count_held_alike(stand, rl_node_set_first(left)) >= rl_stand_quorum(stand))
            return true;
    return false;
}

void rl_split_end(struct rl_stand *stand)
{
    note_look(stand, 0);
    stand->patience = rl_span_ms(stand->config.slots > 1 ? LOOK_MIN_FOR_SLOTS_MS : LOOK_MIN_MS);
    stand->split_at = RL_TIME_NEVER;
    stand->looked = stand->confirmed = false;
}

/* Of a semaphore: every node has given it a slot, and they are not the same. Nothing is on its way. */
static bool are_all_in(const struct rl_stand *stand)
{
    return stand->config.slots > 0 && !stand->only && rl_stand_nodes(stand, RL_STAND_LINED) == 0;
}

/* What is under way may make its nodes enough; then it looks who has the others. Other questions do not put
 * that off: where they come again and again there would never be a look. */
enum rl_split_advice rl_split_consider(struct rl_stand *stand, struct rl_time now)
{
    if (rl_stand_nodes(stand, RL_STAND_HAS) == 0) {
        rl_split_end(stand);
        return RL_SPLIT_WAIT;
    }
    if (rl_stand_nodes(stand, RL_STAND_ASKED) != 0)
        return RL_SPLIT_WAIT;
    if (stand->looked && is_had_by_another(stand))
        return RL_SPLIT_YIELD;
    if (stand->looked && must_give_way(stand))
        return RL_SPLIT_GIVE_WAY;
    if (stand->looked)
        note_look(stand, rl_stand_nodes(stand, RL_STAND_LINED));
    stand->looked = false;
    if (are_all_in(stand)) {
        stand->confirmed = true;
        stand->split_at = now;
    }
    if (stand->split_at.us == RL_TIME_NEVER.us)
        plan_look(stand, now);
    return RL_SPLIT_WAIT;
}

rl_node_set rl_split_look(struct rl_stand *stand, struct rl_time now)
{
    if (rl_time_before(now, stand->split_at))
        return 0;
    stand->split_at = RL_TIME_NEVER;
    stand->looked = true;
    if (stand->config.slots > 0) {
        assert(stand->slot >= 1);
        stand->wish = stand->slot;
        stand->only = stand->confirmed; /* the first look may bring what was on its way */
        stand->confirmed = true;
    }
    return rl_stand_nodes(stand, RL_STAND_HAS) | rl_stand_nodes(stand, RL_STAND_LINED);
}

rl_node_set rl_split_yield(struct rl_stand *stand)
{
    rl_node_set votes = rl_stand_votes(stand), asked = votes;

    /* Where it stands in line for that slot alone it has to say that any will do. */
    if (stand->only)
        asked |= rl_stand_nodes(stand, RL_STAND_LINED);
    stand->only = false;
    for (rl_node_set left = votes; left != 0; left &= left - 1) {
        stand->nodes[rl_node_set_first(left)].state = RL_STAND_ASKED;
        stand->nodes[rl_node_set_first(left)].yields = true;
    }
    stand->looked = false;
    return asked;
}

void rl_split_stop_yielding(struct rl_stand *stand, struct rl_time now)
{
    for (uint32_t node = 0; node < stand->config.node_count; node++) {
        if (stand->nodes[node].yields && stand->nodes[node].state == RL_STAND_LINED)
            stand->nodes[node].look_at = now;
        stand->nodes[node].yields = false;
    }
}
