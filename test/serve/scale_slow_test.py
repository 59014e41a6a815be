#!/usr/bin/env python3
"""Ten thousand parked waiters and ten thousand event streams: what they cost in memory, that somebody among them is served as if alone,
and that all of them may go at once."""

import json
import pathlib
import resource
import socket
import statistics
import time

import lib
from lib import Fleet, Service, ask, equal, main, release, test, until

COUNT = 10000
BYTES_MAX = 30 * 1024 * 1024
PAIRS = 300
COST_RATIO_MAX = 3  # of the processor time of a pair among the crowd, and alone

_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
if hard != resource.RLIM_INFINITY and hard < COUNT + 500:
    print(f"1..0 # SKIP only {hard} descriptors are allowed")
    raise SystemExit(0)

fleet = Fleet()
service = Service(fleet)


def memory():
    """Bytes of the service that are its own."""
    for line in open(f"/proc/{service.process.pid}/status", encoding="ascii"):
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no RssAnon")


def crowd(request):
    """So many connections, each with its request sent."""
    found = []
    for _ in range(COUNT):
        connection = socket.create_connection(("127.0.0.1", service.port), timeout=lib.PATIENCE_S)
        connection.sendall(request)
        found.append(connection)
    return found


def processor_ns():
    """What the loop of the service has used; on a busy machine time that passed says little."""
    return int(pathlib.Path(f"/proc/{service.process.pid}/task/{service.process.pid}/schedstat").read_text(encoding="ascii").split()[0])


def cost():
    """Of a pair of acquire and release by one client: processor time of the service, and how long it took in the median."""
    connection, spans, before = service.connect(), [], processor_ns()
    for _ in range(PAIRS):
        begin = time.monotonic()
        status, _, lease = ask(connection, "POST", "/v1/locks/alone", {"ttl_ms": 60000})
        equal(status, 201, lease)
        equal(ask(connection, "DELETE", "/v1/locks/alone", Redlock_Token=lease["token"])[0], 204)
        spans.append(time.monotonic() - begin)
    connection.close()
    return (processor_ns() - before) / PAIRS / 1000, statistics.median(spans) * 1e6


def among(what, alone):
    """A client among a crowd is served as it is alone."""
    crowded = cost()
    print(f"# a pair among {COUNT} {what}: {crowded[0]:.0f} us of the processor, {crowded[0] / alone[0]:.2f} times that alone; "
          f"it took {crowded[1]:.0f} us, {crowded[1] / alone[1]:.2f} times as long as alone")
    assert crowded[0] <= COST_RATIO_MAX * alone[0], (crowded, alone)


def leave(crowd_):
    for connection in crowd_:
        connection.close()


@test
def ten_thousand_waiters_are_parked():
    alone = cost()
    lease = service.take("popular", ttl_ms=60000)
    body = json.dumps({"wait_ms": 3600000}).encode()
    request = (b"POST /v1/locks/popular HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
               b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    before = memory()
    waiters = crowd(request)

    def all_wait():
        service.ask("PATCH", "/v1/locks/popular", {"ttl_ms": 60000}, Redlock_Token=lease["token"])
        return service.ask("GET", "/v1/locks/popular")[2]["waiting"] >= COUNT

    until(all_wait, "all waiters in line")
    used = memory() - before
    print(f"# {COUNT} waiters: {used / COUNT:.0f} bytes each")
    assert used <= BYTES_MAX, used
    among("waiters", alone)
    leave(waiters[1:])
    until(lambda: service.ask("GET", "/v1/locks/popular")[2]["waiting"] == 1, "the last one alone in line")
    equal(release(service, "popular", lease), 204)
    assert b"201 Created" in waiters[0].recv(4096), "the last one gets it"
    waiters[0].close()


@test
def ten_thousand_streams_are_open():
    global service  # pylint: disable=global-statement
    equal(service.stop(), 0)
    service = Service(fleet)  # with memory as new
    alone = cost()
    before = memory()
    streams = crowd(b"GET /v1/events?name=quiet HTTP/1.1\r\nHost: localhost\r\n\r\n")
    for stream in streams:
        assert b"200 OK" in stream.recv(4096)
    used = memory() - before
    print(f"# {COUNT} streams: {used / COUNT:.0f} bytes each")
    assert used <= BYTES_MAX, used
    among("streams", alone)
    lease = service.take("quiet")
    for stream in streams[:: COUNT // 10]:
        while b"event: acquired" not in stream.recv(4096):
            pass
    equal(release(service, "quiet", lease), 204)
    leave(streams)


@test
def it_stops_in_peace():
    equal(service.stop(), 0)


main()
