/*
 * The lock handed on at the nodes: waiters stand in a line at every node, and a release gives the lock to one of them in the
 * same step, which the waiter learns by a message that it did not ask for. Exclusion and fences, with nodes that forget.
 *
 * Which waiter a node hands the lock to is left open: the order of a line decides nothing here. A waiter that gives way in a
 * split, gives up or dies ends its attempt; what the attempt left at the nodes is old from then on, whether or not a release ever
 * arrives. To stay in line it begins another attempt, with a fresh owner. Keys outlive the validity of what they stand for (for a
 * grant that was pushed, validity counts from no later than when the node gave it), and a node that forgot votes again only
 * after every lock that it granted before is over, as in guard.pml. Liveness is not looked at, nor the queue of callers in front of the line: a
 * client is one caller at a time.
 *
 * Three more kinds of steps are looked at each by itself, for all of them together are too many states:
 *   BRIEF      a lock is handed over for a short time; the client counts it at once, and confirms or renews it
 *   YIELD      a client gives one vote back and keeps its attempt and its place
 *   PROMOTION  a replica takes a node's place without breaking connections: the last grants are gone, the lines are there
 */
#ifndef N
#define N 3
#endif
#define C 2
#ifndef TOP
#define TOP 2 /* the highest fence; no node grants beyond it */
#endif
#define QUORUM (N / 2 + 1)

#define NOTHING 0
#define FREE 0
#define PRESENT(c) (1 + (c))
#define OLD 3 /* the key of an attempt that is over */

/* What a client counts of a node. */
#define OUT 0
#define RAISING 1
#define AT 2
#define GRANTED 2 /* + number */

#define REST 0
#define WAIT 1
#define RAISE 2
#define HOLD 3

#define FIT 0
#define QUARANTINED 1
#define FLOORLESS 2
#define PROMOTED 3 /* it lost its last grants, and nobody knows */

typedef node_type {
    byte holder;
    byte fence;
    byte fitness;
    bit owed[C];   /* an attempt that this node granted before it forgot, and that is not over */
    bit line[C];   /* waits here */
    bit asks[C];   /* a question is under way */
    byte told[C];  /* a grant is under way: its number, or NOTHING */
    byte known[C];
#ifdef BRIEF
    bit brief[C];    /* handed over for a short time, and not confirmed */
#endif
#ifdef YIELD
    bit yields[C];   /* a question is under way that gives the vote back */
#endif
}
node_type node[N];
hidden byte i, x, y;
byte phase[C];
byte fence[C];
byte watched;
bit tried;

#define VOTES(n) (node[n].fitness == FIT)
#define COUNT(what) (what(0) + what(1) + what(2))
#define FIT_ON(n) VOTES(n)
#define GRANTED_BY(n) (node[n].known[me] > GRANTED)
#define AT_ON(n) (node[n].known[me] == AT)

/* Removed rules; each is explained where it is used. */
#ifdef NO_EPOCH_IN_LINE
#define MAY_HAND_ON(n) true
#elif defined(PROMOTION) && defined(NO_PROOF)
#define MAY_HAND_ON(n) (VOTES(n) || node[n].fitness == PROMOTED)
#else
#define MAY_HAND_ON(n) VOTES(n)
#endif
#ifdef PROMOTION
#define MAY_RAISE(n) (VOTES(n) || node[n].fitness == PROMOTED)
#else
#define MAY_RAISE(n) MAY_HAND_ON(n)
#endif
#ifdef VALID_FROM_ARRIVAL
#define MAY_END(holder) ((holder) != FREE)
#else
#define MAY_END(holder) ((holder) == OLD)
#endif

/* What the three kinds of steps need; nothing without them. */
#ifdef BRIEF
#define BRIEF_BIT(n, c) node[n].brief[c]
#define swap_brief() swap(brief[0]); swap(brief[1])
#define set_brief(n, c, what) node[n].brief[c] = what
#else
#define BRIEF_BIT(n, c) 0
#define swap_brief() skip
#define set_brief(n, c, what) skip
#endif
#ifdef YIELD
#define YIELD_BIT(n, c) node[n].yields[c]
#define swap_yield() swap(yields[0]); swap(yields[1])
#define stop_yielding(n, c) node[n].yields[c] = 0
#else
#define YIELD_BIT(n, c) 0
#define swap_yield() skip
#define stop_yielding(n, c) skip
#endif
/* Where it has the lock it may ask, too: to look who has the others. */
#ifdef YIELD
#define MAY_ASK(n, c) (node[n].known[c] == OUT || node[n].known[c] > GRANTED)
#else
#define MAY_ASK(n, c) (node[n].known[c] == OUT)
#endif

#ifdef STORIES
#define sort_nodes() skip
#define tell(what, a, b) printf(what, a, b)
#else
#define tell(what, a, b) skip
#define HALF(n, c) \
    ((((((node[n].known[c] * 8 + node[n].told[c]) * 2 + node[n].asks[c]) * 2 + node[n].line[c]) * 2 + node[n].owed[c]) * 2 + \
       BRIEF_BIT(n, c)) * 2 + YIELD_BIT(n, c))
#define BASE(n) ((node[n].holder * 4 + node[n].fence) * 4 + node[n].fitness)
#define ABOVE(a, b) \
    (BASE(a) > BASE(b) || (BASE(a) == BASE(b) && (HALF(a, 0) > HALF(b, 0) || (HALF(a, 0) == HALF(b, 0) && HALF(a, 1) > HALF(b, 1)))))
#define swap(field) x = node[i].field; node[i].field = node[i + 1].field; node[i + 1].field = x
inline sort_nodes()
{
    i = 0;
    do
    :: i < N - 1 ->
        if
        :: ABOVE(i, i + 1) ->
            swap(holder); swap(fence); swap(fitness);
            swap(owed[0]); swap(line[0]); swap(asks[0]); swap(told[0]); swap(known[0]);
            swap(owed[1]); swap(line[1]); swap(asks[1]); swap(told[1]); swap(known[1]);
            swap_brief(); swap_yield();
            i = 0
        :: else -> i++
        fi
    :: else -> break
    od;
    i = 0
}
#endif

/* ---- a client ---- */

/* Given way, given up, released, dead, or out of time. Each attempt has a fresh owner, so messages about an earlier one are told
 * apart: what was given back counts no more from the moment it is given back. */
inline end_attempt(c)
{
    for (i : 0 .. N - 1) {
        node[i].holder = (node[i].holder == PRESENT(c) -> OLD : node[i].holder);
        node[i].owed[c] = 0;
        node[i].line[c] = 0;
        node[i].asks[c] = 0;
        set_brief(i, c, 0);
        stop_yielding(i, c);
#ifndef NO_FRESH_OWNER
        node[i].told[c] = NOTHING;
#endif
        node[i].known[c] = OUT
    }
    phase[c] = REST;
    fence[c] = 0;
    tried = 1
}

inline hand_out(c)
{
    tell("client %d is handed out %d\n", c, fence[c]);
    assert(fence[c] > watched);
    assert(phase[0] != HOLD && phase[1] != HOLD);
    if
    :: watched == 0 -> watched = fence[c]
    :: true
    fi;
    phase[c] = HOLD;
    fence[c] = 0
}

proctype client(byte me)
{
    byte k;

    do
    :: d_step {
        phase[me] == REST ->
        tell("client %d asks all (watched fence: %d)\n", me, watched);
        phase[me] = WAIT;
        for (i : 0 .. N - 1) {
            node[i].asks[me] = VOTES(i)
        }
        sort_nodes()
    }
    /* A quorum has given it the lock, by answers and by messages that others caused. The fence is the highest of their numbers; where
     * a node has a lower one it is raised, while the lock is ours there. */
    :: atomic {
        phase[me] == WAIT && COUNT(GRANTED_BY) >= QUORUM ->
        d_step {
            k = 0;
            for (i : 0 .. N - 1) {
                fence[me] = (node[i].known[me] > GRANTED && node[i].known[me] - GRANTED > fence[me] -> node[i].known[me] - GRANTED : fence[me])
            }
            for (i : 0 .. N - 1) {
                if
                :: node[i].known[me] > GRANTED ->
                    node[i].known[me] = (node[i].known[me] - GRANTED == fence[me] -> AT : RAISING)
                :: else
                fi;
                k = k + (node[i].known[me] == AT)
            }
#ifdef NO_SECOND_ROUND
            k = QUORUM;
#endif
        }
        if
        :: k >= QUORUM -> hand_out(me)
        :: else -> phase[me] = RAISE
        fi;
        k = 0;
        d_step {
            sort_nodes()
        }
    }
    :: atomic {
        phase[me] == RAISE && COUNT(AT_ON) >= QUORUM ->
        hand_out(me);
        d_step {
            sort_nodes()
        }
    }
    :: d_step {
        phase[me] != REST ->
        tell("client %d: its attempt is over (%d)\n", me, phase[me]);
        end_attempt(me);
        sort_nodes()
    }
    od
}

/* ---- a node and the wire to it ---- */

inline choose_number(n)
{
    number = node[n].fence + 1;
    do
    :: number < TOP -> number++
    :: true -> break
    od;
    node[n].fence = number
}

/* The node gives the lock to client c: a grant, and the message that tells it. */
inline give(n, c, handed)
{
    choose_number(n);
    set_brief(n, c, handed);
    tell("node %d gives the lock", n, 0); tell(" to client %d with %d\n", c, number);
    node[n].holder = PRESENT(c);
    node[n].line[c] = 0;
    node[n].told[c] = number;
    number = 0
}

#define OTHER(c) (1 - (c))
#ifdef BRIEF
#define RENEWED(n, c) (node[n].known[c] != OUT && !node[n].brief[c])
#define RENEWED_BY(c) (RENEWED(0, c) + RENEWED(1, c) + RENEWED(2, c))
#if defined(BRIEF_AS_WHOLE)
#define LASTS_ON(c) true
#elif defined(RENEWED_BY_FEW)
#define LASTS_ON(c) (phase[c] == HOLD && RENEWED_BY(c) >= 1)
#else
#define LASTS_ON(c) (phase[c] == HOLD && RENEWED_BY(c) >= QUORUM)
#endif
#endif
#define CAN_GET(n, c) (node[n].line[c] && node[n].fence < TOP && MAY_HAND_ON(n))

proctype wire(byte n; byte c)
{
    byte number;

    do
    /* A question: granted when the lock is free, otherwise a place in line. Of its own lock it is told again. */
    :: atomic {
        node[n].asks[c] ->
        node[n].asks[c] = 0;
        if
        :: VOTES(n) && node[n].holder == FREE && node[n].fence < TOP -> give(n, c, 0)
        :: VOTES(n) && node[n].holder == PRESENT(c) && node[n].told[c] == NOTHING ->
            node[n].told[c] = node[n].fence
        :: MAY_HAND_ON(n) && node[n].holder != PRESENT(c) && node[n].holder != FREE -> node[n].line[c] = 1
#ifdef NO_EPOCH_IN_LINE
        :: !VOTES(n) -> node[n].line[c] = 1
#endif
        :: true
        fi;
        d_step {
            sort_nodes()
        }
    }
    /* The lock is free, and any script that finds it so hands it on. */
    :: atomic {
        node[n].holder == FREE && CAN_GET(n, c) ->
        give(n, c, 1);
        d_step {
            sort_nodes()
        }
    }
    /* A release, or the end of a key, and the next one has it in the same step. */
    :: atomic {
        node[n].holder == OLD && CAN_GET(n, c) ->
        give(n, c, 1);
        d_step {
            sort_nodes()
        }
    }
#ifdef RELEASE_UNOWNED
    /* A late release of an earlier attempt takes the lock from its holder, and hands it on. */
    :: atomic {
        tried && node[n].holder == PRESENT(OTHER(c)) && CAN_GET(n, c) ->
        give(n, c, 1);
        d_step {
            sort_nodes()
        }
    }
#endif
    /* What an earlier attempt asked for comes late, or it is still in a line. */
    :: atomic {
        tried && c == 0 && node[n].holder == FREE && node[n].fence < TOP && VOTES(n) ->
        choose_number(n);
        tell("node %d gives the lock to an earlier attempt, with %d\n", n, number);
        node[n].holder = OLD;
        number = 0;
        d_step {
            sort_nodes()
        }
    }
    /* The answer or the message that tells of a grant arrives. */
    :: d_step {
        node[n].told[c] != NOTHING && phase[c] != REST ->
        if
        :: phase[c] == WAIT ->
            tell("client %d hears that it has node %d\n", c, n);
            node[n].known[c] = GRANTED + node[n].told[c]
        :: phase[c] == RAISE && node[n].known[c] == OUT && node[n].told[c] == fence[c] -> node[n].known[c] = AT
        :: else
        fi;
        node[n].told[c] = NOTHING;
        sort_nodes()
    }
    /* Or it comes while the fence is being raised, with another number: all have to agree once more. Where the raise is not known to be done the
     * number is below the fence. */
    :: d_step {
        node[n].told[c] != NOTHING && phase[c] == RAISE ->
        for (i : 0 .. N - 1) {
            node[i].known[c] = (node[i].known[c] == AT -> GRANTED + fence[c] : node[i].known[c]);
            node[i].known[c] = (node[i].known[c] == RAISING -> GRANTED + 1 : node[i].known[c])
        }
        node[n].known[c] = GRANTED + node[n].told[c];
        node[n].told[c] = NOTHING;
        phase[c] = WAIT;
        fence[c] = 0;
        sort_nodes()
    }
    :: d_step {
        node[n].known[c] == RAISING && MAY_RAISE(n) && node[n].holder == PRESENT(c) ->
        node[n].fence = (fence[c] > node[n].fence -> fence[c] : node[n].fence);
        node[n].known[c] = AT;
        sort_nodes()
    }
    /* It asks a node again: one that was away, or that forgot, or whose message may have been lost. */
    :: d_step {
        phase[c] == WAIT && !node[n].asks[c] && MAY_ASK(n, c) && node[n].told[c] == NOTHING && !node[n].line[c] && !YIELD_BIT(n, c) ->
        node[n].asks[c] = 1;
        sort_nodes()
    }
#ifdef YIELD
    /* Another one seems to have a quorum. What was given back counts no more from the moment the giving back is sent. */
    :: d_step {
        phase[c] == WAIT && node[n].known[c] > GRANTED && !node[n].yields[c] ->
        tell("client %d gives the vote of node %d back\n", c, n);
        node[n].known[c] = OUT;
        node[n].asks[c] = 0;
#ifndef COUNT_YIELDED
        node[n].told[c] = NOTHING;
#endif
        node[n].yields[c] = 1;
        sort_nodes()
    }
    :: d_step {
        node[n].yields[c] ->
        node[n].yields[c] = 0;
        node[n].holder = (node[n].holder == PRESENT(c) -> FREE : node[n].holder);
        node[n].line[c] = VOTES(n);
        sort_nodes()
    }
#endif
#ifdef BRIEF
    /* Its short time is over by the client's clock; it confirms it before, or renews its lease. */
    :: d_step {
        phase[c] == WAIT && node[n].brief[c] && node[n].known[c] > GRANTED ->
        node[n].known[c] = OUT;
        sort_nodes()
    }
    :: d_step {
        phase[c] != REST && node[n].known[c] != OUT && node[n].brief[c] && node[n].holder == PRESENT(c) ->
        tell("client %d confirms or renews at node %d\n", c, n);
        node[n].brief[c] = 0;
        sort_nodes()
    }
    /* And then by the node's. A lease lasts on where a quorum of those that it counted was renewed. */
    :: d_step {
        node[n].holder == PRESENT(c) && node[n].brief[c] && (node[n].known[c] == OUT || LASTS_ON(c)) ->
        tell("node %d: what client %d was handed for a short time ends\n", n, c);
        node[n].holder = FREE;
        node[n].brief[c] = 0;
#ifndef BRIEF_AS_WHOLE
        node[n].told[c] = NOTHING;
#endif
        sort_nodes()
    }
#endif
    od
}

proctype keys(byte n)
{
    do
    :: d_step {
        MAY_END(node[n].holder) ->
        tell("node %d: the lock key ends (%d)\n", n, node[n].holder);
        node[n].holder = FREE;
        sort_nodes()
    }
    od
}

/* ---- nodes that forget ---- */

inline forget(n)
{
    for (i : 0 .. C - 1) {
        node[n].owed[i] = node[n].owed[i] || node[n].holder == PRESENT(i);
        node[n].line[i] = 0;
        node[n].asks[i] = 0;
        set_brief(n, i, 0);
        stop_yielding(n, i);
        node[n].known[i] = (node[n].known[i] == RAISING -> OUT : node[n].known[i])
    }
    node[n].holder = FREE;
    node[n].fence = 0;
    node[n].fitness = QUARANTINED
}

#ifdef PROMOTION
/* What is under way still arrives, and whoever waits is still in line: only grants are gone. */
inline promote(n)
{
    node[n].holder = FREE;
    node[n].fence = 0;
    node[n].fitness = PROMOTED
}
#endif

#ifdef NO_QUARANTINE
#define SAT_OUT(n) true
#else
#define SAT_OUT(n) (!node[n].owed[0] && !node[n].owed[1])
#endif

proctype guard(byte n)
{
    do
#if defined(REMEMBER)
    :: false
#elif defined(PROMOTION)
    /* That it is found out, and sits out then, is a node that forgets. */
    :: d_step {
        node[n].fitness == FIT ->
        tell("node %d is replaced by its replica (it stored %d)\n", n, node[n].fence);
        promote(n);
        sort_nodes()
    }
#else
    :: d_step {
        node[n].fitness == FIT ->
        tell("node %d forgets (it stored %d)\n", n, node[n].fence);
        forget(n);
        sort_nodes()
    }
    :: d_step {
        node[n].fitness == QUARANTINED && SAT_OUT(n) ->
        for (i : 0 .. C - 1) {
            node[n].owed[i] = 0
        }
        node[n].fitness = FLOORLESS;
        sort_nodes()
    }
    :: d_step {
        node[n].fitness == FLOORLESS && COUNT(FIT_ON) >= QUORUM ->
#ifndef NO_FLOOR
        for (i : 0 .. N - 1) {
            node[n].fence = (FIT_ON(i) && node[i].fence > node[n].fence -> node[i].fence : node[n].fence)
        }
#endif
        node[n].fitness = FIT;
        tell("node %d is told the floor %d\n", n, node[n].fence);
        sort_nodes()
    }
#endif
    od
}

init {
    byte a, b;

    atomic {
#ifdef BRIEF
        /* So that the first grant is a hand-over. */
        for (a : 0 .. N - 1) {
            node[a].holder = OLD
        }
#endif
        for (b : 0 .. C - 1) {
            run client(b)
        }
        for (a : 0 .. N - 1) {
            run keys(a);
            run guard(a);
            for (b : 0 .. C - 1) {
                run wire(a, b)
            }
        }
        a = 0; b = 0
    }
}
