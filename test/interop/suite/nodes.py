"""The nodes that locks are on: real servers of one or several kinds, children of this process in a temporary folder, ended
with it. They listen on a unix socket for us and on a loopback port for peers."""

import contextlib
import os
import signal
import socket
import subprocess

from suite.checks import Failed, until

SOON_MS = 100
PORTS = iter(range(25000 + os.getpid() % 2000, 29000))  # below the ports of outgoing connections and those of the benchmarks


def free_port():
    for port in PORTS:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port
    raise Failed("no free port")


def read_reply(stream):
    """One RESP2 reply: text, number, None or a list; an error is its text."""
    kind, rest = (line := stream.readline().decode().rstrip("\r\n"))[:1], line[1:]
    if kind == "$":
        return stream.read(int(rest) + 2)[:-2].decode(errors="replace") if rest != "-1" else None
    if kind == "*":
        return [read_reply(stream) for _ in range(int(rest))] if rest != "-1" else None
    return int(rest) if kind == ":" else rest


class Node:
    def __init__(self, server, folder):
        self.server, self.folder, self.port = server, folder, free_port()
        self.path = f"{folder}/{self.port}.sock"
        self.process = None
        self.start()

    def start(self):
        """Starts it, empty."""
        with open(f"{self.folder}/{self.port}.log", "ab") as log:
            self.process = subprocess.Popen(
                [self.server.program, "--port", str(self.port), "--bind", "127.0.0.1", "--unixsocket", self.path,
                 "--dir", self.folder, "--save", "", "--appendonly", "no", "--daemonize", "no"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        until(f"{self.server.name} is up", self.is_up)

    def is_up(self):
        if self.process.poll() is not None:
            raise Failed(f"{self.server.name} ended with {self.process.returncode}; see {self.folder}/{self.port}.log")
        with contextlib.suppress(OSError):
            return self.ask("PING") == "PONG"
        return False

    def ask(self, *words):
        encoded = [str(word).encode() for word in words]
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(30)
            link.connect(self.path)
            link.sendall(b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in encoded))
            return read_reply(link.makefile("rb"))

    def value(self, key):
        """None, text, or what is in a hash as one text."""
        return str(self.ask("HGETALL", key)) if self.ask("TYPE", key) == "hash" else self.ask("GET", key)

    def kill(self):
        if self.process:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()


class Heard:
    """What nodes did while somebody listened, with the time of each command by their own clocks."""

    def __init__(self, nodes):
        self.links, self.seen = [], [[] for _ in nodes]
        for node in nodes:
            link = socket.socket(socket.AF_UNIX)
            link.settimeout(30)
            link.connect(node.path)
            link.sendall(b"MONITOR\r\n")
            stream = link.makefile("rb")
            stream.readline()
            self.links.append((link, stream))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for link, stream in self.links:
            stream.close()
            link.close()

    def commands(self):
        """Time and words of each command, by node. A node has written them before it answered anything that we know of."""
        for place, (link, stream) in enumerate(self.links):
            link.settimeout(0.2)
            with contextlib.suppress(OSError):
                while line := stream.readline():
                    time, _, _, command, *words = line.decode(errors="replace")[1:].replace('"', "").split()
                    self.seen[place].append((float(time), [command.lower(), *words]))
        return self.seen

    def channels_told(self):
        return {words[1] for commands in self.commands() for _, words in commands if words[:1] == ["publish"]}

    def from_release_to_entry(self, key):
        """Milliseconds from the first DEL of a key to the first entry into it behind that; of several nodes the longest."""
        longest = 0.0
        for commands in self.commands():
            gone = entered = None
            for time, words in commands:
                if words[:2] == ["del", key]:
                    gone = gone or time
                elif words[:2] in (["hset", key], ["hincrby", key]) and gone and not entered:
                    entered = time
            if gone and entered:
                longest = max(longest, 1000 * (entered - gone))
        return round(longest, 1)


class Fleet:
    """So many nodes; of several servers when they take turns."""

    def __init__(self, servers, folder, count=5):
        self.nodes = []
        for number in range(count):
            self.nodes.append(Node(servers[number % len(servers)], folder))

    def first(self, count):
        """A fleet of its own from the same nodes."""
        made = Fleet([], "", 0)
        made.nodes = self.nodes[:count]
        return made

    def quorum(self):
        return len(self.nodes) // 2 + 1

    def urls(self):
        return " ".join(f"unix://{node.path}" for node in self.nodes)

    def addresses(self):
        return [f"127.0.0.1:{node.port}" for node in self.nodes]

    def values(self, key):
        """What every node has under a key."""
        return [node.value(key) for node in self.nodes]

    def channels(self):
        """Those of any node that somebody listens to."""
        return {channel for node in self.nodes for channel in node.ask("PUBSUB", "CHANNELS", "*")}

    def keys_about(self, name):
        """Those of any node with a name in them."""
        return {key for node in self.nodes for key in node.ask("KEYS", f"*{name}*")}

    def hasten(self, keys, to_ms=SOON_MS):
        """Leaves their leases no more than that, as if time had gone by; a key that never expires stays."""
        for node in self.nodes:
            for key in keys:
                if node.ask("PTTL", key) > to_ms:
                    node.ask("PEXPIRE", key, to_ms)

    def listen(self):
        return Heard(self.nodes)

    def copies(self, key):
        return sum(node.ask("EXISTS", key) for node in self.nodes)

    def stop(self):
        for node in self.nodes:
            node.kill()
