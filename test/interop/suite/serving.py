"""What a lock does on a server, one function for each thing that is promised, in the modes that promise it. Each gets a Stage: five
nodes, our command in a mode, and a name of its own."""

import concurrent.futures
import dataclasses
import itertools
import json
import pathlib
import re
import typing

from suite.checks import expect, expect_true, until

ADDERS = 16
TIMES = 4
SLOTS = 3
MODES = ("plain", "guarded", "redisson")
GUARDED = ("guarded",)
SHARED = ("guarded", "redisson")  # plain nodes keep shared locks in Redisson's format only


@dataclasses.dataclass
class Stage:
    fleet: typing.Any
    redlock: typing.Any
    plain: typing.Any  # our command in plain mode, on the same nodes
    folder: str
    name: str

    def status(self, *words):
        code, out, err = self.redlock.run("status", "--json", *words)
        expect(f"exit code of redlock status ({err})", code, 0)
        return json.loads(out)

    def is_free(self):
        return self.fleet.copies(self.name) == 0

    def leases_ms(self):
        """What is left on the nodes, the least first."""
        return sorted(node.ask("PTTL", self.name) for node in self.fleet.nodes)

    def refused(self, *words):
        """Whether a caller that does not wait is turned away."""
        code, _, err = self.redlock.run("run", "-n", *words, "--", "true")
        expect_true(f"exit code of redlock run -n {' '.join(words)}: {code} ({err})", code in (0, 75))
        return code == 75

    def crowd(self, *words):
        """Runs a script in so many processes, so often in each; returns the exit codes."""
        def run(_):
            return {self.redlock.run("run", "--wait", "100s", *words)[0] for _ in range(TIMES)}
        with concurrent.futures.ThreadPoolExecutor(ADDERS) as threads:
            return set().union(*threads.map(run, range(ADDERS)))

    def waiter(self):
        """One that is known to wait: the nodes will tell it."""
        return self.redlock.wait_for(self.name)

    def eligible_nodes(self):
        return [node["eligible"] for node in self.status()["nodes"]]


def a_second_caller_is_refused_and_told_why(stage):
    stage.redlock.hold(stage.name, "--why", "month's end")
    code, _, err = stage.redlock.run("run", "-n", stage.name, "--", "true")
    expect("exit code of redlock run -n", code, 75)
    expect_true(f"it does not say why: {err}", "month's end" in err)
    expect("what redlock status says", stage.status(stage.name)["holder"]["why"], "month's end")


def nothing_is_left_after_a_release(stage):
    expect("exit code of redlock run", stage.redlock.run("run", stage.name, "--", "true")[0], 0)
    until("nothing is left", stage.is_free)


def a_release_wakes_a_waiter(stage):
    holder = stage.redlock.hold(stage.name)
    waiter = stage.waiter()
    waiter.mark()
    holder.stop()
    expect("the waiter", waiter.finish(), (0, "ran"))
    expect_true("no quorum told it", waiter.was_told_by(stage.fleet.quorum()))


def renewals_lengthen_the_lease(stage):
    holder = stage.redlock.hold(stage.name, "--ttl", "30s", "--renew", "500ms")
    owners = set(stage.fleet.values(stage.name)) - {None}
    for _ in range(2):
        stage.fleet.hasten([stage.name], to_ms=20000)
        until("it was renewed", lambda: stage.leases_ms()[-stage.fleet.quorum()] > 20000)
    expect("whose it is", set(stage.fleet.values(stage.name)) - {None}, owners)
    expect("what it came to", holder.stop()[0], 143)


def a_dead_holder_makes_way(stage):
    holder = stage.redlock.hold(stage.name)
    waiter = stage.waiter()
    holder.kill()
    stage.fleet.hasten([stage.name])
    expect("the waiter", waiter.finish(), (0, "ran"))


def a_script_extends_and_releases_its_lease(stage):
    owner = stage.redlock.acquire(stage.name, "20s")
    expect("extend", stage.redlock.run("extend", stage.name, "--ttl", "40s", owner=owner)[0], 0)
    left = stage.leases_ms()
    expect_true(f"leases in ms: {left}", left[-stage.fleet.quorum()] > 20000)
    expect("extend by another", stage.redlock.run("extend", stage.name, owner="somebody")[0], 79)
    expect("release by another", stage.redlock.run("release", stage.name, owner="somebody")[0], 79)
    expect("release", stage.redlock.run("release", stage.name, owner=owner)[0], 0)
    expect("release again", stage.redlock.run("release", stage.name, owner=owner)[0], 79)


def a_lost_lock_stops_its_command(stage):
    holder = stage.redlock.hold(stage.name, "--ttl", "2s")
    for node in stage.fleet.nodes:
        node.ask("SET", stage.name, "thief", "PX", 60000)
    expect("what it came to", holder.finish()[0], 79)
    expect("whose it is", set(stage.fleet.values(stage.name)), {"thief"})


def keys_of_other_programs_are_respected(stage):
    """One without an end, and one of another type."""
    for number, words in enumerate((("SET", "{}", "forever"), ("HSET", "{}", "field", "1"))):
        name = f"{stage.name}-{number}"
        for node in stage.fleet.nodes:
            node.ask(*(word.format(name) for word in words))
        code, _, err = stage.redlock.run("run", "-n", name, "--", "true")
        expect(f"exit code of redlock run -n ({err})", code, 75)
        expect("keys that are left", stage.fleet.copies(name), 5)


def sixteen_processes_lose_no_increment(stage):
    path = pathlib.Path(stage.folder) / "counter"
    path.write_text("0\n")
    add = f"read -r n <'{path}'; echo $((n + 1)) >'{path}'"
    expect("exit codes", stage.crowd(stage.name, "--", "sh", "-c", add), {0})
    expect("the counter", int(path.read_text()), ADDERS * TIMES)


def readers_share_it_and_keep_writers_out(stage):
    readers = [stage.redlock.hold(stage.name, "-s") for _ in range(2)]
    expect_true("a third reader was refused", not stage.refused("-s", stage.name))
    readers[0].stop()
    expect_true("a writer came in beside a reader", stage.refused(stage.name))
    writer = stage.redlock.start(stage.name, "--", "echo", "wrote")
    readers[1].stop()
    expect("the writer", writer.finish(), (0, "wrote"))
    stage.redlock.hold(stage.name)
    expect_true("a reader came in beside a writer", stage.refused("-s", stage.name))


def a_semaphore_lets_in_as_many_as_it_has_slots(stage):
    words = (stage.name, "--slots", str(SLOTS))
    holders = [stage.redlock.hold(*words) for _ in range(SLOTS)]
    expect_true("one came in beyond the slots", stage.refused(*words))
    holders[0].stop()
    until("its slot is free", lambda: not stage.refused(*words))


def sixteen_processes_never_take_more_than_the_slots(stage):
    path = pathlib.Path(stage.folder) / "visits"
    visit = f"echo 1 >>'{path}'; echo -1 >>'{path}'"
    expect("exit codes", stage.crowd("--slots", str(SLOTS), stage.name, "--", "sh", "-c", visit), {0})
    inside = list(itertools.accumulate(int(line) for line in path.read_text().split()))
    expect("visits", len(inside), 2 * ADDERS * TIMES)
    expect_true(f"{max(inside)} were inside at a time", max(inside) <= SLOTS)


def several_names_are_taken_together_or_not_at_all(stage):
    other, third = f"{stage.name}-other", f"{stage.name}-third"
    holder = stage.redlock.hold(stage.name, "--also", other)
    expect_true("one of the names was free", stage.refused(stage.name) and stage.refused(other))
    expect_true("a name was taken beside one that is held", stage.refused(third, "--also", other))
    until("the name that was free is free again", lambda: stage.fleet.copies(third) == 0)
    holder.stop()
    until("both are free", lambda: stage.fleet.copies(stage.name) + stage.fleet.copies(other) == 0)


def a_run_inside_of_its_own_enters_again(stage):
    inner = stage.redlock.words("run", "-n", "--reentrant", stage.name, "--", "echo", "inside")
    expect("redlock run in redlock run", stage.redlock.run("run", stage.name, "--", *inner)[:2], (0, "inside"))
    stage.redlock.hold(stage.name)
    expect_true("one that is not inside came in", stage.refused("--reentrant", stage.name))


def both_modes_exclude_each_other(stage):
    stage.redlock.acquire(stage.name, "60s")
    expect("plain, while it is guarded", stage.plain.run("run", "-n", stage.name, "--", "true")[0], 75)
    other = stage.name + "-other"
    stage.plain.acquire(other, "60s")
    expect("guarded, while it is plain", stage.redlock.run("run", "-n", other, "--", "true")[0], 75)


def fences_rise(stage):
    fences = []
    for _ in range(3):
        code, out, err = stage.redlock.run("run", stage.name, "-c", "echo $REDLOCK_FENCE")
        expect(f"exit code of redlock run ({err})", code, 0)
        fences.append(int(re.search(r"\d+", out)[0]))
    expect_true(f"fences: {fences}", fences[0] < fences[1] < fences[2])


def waiters_are_served_in_the_order_of_asking(stage):
    path = pathlib.Path(stage.folder) / "order"
    holder = stage.redlock.hold(stage.name)
    waiters = []
    for number in range(3):
        waiters.append(stage.redlock.start(stage.name, "-c", f"echo {number} >>'{path}'"))
        until("it stands in line", lambda: stage.status(stage.name)["waiting"] == len(waiters))
    holder.stop()
    expect("what they came to", [waiter.finish()[0] for waiter in waiters], [0, 0, 0])
    expect("their order", path.read_text().split(), ["0", "1", "2"])


def two_dead_nodes_of_five_do_not_matter_and_three_do(stage):
    try:
        for node in stage.fleet.nodes[:2]:
            node.kill()
        expect("with three nodes", stage.redlock.run("run", stage.name, "--", "true")[0], 0)
        stage.fleet.nodes[2].kill()
        expect("with two nodes", stage.redlock.run("run", "-n", stage.name, "--", "true")[0], 69)
    finally:
        for node in stage.fleet.nodes[:3]:
            node.start()
        stage.redlock.admit_nodes()


def a_restarted_node_is_quarantined(stage):
    """Restarted empty, or flushed."""
    restarted, flushed = stage.fleet.nodes[:2]
    try:
        restarted.kill()
        restarted.start()
        flushed.ask("FLUSHALL")
        expect("exit code of redlock run", stage.redlock.run("run", stage.name, "--", "true")[0], 0)
        expect("eligible nodes", stage.eligible_nodes(), [False, False, True, True, True])
    finally:
        stage.redlock.admit_nodes()
    expect("eligible nodes after redlock init", stage.eligible_nodes(), [True] * 5)


BEHAVIOURS = {  # and the modes that promise it
    a_second_caller_is_refused_and_told_why: MODES,
    nothing_is_left_after_a_release: MODES,
    a_release_wakes_a_waiter: MODES,
    renewals_lengthen_the_lease: MODES,
    a_dead_holder_makes_way: MODES,
    a_script_extends_and_releases_its_lease: MODES,
    a_lost_lock_stops_its_command: MODES,
    keys_of_other_programs_are_respected: MODES,
    sixteen_processes_lose_no_increment: MODES,
    a_run_inside_of_its_own_enters_again: MODES,
    readers_share_it_and_keep_writers_out: SHARED,
    a_semaphore_lets_in_as_many_as_it_has_slots: GUARDED,
    sixteen_processes_never_take_more_than_the_slots: GUARDED,
    several_names_are_taken_together_or_not_at_all: GUARDED,
    both_modes_exclude_each_other: GUARDED,
    fences_rise: GUARDED,
    waiters_are_served_in_the_order_of_asking: GUARDED,
    two_dead_nodes_of_five_do_not_matter_and_three_do: MODES,
    a_restarted_node_is_quarantined: GUARDED,
}
