#!/usr/bin/env python3
"""The RESP port without any library: what it takes, what it refuses with a sentence, and what it does with a lock on the nodes.
The libraries themselves are run by make serve-peers."""

import re
import socket

import lib
from lib import Fleet, Service, equal, main, test, until

fleet = Fleet()
service = Service(fleet, resp=True)
other = Service(fleet, resp=True)


class Resp:
    """A small Redis client."""

    def __init__(self, instance=service):
        self.socket = socket.create_connection(("127.0.0.1", instance.resp_port), timeout=lib.PATIENCE_S)
        self.file = self.socket.makefile("rb")

    def send(self, *words):
        encoded = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in encoded))

    def read(self):
        line = self.file.readline().rstrip(b"\r\n")
        kind, rest = line[:1], line[1:]
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2]
        if kind == b"_":
            return None
        if kind == b":":
            return int(rest)
        if kind in b"*%" and kind:
            return [self.read() for _ in range(int(rest) * (2 if kind == b"%" else 1))]
        return line.decode()

    def ask(self, *words):
        self.send(*words)
        return self.read()


RELEASE = "c3f8721cbb97f72bc19e972846bd7aaf91901658"  # redis-py
EXTEND_BY = "a4e8783852e6b949f9ef3a97212805108459a890"
REACQUIRE = "1cac51482acf5858da00f6d685d68f886cd6b6b2"
RELEASE_OR_GONE = "e950836ed1e694540c503ef9972b8de518044d3b"  # redsync
EXTEND_OR_TAKE = "b6b55c439e02c6f52ffb8be7ec8c0d0ac816ea79"
LOCK = "ceb2b2062e40c51a2b3963fd078bc71f11bdc65c"  # redlock-rb
OBTAIN = "80a1b5f2cfccec3b7119ba7721d2127682b691a7"  # bsm/redislock
PTTL = "6484da7d58920897fdc22b7f9afd1a3d47524ea8"
LEFT = "f5f7bd3a3aa4a63c507c1155c5ea1219b350d992"  # pottery
TAKE = "96da70f7716f27d278a5218544df37fd8b0a5e4c"  # node-redlock 5


@test
def clients_are_greeted():
    client = Resp()
    equal(client.ask("PING"), "+PONG")
    equal(client.ask("PING", "x"), b"x")
    greeting = client.ask("HELLO", "3", "SETNAME", "x")
    equal(greeting[greeting.index(b"proto") + 1], 3)
    equal(client.ask("GET", "nothing"), None)
    equal(Resp().ask("HELLO", "2")[5], 2)
    assert client.ask("HELLO", "4").startswith("-NOPROTO")
    equal(client.ask("CLIENT", "SETINFO", "LIB-NAME", "x"), "+OK")
    equal(client.ask("SELECT", "0"), "+OK")
    assert client.ask("SELECT", "1").startswith("-ERR redlock")
    assert b"redis_version" in client.ask("INFO")


@test
def a_lock_is_taken_seen_and_released_by_its_value_at_any_instance():
    one, two = Resp(), Resp(other)
    equal(one.ask("SET", "plain", "value-1", "NX", "PX", "30000"), "+OK")
    assert fleet.copies("plain") >= 3
    equal(two.ask("SET", "plain", "value-2", "PX", "30000", "NX"), None)
    equal(two.ask("GET", "plain"), b"value-1")
    equal(two.ask("EXISTS", "plain"), 1)
    assert 0 < two.ask("PTTL", "plain") <= 30000
    assert 0 < two.ask("TTL", "plain") <= 30
    equal(two.ask("EVALSHA", RELEASE, 1, "plain", "value-2"), 0)
    equal(two.ask("EVALSHA", RELEASE, 1, "plain", "value-1"), 1)
    equal(one.ask("EVALSHA", RELEASE, 1, "plain", "value-1"), 0)
    until(lambda: fleet.copies("plain") == 0, "a lock that is gone")
    equal((one.ask("GET", "plain"), one.ask("PTTL", "plain"), one.ask("EXISTS", "plain")), (None, -2, 0))


@test
def values_may_be_any_bytes():
    client = Resp()
    value = bytes(range(128))
    equal(client.ask("SET", "bytes", value, "NX", "EX", "30"), "+OK")
    equal(client.ask("GET", "bytes"), value)
    equal(client.ask("DELIFEQ", "bytes", value[:-1]), 0)
    equal(client.ask("DELEX", "bytes", "IFEQ", value), 1)
    assert client.ask("SET", "bytes", bytes(129), "NX", "PX", "30000").startswith("-ERR redlock: the value")


@test
def the_scripts_of_the_libraries_mean_what_they_say():
    client = Resp()
    equal(client.ask("EVALSHA", TAKE, 1, "meant", "v", "20000"), 1)
    equal(client.ask("EVALSHA", TAKE, 1, "meant", "w", "20000"), 0)
    equal(client.ask("EVALSHA", REACQUIRE, 1, "meant", "v", "40000"), 1)
    assert 30000 < client.ask("PTTL", "meant") <= 40000
    equal(client.ask("EVALSHA", EXTEND_BY, 1, "meant", "v", "10000", "0"), 1)
    assert 45000 < client.ask("PTTL", "meant") <= 50000
    equal(client.ask("EVALSHA", EXTEND_BY, 1, "meant", "w", "10000", "0"), 0)
    assert 0 < client.ask("EVALSHA", LEFT, 1, "meant", "v") <= 50000
    equal(client.ask("EVALSHA", LEFT, 1, "meant", "w"), 0)
    equal(client.ask("EVALSHA", PTTL, 1, "meant", "w"), -3)
    equal(client.ask("EVALSHA", EXTEND_OR_TAKE, 1, "meant", "w", "10000"), 0)
    equal(client.ask("EVALSHA", RELEASE_OR_GONE, 1, "meant", "w"), 0)
    equal(client.ask("EVALSHA", RELEASE_OR_GONE, 1, "meant", "v"), 1)
    until(lambda: fleet.copies("meant") == 0, "a lock that is gone")
    equal(client.ask("EVALSHA", RELEASE_OR_GONE, 1, "meant", "v"), -1)
    equal(client.ask("EVALSHA", EXTEND_OR_TAKE, 1, "meant", "v", "10000"), 1)
    equal(client.ask("EVALSHA", RELEASE, 1, "meant", "v"), 1)
    equal(client.ask("EVALSHA", OBTAIN, 1, "meant", "tokenA-meta", 6, "10000"), "+OK")
    equal(client.ask("EVALSHA", OBTAIN, 1, "meant", "tokenA-more", 6, "10000"), "+OK")
    equal(client.ask("EVALSHA", OBTAIN, 1, "meant", "tokenB-meta", 6, "10000"), None)
    equal(client.ask("EVALSHA", RELEASE, 1, "meant", "tokenA-meta"), 1)
    until(lambda: fleet.copies("meant") == 0, "a lock that is gone")
    equal(client.ask("EVALSHA", LOCK, 1, "meant", "v", "20000", "no"), None)
    equal(client.ask("EVALSHA", LOCK, 1, "meant", "v", "20000", "yes"), "+OK")
    equal(client.ask("EVALSHA", LOCK, 1, "meant", "w", "20000", "yes"), None)
    equal(client.ask("EVALSHA", LOCK, 1, "meant", "v", "40000", "no"), "+OK")
    assert 30000 < client.ask("PTTL", "meant") <= 40000
    equal(client.ask("EVALSHA", RELEASE, 1, "meant", "v"), 1)


@test
def an_unknown_script_is_refused_with_a_sentence():
    client = Resp()
    for words in (("EVAL", "return redis.call('FLUSHALL')", 1, "x", "y"), ("SCRIPT", "LOAD", "return 1")):
        answer = client.ask(*words)
        assert answer.startswith("-ERR redlock: this script is not one of a known lock library"), answer
    assert client.ask("EVALSHA", "0" * 40, 1, "x", "y").startswith("-NOSCRIPT")
    equal(client.ask("SCRIPT", "EXISTS", RELEASE, "0" * 40), [1, 0])
    assert client.ask("EVALSHA", TAKE, 2, "x", "y", "v", "1000").startswith("-ERR redlock: a script is served for one key")
    assert client.ask("EVALSHA", RELEASE, 1, "x", "v", "w").startswith("-ERR redlock: the script is known")


@test
def what_is_no_lock_is_refused_with_a_sentence():
    client = Resp()
    for words in (("SET", "x", "v"), ("SET", "x", "v", "NX"), ("SET", "x", "v", "PX", "1000"), ("SET", "x", "v", "NX", "PX", "1"),
                  ("SET", "x", "v", "NX", "PX", "99999999"), ("SET", "x", "v", "NX", "PX", "x"), ("DEL", "x"), ("FLUSHALL",),
                  ("KEYS", "*"), ("SET", "redlock-fence:x", "v", "NX", "PX", "1000"), ("CONFIG", "GET", "x"),
                  ("SET", "x" * 1100, "v", "NX", "PX", "1000"), ("SET", "x", "v", "NX", "PX", "1000", "GET")):
        answer = client.ask(*words)
        assert isinstance(answer, str) and answer.startswith("-ERR redlock"), (words, answer)
    assert client.ask("GET").startswith("-ERR wrong number")
    equal(client.ask("PING"), "+PONG", "the connection goes on")
    equal(fleet.copies("x"), 0)


@test
def commands_may_be_pipelined():
    client = Resp()
    for number in range(50):
        client.send("SET", f"piped-{number}", "v", "NX", "PX", "30000")
        client.send("EVALSHA", RELEASE, 1, f"piped-{number}", "v")
    for _ in range(50):
        equal((client.read(), client.read()), ("+OK", 1))


@test
def nonsense_ends_the_connection():
    for bytes_ in (b"PING\r\n", b"*1\r\n+x\r\n", b"*99999\r\n", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"):
        client = Resp()
        client.socket.sendall(bytes_)
        assert client.read().startswith("-ERR Protocol error"), bytes_
        equal(client.file.read(), b"")


def read_tag(name):
    """What the owner value at a node has of its caller's own."""
    value = until(lambda: next((found for number in range(5) if (found := fleet.ask(number, "GET", name))), None), "a lock that is at a node")
    return bytes.fromhex(re.search(r"\|tag=([0-9a-f]+)", value)[1])


@test
def no_value_passes_for_the_idempotency_key_of_a_request():
    client = Resp()
    status, _, lease = service.ask("POST", "/v1/locks/keyed", {"ttl_ms": 60000}, Idempotency_Key="k-1")
    equal(status, 201, lease)
    tag = read_tag("keyed")
    assert client.ask("GET", "keyed") not in (None, tag), "it is not told what a key looks like"
    assert client.ask("EVALSHA", RELEASE, 1, "keyed", tag).startswith("-ERR redlock: values that begin with")
    for length in range(1, len(tag)):  # as long as the random part is said to be
        answer = client.ask("EVALSHA", OBTAIN, 1, "keyed", tag[:length], length, "60000")
        assert answer is None or answer.startswith("-ERR redlock: values that begin with"), (length, answer)
    equal(service.ask("POST", "/v1/locks/keyed", {}, Idempotency_Key="k-1")[2]["token"], lease["token"])
    equal(lib.release(service, "keyed", lease), 204)
    until(lambda: fleet.copies("keyed") == 0, "a lock that is gone")
    for start in range(len(tag) - 7):  # all of it, and whatever is behind a mark
        answer = client.ask("SET", "keyed", tag[start:], "NX", "PX", "60000")
        if answer == "+OK":
            equal(service.ask("POST", "/v1/locks/keyed", {}, Idempotency_Key="k-1")[0], 423, start)
            equal(client.ask("EVALSHA", RELEASE, 1, "keyed", tag[start:]), 1)
        else:
            assert answer.startswith("-ERR redlock: values that begin with"), (start, answer)


@test
def names_that_make_a_reserved_key_with_the_prefix_are_refused_as_http_does():
    prefixed = Service(fleet, config="prefix = redlock-\n", resp=True)
    for name in ("fence:x", "guard:epoch", "line:x", "mark:x", "key:x", "redlock-key:x"):
        equal(prefixed.ask("POST", f"/v1/locks/{name}", {})[0], 400, name)
        equal(Resp(prefixed).ask("SET", name, "v", "NX", "PX", "30000"), "-ERR redlock: this name is reserved")
    equal(Resp(prefixed).ask("SET", "redlock-fence:x", "v", "NX", "PX", "30000"), "+OK", "the key is no reserved one")
    equal(Resp(prefixed).ask("EVALSHA", RELEASE, 1, "redlock-fence:x", "v"), 1)
    equal(prefixed.stop(), 0)


@test
def direct_users_of_the_nodes_are_excluded_and_exclude():
    client = Resp()
    equal(client.ask("SET", "shared", "mine", "NX", "PX", "30000"), "+OK")
    granted = sum(fleet.ask(number, "SET", "shared", "theirs", "NX", "PX", "30000") == "OK" for number in range(5))
    assert granted < 3, granted
    equal(client.ask("EVALSHA", RELEASE, 1, "shared", "mine"), 1)
    for number in range(5):
        fleet.ask(number, "SET", "shared", "theirs", "PX", "30000")
    equal(client.ask("SET", "shared", "mine", "NX", "PX", "30000"), None)
    equal(client.ask("EVALSHA", RELEASE, 1, "shared", "mine"), 0)


@test
def without_a_quorum_it_is_an_error_and_not_a_refusal():
    fleet.freeze(0, 1, 2)
    try:
        answer = Resp().ask("SET", "alone", "v", "NX", "PX", "1000")
        assert answer.startswith("-ERR redlock: "), answer
    finally:
        fleet.thaw(0, 1, 2)


main()
