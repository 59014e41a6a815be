#!/usr/bin/env python3
"""Operators over HTTP: every lock there is, page by page, and the end of somebody's hold, on real nodes."""

import json

from lib import Fleet, Service, equal, main, release, test, until

fleet = Fleet()
service = Service(fleet, config="serve_break = yes\n").meet(fleet)
careful = Service(fleet)


@test
def locks_are_listed_with_their_holders():
    lease = service.take("listed:a", ttl_ms=30000, why="a test")
    until(lambda: fleet.copies("listed:a") == 5, "a lock that is on all nodes")
    status, _, page = service.ask("GET", "/v1/locks?prefix=listed:")
    equal(status, 200, page)
    equal([lock["name"] for lock in page["locks"]], ["listed:a"])
    lock = page["locks"][0]
    equal((lock["state"], lock["nodes"], lock["quorum"]), ("held", 5, 3))
    assert lock["votes"] == 5 and lock["fence"] >= lease["fence"] and 0 < lock["holder_ttl_left_ms"] <= 30000, lock
    assert lock["holder"]["why"] == "a test" and lease["token"] not in json.dumps(page), page
    equal("next" in page, False)
    release(service, "listed:a", lease)


@test
def pages_are_in_order_and_meet_every_lock_once():
    names = sorted(f"page*:{number}" for number in range(25))
    leases = {name: service.take(name, ttl_ms=50000) for name in names}
    seen, after, pages = [], "", 0
    while True:
        status, _, page = service.ask("GET", f"/v1/locks?prefix=page%2A:&limit=10&after={after}")
        equal(status, 200, page)
        seen += [lock["name"] for lock in page["locks"]]
        pages += 1
        if "next" not in page:
            break
        after = page["next"].replace("*", "%2A")
    equal((seen, pages), (names, 3))
    for name, lease in leases.items():
        release(service, name, lease)


@test
def a_wrong_question_is_refused():
    for query in ("limit=0", "limit=1001", "limit=x", "state=lost", "prefix=" + "x" * 600, "after=" + "x" * 1025):
        equal(service.ask("GET", f"/v1/locks?{query}")[0], 400, query)


@test
def exactly_the_holder_that_was_named_is_broken():
    lease = service.take("broken", ttl_ms=50000)
    until(lambda: fleet.copies("broken") == 5, "a lock that is on all nodes")
    holder = service.ask("GET", "/v1/locks/broken")[2]["holder"]["id"]
    status, _, problem = service.ask("POST", "/v1/locks/broken/break", {"id": "00000000"})
    equal((status, problem["type"]), (409, "/v1/problems/not-holder"), problem)
    equal(problem["holder"]["id"], holder)
    status, _, answer = service.ask("POST", "/v1/locks/broken/break", {"id": holder, "reason": "stuck", "grace_ms": 60000})
    equal(status, 200, answer)
    assert answer["holder"]["id"] == holder and answer["broken_on"] >= 3 and 0 < answer["free_in_ms"] <= 60000, answer
    status, _, problem = service.ask("POST", "/v1/locks/broken", {})
    equal((status, problem["holder"]["broken"]), (423, True), problem)
    equal([lock["state"] for lock in service.ask("GET", "/v1/locks?state=broken")[2]["locks"]], ["broken"])
    status, _, problem = service.ask("PATCH", "/v1/locks/broken", {"ttl_ms": 50000}, Redlock_Token=lease["token"])
    equal(status, 410, problem)
    until(lambda: service.ask("POST", "/v1/locks/broken", {"ttl_ms": 10000})[0] == 201, "a lock that is free")
    second = service.ask("GET", "/v1/locks/broken")[2]["holder"]["id"]
    equal(service.ask("POST", "/v1/locks/broken/break", {"id": second, "grace_ms": 0})[0], 200)
    until(lambda: fleet.copies("broken") == 0, "a lock that is gone")


@test
def a_break_that_breaks_nothing_is_no_success():
    for number in range(5):
        fleet.ask(number, "HSET", "hash", "uuid:1", "1")
        fleet.ask(number, "PEXPIRE", "hash", "600000")
    status, _, problem = service.ask("POST", "/v1/locks/hash/break", {"id": "foreign", "grace_ms": 0})
    equal((status, problem["type"], problem["result"]), (409, "/v1/problems/not-holder", "not held"), problem)
    assert "nothing was broken" in problem["detail"], problem
    equal(fleet.copies("hash"), 5)


@test
def those_who_listen_hear_of_it():
    service.take("heard", ttl_ms=50000)
    holder = service.ask("GET", "/v1/locks/heard")[2]["holder"]["id"]
    equal(service.ask("POST", "/v1/locks/heard/break", {"id": holder, "reason": "stuck", "grace_ms": 0})[0], 200)
    connection = service.connect()
    connection.request("GET", "/v1/events?name=heard", headers={"Last-Event-ID": "0"})
    answer, seen = connection.getresponse(), ""
    while "event: broken" not in seen or "stuck" not in seen:
        line = answer.readline().decode()
        assert line, seen
        seen += line
    connection.close()


@test
def breaking_has_to_be_switched_on():
    status, _, problem = careful.ask("POST", "/v1/locks/any/break", {"id": "12345678"})
    equal(status, 403, problem)
    assert "serve_break" in problem["detail"], problem
    equal(service.ask("POST", "/v1/locks/any/break", {})[0], 400)


main()
