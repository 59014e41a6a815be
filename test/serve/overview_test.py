"""GET /v1/overview: the state of everything, then what changes, for those who may see it; and the page that shows it."""

import base64
import hashlib
import re

from lib import Fleet, Service, Stream, ask, equal, main, release, test, until, work

fleet = Fleet()
service = Service(fleet).meet(fleet)


def next_with(stream, condition):
    """The next event in which something is so."""
    for _ in range(60):
        event = stream.next()
        if event["type"] in ("state", "change") and condition(event["data"]):
            return event["data"]
    raise AssertionError("it was never told")


@test
def the_state_comes_first_and_then_changes():
    service.take("early", ttl_ms=60000, why="before anybody looked")
    stream = Stream(service, "/v1/overview")
    first = stream.next()
    equal(first["type"], "state")
    state = first["data"]
    equal((len(state["nodes"]), state["fleet"]["quorum"], state["complete"], state["may_break"]), (5, 3, True, False))
    equal(state["locks"]["early"]["holder"]["why"], "before anybody looked")
    lease = service.take("late", ttl_ms=60000)
    told = next_with(stream, lambda data: data["locks"].get("late"))
    equal((told["locks"]["late"]["nodes"], "early" in told["locks"]), (5, False), "only what changed:")
    equal(release(service, "late", lease), 204)
    next_with(stream, lambda data: "late" in data["locks"] and data["locks"]["late"] is None)
    stream.close()


@test
def readers_slots_and_names_that_were_taken_together_are_told():
    readers = [service.take("book", kind="shared", why=f"reader {number}", ttl_ms=60000) for number in range(2)]
    permits = [service.take("pool", kind="semaphore", permits=3, why=f"job {number}", ttl_ms=60000) for number in range(2)]
    both = service.take("left", also=["right"], ttl_ms=60000)
    stream = Stream(service, "/v1/overview")
    known = {}

    def so_far(data):
        known.update(data["locks"])
        book, pool = known.get("book") or {}, known.get("pool") or {}
        return book.get("sharers") == 2 and len(pool.get("slots", {})) == 2 and "right" in known

    next_with(stream, so_far)
    equal((known["book"]["kind"], {holder["why"] for holder in known["book"]["sharing"].values()}), ("shared", {"reader 0", "reader 1"}))
    equal((known["pool"]["kind"], known["pool"]["permits"]), ("semaphore", 3))
    equal({number: slot["holder"]["why"] for number, slot in known["pool"]["slots"].items()},
          {str(lease["slot"]): f"job {number}" for number, lease in enumerate(permits)})
    equal(known["left"]["holder"]["id"], known["right"]["holder"]["id"])
    equal(release(service, "pool", permits[0]), 204)
    next_with(stream, lambda data: list((data["locks"].get("pool") or {}).get("slots", {})) == [str(permits[1]["slot"])])
    for name, lease in (("book", readers[0]), ("book", readers[1]), ("pool", permits[1]), ("left", both)):
        equal(release(service, name, lease), 204)
    stream.close()


@test
def nodes_that_come_and_go_are_told_of():
    stream = Stream(service, "/v1/overview")
    fleet.freeze(2)
    try:
        next_with(stream, lambda data: data["nodes"][2]["state"] == "down")
    finally:
        fleet.thaw(2)
    next_with(stream, lambda data: data["nodes"][2]["state"] == "up")
    stream.close()


@test
def too_few_nodes_do_not_make_locks_vanish():
    stream = Stream(service, "/v1/overview")
    assert "early" in stream.next()["data"]["locks"]
    fleet.freeze(1, 2, 3)
    try:
        told = next_with(stream, lambda data: not data["complete"])
        assert told["locks"].get("early", True) is not None, told
    finally:
        fleet.thaw(1, 2, 3)
    next_with(stream, lambda data: data["complete"])
    stream.close()


@test
def nobody_sees_more_than_its_prefix_allows():
    access = work / "access"
    digest = hashlib.sha256(b"secret").hexdigest()
    access.write_text(f"token {digest} team read team-\n")
    guarded = Service(fleet, config=f"serve_access = {access}\n")
    service.take("team-a", ttl_ms=60000)
    equal(Stream(guarded, "/v1/overview").status, 401)
    stream = Stream(guarded, "/v1/overview", Authorization="Bearer secret")
    equal(list(next_with(stream, lambda data: data["locks"])["locks"]), ["team-a"])
    stream.close()
    equal(guarded.stop(), 0)


@test
def thousands_of_locks_are_told_to_those_who_come_later_too_and_to_slow_readers():
    connection = service.connect()
    for number in range(3000):
        equal(ask(connection, "POST", f"/v1/locks/many-with-a-rather-long-name-{number:04}", {"ttl_ms": 60000, "why": "x" * 90})[0], 201)
    connection.close()
    slow, stream = Stream(service, "/v1/overview"), Stream(service, "/v1/overview")
    next_with(stream, lambda data: len(data["locks"]) > 1000)
    later = Stream(service, "/v1/overview")
    next_with(later, lambda data: len(data["locks"]) > 1000)
    # One that has read nothing meanwhile is still there, and gets a whole state in the end.
    next_with(slow, lambda data: len(data["locks"]) > 1000)
    for each in (slow, stream, later):
        each.close()


@test
def the_nodes_are_walked_through_only_while_somebody_looks():
    def walks():
        found = re.search(r"cmdstat_scan:calls=(\d+)", fleet.ask(0, "INFO", "commandstats"))
        return int(found[1]) if found else 0

    def uptime():
        return int(re.search(r"uptime_in_seconds:(\d+)", fleet.ask(0, "INFO", "server"))[1])

    def is_left_alone():
        """For three seconds by the node's own clock. What was under way when the last one left may still come."""
        before, end = walks(), uptime() + 3
        until(lambda: uptime() >= end, "three seconds")
        return walks() == before

    stream = Stream(service, "/v1/overview")
    before = walks()
    until(lambda: walks() > before + 1, "a node that is walked through")
    stream.close()
    until(is_left_alone, "a node that nobody walks through when nobody looks")


@test
def the_page_is_small_and_runs_nothing_but_its_own_script():
    connection = service.connect()
    connection.request("GET", "/")
    answer = connection.getresponse()
    page, policy = answer.read(), answer.getheader("Content-Security-Policy")
    connection.close()
    equal((answer.status, len(page) < 60000), (200, True))
    for tag in (b"script", b"style"):
        text = re.search(b"<" + tag + b">(.*?)</" + tag + b">", page, re.S)[1]
        assert "'sha256-" + base64.b64encode(hashlib.sha256(text).digest()).decode() + "'" in policy, policy
    assert "default-src 'none'" in policy and "unsafe" not in policy, policy
    outside = set(re.findall(rb"(?:https?:)?//[a-z][a-z0-9.]*\.[a-z]+", page)) - {b"http://www.w3.org"}
    equal(outside, set(), "addresses in the page:")


@test
def it_stops_while_somebody_watches():
    stream = Stream(service, "/v1/overview")
    equal(stream.next()["type"], "state")
    equal(service.stop(), 0)
    stream.close()


main()
