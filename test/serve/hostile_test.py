#!/usr/bin/env python3
"""Clients that do not behave: malformed requests, slow ones, floods, hang-ups, foreign pages. Nobody else suffers."""

import json
import re
import socket
import threading
import time

from lib import Fleet, Service, ask, equal, main, release, test, until

fleet = Fleet()
service = Service(fleet).meet(fleet)


def send(*pieces, instance=service, read=True):
    """Sends bytes and returns all that is answered until the other side closes."""
    with instance.raw() as connection:
        for piece in pieces:
            try:
                connection.sendall(piece)
            except (BrokenPipeError, ConnectionResetError):
                break
        answer = b""
        while read:
            try:
                piece = connection.recv(65536)
            except ConnectionResetError:
                break
            if not piece:
                break
            answer += piece
        return answer


def statuses(answer):
    return [int(status) for status in re.findall(rb"HTTP/1.1 (\d+) ", answer)]


GOOD = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
LAST = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


@test
def malformed_requests_are_refused_and_the_connection_ends():
    table = [
        (b"GET / HTTP/1.1\nHost: localhost\n\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", 400),
        (b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n", 505),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (b"POST /v1/locks/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400),
        (b"POST /v1/locks/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}", 411),
        (b"POST /v1/locks/x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding : chunked\r\n\r\n", 400),
        (b"POST /v1/locks/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0x2\r\n\r\n{}", 400),
        (b"POST /v1/locks/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n", 413),
        (b"POST /v1/locks/x HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n", 417),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n", 400),
        (b"GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"GET /" + b"a" * 20000, 414),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 20000, 431),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: a\r\n" * 100 + b"\r\n", 431),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 50 + b"\n", 400),
        (b"\x00" * 100 + b"\r\n\r\n", 400),
    ]
    post = b"POST /v1/locks/x HTTP/1.1\r\nHost: localhost\r\n"
    # What two readers may read as different lengths, or as different lines.
    table += [(post + fields + b"\r\n\r\n{}", status) for fields, status in (
        (b"Content-Length: 2, 2", 400), (b"Content-Length: +2", 400), (b"Content-Length: -1", 400), (b"Content-Length: 2 2", 400),
        (b"Content-Length: ", 400), (b"Content-Length: 18446744073709551618", 400), (b"Content-Length: 2\r\nContent-Length: 2", 400),
        (b" Content-Length: 2", 400), (b"Content-Length\t: 2", 400), (b"Transfer-Encoding: identity", 411),
        (b"Transfer-Encoding: xchunked", 411), (b"transfer-encoding:\tchunked", 411),
        (b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", 411), (b"Transfer-Encoding:\x0bchunked", 400),
        (b"X: a\rTransfer-Encoding: chunked", 400), (b"X: a\x00b", 400), (b": empty", 400), (b"X y: 1", 400))]
    table += [(line + b"\r\nHost: localhost\r\n\r\n", status) for line, status in (
        (b"GET  / HTTP/1.1", 400), (b"GET /\tHTTP/1.1", 400), (b"GET / HTTP/1.1 ", 400), (b"GET / HTTP/1.2", 505), (b"GET / http/1.1", 400),
        (b"GET http://localhost/livez HTTP/1.1", 400), (b"GET * HTTP/1.1", 400), (b"CONNECT localhost:80 HTTP/1.1", 400),
        (b"GET /livez#x HTTP/1.1", 400), (b"\r\nGET /livez HTTP/1.1", 400))]
    table += [(b"GET / HTTP/1.1\r\nHost:\r\n\r\n", 400), (b"GET / HTTP/1.1\r\nHost: localhost, evil\r\n\r\n", 400)]
    for bytes_, status in table:
        answer = send(bytes_ + GOOD)
        equal(statuses(answer), [status], bytes_[:60])
        assert b"application/problem+json" in answer and b"Connection: close" in answer, answer
    equal(fleet.copies("x"), 0)


@test
def pipelined_requests_are_answered_in_order():
    body = b'{"ttl_ms": 30000}'
    post = b"POST /v1/locks/piped HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
        len(body), body)
    answer = send(GOOD + post + post + GOOD + LAST)
    equal(statuses(answer), [200, 201, 423, 200, 200])
    token = json.loads(answer[answer.index(b'{"name"'):].split(b"}")[0] + b"}")["token"]
    equal(service.ask("DELETE", "/v1/locks/piped", Redlock_Token=token)[0], 204)


@test
def a_request_may_come_byte_by_byte():
    with service.raw() as connection:
        for byte in GOOD:
            connection.sendall(bytes([byte]))
        assert b"200 OK" in connection.recv(65536)


@test
def a_slow_client_does_not_hold_up_others_and_is_ended():
    slow = [service.raw() for _ in range(200)]
    for connection in slow:
        connection.sendall(b"POST /v1/locks/slow HTTP/1.1\r\nHost: loc")
    for connection in slow[::2]:  # others are slow with the body
        connection.sendall(b"alhost\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{")
    lease = service.take("quick")
    equal(release(service, "quick", lease), 204)
    for connection in slow:
        assert b"HTTP/1.1 408" in connection.recv(65536)
        connection.close()


@test
def a_waiter_that_hangs_up_leaves_the_line_at_once():
    for wish in ({}, {"kind": "fair"}, {"kind": "shared"}, {"kind": "semaphore", "permits": 1}, {"also": ["line:b"]}):
        lease = service.take("line", **(wish if "permits" in wish else {}))
        body = json.dumps({"wait_ms": 600000, "ttl_ms": 60000, **wish}).encode()
        request = (b"POST /v1/locks/line HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                   b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        gone = [service.raw() for _ in range(20)]
        for connection in gone:
            connection.sendall(request)
        until(lambda: service.ask("GET", "/v1/locks/line")[2]["waiting"] >= 20, "all waiters in line")
        last = service.raw()
        last.sendall(request)
        until(lambda: service.ask("GET", "/v1/locks/line")[2]["waiting"] >= 21, "the last waiter in line")
        for number, connection in enumerate(gone):
            if number % 2:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
            connection.close()
        until(lambda: service.ask("GET", "/v1/locks/line")[2]["waiting"] == 1, "one waiter left")
        equal(release(service, "line", lease), 204, wish)
        answer = last.recv(65536)
        assert b"201 Created" in answer, answer  # and not after the 60 s of a dead one
        token = json.loads(answer[answer.index(b"{"):])["token"]
        equal(service.ask("DELETE", "/v1/locks/line", Redlock_Token=token)[0], 204)
        last.close()


@test
def early_bytes_of_a_waiter_are_kept_and_a_flood_ends_it():
    lease = service.take("early")
    body = b'{"wait_ms": 600000}'
    request = (b"POST /v1/locks/early HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
               b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    flood = service.raw()
    flood.sendall(request)
    try:
        for _ in range(1000):
            flood.sendall(GOOD * 100)
        raise AssertionError("a flood of early bytes was taken")
    except (BrokenPipeError, ConnectionResetError):
        pass
    flood.close()
    waiter = service.raw()
    waiter.sendall(request + LAST)
    until(lambda: service.ask("GET", "/v1/locks/early")[2]["waiting"] == 1, "one waiter")
    equal(release(service, "early", lease), 204)
    answer = b""
    while piece := waiter.recv(65536):
        answer += piece
    equal(statuses(answer), [201, 200])


@test
def a_foreign_host_or_page_is_refused():
    for host in ("evil.example", "evil.example:7420", "127.0.0.1.evil.example", "localhost.evil.example"):
        equal(service.ask("GET", "/livez", Host=host)[0], 421, host)
    for host in ("localhost", "127.0.0.1:7420", "[::1]:7420", "LOCALHOST:1"):
        equal(service.ask("GET", "/livez", Host=host)[0], 200, host)
    for origin in ("http://evil.example", "null", "https://localhost.evil", "http://localhost:1"):
        status, fields, problem = service.ask("POST", "/v1/locks/page", {}, Host="localhost:7420", Origin=origin)
        equal((status, problem["type"]), (403, "/v1/problems/foreign-origin"), origin)
        assert not any(field.lower().startswith("access-control") for field in fields), fields
    equal(service.ask("GET", "/v1/locks/page/hold?max_hold_ms=1000", Sec_Fetch_Site="cross-site")[0], 403)
    equal(service.ask("OPTIONS", "/v1/locks/page", Host="localhost", Origin="http://localhost")[0], 405)
    equal(service.ask("GET", "/livez", Host="localhost:7420", Origin="http://localhost:7420")[0], 200)
    equal(fleet.copies("page"), 0)


@test
def waiters_and_connections_are_limited():
    small = Service(fleet, config="serve_max_waiters = 2\nserve_max_connections = 10\n")
    lease = small.take("few")
    waiters = []
    for _ in range(2):
        connection = small.connect()
        connection.request("POST", "/v1/locks/few", json.dumps({"wait_ms": 600000}), {"Content-Type": "application/json"})
        waiters.append(connection)
    until(lambda: small.ask("POST", "/v1/locks/few", {"wait_ms": 1000})[0] == 429, "too many waiters")
    equal(small.ask("POST", "/v1/locks/few", {})[0], 423, "a request that does not wait")
    idle = [small.raw() for _ in range(20)]
    refused = 0
    for connection in idle:
        connection.settimeout(5)
        try:
            connection.sendall(GOOD)
            refused += not connection.recv(65536)
        except OSError:
            refused += 1
    assert refused >= 10, refused
    for connection in idle + waiters:
        connection.close()
    until(lambda: small.ask("DELETE", "/v1/locks/few", Redlock_Token=lease["token"])[0] == 204, "room again")
    equal(small.stop(), 0)


@test
def stopping_tells_waiters_to_come_again():
    other = Service(fleet).meet(fleet)
    lease = other.take("stopped", ttl_ms=30000)
    answers = []
    waiter = threading.Thread(
        target=lambda: answers.append(other.ask("POST", "/v1/locks/stopped", {"wait_ms": 600000})))
    waiter.start()
    until(lambda: other.ask("GET", "/v1/locks/stopped")[2]["waiting"] == 1, "a waiter")
    until(lambda: fleet.copies("stopped") == 5, "a lease on all nodes")
    equal(other.stop(), 0)
    waiter.join()
    status, fields, problem = answers[0]
    equal((status, problem["type"]), (503, "/v1/problems/stopping"), problem)
    assert fields["Retry-After"] == "1" and fields["Connection"] == "close", fields
    equal(fleet.copies("stopped"), 5, "copies of a lease that outlives the instance that handed it out:")
    equal(service.ask("DELETE", "/v1/locks/stopped", Redlock_Token=lease["token"])[0], 204)


main()
