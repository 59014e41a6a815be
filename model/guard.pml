/*
 * Exclusion and fence order over nodes that forget everything at any moment and as often as they like: a restart
 * without data, a flush. The fleet starts admitted, as after "redlock init".
 *
 * Time is in one rule: a quarantined node votes again only after every lock that it granted before is over. Keys
 * outlive the validity of what they stand for, as in fence.pml with TIMED.
 */
#define TIMED
#define FORGETTING
#ifdef NO_EPOCH_ID
#define MAY_GRANT(n) true
#else
#define MAY_GRANT(n) VOTES(n)
#endif
#include "lock.pml"

bit sweeping;

#define FIT_ON(n) (node[n].fitness == FIT)
#define HEARD_ON(n) (node[n].heard)
#if C == 2
#define OWES(n) (node[n].owed[0] || node[n].owed[1])
#elif C == 3
#define OWES(n) (node[n].owed[0] || node[n].owed[1] || node[n].owed[2])
#endif

/* Removed rules of the quarantine and of the sweep; each is explained where it is used. */
#ifdef NO_QUARANTINE
#define SAT_OUT(n) true
#else
#define SAT_OUT(n) (!OWES(n))
#endif
#ifdef OLD_VIEWS
#define MAY_SWEEP(n) (node[n].fitness != FIT)
#else
#define MAY_SWEEP(n) (node[n].fitness == FLOORLESS)
#endif
#ifdef FEW_VIEWS
#define ENOUGH (QUORUM - 1)
#else
#define ENOUGH QUORUM
#endif

inline end_sweep()
{
    sweeping = 0;
    high = 0;
    for (i : 0 .. N - 1) {
        node[i].wanted = 0;
        node[i].heard = 0
    }
}

/* Everything is gone: key, fence, floor, epoch record. Answers that it gave before still count: they are on their way or
 * read. What the client had under way carries the old epoch and is refused; it may ask anew once it knows the new one. */
inline forget(n)
{
    for (i : 0 .. C - 1) {
        if
        :: node[n].holder == PRESENT(i) -> node[n].owed[i] = 1
        :: else
        fi;
        if
#ifndef NO_EPOCH_ID
        :: node[n].line[i] == ASKED -> node[n].line[i] = OUT
#endif
        :: node[n].line[i] == RAISING -> node[n].line[i] = OUT
        :: else
        fi
    }
    node[n].holder = FREE;
    node[n].fence = 0;
#ifdef NO_GUARD
    for (i : 0 .. C - 1) {
        node[n].owed[i] = 0
    }
#else
    node[n].fitness = QUARANTINED;
#endif
#ifndef FLOOR_FOR_ANY_EPOCH
    /* A floor is for the epoch for which it was worked out; what comes of this sweep will be refused. */
    if
    :: node[n].wanted -> end_sweep()
    :: else
    fi
#endif
}

proctype guard(byte n)
{
    do
    /* A node in quarantine has nothing left to forget. */
    :: d_step {
        node[n].fitness != QUARANTINED ->
        tell("node %d forgets (it stored %d)\n", n, node[n].fence);
        forget(n);
        sort_nodes()
    }
    /* Quarantine: over only when every lock that it granted before is over. */
    :: d_step {
        node[n].fitness == QUARANTINED && SAT_OUT(n) ->
        tell("node %d: quarantine over (%d)\n", n, 0);
        for (i : 0 .. C - 1) {
            node[n].owed[i] = 0
        }
#ifdef NO_FLOOR
        node[n].fitness = FIT;
#else
        node[n].fitness = FLOORLESS;
#endif
        sort_nodes()
    }
    /* A sweep for the floor begins when a node was seen to lack one, so every answer is younger than the quarantine. */
    :: d_step {
        !sweeping && MAY_SWEEP(n) ->
        tell("sweep for node %d begins (%d)\n", n, 0);
        sweeping = 1;
        node[n].wanted = 1;
        sort_nodes()
    }
    :: d_step {
        sweeping && node[n].fitness == FIT && !node[n].heard ->
        tell("sweep hears node %d: %d\n", n, node[n].fence);
        node[n].heard = 1;
        high = (node[n].fence > high -> node[n].fence : high);
        sort_nodes()
    }
    /* Floor: the highest fence known to a quorum of nodes that did not forget. It may arrive late. */
    :: d_step {
        node[n].wanted && node[n].fitness == FLOORLESS && COUNT(HEARD_ON) >= ENOUGH ->
        tell("node %d is told the floor %d\n", n, high);
        node[n].fence = high;
        node[n].fitness = FIT;
        end_sweep();
        sort_nodes()
    }
    /* Another client's sweep, done in a moment. */
    :: d_step {
        node[n].fitness == FLOORLESS && COUNT(FIT_ON) >= ENOUGH ->
        for (i : 0 .. N - 1) {
            node[n].fence = (FIT_ON(i) && node[i].fence > node[n].fence -> node[i].fence : node[n].fence)
        }
        node[n].fitness = FIT;
        tell("node %d is told the floor %d by a quick sweep\n", n, node[n].fence);
        sort_nodes()
    }
    :: d_step {
        node[n].wanted ->
        tell("sweep for node %d is given up (%d)\n", n, 0);
        end_sweep();
        sort_nodes()
    }
    od
}

/* A client that learned the node's present epoch in the middle of a round asks it late. */
proctype asker(byte n; byte c)
{
    do
    :: d_step {
        phase[c] == ASK && node[n].line[c] == OUT && VOTES(n) ->
        node[n].line[c] = ASKED;
        sort_nodes()
    }
    od
}

init {
    byte a, b;

    atomic {
        start();
        for (a : 0 .. N - 1) {
            run guard(a);
            for (b : 0 .. C - 1) {
                run asker(a, b)
            }
        }
        a = 0; b = 0
    }
}
