/*
 * One lock that is extended, mended, left, adopted and given back under one owner value, beside a rival that acquires, over nodes that
 * forget or come back with an old snapshot. Exclusion, and that what was given back is not adopted. Fences do not change by any of it; they, and rounds of acquiring in single steps, are in fence.pml and guard.pml.
 *
 * An extension and an adoption are the same round: what counts is a quorum of nodes that have the key when they are asked, and may
 * vote. Whether somebody relies on the lock is one bit, for holder and adopter know the same secret. Time is in four rules, each
 * marked below.
 */
#ifndef N
#define N 3
#endif
#define QUORUM (N / 2 + 1)

#define FREE 0
#define OURS 1
#define RIVAL 2 /* its present attempt */
#define OLD 3   /* of an attempt of the rival that is over */

#define OUT 0
#define ASKED 1
#define COUNTED 2

#define REST 0
#define ASK 1
#define HOLD 2

typedef node_type {
    byte holder;
    byte rival;    /* its question here */
    byte round;    /* our question here, if a round is under way */
    bit plants;    /* that question may plant the key where it is missing */
    bit mend;      /* a key is on its way to it, from a holder that relied on the lock when it was sent */
    bit release;   /* a release is on its way to it */
    bit rests;     /* what is relied on rests on this node */
    bit quarantined;
    bit back;      /* our key came back here with a snapshot */
    bit kept;      /* and was kept alive since */
    bit owed_ours; /* it answered for a lock before it forgot, and that is not over */
    bit owed_rival;
}
node_type node[N];
bit relies;      /* somebody relies on our lock */
bit asking;      /* a round of ours is under way */
bit given_back;  /* a release was begun */
byte rival;

hidden byte i, x;

#define COUNT(what) (what(0) + what(1) + what(2))
#define RIVAL_ON(n) (node[n].rival == COUNTED)
#define COUNTED_ON(n) (node[n].round == COUNTED)
#define DELETED_ON(n) (!node[n].release)
#define CONFIRMED (given_back && COUNT(DELETED_ON) >= QUORUM)

/* Rule: an owner value is used by one process at a time. Nobody begins to adopt while a release is under way. */
#ifdef BOTH_AT_ONCE
#define MAY_BEGIN true
#else
#define MAY_BEGIN (!given_back || CONFIRMED)
#endif
/* Rule: only a holder plants. One that adopts does not know yet whether it is one. */
#ifdef PLANT_WHEN_ADOPTING
#define MAY_PLANT true
#else
#define MAY_PLANT relies
#endif
/* Rule: a node that sits out keeps a holder's key alive, though without a vote; not that of one that adopts. */
#ifdef KEEP_WHEN_ADOPTING
#define MAY_KEEP(n) true
#else
#define MAY_KEEP(n) (node[n].plants)
#endif
/* Rule: only a node that may vote counts. */
#ifdef COUNT_QUARANTINED
#define MAY_COUNT(n) true
#else
#define MAY_COUNT(n) (!node[n].quarantined)
#endif
/* Time: a key outlives the validity that rests on it. Validity is counted from the question, so this holds from the answer on. */
#ifdef VALID_FROM_ANSWER
#define NEEDED(n) (relies && node[n].rests)
#else
#define NEEDED(n) ((relies && node[n].rests) || (asking && node[n].round == COUNTED))
#endif
/* Time: a quarantine is longer than every lock that the node had before, and than every key that came back with a snapshot, unless
 * somebody keeps that alive. */
#ifdef NO_QUARANTINE
#define SAT_OUT(n) true
#else
#define SAT_OUT(n) (!node[n].owed_ours && !node[n].owed_rival && (node[n].holder == FREE || node[n].kept))
#endif

#ifdef STORIES
#define sort_nodes() skip
#define tell(what, a, b) printf(what, a, b)
#else
#define tell(what, a, b) skip
#define RANK(n) \
    (((((((((((node[n].holder * 4 + node[n].rival) * 4 + node[n].round) * 2 + node[n].plants) * 2 + node[n].mend) * 2 + \
         node[n].release) * 2 + node[n].rests) * 2 + node[n].quarantined) * 2 + node[n].owed_ours) * 2 + node[n].owed_rival) * 2 + \
      node[n].back) * 2 + node[n].kept)
#define swap(field) x = node[i].field; node[i].field = node[i + 1].field; node[i + 1].field = x
inline sort_nodes()
{
    i = 0;
    do
    :: i < N - 1 ->
        if
        :: RANK(i) > RANK(i + 1) ->
            swap(holder);
            swap(rival);
            swap(round);
            swap(plants);
            swap(mend);
            swap(release);
            swap(rests);
            swap(quarantined);
            swap(back);
            swap(kept);
            swap(owed_ours);
            swap(owed_rival);
            i = 0
        :: else -> i++
        fi
    :: else -> break
    od;
    i = 0
}
#endif

inline end_round()
{
    asking = 0;
    for (i : 0 .. N - 1) {
        node[i].round = OUT;
        node[i].plants = 0
    }
}

/* What the nodes owed to a lock of ours is over when nobody relies on it and no round may end well any more. */
inline settle_debts()
{
    for (i : 0 .. N - 1) {
        node[i].owed_ours = node[i].owed_ours && ((relies && node[i].rests) || (asking && node[i].round == COUNTED))
    }
}

/* The holder, and whoever adopts what it left. */
proctype us()
{
    do
    :: d_step {
        !asking && (relies || MAY_BEGIN) ->
        tell("client 0 asks for more time (it is the holder: %d)%d\n", relies, 0);
        asking = 1;
        for (i : 0 .. N - 1) {
            node[i].round = ASKED;
            node[i].plants = MAY_PLANT
        }
        sort_nodes()
    }
    :: d_step {
        asking && COUNT(COUNTED_ON) >= QUORUM ->
        tell("client 0 relies on it (it did already: %d)%d\n", relies, 0);
        assert(rival != HOLD);
        assert(relies || !CONFIRMED);
        relies = 1;
        for (i : 0 .. N - 1) {
            node[i].rests = node[i].round == COUNTED
        }
        end_round();
        settle_debts();
        sort_nodes()
    }
    :: d_step {
        asking ->
        tell("client 0 gives the round up (%d)%d\n", relies, 0);
        end_round();
        settle_debts();
        sort_nodes()
    }
    :: d_step {
        relies && !given_back ->
        tell("client 0 sends the key to nodes that lack it (%d)%d\n", 0, 0);
        for (i : 0 .. N - 1) {
            node[i].mend = 1
        }
        sort_nodes()
    }
    /* Validity ends, or the holder leaves the lock at the nodes. */
    :: d_step {
        relies ->
        tell("client 0 does not rely on it any more (%d)%d\n", 0, 0);
        relies = 0;
        for (i : 0 .. N - 1) {
            node[i].rests = 0
        }
        settle_debts();
        sort_nodes()
    }
    :: d_step {
        !given_back ->
        tell("client 0 gives it back (%d)%d\n", 0, 0);
        given_back = 1;
        relies = 0;
        end_round();
        for (i : 0 .. N - 1) {
            node[i].release = 1;
            node[i].rests = 0
        }
        settle_debts();
        sort_nodes()
    }
    od
}

proctype them()
{
    do
    :: d_step {
        rival == REST ->
        tell("client 1 asks (%d)%d\n", 0, 0);
        rival = ASK;
        for (i : 0 .. N - 1) {
            node[i].rival = ASKED
        }
        sort_nodes()
    }
    :: d_step {
        rival == ASK && COUNT(RIVAL_ON) >= QUORUM ->
        tell("client 1 holds it (%d)%d\n", 0, 0);
        assert(!relies);
        rival = HOLD;
        sort_nodes()
    }
    :: d_step {
        rival != REST ->
        tell("client 1: its attempt is over (%d)%d\n", rival, 0);
        rival = REST;
        for (i : 0 .. N - 1) {
            node[i].holder = (node[i].holder == RIVAL -> OLD : node[i].holder);
            node[i].rival = OUT;
            node[i].owed_rival = 0
        }
        sort_nodes()
    }
    od
}

proctype node_of(byte n)
{
    do
    :: d_step {
        node[n].rival == ASKED && node[n].holder == FREE && !node[n].quarantined ->
        tell("node %d grants client 1 (%d)\n", n, 0);
        node[n].holder = RIVAL;
        node[n].rival = COUNTED;
        sort_nodes()
    }
    :: d_step {
        node[n].round == ASKED && node[n].holder == OURS ->
        tell("node %d extends (in quarantine: %d)\n", n, node[n].quarantined);
        node[n].round = (MAY_COUNT(n) -> COUNTED : OUT);
        node[n].kept = node[n].kept || (node[n].back && MAY_KEEP(n));
        sort_nodes()
    }
    /* Rule: what is planted is no vote. */
    :: d_step {
        node[n].round == ASKED && node[n].plants && node[n].holder == FREE && !node[n].quarantined ->
        tell("node %d is given the key by the round (%d)\n", n, 0);
        node[n].holder = OURS;
        node[n].round = OUT;
        node[n].plants = 0;
        sort_nodes()
    }
    :: d_step {
        node[n].mend && node[n].holder == FREE && !node[n].quarantined ->
        tell("node %d is given the key (%d)\n", n, 0);
        node[n].holder = OURS;
        node[n].mend = 0;
        sort_nodes()
    }
    /* A release travels behind what it undoes: what was sent to plant the key there before does not arrive after it. */
    :: d_step {
        node[n].release ->
        tell("node %d is told that it is given back (it had it: %d)\n", n, node[n].holder == OURS);
        node[n].holder = (node[n].holder == OURS -> FREE : node[n].holder);
        node[n].back = 0;
        node[n].kept = 0;
        node[n].release = 0;
        node[n].mend = 0;
        sort_nodes()
    }
    :: d_step {
        (node[n].holder == OURS && !NEEDED(n)) || node[n].holder == OLD ->
        tell("node %d: the key ends (ours: %d)\n", n, node[n].holder == OURS);
        node[n].holder = FREE;
        node[n].back = 0;
        node[n].kept = 0;
        sort_nodes()
    }
    /* It restarts, empty or with a snapshot from when it had our key: questions that name its former epoch are refused. */
    :: d_step {
        !node[n].quarantined ->
        tell("node %d forgets (its key: %d)\n", n, node[n].holder);
        node[n].owed_ours = NEEDED(n);
        node[n].owed_rival = node[n].holder == RIVAL;
        node[n].quarantined = 1;
        node[n].rival = (node[n].rival == ASKED -> OUT : node[n].rival);
        node[n].round = (node[n].round == ASKED -> OUT : node[n].round);
        node[n].mend = 0;
        node[n].holder = FREE;
        node[n].back = 0;
        node[n].kept = 0;
        sort_nodes()
    }
    :: d_step {
        node[n].quarantined && node[n].holder == FREE ->
        tell("node %d has the key that it had in a snapshot (%d)\n", n, 0);
        node[n].holder = OURS;
        node[n].back = 1;
        sort_nodes()
    }
    :: d_step {
        node[n].quarantined && SAT_OUT(n) ->
        tell("node %d votes again (%d)\n", n, 0);
        node[n].quarantined = 0;
        sort_nodes()
    }
    od
}

init {
    byte a;

    atomic {
        /* The lock was acquired: on two nodes or on three. */
        relies = 1;
        for (a : 0 .. N - 1) {
            node[a].holder = OURS;
            node[a].rests = a > 0
        }
        if
        :: node[0].holder = FREE
        :: node[0].rests = 1
        fi;
        run us();
        run them();
        for (a : 0 .. N - 1) {
            run node_of(a)
        }
        a = 0
    }
}
