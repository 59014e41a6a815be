"""What sharing a lock with another library means, one function for each thing that is promised. Each gets a Stage: five nodes
(or one), the library, our command in a mode, and a name of its own."""

import concurrent.futures
import dataclasses
import pathlib
import signal
import typing

from suite.checks import Failed, expect, expect_true, until

LONG_MS = 60000  # max_ttl: nobody's lease may be longer
SHORT_MS = 2000  # whole seconds, for libraries that know no less
EACH = 8  # processes on either side
TIMES = 4  # each adds


@dataclasses.dataclass
class Stage:
    fleet: typing.Any
    redlock: typing.Any
    peer: typing.Any  # a driver that runs
    start_peer: typing.Callable  # starts one more
    crowd: typing.Callable  # so many drivers, which are kept
    folder: str
    name: str
    other_name: str

    def key(self):
        return self.redlock.prefix + self.name

    def is_gone(self):
        return self.fleet.copies(self.key()) == 0

    def marks(self):
        """What tells whose a lock is: the value on every node."""
        return self.fleet.values(self.key())

    def expect_theirs(self):
        """They have it: on a quorum of nodes there is one mark, with an expiry, under the name that we use. Returns the marks."""
        marks = self.marks()
        expect_true(f"what they hold is not on a quorum: {marks}", len(marks) - marks.count(None) >= self.fleet.quorum())
        left = [node.ask("PTTL", self.key()) for node, mark in zip(self.fleet.nodes, marks) if mark is not None]
        expect_true(f"what they hold has no expiry: {left}", -1 not in left)
        return marks

    def expect_let_go(self, before):
        """They said so; a library that does not wait for all nodes has let go on a quorum."""
        left = sum(new is not None and new == old for new, old in zip(self.marks(), before))
        expect_true(f"they said that they let go, and have it on {left} nodes", left <= len(before) - self.fleet.quorum())

    def expect_untouched(self, before, in_line=False):
        """It is as it was; a library that does not wait for all nodes may have got to more of them meanwhile, and a waiter of ours that
        stands in line may have been granted nodes that they are not on."""
        now = self.marks()
        kept = all(new == old for new, old in zip(now, before) if old is not None)
        if not kept or (set(now) - {None} != set(before) - {None} and not in_line):
            raise Failed(f"their lock was touched: {before} became {now}")

    def is_ours(self, owner):
        """On a quorum; a node that was slow to grant it has nothing. In a hash our owner value is one of the fields."""
        marks = ["" if mark is None else mark for mark in self.marks()]
        ours = [mark == owner or mark.startswith("[") and owner in mark for mark in marks]
        return sum(ours) >= self.fleet.quorum() and all(own or mark == "" for own, mark in zip(ours, marks))


def we_are_refused_while_they_hold_it(stage):
    expect("they take it", stage.peer.tell("acquire", LONG_MS, stage.name), "held")
    before = stage.expect_theirs()
    code, _, err = stage.redlock.run("run", "-n", stage.name, "--", "true")
    expect(f"exit code of redlock run -n ({err})", code, 75)
    code, out, err = stage.redlock.run("status", stage.name)
    expect(f"exit code of redlock status ({err})", code, 0)
    stage.expect_untouched(before)
    expect("they let go", stage.peer.tell("release"), "released")
    until("their lock is gone", stage.is_gone)


def they_are_refused_while_we_hold_it(stage):
    owner = stage.redlock.acquire(stage.name, "60s")
    expect("they ask", stage.peer.tell("acquire", LONG_MS, stage.name), "refused")
    until("nothing but our lock is on the nodes", lambda: stage.is_ours(owner))


def they_get_it_after_our_release(stage):
    holder = stage.redlock.hold(stage.name)
    expect("they ask", stage.peer.tell("acquire", LONG_MS, stage.name), "refused")
    holder.stop()
    until("they have it", lambda: stage.peer.tell("acquire", LONG_MS, stage.name) == "held")
    before = stage.expect_theirs()
    expect("they let go", stage.peer.tell("release"), "released")
    stage.expect_let_go(before)


def their_release_wakes_our_waiter(stage):
    expect("they take it", stage.peer.tell("acquire", LONG_MS, stage.name), "held")
    before = stage.expect_theirs()
    waiter = stage.redlock.wait_for(stage.name)
    waiter.mark()
    expect("they let go", stage.peer.tell("release"), "released")
    stage.expect_let_go(before)
    expect("our waiter", waiter.finish(), (0, "ran"))
    expect_true("no quorum told our waiter", waiter.was_told_by(stage.fleet.quorum()))


def their_extension_keeps_our_waiter_out(stage):
    """By a call, or by a renewal of its own."""
    expect("they take it", stage.peer.tell("acquire", 0 if stage.peer.renews else LONG_MS // 2, stage.name), "held")
    before = stage.expect_theirs()
    waiter = stage.redlock.wait_for(stage.name)
    waiter.mark()
    if not stage.peer.renews:
        expect("they extend it", stage.peer.tell("extend", LONG_MS), "extended")
    until("a quorum tells our waiter", lambda: waiter.was_told_by(stage.fleet.quorum()) or stage.redlock.given_up(waiter))
    until("our waiter knows that it is still held", lambda: stage.redlock.knows_it_is_held(waiter) or stage.redlock.given_up(waiter))
    expect_true("our waiter got it", "acquired" not in waiter.events())
    stage.expect_untouched(before, in_line=True)
    expect("they let go", stage.peer.tell("release"), "released")
    expect("our waiter", waiter.finish(), (0, "ran"))


def we_get_it_when_their_holder_died(stage):
    victim = stage.start_peer()
    expect("they take it", victim.tell("acquire", LONG_MS, stage.name), "held")
    stage.expect_theirs()
    keys = stage.fleet.keys_about(stage.name)
    waiter = stage.redlock.wait_for(stage.name)
    victim.kill()
    stage.fleet.hasten(keys)
    expect("our waiter", waiter.finish(), (0, "ran"))


def they_get_it_when_our_holder_died(stage):
    holder = stage.redlock.hold(stage.name)
    expect("they ask while it lives", stage.peer.tell("acquire", LONG_MS, stage.name), "refused")
    holder.kill()
    stage.fleet.hasten([stage.key()])
    until("they have it", lambda: stage.peer.tell("acquire", LONG_MS, stage.name) == "held")
    expect("they let go", stage.peer.tell("release"), "released")


def their_late_release_leaves_ours_alone(stage):
    """A holder that slept through its lease wakes up, and extends and releases what is ours by now."""
    expect("they take it", stage.peer.tell("acquire", SHORT_MS, stage.name), "held")
    stage.peer.signal(signal.SIGSTOP)
    try:
        until("their lease has run out", stage.is_gone)
        owner = stage.redlock.acquire(stage.name, "60s")
    finally:
        stage.peer.signal(signal.SIGCONT)
    if stage.peer.can_extend:
        stage.peer.tell("extend", LONG_MS)
    stage.peer.tell("release")
    expect_true(f"our lock was touched: {stage.marks()}", stage.is_ours(owner))
    expect("exit code of our release", stage.redlock.run("release", stage.name, owner=owner)[0], 0)


def our_late_release_leaves_theirs_alone(stage):
    owner = stage.redlock.acquire(stage.name, "1s")
    until("our lease has run out", stage.is_gone)
    expect("they take it", stage.peer.tell("acquire", LONG_MS, stage.name), "held")
    before = stage.expect_theirs()
    expect("exit code of our extend", stage.redlock.run("extend", stage.name, owner=owner)[0], 79)
    expect("exit code of our release", stage.redlock.run("release", stage.name, owner=owner)[0], 79)
    stage.expect_untouched(before)
    expect("they let go", stage.peer.tell("release"), "released")


def eight_and_eight_processes_lose_no_increment(stage):
    path = pathlib.Path(stage.folder) / "counter"
    path.write_text("0")
    crowd = stage.crowd(EACH)
    for driver in crowd:
        driver.be_ready()
    with concurrent.futures.ThreadPoolExecutor(2 * EACH) as threads:
        theirs = [threads.submit(driver.tell, "add", TIMES, stage.name, path) for driver in crowd]
        ours = [threads.submit(add, stage, path) for _ in range(EACH)]
        expect("what they did", {job.result() for job in theirs}, {"added"})
        expect("exit codes of redlock run", {job.result() for job in ours}, {0})
    expect("the counter", int(path.read_text()), 2 * EACH * TIMES)


def add(stage, path):
    """Adds under our lock, as a script would; returns the last exit code."""
    for _ in range(TIMES):
        code, _, _ = stage.redlock.run("run", "--wait", "100s", stage.name, "--",
                                       "sh", "-c", f"read -r n <'{path}' || :; echo $((n + 1)) >'{path}'")
        if code != 0:
            return code
    return 0


def each_of_several_names_excludes_us(stage):
    """A lock over several names holds each of them; and one that is ours keeps them from all, with nothing left behind."""
    expect("they take both", stage.peer.tell("acquire", LONG_MS, stage.name, stage.other_name), "held")
    for name in (stage.name, stage.other_name):
        expect(f"exit code of redlock run -n {name}", stage.redlock.run("run", "-n", name, "--", "true")[0], 75)
    expect("they let go", stage.peer.tell("release"), "released")
    stage.redlock.acquire(stage.other_name, "60s")
    expect("they ask for both", stage.peer.tell("acquire", LONG_MS, stage.name, stage.other_name), "refused")
    until("the other name is free", stage.is_gone)


# ---- in the format of a library that waits and counts entries

def our_release_wakes_their_waiter(stage):
    """Told by our publish: a waiter of theirs that heard nothing would sleep until our lease has ended. Returns how long both wakes
    took, ours by their release and theirs by ours, by the clock of the node that has it last."""
    key = stage.key()
    expect("they take it once, to be warm", stage.peer.tell("acquire", LONG_MS, stage.name), "held")
    expect("they let go", stage.peer.tell("release"), "released")
    with stage.fleet.listen() as heard:
        owner = stage.redlock.acquire(stage.name, "60s")
        stage.peer.begin("await", LONG_MS, stage.name)
        channels = until("they wait", stage.fleet.channels)
        expect("exit code of our release", stage.redlock.run("release", stage.name, owner=owner)[0], 0)
        expect("their waiter", stage.peer.answer(), "held")
        told = heard.channels_told()
        expect_true(f"they listen to {channels}, and we told {told}", channels & told)
        theirs = heard.from_release_to_entry(key)
    with stage.fleet.listen() as heard:
        waiter = stage.redlock.wait_for(stage.name)
        expect("they let go", stage.peer.tell("release"), "released")
        expect("our waiter", waiter.finish(), (0, "ran"))
        ours = heard.from_release_to_entry(key)
    return {"theirs_ms": theirs, "ours_ms": ours}


def a_second_entry_of_theirs_counts(stage):
    for _ in range(2):
        expect("they take it", stage.peer.tell("acquire", LONG_MS, stage.name), "held")
    expect("they let go once", stage.peer.tell("release"), "released")
    expect("exit code of redlock run -n", stage.redlock.run("run", "-n", stage.name, "--", "true")[0], 75)
    expect("they let go for good", stage.peer.tell("release"), "released")
    expect("exit code of redlock run", stage.redlock.run("run", "--wait", "30s", stage.name, "--", "true")[0], 0)


def readers_of_both_sides_share_it(stage):
    expect("they read", stage.peer.tell("acquire", LONG_MS, stage.name), "held")
    expect("exit code of redlock run -s", stage.redlock.run("run", "-n", "-s", stage.name, "--", "true")[0], 0)
    expect("exit code of redlock run", stage.redlock.run("run", "-n", stage.name, "--", "true")[0], 75)
    reader = stage.redlock.hold(stage.name, "-s")
    expect("they leave", stage.peer.tell("release"), "released")
    expect("they read again", stage.peer.tell("acquire", LONG_MS, stage.name), "held")
    expect("they leave again", stage.peer.tell("release"), "released")
    expect_true("our reader is not there any more", "lost" not in reader.events() and not stage.is_gone())
    expect("exit code of redlock run", stage.redlock.run("run", "-n", stage.name, "--", "true")[0], 75)
    reader.stop()
    until("nothing is left", stage.is_gone)


def our_readers_and_their_writer_exclude_each_other(stage):
    expect("they take it", stage.peer.tell("acquire", LONG_MS, stage.name), "held")
    expect("exit code of redlock run -s", stage.redlock.run("run", "-n", "-s", stage.name, "--", "true")[0], 75)
    expect("they let go", stage.peer.tell("release"), "released")
    readers = [stage.redlock.hold(stage.name, "-s") for _ in range(2)]
    for reader in readers:
        expect("they ask while we read", stage.peer.tell("acquire", LONG_MS, stage.name), "refused")
        reader.stop()
    until("they have it", lambda: stage.peer.tell("acquire", LONG_MS, stage.name) == "held")
    expect("they let go", stage.peer.tell("release"), "released")


COLUMNS = {  # of the tables: the behaviours that stand in each
    "refused while the other holds": [we_are_refused_while_they_hold_it, they_are_refused_while_we_hold_it],
    "theirs after our release": [they_get_it_after_our_release],
    "woken by their release": [their_release_wakes_our_waiter],
    "their extension": [their_extension_keeps_our_waiter_out],
    "dead holder": [we_get_it_when_their_holder_died, they_get_it_when_our_holder_died],
    "late release": [their_late_release_leaves_ours_alone, our_late_release_leaves_theirs_alone],
    "counter, 8 + 8": [eight_and_eight_processes_lose_no_increment],
    "several names": [each_of_several_names_excludes_us],
    "woken by our release": [our_release_wakes_their_waiter],
    "entered twice": [a_second_entry_of_theirs_counts],
    "readers": [readers_of_both_sides_share_it, our_readers_and_their_writer_exclude_each_other],
}
COMMON_ALONE = {"several names"}
OWN_FORMAT_ALONE = {"woken by our release", "entered twice", "readers"}


def columns(in_own_format):
    """Those of the table for libraries in the common format, or for one in a format of its own."""
    left_out = COMMON_ALONE if in_own_format else OWN_FORMAT_ALONE
    return {name: functions for name, functions in COLUMNS.items() if name not in left_out}
