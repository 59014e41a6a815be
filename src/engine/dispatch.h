/*
 * A lock's question to several nodes: asks those that can be asked, and remembers which it could not ask yet,
 * or not at all. It decides nothing about the lock; what comes back is in answers.c.
 */
#ifndef RL_ENGINE_DISPATCH_H
#define RL_ENGINE_DISPATCH_H

#include "engine/lock.h"

/* Sends a question to nodes; those that cannot be asked end up in lock->refused_locally, those that are on
 * their way to being ready in lock->owed. */
void rl_dispatch_ask(redlock_lock *lock, rl_node_set nodes, enum rl_command_kind kind, uint32_t question);

/* The same for the fence that effects have, which the lock has from now on. */
void rl_dispatch_raise(redlock_lock *lock, const struct rl_effects *effects);

/* Asks some nodes for the lock once more, with the same owner. Those that are still owed the question are
 * asked when they are ready. */
void rl_dispatch_ask_more(redlock_lock *lock, rl_node_set nodes, uint32_t question);

/* Asks nodes to have a held lock for as long as it is valid. Nobody waits for that; those that cannot be
 * asked now are asked when they can. */
void rl_dispatch_mend(redlock_lock *lock, rl_node_set nodes);

/* The answer of a node that could not be asked, one at a time; false: there are no more. */
bool rl_dispatch_take_refused(redlock_lock *lock, struct rl_event *event);

/* Releases the lock's present owner on nodes; what cannot be sent becomes a debt. Question 0: nobody
 * waits. */
void rl_dispatch_release(redlock_lock *lock, rl_node_set nodes, uint32_t question);

/* The owner that a lock had, and the nodes where that one may have left something. */
struct rl_former {
    uint8_t random[RL_OWNER_RANDOM];
    rl_node_set maybe_stored, stray;
};

/* What to remember of the present owner before another one is drawn. */
struct rl_former rl_dispatch_former(const redlock_lock *lock);

/* Releases a former owner on nodes; nobody waits for that, and questions that are owed stay so. */
void rl_dispatch_release_former(redlock_lock *lock, rl_node_set nodes, const struct rl_former *former);

/* Has a holder of one slot of a semaphore give back whatever else nodes have given it. */
void rl_dispatch_return(redlock_lock *lock, rl_node_set nodes);

/* The node of lock->owed became ready, or will not: sends the question that it is owed. false: it cannot be
 * asked. */
bool rl_dispatch_pay(redlock_lock *lock, uint32_t node);

/* Nobody waits for the nodes in lock->owed any more; releases among them become debts. */
void rl_dispatch_forget_owed(redlock_lock *lock);

#endif
