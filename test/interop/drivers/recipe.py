"""The published algorithm in forty lines, without any library: SET NX PX on all nodes, compare and delete. With a kind it has
a fault on purpose: "careless" deletes without comparing, "prefixed" puts something before the name, "eager" takes what is held.
The test of the suite wants to see these found."""

import socket
import uuid

from lines import serve

EXTEND = "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('PEXPIRE', KEYS[1], ARGV[2]) or 0"
RELEASE = "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0"


class Node:
    def __init__(self, address):
        link = socket.create_connection(address)
        self.to, self.back = link.makefile("wb"), link.makefile("rb")

    def ask(self, *words):
        """Sends a command; says whether it was answered with OK or a number other than 0."""
        encoded = [str(word).encode() for word in words]
        self.to.write(b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in encoded))
        self.to.flush()
        return self.back.readline().strip() not in (b"$-1", b":0", b"_")


class Peer:
    def __init__(self, kind, nodes):
        self.kind, self.nodes = kind, [Node(node) for node in nodes]
        self.name = self.owner = None

    def of_all(self, *words):
        return sum(node.ask(*words) for node in self.nodes) > len(self.nodes) // 2

    def acquire(self, ttl_ms, names):
        name = "other:" * (self.kind == "prefixed") + names[0]
        owner = uuid.uuid4().hex
        if not self.of_all("SET", name, owner, "PX", ttl_ms, *([] if self.kind == "eager" else ["NX"])):
            self.of_all("EVAL", RELEASE, 1, name, owner)
            return False
        self.name, self.owner = name, owner
        return True

    def extend(self, ttl_ms):
        return self.of_all("EVAL", EXTEND, 1, self.name, self.owner, ttl_ms)

    def release(self):
        if self.kind == "careless":
            return self.of_all("DEL", self.name)
        return self.of_all("EVAL", RELEASE, 1, self.name, self.owner)


serve(Peer)
