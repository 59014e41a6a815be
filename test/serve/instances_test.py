#!/usr/bin/env python3
"""Two instances serve the same nodes, and one is killed again and again: its clients go on with the other, and nothing is ever
held twice. Judged by what the clients wrote down, not by what the service says."""

import http.client
import random
import signal
import threading
import time

from lib import Fleet, Service, ask, equal, main, test

CLIENTS, NAMES, SECONDS, KILLS = 8, ("alpha", "beta"), 8, 4

fleet = Fleet()


class Client(threading.Thread):
    """Takes locks wherever it is served, and writes down from when to when it relied on each."""

    def __init__(self, instances, end, number):
        super().__init__()
        self.instances, self.end, self.random = instances, end, random.Random(number)
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

    def hold_once(self):
        name = self.random.choice(NAMES)
        sent, (status, _, lease) = self.request("POST", f"/v1/locks/{name}", {"ttl_ms": 2000, "wait_ms": 1000})
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
        self.relied.append((begin, end, name, lease["fence"]))
        self.request("DELETE", f"/v1/locks/{name}", Redlock_Token=lease["token"])

    def run(self):
        try:
            while time.monotonic() < self.end:
                self.hold_once()
        except Exception as error:  # noqa: BLE001 - told by the test
            self.errors.append(error)


def overlaps(relied):
    """Pairs of times at which two clients relied on one lock."""
    found = []
    for name in NAMES:
        spans = sorted(span for span in relied if span[2] == name)
        found += [(one, other) for one, other in zip(spans, spans[1:]) if other[0] < one[1]]
    return found


@test
def the_judge_sees_an_overlap():
    equal(len(overlaps([(1.0, 2.0, "alpha", 1), (1.5, 3.0, "alpha", 2), (1.0, 3.0, "beta", 3)])), 1)


@test
def nothing_is_held_twice_while_an_instance_is_killed():
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
    for name in NAMES:
        fences = [span[3] for span in sorted(relied) if span[2] == name]
        equal(fences, sorted(set(fences)), "fences in the order of holding")


main()
