/*
 * A barrier over nodes that forget, lose what they were told, and carry it out at any later time: no arrival is counted by two meetings that anybody goes on by, nor
 * twice by one. The rules are those of src/core/gathering.h. There is no clock, no lock and no fence in it: nothing rests on them.
 *
 * One arrival is watched, which comes under two ids, the second when it has left as the first. The others are taken to be at every node at any time, whatever
 * happens to them: that allows more than can be. A look may be taken at any moment, so what a node has ever taken in counts as seen.
 */
#ifndef N
#define N 3
#endif
#define QUORUM (N / 2 + 1)
#define OPENINGS 2

/* What a node has of an id, and what was sent to it. */
#define NEVER 0 /* it was not sent there */
#define FLYING 1
#define WAITS 2
#define OPENED 3
#define GONE 4

typedef node_t {
    byte id[2];
    bool left;            /* the first id has left, in no opening */
    bool took[OPENINGS];  /* it has taken this opening in, ever */
};
node_t node[N];
bool again;              /* it comes under its second id */
byte counts[OPENINGS];   /* which ids are in each opening: bits; 0 not chosen yet */
byte taken[OPENINGS];    /* how many nodes have taken it in */
byte without;            /* nodes that the first id has left, or was not sent to */

/* ---- removed rules ---- */

/* (1) an id is sent to a node once */
#ifdef SEND_TWICE
#define MAY_SEND(n, i) (node[n].id[i] == NEVER || node[n].id[i] == GONE)
#else
#define MAY_SEND(n, i) (node[n].id[i] == NEVER)
#endif
/* (2) for all of them or for none, none of which is in another opening */
#ifdef OPEN_TWICE
#define CAN_TAKE(n, i) (node[n].id[i] == WAITS || node[n].id[i] == OPENED)
#else
#define CAN_TAKE(n, i) (node[n].id[i] == WAITS)
#endif
#ifdef OPEN_FOR_SOME
#define FITS(n, o) true
#else
#define FITS(n, o) ((!(counts[o] & 1) || CAN_TAKE(n, 0)) && (!(counts[o] & 2) || CAN_TAKE(n, 1)))
#endif
/* (3) by a quorum */
#ifdef GO_ON_BY_ONE
#define ENOUGH 1
#else
#define ENOUGH QUORUM
#endif
/* (4) it comes again when so many were left, or never sent to, that the others are no quorum; a node that lost it was not left */
#ifdef COUNT_LOST_AS_LEFT
#define WITHOUT(n) (node[n].left || node[n].id[0] == NEVER || node[n].id[0] == GONE)
#else
#define WITHOUT(n) (node[n].left || node[n].id[0] == NEVER)
#endif
#ifdef COME_AGAIN_EARLY
#define OUT (without > 0)
#else
#define OUT (without > N - QUORUM)
#endif

inline take(n, o, i)
{
    if
    :: (counts[o] & (1 << i)) && CAN_TAKE(n, i) -> node[n].id[i] = OPENED
    :: else
    fi
}

inline count_without()
{
    without = 0;
    for (o : 0 .. N - 1) {
        without = without + (WITHOUT(o) -> 1 : 0)
    }
    o = 0
}

init
{
    byte n, i, o;

    do
    :: atomic {
        select (n : 0 .. N - 1);
        select (i : 0 .. 1);
        select (o : 0 .. OPENINGS - 1);
        if
        /* It is sent to a node, which carries it out at any time after, or never. */
        :: MAY_SEND(n, i) && again == (i == 1) ->
            node[n].id[i] = FLYING;
            printf("client: id %d is sent to node %d\n", i, n)
        :: node[n].id[i] == FLYING ->
            node[n].id[i] = WAITS;
            printf("node %d: id %d waits\n", n, i)
        /* A node restarts or is emptied, or a lease ends: whatever it knew of this id is gone. */
        :: node[n].id[i] == WAITS || node[n].id[i] == OPENED ->
            node[n].id[i] = GONE;
            printf("node %d: forgets id %d\n", n, i)
        /* An opener chooses among those that it has seen; what it sends arrives at any time, at any node. */
        :: counts[o] == 0 ->
            if
            :: counts[o] = 1
            :: counts[o] = 2
            :: counts[o] = 3
            fi;
            printf("client: opening %d counts on ids %d\n", o, counts[o])
        :: counts[o] != 0 && !node[n].took[o] && FITS(n, o) ->
            take(n, o, 0);
            take(n, o, 1);
            node[n].took[o] = true;
            taken[o]++;
            printf("node %d: opening %d\n", n, o);
            assert(taken[o] < ENOUGH || counts[o] != 3);
            assert(taken[0] < ENOUGH || taken[1] < ENOUGH)
        /* It leaves, and comes again under a fresh id. */
        :: i == 0 && node[n].id[0] == WAITS ->
            node[n].id[0] = GONE;
            node[n].left = true;
            printf("client: has left node %d\n", n)
        :: i == 0 && !again ->
            count_without();
            if
            :: OUT ->
                again = true;
                printf("client: comes again\n")
            :: else
            fi;
            without = 0
        :: else
        fi;
        n = 0; i = 0; o = 0
    }
    od
}
