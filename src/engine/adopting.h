/*
 * Going on with a slot of a semaphore by its owner value alone: which slot it is, nodes say, and one of them
 * may have another one than the others. Votes are kept until a quorum has named one slot; what is done with
 * them then is in holding.c.
 */
#ifndef RL_ENGINE_ADOPTING_H
#define RL_ENGINE_ADOPTING_H

#include "engine/operation.h"

/* Whether it is being adopted, and its slot is not known yet. */
bool rl_adopting_is_open(redlock_lock *lock);

/* Keeps a vote; false: it names no slot that there is. */
bool rl_adopting_keep(redlock_lock *lock, const struct rl_event *event);

struct rl_slot_choice {
    uint32_t slot;             /* 0: it is too early to say */
    uint32_t question;         /* that the votes are for */
    rl_node_set votes, strays; /* for that slot, and for others */
};

/* The slot that a quorum has named. When no more votes can come, that which most have named: then too few
 * have it. over: the time for votes is. */
struct rl_slot_choice rl_adopting_choose(redlock_lock *lock, bool over);

#endif
