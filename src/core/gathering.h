/*
 * Who has come to a barrier, by what several nodes say, and who may go on: the decisions of
 * redlock_barrier(). Pure; it asks nobody.
 *
 * The rules, for a barrier of K parties. Each call comes under an id of its own. (1) A node writes an id down
 * once: a party is never sent anew to a node that it may have been sent to before, so a node that restarts,
 * is emptied, or drops a party whose lease ended does not take it in again. (2) An opening is a number nobody
 * else has drawn, and K ids. A node takes it in for all K or for none: all have to be there, in no other
 * opening, and waiting for K. (3) A party goes on when a quorum of nodes has said, at whatever time, that it
 * is in one and the same opening. (4) A party comes again under a fresh id, or tells its caller that it does
 * not count, only when it has left so many nodes, in no opening, or was never sent to them, that the others
 * are no quorum.
 *
 * So a node puts an id in one opening at most, ever, whatever it forgets (1). Two openings by which anybody
 * goes on share no id: both would have a quorum for that id (2, 3), and quorums share a node. Each meeting
 * thus has K arrivals of its own. No clock is needed, and no fence; the lock that openers take only keeps
 * them out of each other's way. model/barrier.pml looks at all of this, and at what happens without each
 * rule.
 */
#ifndef RL_CORE_GATHERING_H
#define RL_CORE_GATHERING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/node_set.h"

enum { RL_PARTY_ID = 24, RL_PARTIES_MAX = 500, RL_GATHERING_MAX = 600 };

/* ---- one party, at all nodes ---- */

enum rl_at_node {
    RL_AT_NEVER, /* it was not sent there, so it cannot be there */
    RL_AT_MAYBE, /* it was sent there, and nothing is known */
    RL_AT_THERE,
    RL_AT_GONE, /* the node has lost it, and with it what it was part of */
    RL_AT_LEFT  /* it has left, and was part of no opening */
};

/* Zeroed but for node_count: it was sent nowhere. */
struct rl_attendance {
    uint32_t node_count;
    enum rl_at_node at[RL_NODES_MAX];
    uint64_t opening[RL_NODES_MAX]; /* that a node has put it in; 0 none */
};

/* Whether a quorum of nodes has it in one opening: it goes on. */
bool rl_attendance_through(const struct rl_attendance *attendance);

/* Whether no opening can have it at a quorum, nor ever will. */
bool rl_attendance_out(const struct rl_attendance *attendance);

/* Whether neither can become known any more: the nodes that could tell have lost it. */
bool rl_attendance_lost(const struct rl_attendance *attendance);

/* How many nodes it is at, or was, in such a way. */
uint32_t rl_attendance_count(const struct rl_attendance *attendance, enum rl_at_node at);

/* ---- all parties, as an opener sees them ---- */

struct rl_party {
    char id[RL_PARTY_ID];
    rl_node_set seen_by; /* nodes where it waits */
};

/* Zeroed but for node_count: nobody has been heard of. */
struct rl_gathering {
    uint32_t node_count;
    uint32_t count;
    struct rl_party parties[RL_GATHERING_MAX];
};

/* A node says that a party waits there. More than there is room for are left out. */
void rl_gathering_add(struct rl_gathering *gathering, uint32_t node, const char *id);

/* Chooses `parties` of those that wait at a quorum of nodes, the best known ones first; false: too few. */
bool rl_gathering_choose(const struct rl_gathering *gathering, uint32_t parties, const char **ids);

/* How many wait by the counts of the nodes that answered: at least a quorum of nodes has as many. 0 when no
 * quorum answered. */
uint32_t rl_gathering_waiting(const uint32_t *counts, rl_node_set heard, uint32_t node_count);

#endif
