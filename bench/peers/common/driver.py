"""The part of every Python driver that does not depend on the library: clients, phases, latencies, figures. The workloads
are those of bench/bench.h; every client is a thread."""

import json
import sys
import threading
import time


class Client:
    def __init__(self, acquire, name):
        self.acquire, self.name = acquire, name
        self.waits, self.cut_off, self.errors = [], 0, 0

    def work(self, contend, until):
        asked = time.monotonic()
        while time.monotonic() < until:
            release = self.try_once()
            if release:
                self.waits.append(time.monotonic() - asked)
                release()
            elif contend:
                continue  # it still wants the lock
            asked = time.monotonic()
        if contend:
            self.waits.append(time.monotonic() - asked)
            self.cut_off += 1

    def try_once(self):
        """Returns what releases the lock, or None when the library gave up."""
        try:
            release = self.acquire(self.name)
        except Exception:  # whatever a library throws means that it did not get the lock
            release = None
        self.errors += release is None
        return release


def run_pass(acquires, contend, seconds):
    clients = [Client(acquire, "bench:%08d" % (0 if contend else i)) for i, acquire in enumerate(acquires)]
    until = time.monotonic() + seconds
    threads = [threading.Thread(target=client.work, args=(contend, until)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return clients


def figures(clients, elapsed):
    counts = [len(client.waits) - client.cut_off for client in clients]
    waits = sorted(wait for client in clients for wait in client.waits)
    made = {"pairs": sum(counts), "pairs_per_s": sum(counts) / elapsed, "seconds": elapsed, "least": min(counts),
            "most": max(counts), "errors": sum(client.errors for client in clients)}
    for key, share in (("p50", 0.5), ("p99", 0.99), ("max", 1)):
        if waits:
            made[f"acquire_{key}_us"] = waits[int(share * (len(waits) - 1))] * 1e6
    return made


def drive(connect):
    """connect(nodes) returns a function that opens a client: acquire(name) -> release, or None."""
    nodes = [(host, int(port)) for host, port in (node.split(":") for node in sys.argv[1].split(","))]
    contend, count, seconds = sys.argv[2] == "contend", int(sys.argv[3]), float(sys.argv[4])
    open_client = connect(nodes)
    acquires = [open_client() for _ in range(count)]
    run_pass(acquires, contend, 0.3)
    print("ready", flush=True)
    sys.stdin.readline()
    started = time.monotonic()
    clients = run_pass(acquires, contend, seconds)
    print(json.dumps(figures(clients, time.monotonic() - started)), flush=True)
