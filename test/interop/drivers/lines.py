"""The part of every Python driver that does not depend on the library: it reads commands, one a line, and answers each with
one line. README.md here lists them."""

import functools
import random
import sys
import time

COUNTING_TTL_MS = 60000


def add(peer, times, name, path):
    """Adds to the number in a file, under the lock; waits for it by asking again."""
    for _ in range(times):
        while not peer.acquire(COUNTING_TTL_MS, [name]):
            time.sleep(random.uniform(0.002, 0.02))
        with open(path) as file:
            number = int(file.read())
        with open(path, "w") as file:
            file.write(str(number + 1))
        peer.release()


def answer(peer, command, words):
    if command == "acquire":
        return "held" if peer.acquire(int(words[0]), words[1:]) else "refused"
    if command == "extend":
        return "extended" if peer.extend(int(words[0])) else "lost"
    if command == "release":
        return "released" if peer.release() else "lost"
    if command == "await":
        peer.wait(int(words[0]), words[1])
        return "held"
    if command == "add":
        (peer.add if hasattr(peer, "add") else functools.partial(add, peer))(int(words[0]), words[1], words[2])
        return "added"
    return f"failed: unknown command {command}"


def serve(open_peer):
    """open_peer(kind, nodes) returns the library behind acquire(ttl_ms, names), extend(ttl_ms) and release(), which all
    tell whether that worked; wait(ttl_ms, name) of one that waits by itself; nodes are pairs of host and port."""
    nodes = [(host, int(port)) for host, port in (node.split(":") for node in sys.argv[2:])]
    peer = open_peer(sys.argv[1], nodes)
    print("ready", flush=True)
    for line in sys.stdin:
        command, *words = line.split()
        try:
            print(answer(peer, command, words), flush=True)
        except Exception as error:  # the suite is to see whatever a library throws
            print(f"failed: {type(error).__name__} {error}".replace("\n", " "), flush=True)
