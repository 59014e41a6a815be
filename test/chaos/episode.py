"""One episode: five new nodes, a handful of clients, faults for so many seconds, then peace, and what the judge says. The kinds
of episode differ in what is done to the nodes, and so in what is promised meanwhile.
"""

import collections
import dataclasses
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import check
import faults
import nodes as real_nodes
import processes

NODES, NAMES, OUTSIDE_NAMES, MAX_TTL_MS = 5, 12, 2, 600
QUARANTINE_S = MAX_TTL_MS * 1.01 / 1000 + 1.5  # and half a second to be admitted again
PATIENCE_S = 30
HERE = pathlib.Path(__file__).resolve().parent
ROLL_BACK = ("old", "mixed", "new", "old again")  # which clients there are, one after the other


@dataclasses.dataclass(frozen=True)
class Kind:
    faults: dict
    durable: tuple  # nodes that clients are told keep their memory over a restart
    clients: tuple  # (program, prefix of the names it takes)
    outside: tuple = ()  # prefixes of names that are promised no exclusion
    quarantine_s: float = QUARANTINE_S


KINDS = {
    # Nodes forget. Guarded locks are exclusive all the same; plain ones, which are promised nothing, have their own names.
    "forgetful": Kind(faults.ANY_TIME | faults.FORGETTING | faults.SLEWING, (1, 2),
                      ("guarded",) * 5 + ("foreign",) * 2, outside=("p",)),
    # Nodes die and come back but never forget: then plain clients, ours and foreign ones, share names with guarded ones.
    "remembering": Kind(faults.ANY_TIME | faults.SLEWING, (1, 2, 3, 4, 5),
                        ("guarded",) * 4 + ("plain",) + ("foreign",) * 2),
    # Clocks jump and race, one at a time. Exclusion is not promised, but fences are, and what a fenced store makes of them.
    "clocks": Kind(faults.ANY_TIME | faults.CLOCKS, (1, 2, 3, 4, 5), ("guarded",) * 5, outside=("n", "s"),
                   quarantine_s=QUARANTINE_S + 2.5),
    # Planted: the guard is off while nodes forget. There must be violations.
    "unguarded": Kind(faults.FORGETTING, (), ("plain",) * 5),
}


class Client:
    """A place for a client process; a killed one is followed by another with a name and a seed of its own."""

    def __init__(self, number, program, episode):
        self.number, self.program, self.episode = number, program, episode
        self.generation, self.process, self.is_old = 0, None, False
        self.start()

    def start(self):
        self.generation += 1
        name = str(self)
        seed = self.episode.seed * 1000000 + self.number * 1000 + self.generation
        nodes = self.episode.nodes
        if self.program == "foreign":
            prefix, names = (self.episode.kind.outside[0], OUTSIDE_NAMES) if self.episode.kind.outside else ("n", NAMES)
            words = [sys.executable, HERE / "plain_client.py", ",".join(node.address for node in nodes), name,
                     self.episode.folder, seed, prefix, names, MAX_TTL_MS]
        else:
            urls = ",".join(f"redis://{node.address}" + "?durable=yes" * node.durable for node in nodes)
            words = [self.programs() / "chaos-client", urls, self.program, name, self.episode.folder, seed, NAMES,
                     MAX_TTL_MS]
        self.process = processes.start(words, stdin=subprocess.DEVNULL)

    def programs(self):
        """While versions are mixed every second client is of the previous one, and a client that is killed is followed by one of the
        other version: an upgrade, or a roll-back, while others hold locks."""
        self.is_old = self.would_be_old(self.generation)
        self.episode.counts_previous += self.is_old
        return self.episode.previous if self.is_old else self.episode.programs

    def would_be_old(self, generation):
        return {"mixed": (self.number + generation) % 2 == 1, "new": False}.get(self.episode.phase, True)

    def follow_phase(self):
        """Makes way for one of the version that is wanted now: half of them are killed with their locks in hand, the others end by themselves."""
        if self.program == "foreign" or self.is_old == self.would_be_old(self.generation + 1):
            return
        if self.number % 2:
            self.kill()
        else:
            self.ask_to_end()
            self.await_end()
        self.start()

    def __str__(self):
        return f"{self.program}{self.number}-{self.generation}"

    def kill(self):
        self.check_alive()
        processes.end(self.process)

    def freeze(self):
        self.check_alive()
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def check_alive(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"client {self} ended by itself with {self.process.returncode}")

    def ask_to_end(self):
        self.process.send_signal(signal.SIGTERM)

    def await_end(self):
        """Expects it to end well."""
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired as error:
            raise RuntimeError(f"client {self} does not end") from error
        if self.process.returncode != 0:
            raise RuntimeError(f"client {self} ended with {self.process.returncode}")


class Episode:
    def __init__(self, word, seed, folder, programs, isolated, previous=None, phases=()):
        self.kind, self.seed, self.programs, self.previous = KINDS[word], seed, programs, previous
        self.phases = phases or ("new" if previous is None else "mixed",)
        self.phase = self.phases[0]
        self.counts_previous = 0  # clients of the previous version that were started
        self.folder = folder / f"{word}-{seed}"
        self.folder.mkdir()
        self.nodes, self.clients, self.counts = [], [], collections.Counter()
        self.isolated = isolated

    def play(self, seconds):
        """Runs it and returns the judged history. Leaves nothing running, whatever happens."""
        try:
            self.nodes = real_nodes.start_nodes(NODES, self.kind.durable, self.folder, self.programs, self.isolated)
            self.clients = [Client(number, program, self) for number, program in enumerate(self.kind.clients, 1)]
            with open(self.folder / "faults", "w", encoding="utf-8") as log:
                plan = faults.Plan(self.seed, self.nodes, self.clients, self.kind.faults, self.kind.quarantine_s, log)
                self.counts = plan.counts
                self.await_grants(0)
                for self.phase in self.phases:
                    for client in self.clients if self.phase != self.phases[0] else []:
                        client.follow_phase()
                    self.disturb(plan, time.monotonic() + seconds / len(self.phases))
                    plan.heal()
            self.await_grants(time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000)
            for client in self.clients:
                client.ask_to_end()
            for client in self.clients:
                client.await_end()
        finally:
            for client in self.clients:
                processes.end(client.process)
            for node in self.nodes:
                node.remove()
        return check.check(self.folder, self.kind.outside, self.previous is not None)

    def disturb(self, plan, until):
        while time.monotonic() < until:
            wake = plan.turn()
            time.sleep(max(min(wake, until) - time.monotonic(), 0))

    def await_grants(self, since_us):
        """All nodes are well: locks must be handed out again, to every process of ours."""
        deadline = time.monotonic() + PATIENCE_S
        for client in self.clients:
            path = self.folder / f"{client}.history"
            while self.last_grant_us(path) <= since_us:
                client.check_alive()
                if time.monotonic() > deadline:
                    raise RuntimeError(f"all nodes are well, but {path.stem} gets no lock")
                time.sleep(0.05)

    def last_grant_us(self, path):
        if not path.exists():
            return 0
        with open(path, "rb") as file:
            file.seek(max(path.stat().st_size - 16384, 0))
            grants = [line.split() for line in file.read().split(b"\n")[:-1] if line.startswith(b"granted ")]
        return int(grants[-1][1]) if grants else 0

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)
