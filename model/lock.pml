/*
 * What both models share: clients that acquire one lock over N nodes and agree on its fence. It knows no clock, no TTL
 * and no second lock, and says nothing about liveness.
 *
 * Every process is one loop of atomic steps over shared variables: a client, a node's keys, the wire between a client
 * and a node. Spin takes the steps in every order, so a pause, a delay or a lost message needs no variable of its own:
 * it is a step that is not taken. For the same reason nobody is ever told no: a request that is never carried out
 * stands for one that was refused, and a client may give up at any moment.
 *
 * Requests may overtake each other. The real client has one ordered connection per node, but a connection can break
 * and be opened anew; and the order is there against orphans. What is proved here does not need it.
 */

#ifndef N
#define N 3 /* nodes */
#endif
#ifndef C
#define C 2 /* clients */
#endif
#ifndef TOP
#define TOP 3 /* the highest fence; no node grants beyond it */
#endif
#define QUORUM (N / 2 + 1)

/* A node's lock key: free, or planted by a client's present attempt, or by one that is over (given up, released, out of
 * time). Each attempt has a fresh owner, so whose old attempt it was is told apart only when that rule is removed. */
#define FREE 0
#define PRESENT(c) (1 + (c))
#ifdef NO_FRESH_OWNER
#define OLD(c) (1 + C + (c))
#define MINE(n, c) (node[n].holder == PRESENT(c) || node[n].holder == OLD(c))
#else
#define OLD(c) (1 + C)
#define MINE(n, c) (node[n].holder == PRESENT(c))
#endif
#define IS_OLD(holder) ((holder) > C)

/* How far a client's present attempt is at a node. AT: the stored number reached the attempt's fence while the lock was
 * the attempt's own. GRANTED + g: granted with the number g, not counted yet. */
#define OUT 0
#define ASKED 1
#define RAISING 2
#define AT 3
#define GRANTED 3

#define REST 0
#define ASK 1
#define RAISE 2
#define HOLD 3

typedef node_type {
    byte holder;
    byte fence;
    byte line[C];
#ifdef FORGETTING
    byte fitness;
    bit owed[C]; /* an attempt that this node granted before it forgot, and that is not over */
    bit wanted;  /* the sweep is for this node */
    bit heard;   /* the sweep has heard this node */
#endif
}
node_type node[N];

/* Scratch, written before it is read within one step, so no part of the state. */
hidden byte i, x, y;

byte phase[C];
byte fence[C]; /* of the present attempt; 0: not agreed on */
bit tried[C];  /* an attempt is over, so its requests may still be under way */

/* One fence that was handed out, any one: Spin tries each. Later ones are compared with it. */
byte watched;
bit after[C]; /* the present attempt began after the watched fence was handed out */

#ifdef FORGETTING
#define FIT 0
#define QUARANTINED 1
#define FLOORLESS 2
byte high; /* the highest fence the sweep has heard of */
#define VOTES(n) (node[n].fitness == FIT)
#else
#define VOTES(n) true
#endif

/* Nodes differ in nothing but their number, so two states that differ by a renaming of nodes are one: the nodes are kept
 * sorted. STORIES keeps their names instead and says what happens, for a counter-example that can be read. */
#ifdef STORIES
#define sort_nodes() skip
#define tell(what, a, b) printf(what, a, b)
#else
#define tell(what, a, b) skip
#ifdef FORGETTING
#define RANK_GUARD(n) +node[n].fitness * 64 + node[n].owed[0] * 32 + node[n].owed[1] * 16 + node[n].wanted * 8 + node[n].heard * 4
#else
#define RANK_GUARD(n)
#endif
#define RANK(n) \
    (((node[n].holder * 16 + node[n].fence) * 16 + node[n].line[0]) * 16 + node[n].line[1]) * 256 RANK_GUARD(n)
inline swap(a, b)
{
    x = node[a].holder; node[a].holder = node[b].holder; node[b].holder = x;
    x = node[a].fence; node[a].fence = node[b].fence; node[b].fence = x;
    for (y : 0 .. C - 1) {
        x = node[a].line[y]; node[a].line[y] = node[b].line[y]; node[b].line[y] = x;
    }
#ifdef FORGETTING
    x = node[a].fitness; node[a].fitness = node[b].fitness; node[b].fitness = x;
    for (y : 0 .. C - 1) {
        x = node[a].owed[y]; node[a].owed[y] = node[b].owed[y]; node[b].owed[y] = x;
    }
    x = node[a].wanted; node[a].wanted = node[b].wanted; node[b].wanted = x;
    x = node[a].heard; node[a].heard = node[b].heard; node[b].heard = x;
#endif
}
inline sort_nodes()
{
    i = 0;
    do
    :: i < N - 1 ->
        if
        :: RANK(i) > RANK(i + 1) -> swap(i, i + 1); i = 0
        :: else -> i++
        fi
    :: else -> break
    od;
    i = 0
}
#endif

/* ---- a client ---- */

/* The attempt is over: given up, released, or its time has run out, which the client finds out before it hands anything
 * out. Whatever it left at the nodes is old from here on. */
inline end_attempt(c)
{
    for (i : 0 .. N - 1) {
        if
        :: node[i].holder == PRESENT(c) -> node[i].holder = OLD(c)
        :: else
        fi;
        node[i].line[c] = OUT;
#ifdef FORGETTING
        node[i].owed[c] = 0;
#endif
    }
    phase[c] = REST;
    fence[c] = 0;
    after[c] = 0;
    tried[c] = 1
}

/* The fence is handed out. Without timing: it was never handed out before, and it is above every fence handed out
 * before this attempt began. When keys outlive validity: it is above every fence handed out, and nobody else holds. */
inline hand_out(c)
{
    tell("client %d is handed out %d\n", c, fence[c]);
    assert(fence[c] != watched);
    assert(!after[c] || fence[c] > watched);
#if defined(TIMED) || defined(STRICT_ORDER)
    assert(fence[c] > watched);
#endif
#ifdef TIMED
    for (i : 0 .. C - 1) {
        assert(phase[i] != HOLD)
    }
#endif
    if
    :: watched == 0 -> watched = fence[c]
    :: true
    fi;
#ifdef TIMED
    for (i : 0 .. N - 1) {
        node[i].line[c] = OUT
    }
    phase[c] = HOLD;
    fence[c] = 0;
    after[c] = 0
#else
    end_attempt(c)
#endif
}

/* A quorum of grants is counted, whichever arrive first. The fence is the highest number among them. */
inline count_grants(c)
{
    k = 0;
    for (i : 0 .. N - 1) {
        if
        :: node[i].line[c] > GRANTED && k < QUORUM ->
            chosen[i] = 1;
            k++;
            if
            :: node[i].line[c] - GRANTED > fence[c] -> fence[c] = node[i].line[c] - GRANTED
            :: else
            fi
        :: true
        fi
    }
}

/* A grant is at the fence when it carries exactly this number. A late grant above it does not tell that the number was
 * reached while the lock was ours: it may have been there before us, handed out to somebody else. */
#ifdef COUNT_LATE_GRANT_ABOVE
#define AT_FENCE(number, c) ((number) >= fence[c])
#else
#define AT_FENCE(number, c) ((number) == fence[c])
#endif

/* Second round: a counted grant below the fence is raised. One that is read later is not raised in turn. */
inline mark_lines(c)
{
    k = 0;
    for (i : 0 .. N - 1) {
        if
        :: node[i].line[c] <= GRANTED
        :: else ->
            if
            :: AT_FENCE(node[i].line[c] - GRANTED, c) -> node[i].line[c] = AT
            :: else ->
                node[i].line[c] = (chosen[i] -> RAISING : OUT)
            fi
        fi;
        k = k + (chosen[i] && node[i].line[c] == AT);
        chosen[i] = 0
    }
}

inline count_at_fence(c)
{
    k = 0;
    for (i : 0 .. N - 1) {
        k = k + (node[i].line[c] == AT)
    }
}

#define GRANTED_BY(n) (node[n].line[me] > GRANTED)
#define AT_ON(n) (node[n].line[me] == AT)
#if N == 1
#define COUNT(what) (what(0))
#elif N == 3
#define COUNT(what) (what(0) + what(1) + what(2))
#elif N == 5
#define COUNT(what) (what(0) + what(1) + what(2) + what(3) + what(4))
#endif

proctype client(byte me)
{
    byte k;
    bit chosen[N];

    do
    :: d_step {
        phase[me] == REST ->
        tell("client %d asks all (watched fence: %d)\n", me, watched);
        phase[me] = ASK;
        after[me] = (watched != 0);
        for (i : 0 .. N - 1) {
            node[i].line[me] = (VOTES(i) -> ASKED : OUT)
        }
        sort_nodes()
    }
    :: atomic {
        phase[me] == ASK && COUNT(GRANTED_BY) >= QUORUM ->
        count_grants(me);
        if
        :: k < QUORUM -> /* not read yet */
            fence[me] = 0;
            for (i : 0 .. N - 1) {
                chosen[i] = 0
            }
        :: else ->
            mark_lines(me);
#ifdef NO_SECOND_ROUND
            k = QUORUM;
#endif
            if
            :: k >= QUORUM -> hand_out(me)
            :: else ->
                tell("client %d raises to %d\n", me, fence[me]);
                phase[me] = RAISE
            fi
        fi;
        k = 0;
        d_step {
            sort_nodes()
        }
    }
    /* Fence rule: handed out once a quorum stored it while the lock was ours there. */
    :: atomic {
        phase[me] == RAISE && COUNT(AT_ON) >= QUORUM ->
        hand_out(me);
        k = 0;
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

/* Any number above everything stored. The client's proposal is one, stored + 1 is one, the node's own clock is one. */
inline choose_number(n)
{
    number = node[n].fence + 1;
    do
    :: number < TOP -> number++
    :: true -> break
    od;
    node[n].fence = number
}

/* What client c has under way to node n. */
proctype wire(byte n; byte c)
{
    byte number;

    do
    :: atomic {
        node[n].line[c] == ASKED && node[n].holder == FREE && node[n].fence < TOP && MAY_GRANT(n) ->
        choose_number(n);
        tell("node %d grants", n, 0); tell(" client %d with %d\n", c, number);
        node[n].holder = PRESENT(c);
        if
        :: phase[c] == ASK -> node[n].line[c] = GRANTED + number
        :: else -> node[n].line[c] = (AT_FENCE(number, c) -> AT : OUT)
        fi;
        number = 0;
        d_step {
            sort_nodes()
        }
    }
    /* An acquire of an earlier attempt arrives late. */
    :: atomic {
        tried[c] && node[n].holder == FREE && node[n].fence < TOP && VOTES(n) ->
        choose_number(n);
        tell("node %d grants", n, 0); tell(" an earlier attempt of client %d with %d\n", c, number);
        node[n].holder = OLD(c);
        number = 0;
        d_step {
            sort_nodes()
        }
    }
    :: d_step {
#ifdef NO_OWNER_CHECK
        node[n].line[c] == RAISING && VOTES(n) ->
#else
        /* Raised only while the lock is still ours here. */
        node[n].line[c] == RAISING && VOTES(n) && MINE(n, c) ->
#endif
        tell("node %d raises", n, 0); tell(" for client %d to %d\n", c, fence[c]);
        if
        :: fence[c] > node[n].fence -> node[n].fence = fence[c]
        :: else
        fi;
        node[n].line[c] = AT;
        sort_nodes()
    }
#ifdef NO_FRESH_OWNER
    /* The release of an earlier attempt, said again after a broken connection, hits the present one. */
    :: d_step {
        tried[c] && node[n].holder == PRESENT(c) ->
        tell("node %d: a late release of client %d\n", n, c);
        node[n].holder = FREE;
        sort_nodes()
    }
#endif
    od
}

/* A key ends: by its TTL or by a release. Without timing that is at any moment; otherwise not before the validity of the
 * attempt that planted it, for validity is counted from before the request was sent and the TTL from when it came. */
#ifdef TIMED
#define MAY_END(holder) IS_OLD(holder)
#else
#define MAY_END(holder) ((holder) != FREE)
#endif

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

inline start()
{
    for (a : 0 .. C - 1) {
        run client(a)
    }
    for (a : 0 .. N - 1) {
        run keys(a);
        for (b : 0 .. C - 1) {
            run wire(a, b)
        }
    }
}
