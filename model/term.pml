/*
 * Locks of different lengths over nodes that forget: one client whose locks outlast the quarantine that everybody else goes
 * by. Every node keeps which terms were announced to it. Exclusion only; fences and the floor are in guard.pml.
 *
 * Client LONG announces its term at a node before it asks there, and a node that forgot is told the terms by a quorum before it
 * votes. Client BRIEF's locks are covered by every quarantine. Time is in five rules, each marked below.
 *
 * Where no quorum remembers, a node is told by a client that heard all nodes but one, whatever they know: then it is the client's own memory
 * that counts. Clients keep what nodes tell them of terms, and ask all nodes as soon as one has forgotten.
 */
#ifndef N
#define N 3
#endif
#define QUORUM (N / 2 + 1)

#define LONG 0
#define BRIEF 1
#define C 2

#define FREE 0
#define PRESENT(c) (1 + (c))
#define OLD 3

#define OUT 0
#define ASKED 1
#define GRANTED 2

#define REST 0
#define ASK 1
#define HOLD 2

#define FIT 0
#define QUARANTINED 1
#define UNTOLD 2 /* the quarantine that it knows of is over; it has to be told terms (and the floor) */

typedef node_type {
    byte holder;
    byte line[C];
    byte fitness;
    bit owed[C];   /* an attempt that this node granted before it forgot, and that is not over */
    bit knows;     /* the term of LONG */
    bit announced; /* LONG's latest announcement here is young enough to be relied on */
    bit epoch;     /* it has not forgotten since that announcement */
    bit wanted;    /* the slow sweep is for this node */
    bit heard;     /* and has heard this one */
    bit unnoticed; /* it forgot, and clients have not come by yet */
}
node_type node[N];
byte phase[C];
bit recalled; /* the term of LONG, by every client that may tell a node of it */
bit told; /* the slow sweep has heard of the term */

hidden byte i, x, y;

#define COUNT(what) (what(0) + what(1) + what(2))
#define FIT_ON(n) (node[n].fitness == FIT)
#define GRANTED_BY(n) (node[n].line[me] == GRANTED)
#ifdef TERM_FROM_ANY
#define SOURCE(n) (node[n].fitness != QUARANTINED)
#else
#define SOURCE(n) FIT_ON(n)
#endif
#define HEARD_ON(n) (node[n].heard)
#define UNNOTICED(n) (node[n].unnoticed)
#define ONE_OTHER(n) ((n + 1) % N)
#define THE_OTHER(n) ((n + 2) % N)
#ifdef ONE_OUT_OF_REACH
#define FEW_REMEMBER true
#define REMEMBERED_BY(n) (FIT_ON(n) && node[n].knows && n != THE_OTHER(0))
#else
#define FEW_REMEMBER (COUNT(FIT_ON) < QUORUM)
#define REMEMBERED_BY(n) (FIT_ON(n) && node[n].knows)
#endif
#ifdef TERM_FROM_FEW
#define ENOUGH (QUORUM - 1)
#else
#define ENOUGH QUORUM
#endif

/* Time: a quarantine is longer than the part of a round in which nodes are still being announced to and asked. */
#ifdef LATE_ANNOUNCEMENT
#define ROUND_PASSED(n) true
#else
#define ROUND_PASSED(n) (!(node[n].owed[LONG] && phase[LONG] == ASK))
#endif
/* Time: clients notice that a node forgot, and have heard the others after the round that was under way, before its quarantine is over and
 * before another one forgets. The latter is assumed, not brought about: all nodes may be wiped at once. */
#if defined(HEARD_ONCE) || defined(LATE_ANNOUNCEMENT)
#define HEARD_LAST true
#else
#define HEARD_LAST (phase[LONG] != ASK)
#endif
#ifdef ALL_AT_ONCE
#define MAY_FORGET(n) true
#else
#define MAY_FORGET(n) (COUNT(UNNOTICED) == node[n].unnoticed)
#endif
/* Time: a node that knows the term sits it out, counted from when it forgot. Any quarantine covers brief locks. */
#define SAT_OUT(n) \
    (!node[n].owed[BRIEF] && !node[n].unnoticed && ROUND_PASSED(n) && !(node[n].knows && node[n].owed[LONG]))
/* Time: a term fades when every lock that rests on its latest announcement is over. */
#ifdef FADE_EARLY
#define MAY_FADE(n) true
#else
#define MAY_FADE(n) (phase[LONG] == REST && !node[n].announced)
#endif
#ifdef NO_EPOCH_ID
#define MAY_GRANT(n, c) FIT_ON(n)
#else
#define MAY_GRANT(n, c) (FIT_ON(n) && (c == BRIEF || node[n].epoch))
#endif

#ifdef STORIES
#define sort_nodes() skip
#define tell(what, a, b) printf(what, a, b)
#else
#define tell(what, a, b) skip
#define RANK(n) \
    (((((((((node[n].holder * 4 + node[n].line[0]) * 4 + node[n].line[1]) * 4 + node[n].fitness) * 2 + node[n].owed[0]) * 2 + \
        node[n].owed[1]) * 2 + node[n].knows) * 2 + node[n].announced) * 2 + node[n].epoch) * 8 + node[n].wanted * 4 + node[n].heard * 2 + \
        node[n].unnoticed)
#define swap(field) x = node[i].field; node[i].field = node[i + 1].field; node[i + 1].field = x
inline sort_nodes()
{
    i = 0;
    do
    :: i < N - 1 ->
        if
        :: RANK(i) > RANK(i + 1) ->
            swap(holder);
            swap(line[0]);
            swap(line[1]);
            swap(fitness);
            swap(owed[0]);
            swap(owed[1]);
            swap(knows);
            swap(announced);
            swap(epoch);
            swap(wanted);
            swap(heard);
            swap(unnoticed);
            i = 0
        :: else -> i++
        fi
    :: else -> break
    od;
    i = 0
}
#endif

inline end_attempt(c)
{
    for (i : 0 .. N - 1) {
        node[i].holder = (node[i].holder == PRESENT(c) -> OLD : node[i].holder);
        node[i].line[c] = OUT;
        node[i].owed[c] = 0
    }
    phase[c] = REST
}

proctype client(byte me)
{
    do
    /* A round begins. LONG asks where its announcement counts. */
    :: d_step {
        phase[me] == REST ->
        tell("client %d asks (%d)\n", me, 0);
        phase[me] = ASK;
        for (i : 0 .. N - 1) {
#ifdef NO_ANNOUNCEMENT
            node[i].epoch = 1;
            node[i].line[me] = ASKED
#else
            node[i].line[me] = (me == BRIEF || node[i].announced -> ASKED : OUT)
#endif
        }
        sort_nodes()
    }
    :: d_step {
        phase[me] == ASK && COUNT(GRANTED_BY) >= QUORUM ->
        tell("client %d holds (%d)\n", me, 0);
        assert(phase[LONG] != HOLD && phase[BRIEF] != HOLD);
        phase[me] = HOLD;
        for (i : 0 .. N - 1) {
            node[i].line[me] = OUT
        }
        sort_nodes()
    }
    :: d_step {
        phase[me] != REST ->
        tell("client %d: its attempt is over (%d)\n", me, phase[me]);
        end_attempt(me);
        sort_nodes()
    }
    od
}

proctype wire(byte n; byte c)
{
    do
    :: d_step {
        node[n].line[c] == ASKED && node[n].holder == FREE && MAY_GRANT(n, c) ->
        tell("node %d grants client %d\n", n, c);
        node[n].holder = PRESENT(c);
        node[n].line[c] = (phase[c] == ASK -> GRANTED : OUT);
        sort_nodes()
    }
    od
}

#ifndef NO_ANNOUNCEMENT
/* LONG announces its term: beforehand, or to a node that it reaches in the middle of a round. Whatever the node's state, it keeps
 * it, and a node that remembers goes on voting. */
proctype announcer(byte n)
{
    do
    :: d_step {
        !node[n].announced || !node[n].epoch ->
        tell("node %d is announced the term (%d)\n", n, node[n].fitness);
        node[n].knows = 1;
        node[n].announced = 1;
        node[n].epoch = 1;
        node[n].line[LONG] = (phase[LONG] == ASK && node[n].line[LONG] == OUT -> ASKED : node[n].line[LONG]);
        node[n].fitness = (node[n].fitness == UNTOLD && node[n].owed[LONG] -> QUARANTINED : node[n].fitness);
        sort_nodes()
    }
    /* Time: what was announced long ago is announced again before it is relied on. */
    :: d_step {
        node[n].announced && phase[LONG] == REST ->
        tell("node %d: the announcement here is old (%d)\n", n, 0);
#ifndef NO_NEW_ANNOUNCEMENT
        node[n].epoch = 0;
#endif
        node[n].announced = 0;
        sort_nodes()
    }
    :: d_step {
#ifdef NO_NEW_ANNOUNCEMENT
        node[n].knows && phase[LONG] == REST ->
#else
        node[n].knows && MAY_FADE(n) ->
#endif
        tell("node %d: the term fades (%d)\n", n, 0);
        node[n].knows = 0;
        sort_nodes()
    }
    od
}
#endif

/* Time: clients keep a term for as long as nodes do. */
proctype memory()
{
    do
    :: d_step {
        recalled && phase[LONG] == REST && !node[0].announced && !node[1].announced && !node[2].announced ->
        tell("clients: the term fades (%d, %d)\n", 0, 0);
        recalled = 0
    }
    od
}

inline end_sweep()
{
    told = 0;
    for (i : 0 .. N - 1) {
        node[i].wanted = 0;
        node[i].heard = 0
    }
}

/* What a node is told: it knows the term then, and sits the rest of it out if that is not over. */
inline learn(n, known)
{
    node[n].knows = node[n].knows || known;
    node[n].fitness = (node[n].knows && node[n].owed[LONG] -> QUARANTINED : FIT);
    if
    :: node[n].fitness == FIT ->
        for (i : 0 .. C - 1) {
            node[n].owed[i] = 0
        }
    :: else
    fi
}

inline forget(n)
{
    for (i : 0 .. C - 1) {
        node[n].owed[i] = node[n].owed[i] || node[n].holder == PRESENT(i);
#ifndef NO_EPOCH_ID
        node[n].line[i] = (node[n].line[i] == ASKED -> OUT : node[n].line[i])
#endif
    }
    node[n].holder = FREE;
    node[n].knows = 0;
    node[n].epoch = 0;
    node[n].unnoticed = 1;
    node[n].fitness = QUARANTINED;
#ifndef TERM_FOR_ANY_EPOCH
    if
    :: node[n].wanted -> end_sweep()
    :: else
    fi
#endif
}

proctype guard(byte n)
{
    do
    /* A node may forget again while it sits out: what it was told meanwhile is gone. */
    :: d_step {
        (node[n].fitness != QUARANTINED || node[n].knows) && MAY_FORGET(n) ->
        tell("node %d forgets (it knew: %d)\n", n, node[n].knows);
        forget(n);
        sort_nodes()
    }
    :: d_step {
        node[n].unnoticed && HEARD_LAST ->
        node[n].unnoticed = 0;
#ifndef NO_CLIENT_MEMORY
        recalled = recalled || REMEMBERED_BY(ONE_OTHER(n)) || REMEMBERED_BY(THE_OTHER(n));
#endif
        tell("clients notice that node %d forgot, and hear the others: %d\n", n, recalled);
        sort_nodes()
    }
    :: d_step {
        node[n].fitness == QUARANTINED && SAT_OUT(n) ->
        tell("node %d: the quarantine that it knows of is over (%d)\n", n, 0);
#ifdef NO_TERM_LEARNED
        node[n].fitness = FIT;
        node[n].owed[LONG] = 0;
#else
        node[n].fitness = UNTOLD;
#endif
        sort_nodes()
    }
#ifndef NO_TERM_LEARNED
    :: d_step {
        node[n].fitness == UNTOLD && !node[0].wanted && !node[1].wanted && !node[2].wanted ->
        tell("sweep for node %d begins (%d)\n", n, 0);
        node[n].wanted = 1;
        sort_nodes()
    }
    :: d_step {
        (node[0].wanted || node[1].wanted || node[2].wanted) && !node[n].wanted && SOURCE(n) && !node[n].heard ->
        tell("sweep hears node %d: %d\n", n, node[n].knows);
        node[n].heard = 1;
        told = told || node[n].knows;
        sort_nodes()
    }
    :: d_step {
        node[n].wanted && node[n].fitness == UNTOLD && COUNT(HEARD_ON) >= ENOUGH ->
        tell("node %d is told the terms: %d\n", n, told);
        learn(n, told);
        end_sweep();
        sort_nodes()
    }
    /* Another client's sweep, done in a moment. */
    :: d_step {
        node[n].fitness == UNTOLD && COUNT(SOURCE) - SOURCE(n) >= ENOUGH ->
        x = 0;
        for (i : 0 .. N - 1) {
            x = x || (i != n && SOURCE(i) && node[i].knows)
        }
        tell("node %d is told the terms by a quick sweep: %d\n", n, x);
        learn(n, x);
        sort_nodes()
    }
    /* No quorum remembers: those that do are heard, however few, and floors come from clocks. That no node which remembers is out of reach
     * then is assumed, too: a node that cannot be heard is taken for one that forgot. */
    :: d_step {
        node[n].fitness == UNTOLD && FEW_REMEMBER ->
        x = recalled || REMEMBERED_BY(ONE_OTHER(n)) || REMEMBERED_BY(THE_OTHER(n));
        tell("node %d is told the terms without a quorum: %d\n", n, x);
        learn(n, x);
        sort_nodes()
    }
    :: d_step {
        node[n].wanted ->
        tell("sweep for node %d is given up (%d)\n", n, 0);
        end_sweep();
        sort_nodes()
    }
#endif
    od
}

/* A key ends: by its TTL or by a release, not before the validity of the attempt that planted it. */
proctype keys(byte n)
{
    do
    :: d_step {
        node[n].holder == OLD ->
        tell("node %d: the lock key ends (%d)\n", n, 0);
        node[n].holder = FREE;
        sort_nodes()
    }
    od
}

init {
    byte a, b;

    atomic {
        for (b : 0 .. C - 1) {
            run client(b)
        }
        run memory();
        for (a : 0 .. N - 1) {
            run guard(a);
            run keys(a);
#ifndef NO_ANNOUNCEMENT
            run announcer(a);
#endif
            for (b : 0 .. C - 1) {
                run wire(a, b)
            }
        }
        a = 0; b = 0
    }
}
