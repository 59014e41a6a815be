"""What is measured: every row of the tables, and the targets. A row names a run and the run it is compared with; runs that
several rows name are made once a turn. To add a workload, add a row."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Run:
    """One start of a program (or of several at once). A fault is done to the fleet after the warm-up, and undone."""
    program: str
    workload: str
    clients: int = 1
    mode: str = "plain"
    fleet: str = "tcp 5"
    fault: str = ""       # "freeze 1", "kill 2": nodes
    processes: int = 1    # contention: each of them has so many clients
    oddity: str = ""      # contention: "behind" one process's clock is 50 ms late, "killed" one is killed half-way, "stopped" it is stopped
    retry_ms: int = 200   # naive contenders
    ttl_ms: int = 1000    # contention
    renews: bool = False  # likewise: with auto-extend
    quick: bool = False   # releases are not waited for
    width: int = 0        # kinds: how many slots or names
    length: float = 1     # times the seconds of a run
    seconds: float = 0    # or exactly so many

    def but(self, **changes):
        return dataclasses.replace(self, **changes)


@dataclasses.dataclass(frozen=True)
class Row:
    table: str
    label: str
    subject: Run
    base: Run = None
    against: str = ""
    turns: int = 3


LONE = Run("redlock_bench", "blocking")
THREADS = LONE.but(clients=100)
ASYNC = Run("redlock_bench", "async", 100)
THOUSAND = 1000
ACQUIRES = Run("raw_bench", "acquires", 100, fleet="tcp 1")
MODES = ("plain", "guarded")
COUNTS = (1, 3, 5, 7, 9)
WAITING = Run("redlock_bench", "wait", 100, seconds=10)
HELD = Run("held_bench", "held", seconds=5)  # a third of the TTL: every lock is renewed once
SLOTS, CALLERS_FOR_SLOTS, READERS = 4, 32, 16
SLOTS_TARGET = 0.7
EVERY = 5  # turns, for what has a target
FAULT_LENGTH = 3  # goes on well after a frozen node has become a silent one
CONTENTION_LENGTH = 2.5
DEFAULT_TTL_MS = 15000  # longer than the second for which a node gives the lock to a waiter: it has to be asked for the rest


def raw(run):
    return run.but(program="raw_bench", workload="pairs", quick=False)


def hiredis(run):
    return run.but(program="hiredis_bench", workload="pairs")


def limit_rows():
    """The library against a bare loop that sends the same bytes."""
    for count in COUNTS:
        turns, length = (EVERY, 1) if count == 5 else (2, 0.8)
        for label, run in (("1 caller", LONE), ("100 threads", THREADS), ("100 async", ASYNC)):
            for mode in MODES:
                run = run.but(mode=mode, fleet=f"tcp {count}", length=length)
                yield Row("limit", label, run, raw(run), "bare loop", turns)
    for mode in MODES:
        for label, workload in (("1000 threads", "blocking"), ("1000 async", "async")):
            run = LONE.but(workload=workload, mode=mode, clients=THOUSAND)
            yield Row("limit", label, run, raw(run), "bare loop", 2)
    for label, run in (("10 threads", LONE.but(clients=10)), ("1 caller", LONE.but(fleet="unix 5"))):
        yield Row("limit", label, run, raw(run), "bare loop", 2)
    for mode in MODES:
        for label, run in (("1 caller", LONE), ("100 async", ASYNC)):
            run = run.but(mode=mode)
            yield Row("limit", label, run, hiredis(run), "hiredis loop", 2)
    for label, run, modes in (("1 caller", LONE, MODES), ("100 threads", THREADS, MODES[:1]), ("100 async", ASYNC, MODES[:1])):
        for mode in modes:
            run = run.but(mode=mode, fleet="1ms 5")
            yield Row("limit", label, run, raw(run), "bare loop", EVERY if run.clients == 1 else 2)


def itself_rows():
    """The library against itself: what the guard costs, and what faults do."""
    for label, run in (("1 caller", LONE), ("100 threads", THREADS), ("100 async", ASYNC)):
        yield Row("itself", label, run.but(mode="guarded"), run, "plain", EVERY)
    for label, run in (("1 caller", LONE), ("1 caller", LONE.but(fleet="1ms 5")), ("100 threads", THREADS), ("100 async", ASYNC)):
        run = run.but(mode="guarded")
        yield Row("itself", f"{label}, quick release", run.but(quick=True), run, "waits for it", 3)
    yield Row("itself", "acquire alone", ACQUIRES.but(mode="guarded"), ACQUIRES, "plain", 2)
    for mode in MODES:
        turns = EVERY if mode == "plain" else 2
        whole = LONE.but(mode=mode, length=FAULT_LENGTH)
        yield Row("itself", "1 caller, 1 frozen", whole.but(fault="freeze 1"), whole, "no fault", turns)
        whole = whole.but(fleet="spare 5")
        yield Row("itself", "1 caller, 2 killed", whole.but(fault="kill 2"), whole, "no fault", turns)
    whole = ASYNC.but(length=FAULT_LENGTH)
    yield Row("itself", "100 async, 1 frozen", whole.but(fault="freeze 1"), whole, "no fault", 2)


def contend(contenders, how, **changes):
    """As threads of one process, or as so many processes."""
    share = {"clients": contenders} if how == "threads" else {"processes": contenders}
    many = contenders > 16  # else one turn more or less is more than 5 %
    return Run("redlock_bench", "contend", length=(4 if many else 1) * CONTENTION_LENGTH, **share, **changes)


def fifo(run):
    return run.but(program="raw_bench", workload="fifo", clients=run.clients * run.processes, processes=1,
                   fault="", oddity="", ttl_ms=Run.ttl_ms, renews=False, quick=False, fleet=run.fleet.replace("spare", "tcp"))


def handed_on(run):
    """A bare program that stands in line at the nodes, which hand the lock on."""
    return run.but(program="hand_over_bench", mode="guarded", fault="", oddity="", renews=False, quick=False)


def naive(run, retry_ms):
    return run.but(program="naive_bench", retry_ms=retry_ms, mode="plain", fault="", oddity="")


def default_ttl_rows(run, how):
    """A node hands the lock over for a second, and has to be asked for the rest; with auto-extend that may come later."""
    for words, renews in (("", False), (", auto-extend", True)):
        run = run.but(ttl_ms=DEFAULT_TTL_MS, renews=renews)
        yield Row("contention", f"16 {how}, TTL 15 s{words}", run, fifo(run), "fifo", 3)
        if how == "processes":
            yield Row("contention", f"16 {how}, TTL 15 s{words}", run, handed_on(run), "hand-over", 3)


def contention_rows():
    """One name, and everybody wants it. Guarded: they stand in line at the nodes. Plain: there is no line."""
    for fleet in ("tcp 5", "1ms 5"):
        for contenders in (16, 64):
            for how in ("threads", "processes"):
                turns = 3 if contenders == 16 else 1
                run = contend(contenders, how, fleet=fleet, mode="guarded")
                yield Row("contention", f"{contenders} {how}", run, fifo(run), "fifo", turns)
                if how == "processes":
                    yield Row("contention", f"{contenders} {how}", run, handed_on(run), "hand-over", turns)
                if contenders == 16:
                    yield from default_ttl_rows(run, how)
            run = run.but(quick=True)
            yield Row("contention", f"{contenders} processes, quick release", run, fifo(run), "fifo", turns)
            yield Row("contention", f"{contenders} processes, quick release", run, handed_on(run), "hand-over", turns)
        for how in ("threads", "processes"):
            run = contend(16, how, fleet=fleet)
            yield Row("contention", f"16 {how}", run, fifo(run), "fifo", 1)
        run = contend(16, "processes", fleet=fleet)
        for retry_ms in (200, 10):
            yield Row("contention", f"16 naive {retry_ms} ms", naive(run, retry_ms), fifo(run), "fifo", 3 if retry_ms == 200 else 1)
    for label, mode in (("1 contender", "guarded"), ("1 contender", "plain")):
        run = contend(1, "threads", mode=mode)
        yield Row("contention", label, run, fifo(run), "fifo", 1)
    bare = handed_on(contend(16, "processes"))
    yield Row("contention", "16 bare hand-over", bare, fifo(bare), "fifo", 3)
    yield Row("contention", "16 bare hand-over, 1 killed", bare.but(oddity="killed"), fifo(bare), "fifo", 1)
    for label, run in odd_runs().items():
        yield Row("contention", label, run, fifo(run), "fifo", 1)


def odd_runs():
    """Something is wrong, and those who are well get their shares all the same. Who is stopped is so from a quarter on, for good."""
    whole = contend(16, "processes", mode="guarded")
    return {
        "16 processes, 1 node down": whole.but(fleet="spare 5", fault="kill 1"),
        "16 threads, 1 node down": contend(16, "threads", mode="guarded", fleet="spare 5", fault="kill 1"),
        "16 processes, 1 clock 50 ms late": whole.but(oddity="behind"),
        "16 processes, 1 killed": whole.but(oddity="killed"),
        "16 processes, 1 stopped": whole.but(oddity="stopped", length=4 * CONTENTION_LENGTH),
    }


def waiting_rows():
    """Many wait for a lock that is held for 10 s and renewed twice: what that costs a node."""
    for mode in ("guarded", "plain"):
        yield Row("waiting", "100 threads", WAITING.but(mode=mode), turns=1)


def held_rows():
    for mode, counts in (("guarded", (1, 100, 10000, 100000)), ("plain", (10000,))):
        for count in counts:
            yield Row("held", f"{count:,} locks", HELD.but(clients=count, mode=mode), turns=1)


def kind(workload, how="threads", callers=1, **changes):
    share = {"clients": callers} if how == "threads" else {"processes": callers}
    return Run("kinds_bench", workload, mode="guarded", length=CONTENTION_LENGTH, **share, **changes)


ENTERED = kind("again", ttl_ms=DEFAULT_TTL_MS)  # no renewal comes in between


def slot_runs(how, fleet="tcp 5"):
    """A semaphore that all want, and as many locks as it has slots, with a share of the callers each."""
    return [kind(workload, how, CALLERS_FOR_SLOTS, width=SLOTS, fleet=fleet) for workload in ("slots", "spread")]


def kind_rows():
    """Each kind against ordinary locks that are used in the same way."""
    for fleet in ("tcp 5", "1ms 5"):
        for how in ("threads", "processes"):
            yield Row("kinds", f"{CALLERS_FOR_SLOTS} {how}, {SLOTS} slots", *slot_runs(how, fleet), f"{SLOTS} locks", 3)
    for how in ("threads", "processes"):
        readers = kind("readers", how, READERS)
        yield Row("kinds", f"{READERS} {how} read", readers, readers.but(workload="own"), "a lock each", 3)
        yield Row("kinds", f"{READERS} {how} read", readers, readers.but(workload="spread", width=1), "one lock", 3)
    for names in (2, 4, 16):
        yield Row("kinds", f"1 caller, {names} names", kind("names", width=names), kind("own"), "one name", 3)
    yield Row("kinds", "1 caller enters again", ENTERED, kind("own"), "acquire", 3)


def all_rows():
    return [*limit_rows(), *itself_rows(), *contention_rows(), *kind_rows(), *held_rows(), *waiting_rows()]


# ---- targets: printed beside what was measured, never asserted ---------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Target:
    words: str
    sign: str     # "<=" or ">="
    value: float
    row: Row      # any row that names the two runs will do
    figure: str
    part: str = "ratio"  # or "subject": the figure itself; or "best peer": against the best of them


@dataclasses.dataclass(frozen=True)
class PeerTarget:
    """Pairs per second of one peer against another, in one workload of peers.py."""
    words: str
    sign: str
    value: float
    workload: str
    subject: str  # folders in bench/peers
    base: str


PEER_TARGETS = [
    PeerTarget("Python package, 1 caller, pairs/s / redlock-py", ">=", 5, "lone", "libredlock-python", "redlock-py"),
    PeerTarget("Python package, 100 callers, pairs/s / redlock-py", ">=", 5, "callers", "libredlock-python", "redlock-py"),
]


def target(words, sign, value, subject, base, figure, part="ratio"):
    return Target(words, sign, value, Row("", "", subject, base), figure, part)


def default_ttl_targets(near, far_away):
    """The same as for a TTL of a second: the hand-over must not be good only for those who ask for little."""
    for table, words, share in ((near, "", 0.33), (far_away, ", 1 ms", 0.9)):
        run = table["processes", 16].but(ttl_ms=DEFAULT_TTL_MS)
        yield target(f"16 processes, TTL 15 s{words}, acquisitions/s / bare hand-over", ">=", 0.8, run, handed_on(run), "pairs_per_s")
        for more, renews in (("", False), (", auto-extend", True)):
            run = run.but(renews=renews)
            yield target(f"16 processes, TTL 15 s{more}{words}, acquisitions/s / fifo", ">=", share, run, fifo(run), "pairs_per_s")


def targets():
    guarded = LONE.but(mode="guarded")
    far = LONE.but(fleet="1ms 5")
    whole, spare = LONE.but(length=FAULT_LENGTH), LONE.but(length=FAULT_LENGTH, fleet="spare 5")
    near, far_away = {}, {}
    for table, fleet in ((near, "tcp 5"), (far_away, "1ms 5")):
        for how, contenders in (("threads", 16), ("threads", 64), ("processes", 16), ("processes", 64)):
            table[how, contenders] = contend(contenders, how, mode="guarded", fleet=fleet)
    threads, processes = near["threads", 16], near["processes", 16]
    held = HELD.but(clients=10000, mode="guarded")
    p50, p99, pairs = "acquire_p50_us", "acquire_p99_us", "pairs_per_s"
    return [
        target("1 caller, plain, acquire p50 / bare loop", "<=", 1.15, LONE, raw(LONE), p50),
        target("1 caller, guarded, acquire p50 / bare loop, same script", "<=", 1.15, guarded, raw(guarded), p50),
        target("100 threads, plain, pairs/s / bare loop", ">=", 0.7, THREADS, raw(THREADS), pairs),
        target("100 async, plain, pairs/s / bare loop", ">=", 0.9, ASYNC, raw(ASYNC), pairs),
        target("100 threads, pairs/s guarded / plain", ">=", 0.65, THREADS.but(mode="guarded"), THREADS, pairs),
        target("100 async, pairs/s guarded / plain", ">=", 0.65, ASYNC.but(mode="guarded"), ASYNC, pairs),
        target("100 threads, plain, pairs/s / best Redlock peer", ">=", 8, THREADS, None, pairs, "best peer"),
        target("100 async, plain, pairs/s / best Redlock peer", ">=", 8, ASYNC, None, pairs, "best peer"),
        target("1 node frozen, p99 / no fault", "<=", 1.2, whole.but(fault="freeze 1"), whole, p99),
        target("2 nodes killed, p99 / no fault", "<=", 1.2, spare.but(fault="kill 2"), spare, p99),
        target("1 ms round trip, acquire p50 / bare loop", "<=", 1.05, far, raw(far), p50),
        target("10,000 held locks: CPU, % of a core", "<=", 5, held, None, "cpu_percent", "subject"),
        target("a held lock beyond its name, bytes", "<=", 512, held, None, "bytes_per_lock_beyond_name", "subject"),
        target("a client with 5 connections, KiB", "<=", 256, held, None, "client_kib", "subject"),
        *(target(f"{count} processes on one name, acquisitions/s / bare hand-over", ">=", 0.8, near["processes", count],
                 handed_on(near["processes", count]), pairs) for count in (16, 64)),
        *(target(f"{count} processes on one name, quick release, acquisitions/s / bare hand-over", ">=", 0.8,
                 near["processes", count].but(quick=True), handed_on(near["processes", count]), pairs) for count in (16, 64)),
        target("16 processes on one name, acquisitions/s / fifo", ">=", 0.33, processes, fifo(processes), pairs),
        target("16 processes on one name, quick release, acquisitions/s / fifo", ">=", 0.33, processes.but(quick=True), fifo(processes), pairs),
        target("16 processes, quick release, 1 ms, acquisitions/s / fifo", ">=", 0.9, far_away["processes", 16].but(quick=True),
               fifo(far_away["processes", 16]), pairs),
        *(target(f"{count} processes, 1 ms, acquisitions/s / fifo", ">=", 0.9, far_away["processes", count],
                 fifo(far_away["processes", count]), pairs) for count in (16, 64)),
        *default_ttl_targets(near, far_away),
        target("16 threads on one name, acquisitions/s / fifo", ">=", 0.75, threads, fifo(threads), pairs),
        target("16 threads, 1 ms, acquisitions/s / fifo", ">=", 0.9, far_away["threads", 16], fifo(far_away["threads", 16]), pairs),
        *(target(f"{count} {how}{words}, least / most", ">=", 0.95, run, None, "least_of_most", "subject")
          for table, words in ((near, ""), (far_away, ", 1 ms")) for (how, count), run in table.items()),
        *(target(f"{label}, least / most of the living", ">=", 0.95, run, None, "least_of_most", "subject")
          for label, run in odd_runs().items()),
        *(target(f"{CALLERS_FOR_SLOTS} {how}, {SLOTS} slots, acquisitions/s / {SLOTS} locks", ">=", SLOTS_TARGET, *slot_runs(how), pairs)
          for how in ("threads", "processes")),
        target("1 caller enters a reentrant lock again: rounds", "<=", 0, ENTERED, None, "rounds_per_pair", "subject"),
        target("16 processes, wait p99 / naive 200 ms", "<=", 0.05, processes, naive(processes, 200), p99),
        target("100 waiters, lock held for 10 s: commands at a node, each", "<=", 10, WAITING.but(mode="guarded"), None,
               "node_commands_per_waiter", "subject"),
    ]
