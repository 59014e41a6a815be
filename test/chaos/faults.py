"""The faults, and who gets which one when. A seed decides what is drawn; when it meets the locks is up to the machine.

Mostly at most two of the five nodes are unwell at a time, so that there is a majority; sometimes three or more are, and
then there are no locks, but must not be two. A node that forgot is unwell until it may vote again. What was done when is
written down beside the history, for people; the judge does not read it.
"""

import collections
import dataclasses
import heapq
import random
import time
from typing import Callable

MINORITY = 2
GAP_S = (0.02, 0.4)
FOR_NOW = float("inf")
SLEW_PPM = 9000  # the promises hold up to 10000


@dataclasses.dataclass(frozen=True)
class Fault:
    """What is done to a node or a client, for how long, and how it is undone."""
    begin: Callable
    undo: Callable = lambda target, draw: None
    lasts_s: tuple = (0, 0)
    forgets: bool = False  # it may have to sit out afterwards
    weight: int = 1        # how often it is drawn
    many_percent: int = 5  # of these times it happens to a majority
    alone: bool = False    # never on two nodes at a time
    spares_durable: bool = False  # for a node that is said to keep its memory it would be a broken word


def slew(node, draw):
    """Within what is promised, and back towards the right time, so that clocks do not part in the long run."""
    rate = draw.randint(1000, SLEW_PPM)
    node.set_clock(rate_ppm=-rate if node.clock_offset_us > 0 else rate)


def step(node, draw):
    node.set_clock(step_us=draw.choice([-1, 1]) * draw.choice([5_000, 80_000, 700_000, 20_000_000, 60_000_000]))


def race(node, draw):
    node.set_clock(rate_ppm=draw.choice([-1, 1]) * draw.randint(20_000, 200_000))


def order(*lines):
    return lambda node, draw: node.order(*lines)


ANY_TIME = {
    "kill, memory kept": Fault(lambda node, draw: node.kill(), lambda node, draw: node.start(), (0, 0.5), forgets=True),
    "freeze": Fault(lambda node, draw: node.freeze(), lambda node, draw: node.thaw(), (0.02, 1.5)),
    "cut off": Fault(lambda node, draw: node.pull(), lambda node, draw: node.plug(), (0.05, 1.5)),
    "one-way cut, to the node": Fault(order("hold 1"), order("hold 0"), (0.05, 1.5)),
    "one-way cut, from the node": Fault(order("mute 1"), order("mute 0"), (0.05, 1.5)),
    "delay, to the node": Fault(lambda node, draw: node.order(f"delay {draw.randint(5, 250)}"), order("delay 0"),
                                (0.1, 1.5), many_percent=20),
    "delay, from the node": Fault(lambda node, draw: node.order(f"answer-delay {draw.randint(5, 140)}"),
                                  order("answer-delay 0"), (0.1, 1.5), many_percent=40),
    "answer lost": Fault(order("cut")),
    "words delivered late": Fault(order("keep"), order("deliver"), (0.1, 1.5)),
    "connections killed": Fault(lambda node, draw: node.ask("CLIENT KILL TYPE normal SKIPME yes")),
    "scripts forgotten": Fault(lambda node, draw: node.ask("SCRIPT FLUSH")),
    "disk full": Fault(lambda node, draw: node.fill_disk(), lambda node, draw: node.empty_disk(), (0.1, 0.5),
                       forgets=True),
}
# A lock is given away when a majority forgets it within its time: that has to happen often enough to mean something.
FORGETTING = {
    "kill and wipe": Fault(lambda node, draw: node.wipe(), lambda node, draw: node.start(), (0, 0.3), forgets=True,
                           weight=2, many_percent=30),
    "flush": Fault(lambda node, draw: node.ask("FLUSHALL"), forgets=True, weight=2, many_percent=30),
    "old data restored": Fault(lambda node, draw: node.copy_data(), lambda node, draw: node.restore_data(), (0.1, 1.5),
                               forgets=True, spares_durable=True, many_percent=30),
}
SLEWING = {
    "clock slewed": Fault(slew, lambda node, draw: node.set_clock(), (0.5, 3)),
}
CLOCKS = {
    "clock stepped": Fault(step, forgets=True, alone=True, weight=4),
    "clock racing": Fault(race, lambda node, draw: node.set_clock(), (0.1, 2), forgets=True, alone=True, weight=2),
}
ON_CLIENTS = {
    "client paused": Fault(lambda client, draw: client.freeze(), lambda client, draw: client.thaw(), (0.05, 2)),
    "client killed": Fault(lambda client, draw: client.kill(), lambda client, draw: client.start(), (0, 0.3)),
}
ALL = ANY_TIME | FORGETTING | SLEWING | CLOCKS | ON_CLIENTS


class Plan:
    """Draws faults one after the other, begins them and undoes them when their time is over."""

    def __init__(self, seed, nodes, clients, on_nodes, quarantine_s, log):
        self.draw, self.log = random.Random(seed), log
        self.nodes, self.clients, self.on_nodes, self.quarantine_s = nodes, clients, on_nodes, quarantine_s
        self.counts = collections.Counter()
        self.unwell = {}  # node or client: until when; FOR_NOW: until its fault is undone
        self.alone_until = 0  # no other fault of that kind until then
        self.undoing = []  # heap of (time, number, word, target)
        self.next_fault = 0

    def turn(self):
        """Does what is due; returns when something will be."""
        now = time.monotonic()
        while self.undoing and self.undoing[0][0] <= now:
            self.undo(*heapq.heappop(self.undoing)[2:])
        self.unwell = {target: until for target, until in self.unwell.items() if until > now}
        if now >= self.next_fault:
            self.begin_something()
            self.next_fault = time.monotonic() + self.draw.uniform(*GAP_S)
        return min([self.next_fault] + [entry[0] for entry in self.undoing[:1]])

    def begin_something(self):
        if self.draw.random() < 0.25:
            well = [client for client in self.clients if client not in self.unwell]
            if well:
                self.begin(self.draw.choice(list(ON_CLIENTS)), self.draw.choice(well))
            return
        word, = self.draw.choices(list(self.on_nodes), [fault.weight for fault in self.on_nodes.values()])
        if not self.on_nodes[word].alone or self.alone_until <= time.monotonic():
            for node in self.choose_nodes(self.on_nodes[word]):
                self.begin(word, node)

    def choose_nodes(self, fault):
        """One, as long as that makes no majority unwell, or all of a sudden many. A node that sits out may be hit again."""
        free = [node for node in self.nodes
                if self.unwell.get(node) != FOR_NOW and not (fault.spares_durable and node.durable)]
        unwell = [node for node in self.nodes if node in self.unwell]
        if not fault.alone and len(free) > MINORITY and self.draw.randrange(100) < fault.many_percent:
            return self.draw.sample(free, self.draw.randint(MINORITY + 1, len(free)))
        if len(unwell) >= MINORITY:
            free = [node for node in free if node in unwell]
        return self.draw.sample(free, min(len(free), 1))

    def begin(self, word, target):
        fault = ALL[word]
        self.counts[word] += 1
        self.note("begin", word, target)
        self.unwell[target] = FOR_NOW
        if fault.alone:
            self.alone_until = FOR_NOW
        fault.begin(target, self.draw)
        lasts_s = self.draw.uniform(*fault.lasts_s)
        heapq.heappush(self.undoing, (time.monotonic() + lasts_s, sum(self.counts.values()), word, target))

    def undo(self, word, target):
        fault = ALL[word]
        fault.undo(target, self.draw)
        self.note("undone", word, target)
        self.unwell[target] = time.monotonic() + (self.quarantine_s if fault.forgets else 0)
        if fault.alone:
            self.alone_until = self.unwell[target]

    def note(self, what, word, target):
        now_us = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000
        print(f"{now_us} {what} {word}: {target}", file=self.log, flush=True)

    def heal(self):
        """Undoes everything."""
        while self.undoing:
            self.undo(*heapq.heappop(self.undoing)[2:])
