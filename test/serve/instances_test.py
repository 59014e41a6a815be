#!/usr/bin/env python3
"""Two instances serve the same nodes, and one is killed again and again: its clients go on with the other, and nothing is ever
held by more than may hold it, whatever its kind. Judged by what the clients wrote down, not by what the service says."""

import http.client
import random
import signal
import threading
import time
import typing

from lib import Fleet, Service, ask, equal, main, test

CLIENTS, SECONDS, KILLS = 12, 8, 4

# What a client may ask for: the first name, and what goes with it. A semaphore has PERMITS; readers and writers share a name, and so do
# locks of one name and of several.
PERMITS = 3
WISHES = (("alpha", {}), ("alpha", {"also": ["beta"]}), ("beta", {}), ("beta", {"also": ["gamma", "alpha"]}), ("read", {"kind": "shared"}),
          ("read", {"kind": "shared"}), ("read", {}), ("pool", {"kind": "semaphore", "permits": PERMITS}))

fleet = Fleet()


class Span(typing.NamedTuple):
    """From when to when a client relied on a name."""
    begin: float
    end: float
    name: str
    kind: str
    slot: int | None
    fence: int | None  # not known to an instance that answered a repeated request


class Client(threading.Thread):
    """Takes locks wherever it is served, and writes down from when to when it relied on each."""

    def __init__(self, instances, end, number):
        super().__init__()
        self.instances, self.end, self.number, self.random = instances, end, number, random.Random(number)
        self.relied, self.moves, self.errors = [], 0, []
        self.connection, self.at = None, number % len(instances)

    def request(self, *words, **fields):
        """Asks one instance, and another when that does not answer. Also says when the request was sent."""
        while time.monotonic() < self.end + 30:
            try:
                if self.connection is None:
                    self.connection = self.instances[self.at].connect()
                sent = time.monotonic()
                return sent, ask(self.connection, *words, **fields)
            except (OSError, http.client.HTTPException):
                self.connection.close()
                self.connection = None
                self.at = (self.at + 1) % len(self.instances)
                self.moves += 1
                time.sleep(0.01)
        raise AssertionError("nobody answers")

    def take(self, name, wish):
        """Takes it, every other time with a key, and then asks twice, as one that has not seen the first answer."""
        words = "POST", f"/v1/locks/{name}", {"ttl_ms": 2000, "wait_ms": 1000, **wish}
        if self.random.random() < 0.5:
            return self.request(*words)
        key = f"{self.number}-{self.random.getrandbits(64)}"
        sent, (status, fields, lease) = self.request(*words, Idempotency_Key=key)
        if status == 201 and self.random.random() < 0.3:
            sent, (status, fields, again) = self.request(*words, Idempotency_Key=key)
            if status == 201 and again["token"] != lease["token"]:  # the first one ended meanwhile, and must not be relied on
                lease = again
        return sent, (status, fields, lease)

    def hold_once(self):
        name, wish = self.random.choice(WISHES)
        sent, (status, _, lease) = self.take(name, wish)
        if status != 201:
            return
        if lease["confirm"]:
            sent, (status, _, longer) = self.request("PATCH", f"/v1/locks/{name}", {"ttl_ms": 2000}, Redlock_Token=lease["token"])
            if status != 200:
                return
            lease["validity_ms"] = longer["validity_ms"]
        begin, limit = time.monotonic(), sent + lease["validity_ms"] / 1000
        if begin >= limit:
            return
        time.sleep(self.random.uniform(0, 0.02))
        end = min(time.monotonic(), limit)
        for each in [name, *wish.get("also", [])]:
            self.relied.append(Span(begin, end, each, lease["kind"], lease.get("slot"), lease.get("fence")))
        self.request("DELETE", f"/v1/locks/{name}", Redlock_Token=lease["token"])

    def run(self):
        try:
            while time.monotonic() < self.end:
                self.hold_once()
        except Exception as error:  # noqa: BLE001 - told by the test
            self.errors.append(error)


def conflict(one, other):
    """Whether two that rely on one name at once must not."""
    if one.kind == other.kind == "semaphore":
        return one.slot == other.slot
    return not one.kind == other.kind == "shared"


def overlaps(relied):
    """Pairs of times at which two clients relied on one lock that only one may have."""
    found, spans = [], sorted(relied)
    for number, one in enumerate(spans):
        for other in spans[number + 1:]:
            if other.begin >= one.end:
                break
            if one.name == other.name and conflict(one, other):
                found.append((one, other))
    return found


def most_at_once(relied, name):
    """How many relied on a name at one time at most."""
    changes = sorted((when, change) for span in relied if span.name == name for when, change in ((span.begin, 1), (span.end, -1)))
    count = most = 0
    for _, change in changes:
        count += change
        most = max(most, count)
    return most


def fences_fall(relied):
    """Pairs that must not have been at once, and of which the later one had no higher fence."""
    spans = sorted(span for span in relied if span.fence and span.kind != "semaphore")
    return [(one, other) for number, one in enumerate(spans) for other in spans[number + 1:]
            if one.name == other.name and conflict(one, other) and other.fence <= one.fence]


@test
def the_judge_sees_what_must_not_be():
    one = Span(1.0, 2.0, "alpha", "exclusive", None, 1)
    equal(len(overlaps([one, one._replace(begin=1.5, end=3.0, fence=2), one._replace(name="beta", end=3.0)])), 1)
    reader, permit = one._replace(kind="shared"), one._replace(kind="semaphore", slot=0)
    equal(overlaps([reader, reader]), [])
    equal(len(overlaps([reader, one])), 1)
    equal(len(overlaps([permit, permit._replace(slot=1), permit])), 1)
    equal(most_at_once([permit, permit._replace(slot=1), permit._replace(begin=2.0, end=3.0)], "alpha"), 2)
    equal(len(fences_fall([one, one._replace(begin=3.0, end=4.0)])), 1)
    equal(fences_fall([reader, reader._replace(begin=3.0, end=4.0)]), [])


@test
def nothing_is_held_by_more_than_may_hold_it_while_an_instance_is_killed():
    instances = [Service(fleet), Service(fleet)]
    end = time.monotonic() + SECONDS
    clients = [Client(instances, end, number) for number in range(CLIENTS)]
    for client in clients:
        client.start()
    for kill in range(KILLS):
        time.sleep(SECONDS / (KILLS + 1))
        victim = kill % 2
        instances[victim].kill(signal.SIGKILL)
        instances[victim].process.wait()
        instances[victim] = Service(fleet)
    for client in clients:
        client.join()
    equal([error for client in clients for error in client.errors], [])
    relied = [span for client in clients for span in client.relied]
    assert len(relied) > 10 * KILLS, f"only {len(relied)} locks were held"
    assert sum(client.moves for client in clients) >= KILLS, "no client had to move"
    equal(overlaps(relied), [])
    assert most_at_once(relied, "pool") <= PERMITS
    equal(fences_fall(relied), [])
    equal({span.kind for span in relied}, {"exclusive", "shared", "semaphore"})
    assert len({span.name for span in relied}) == 5, relied
    print(f"# {len(relied)} names were relied on")


main()
