"""A lock client that owes nothing to the library: SET NX PX on all nodes, a majority, compare-and-delete, written from
the description of the algorithm alone. It has neither guard nor fence. SIGTERM ends it in good order.

Usage: plain_client.py HOST:PORT,... PROCESS FOLDER SEED PREFIX NAMES MAX-TTL-MS
"""

import os
import random
import select
import signal
import socket
import struct
import sys
import time

NODE_TIMEOUT_S = 0.15
REST_S = 0.02  # between turns, for there are faster clients that want the machine
RELEASE = b"if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"


def now_us():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


def command(*words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


class Node:
    """One connection. Whatever goes wrong on it, it is reset, and the next question opens another."""

    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self.address, self.link, self.bytes = (host, int(port)), None, b""

    def send(self, words):
        try:
            if self.link is None:
                self.link, self.bytes = socket.create_connection(self.address, NODE_TIMEOUT_S), b""
                self.link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.link.sendall(words)
            return True
        except OSError:
            self.drop()
            return False

    def receive(self):
        """A whole line as an answer, or None when there is none yet. All answers here are one line, or nil."""
        try:
            more = self.link.recv(4096)
        except OSError:
            more = b""
        if not more:
            self.drop()
            return b"-gone"
        self.bytes += more
        if not self.bytes.endswith(b"\r\n"):
            return None
        line, self.bytes = self.bytes[:-2], b""
        return line

    def drop(self):
        if self.link is not None:
            self.link.close()
        self.link = None


def ask_all(nodes, words):
    """Puts one question to all nodes and returns the answers that came in time. Silent nodes lose their connection."""
    waiting = {node.link: node for node in nodes if node.send(words)}
    answers, deadline = [], time.monotonic() + NODE_TIMEOUT_S
    while waiting and (left := deadline - time.monotonic()) > 0:
        for link in select.select(list(waiting), [], [], left)[0]:
            answer = waiting[link].receive()
            if answer is not None:
                del waiting[link]
                answers.append(answer)
    for node in waiting.values():
        node.drop()
    return answers


class Client:
    def __init__(self, addresses, process, folder, seed, prefix, names, max_ttl_ms):
        self.nodes = [Node(address) for address in addresses.split(",")]
        self.journal = os.open(f"{folder}/{process}.history", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.random = random.Random(int(seed))
        self.prefix, self.names, self.max_ttl_ms = prefix, int(names), int(max_ttl_ms)
        self.number = 0

    def note(self, *words):
        os.write(self.journal, (" ".join(map(str, words)) + "\n").encode())

    def acquire(self, name, owner, ttl_ms):
        """The ms that it may be relied on from the time of the question, or 0."""
        answers = ask_all(self.nodes, command(b"SET", name.encode(), owner, b"NX", b"PX", b"%d" % ttl_ms))
        return ttl_ms - ttl_ms // 100 - 3 if answers.count(b"+OK") > len(self.nodes) // 2 else 0

    def release(self, name, owner):
        answers = ask_all(self.nodes, command(b"EVAL", RELEASE, b"1", name.encode(), owner))
        return 0 if answers.count(b":1") > len(self.nodes) // 2 else 3

    def take_turn(self):
        self.number += 1
        name = f"{self.prefix}{self.random.randint(1, self.names)}"
        owner = b"%016x%016x" % (random.SystemRandom().getrandbits(64), self.random.getrandbits(64))
        ttl_ms = self.random.randint(self.max_ttl_ms // 3, self.max_ttl_ms)
        asked = now_us()
        self.note("ask", asked, self.number, name)
        lasts_ms = self.acquire(name, owner, ttl_ms)
        time_us = now_us()
        validity_ms = max((asked + lasts_ms * 1000 - time_us) // 1000, 0)
        if validity_ms > 0:
            self.note("granted", time_us, self.number, validity_ms, now_us(), 0)
            self.hold(validity_ms)
            self.note("release", now_us(), self.number)
        result = self.release(name, owner)
        if validity_ms > 0:
            self.note("released", now_us(), self.number, result)
        else:
            self.note("refused", now_us(), self.number, 1)

    def hold(self, validity_ms):
        """For a moment mostly, sometimes for longer than it may."""
        share = self.random.choice([0.01, 0.01, 0.01, 0.5, 1.1])
        time.sleep(validity_ms / 1000 * share)


def main():
    ending = []
    signal.signal(signal.SIGTERM, lambda *_: ending.append(True))
    client = Client(*sys.argv[1:])
    while not ending:
        client.take_turn()
        time.sleep(client.random.uniform(0, 2 * REST_S))
    client.note("end", now_us())


main()
