/*
 * The picture a waiter has of the key in its way; see wait.h.
 */
#include "core/wait.h"

#include <assert.h>

#include "core/tally.h"

enum { EXPIRY_MARGIN_MS = 1 }; /* PTTL is cut to whole milliseconds */

void rl_wait_begin(struct rl_wait *wait, uint32_t node_count, rl_node_set asked)
{
    assert(node_count >= 1);
    assert(node_count <= RL_NODES_MAX);
    assert((asked & ~rl_node_set_all(node_count)) == 0);
    wait->node_count = node_count;
    wait->asked = asked;
    wait->watched = wait->freed = wait->foreign = 0;
    for (uint32_t node = 0; node < node_count; node++)
        wait->ends[node] = RL_TIME_NEVER;
}

/* A holder that is met again after its key has changed renews its lock; a new one may not. */
static void note_holder(struct rl_wait *wait, uint64_t holder)
{
    if (holder == 0)
        return;
    if (holder == wait->before)
        wait->renews = true;
    else if (holder != wait->holder)
        wait->renews = false;
    wait->holder = holder;
}

void rl_wait_down(struct rl_wait *wait, uint32_t node)
{
    rl_node_set one = rl_node_set_one(node);

    assert(node < wait->node_count);
    wait->asked &= ~one;
    wait->watched &= ~one;
    wait->freed &= ~one;
    wait->ends[node] = RL_TIME_NEVER;
}

void rl_wait_answer(struct rl_wait *wait, uint32_t node, const struct rl_answer *answer, struct rl_time now)
{
    rl_node_set one = rl_node_set_one(node);

    rl_wait_down(wait, node); /* what it said before counts no more */
    if (answer->verdict == RL_GRANTED)
        wait->freed |= one;
    if (answer->verdict != RL_DENIED)
        return;
    if (answer->cause == RL_CAUSE_FOREIGN_TYPE)
        wait->foreign |= one;
    if (answer->armed)
        wait->watched |= one;
    if (answer->ttl_left_ms >= 0)
        wait->ends[node] = rl_time_add(now, rl_span_ms(answer->ttl_left_ms + EXPIRY_MARGIN_MS));
    note_holder(wait, answer->holder);
}

bool rl_wait_changed(struct rl_wait *wait, uint32_t node)
{
    rl_node_set one = rl_node_set_one(node);

    assert(node < wait->node_count);
    if ((wait->watched & one) == 0)
        return false;
    wait->watched &= ~one;
    wait->freed |= one;
    wait->before = wait->holder;
    return true;
}

rl_node_set rl_wait_free(const struct rl_wait *wait, struct rl_time now)
{
    rl_node_set set = wait->freed;

    for (uint32_t node = 0; node < wait->node_count; node++)
        if (!rl_time_before(now, wait->ends[node]))
            set |= rl_node_set_one(node);
    return set;
}

struct rl_time rl_wait_free_at(const struct rl_wait *wait)
{
    struct rl_time soonest[RL_NODES_MAX];
    uint32_t quorum = rl_quorum(wait->node_count), count = 0;

    /* Insertion into sorted order; there are at most 31 nodes. */
    for (uint32_t node = 0; node < wait->node_count; node++) {
        // cppcheck-suppress internalAstError ; it does not know this form of a literal
        struct rl_time at = rl_node_set_has(wait->freed, node) ? (struct rl_time){0} : wait->ends[node];
        uint32_t place = count++;

        for (; place > 0 && rl_time_before(at, soonest[place - 1]); place--)
            soonest[place] = soonest[place - 1];
        soonest[place] = at;
    }
    return soonest[quorum - 1];
}

bool rl_wait_will_tell(const struct rl_wait *wait)
{
    return rl_node_set_count(wait->asked | wait->watched | wait->freed) >= rl_quorum(wait->node_count);
}

bool rl_wait_sees_all(const struct rl_wait *wait)
{
    return (wait->watched | wait->freed) == rl_node_set_all(wait->node_count);
}
