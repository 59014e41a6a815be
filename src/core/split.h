/*
 * A lock that is split, as one caller in line sees it: some nodes have given it the lock, and too few. It
 * looks again and again who has the others, and says whether the caller is to yield those votes, to give way,
 * or to go on. stand.c asks the nodes and begins anew.
 */
#ifndef RL_CORE_SPLIT_H
#define RL_CORE_SPLIT_H

#include "core/stand_state.h"

enum rl_split_advice {
    RL_SPLIT_WAIT,    /* until an answer, or the next look */
    RL_SPLIT_YIELD,   /* another has a quorum: no vote is wanted, only the places */
    RL_SPLIT_GIVE_WAY /* one that came earlier contends: everything is given back */
};

/* Nothing is split yet, or any more. */
void rl_split_end(struct rl_stand *stand);

/* After anything that was learned while the caller waits and has no quorum. */
enum rl_split_advice rl_split_consider(struct rl_stand *stand, struct rl_time now);

/* The nodes to ask when it is time for a look; 0: it is not. Of a semaphore a caller asks once more for any
 * slot, unless every node has given it one already, and from the second look on for the one that most nodes
 * have given it, and gives the others back: so it contends for one lock, as everybody does who contends for
 * that slot. */
rl_node_set rl_split_look(struct rl_stand *stand, struct rl_time now);

/* Marks the nodes whose votes it yields, and returns the nodes that it is to ask once more. */
rl_node_set rl_split_yield(struct rl_stand *stand);

/* The lock moves: nodes that it did not want a vote of may give it one again. */
void rl_split_stop_yielding(struct rl_stand *stand, struct rl_time now);

#endif
