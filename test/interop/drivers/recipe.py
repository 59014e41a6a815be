"""The published algorithm without any library: SET NX PX on all nodes, compare and delete; and, as the kind "hash", Redisson's lock with its
count of entries and its channel. Other kinds have a fault on purpose, which FAULTS names. The test of the suite wants to see these found."""

import os
import pathlib
import socket
import uuid

from lines import add, serve

FAULTS = {
    "careless": "deletes without comparing",
    "prefixed": "puts something before the name",
    "eager": "takes what is held",
    "hasty": "reads the counter before it has the lock, and writes what it makes of that when it was counted on",
    "endless": "sets no expiry",
    "pretending": "says that it has let go, and has not",
    "deafening": "ends the connections of all others with its release",
    "lapsing": "loses the lock when it extends it",
    "single": "takes the first of several names",
    "hash-uncounted": "lets go with the first of its releases, however often it has entered",
    "hash-deaf": "listens to another channel, and asks again now and then",
    "hash-absent": "says that it has a lock, and has none",
}
ACQUIRE = """
for _, key in ipairs(KEYS) do if redis.call('EXISTS', key) == 1 then return 0 end end
for _, key in ipairs(KEYS) do redis.call('SET', key, ARGV[1], 'PX', ARGV[2]) end
return 1"""
EXTEND = "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('PEXPIRE', KEYS[1], ARGV[2]) or 0"
RELEASE = """
local gone = 0
for _, key in ipairs(KEYS) do if redis.call('GET', key) == ARGV[1] then gone = gone + redis.call('DEL', key) end end
return gone"""
ENTER = """
if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
return redis.call('PEXPIRE', KEYS[1], ARGV[2])"""
LEAVE = """
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
if redis.call('HINCRBY', KEYS[1], ARGV[1], -1) > 0 and ARGV[2] == 'counted' then return 1 end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', KEYS[2], '0')
return 1"""
PATIENCE_S = 60


class Node:
    def __init__(self, address):
        self.link = socket.create_connection(address)
        self.to, self.back = self.link.makefile("wb"), self.link.makefile("rb")

    def send(self, *words):
        encoded = [str(word).encode() for word in words]
        self.to.write(b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in encoded))
        self.to.flush()

    def ask(self, *words):
        """Sends a command; says whether it was answered with OK or a number other than 0."""
        self.send(*words)
        return self.back.readline().strip() not in (b"$-1", b":0", b"_")

    def script(self, text, keys, *words):
        return self.ask("EVAL", text, len(keys), *keys, *words)


class Peer:
    """In the common format."""

    def __init__(self, kind, nodes):
        self.kind, self.nodes = kind, [Node(node) for node in nodes]
        self.names = self.owner = None

    def of_all(self, do):
        return sum(do(node) for node in self.nodes) > len(self.nodes) // 2

    def take(self, node, names, owner, ttl_ms):
        if self.kind == "eager":
            return node.ask("SET", names[0], owner, "PX", ttl_ms)
        if self.kind == "endless":
            return node.ask("SET", names[0], owner, "NX")
        return node.script(ACQUIRE, names[:1] if self.kind == "single" else names, owner, ttl_ms)

    def acquire(self, ttl_ms, names):
        names = ["other:" * (self.kind == "prefixed") + name for name in names]
        owner = uuid.uuid4().hex
        if not self.of_all(lambda node: self.take(node, names, owner, ttl_ms)):
            self.of_all(lambda node: node.script(RELEASE, names, owner))
            return False
        self.names, self.owner = names, owner
        return True

    def extend(self, ttl_ms):
        if self.kind == "lapsing":
            return self.of_all(lambda node: node.ask("DEL", self.names[0]))
        return self.of_all(lambda node: node.script(EXTEND, self.names, self.owner, ttl_ms))

    def release(self):
        if self.kind == "pretending":
            return True
        if self.kind == "careless":
            return self.of_all(lambda node: node.ask("DEL", self.names[0]))
        if self.kind == "deafening":
            return self.of_all(self.deafen_and_release)
        return self.of_all(lambda node: node.script(RELEASE, self.names, self.owner))

    def deafen_and_release(self, node):
        """Both at once: nobody can have come back in between."""
        for words in (["MULTI"], ["CLIENT", "KILL", "TYPE", "normal"], ["DEL", self.names[0]]):
            node.ask(*words)
        node.send("EXEC")
        return [node.back.readline() for _ in range(3)][-1] == b":1\r\n"

    def add(self, times, name, path):
        if self.kind != "hasty":
            add(self, times, name, path)
            return
        before = pathlib.Path(path).read_text().strip() or "0"  # empty: somebody is writing it
        add(self, times - 1, name, path)
        late = pathlib.Path(f"{path}.{os.getpid()}")
        late.write_text(str(int(before) + 1))
        late.replace(path)  # at once: whoever reads it under the lock finds a number


class HashPeer:
    """In Redisson's format, on one node."""

    def __init__(self, kind, nodes):
        self.kind, self.node, self.address = kind, Node(nodes[0]), nodes[0]
        self.owner, self.name = f"{uuid.uuid4()}:1", None

    def channel(self, name):
        return f"redisson_lock__channel:{{{name}}}"

    def acquire(self, ttl_ms, names):
        self.name = names[0]
        return self.kind == "hash-absent" or self.node.script(ENTER, names, self.owner, ttl_ms)

    def wait(self, ttl_ms, name):
        told = Node(self.address)
        told.send("SUBSCRIBE", "other:" * (self.kind == "hash-deaf") + self.channel(name))
        told.link.settimeout(0.2 if self.kind == "hash-deaf" else PATIENCE_S)
        while not self.acquire(ttl_ms, [name]):
            try:
                told.link.recv(4096)
            except TimeoutError:
                if self.kind != "hash-deaf":
                    raise
        told.link.close()

    def release(self):
        counted = "at once" if self.kind == "hash-uncounted" else "counted"
        return self.kind == "hash-absent" or self.node.script(LEAVE, [self.name, self.channel(self.name)], self.owner, counted)


if __name__ == "__main__":
    serve(lambda kind, nodes: (HashPeer if kind.startswith("hash") else Peer)(kind, nodes))
