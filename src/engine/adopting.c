/*
 * Keeps and counts the votes for slots; see adopting.h.
 */
#include "engine/adopting.h"

#include <assert.h>

/* Whose call it is: the only one that can wait for a lock that nobody has a handle of. */
static struct rl_operation *find_call(redlock_lock *lock)
{
    struct rl_link *link = rl_list_first(&lock->waiting);

    return link != NULL ? RL_CONTAINER(link, struct rl_operation, on_lock) : NULL;
}

bool rl_adopting_is_open(redlock_lock *lock)
{
    const struct rl_operation *call;

    if (lock->slots == 0 || lock->slot != 0 || lock->stage != RL_LOCK_HELD ||
        lock->lease.phase != RL_LEASE_EXTENDING)
        return false;
    call = find_call(lock);
    return call != NULL && call->kind == RL_OPERATION_ADOPT;
}

bool rl_adopting_keep(redlock_lock *lock, const struct rl_event *event)
{
    struct rl_operation *call = find_call(lock);

    assert(event->node < lock->engine->node_count);
    if (event->answer.slot == 0 || event->answer.slot > lock->slots)
        return false;
    call->slot_voters |= rl_node_set_one(event->node);
    call->slot_votes[event->node] = (uint16_t)event->answer.slot;
    return true;
}

static rl_node_set voters_for(const struct rl_operation *call, uint16_t slot)
{
    rl_node_set voters = 0;

    for (rl_node_set left = call->slot_voters; left != 0; left &= left - 1)
        if (call->slot_votes[rl_node_set_first(left)] == slot)
            voters |= rl_node_set_one(rl_node_set_first(left));
    return voters;
}

struct rl_slot_choice rl_adopting_choose(redlock_lock *lock, bool over)
{
    struct rl_operation *call = find_call(lock);
    uint32_t node_count = lock->engine->node_count;
    struct rl_slot_choice choice = {.question = lock->lease.question};
    rl_node_set heard = call->slot_voters | rl_tally_answered(&lock->lease.tally);

    for (rl_node_set left = call->slot_voters; left != 0; left &= left - 1) {
        rl_node_set voters = voters_for(call, call->slot_votes[rl_node_set_first(left)]);

        if (rl_node_set_count(voters) > rl_node_set_count(choice.votes))
            choice.votes = voters;
    }
    if (RL_PLANTED(lock->engine, RL_PLANTED_SLOT_OF_FIRST_VOTE))
        choice.votes = call->slot_voters;
    if (choice.votes == 0)
        return choice;
    if (rl_node_set_count(choice.votes) < rl_quorum(node_count) && !over &&
        rl_node_set_count(heard) < node_count)
        return choice;
    choice.slot = call->slot_votes[rl_node_set_first(choice.votes)];
    choice.strays = call->slot_voters & ~choice.votes;
    call->slot_voters = 0;
    return choice;
}
