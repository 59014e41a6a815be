#!/usr/bin/env python3
"""Locks over HTTP: taken, lengthened, given back, waited for and looked at, on real nodes."""

import json
import signal
import threading

from lib import Fleet, Service, ask, equal, main, release, test, until

fleet = Fleet()
service = Service(fleet).meet(fleet)


@test
def a_lock_is_taken_and_given_back():
    status, fields, lease = service.ask("POST", "/v1/locks/first", {"ttl_ms": 20000, "why": "a test"})
    equal(status, 201, lease)
    equal(fields["Content-Type"], "application/json")
    equal(lease["name"], "first")
    equal(lease["nodes"], 5)
    assert lease["granted"] >= 3 and lease["fence"] >= 1 and 0 < lease["validity_ms"] < 20000 and not lease["confirm"], lease
    until(lambda: fleet.copies("first") == 5, "a lock that is on all nodes")
    equal(release(service, "first", lease), 204)
    until(lambda: fleet.copies("first") == 0, "a lock that is gone")


@test
def nodes_that_were_late_get_the_lock_too_unless_it_was_given_back():
    fleet.freeze(3, 4)
    try:
        young = Service(fleet)  # which has never met these two
        kept, gone = young.take("kept", ttl_ms=60000), young.take("gone", ttl_ms=60000)
        equal((kept["granted"], gone["granted"]), (3, 3))
        equal(release(young, "gone", gone), 204)
    finally:
        fleet.thaw(3, 4)
    until(lambda: fleet.copies("kept") == 5, "a lock that is on all nodes")
    equal(fleet.copies("gone"), 0)
    equal(release(young, "kept", kept), 204)
    until(lambda: fleet.copies("kept") == 0, "a lock that is gone")
    equal(young.stop(), 0)


@test
def a_lease_that_was_lengthened_elsewhere_outlives_what_the_first_instance_knows_of_it():
    fleet.freeze(3, 4)
    try:
        young = Service(fleet)  # which keeps handles for these two
        session = young.ask("POST", "/v1/sessions", {"ttl_ms": 15000})[2]["id"]
        leases = {"late": young.take("late", ttl_ms=15000), "kept": young.take("kept", session=session)}
        young.take("witness", ttl_ms=15000)
        young.kill(signal.SIGSTOP)
        for name, lease in leases.items():
            status, _, longer = service.ask("PATCH", f"/v1/locks/{name}", {"ttl_ms": 60000}, Redlock_Token=lease["token"])
            equal(status, 200, longer)
    finally:
        fleet.thaw(3, 4)
    until(lambda: fleet.copies("witness") == 0, "a lease that has ended")
    young.kill(signal.SIGCONT)
    for name, lease in leases.items():
        # Asked of the instance that woke up: what it had to say to the nodes it has said before.
        until(lambda: young.ask("POST", "/v1/locks/after", {})[0] in (201, 423), "an instance that has met the nodes again")
        equal(young.ask("GET", f"/v1/locks/{name}")[2]["state"], "held", name)
        equal(release(service, name, lease), 204, name)
    equal(young.stop(), 0)


@test
def a_held_lock_is_refused_with_its_holder():
    lease = service.take("busy", ttl_ms=30000, why="the nightly dump")
    status, fields, problem = service.ask("POST", "/v1/locks/busy", {})
    equal(status, 423, problem)
    equal(fields["Content-Type"], "application/problem+json")
    equal(problem["type"], "/v1/problems/held")
    equal(problem["holder"]["why"], "the nightly dump")
    assert 1 <= int(fields["Retry-After"]) <= 30, fields
    assert problem["detail"] and problem["fix"] and len(problem["nodes"]) == 5, problem
    assert lease["token"] not in json.dumps(problem), "the token is the holder's secret"
    equal(release(service, "busy", lease), 204)


@test
def fences_rise():
    fences = []
    for _ in range(3):
        lease = service.take("fenced")
        fences.append(lease["fence"])
        release(service, "fenced", lease)
    assert fences[0] < fences[1] < fences[2], fences


@test
def a_lease_is_lengthened_and_only_by_its_owner():
    lease = service.take("longer", ttl_ms=5000)
    status, _, longer = service.ask("PATCH", "/v1/locks/longer", {"ttl_ms": 50000}, Redlock_Token=lease["token"])
    equal(status, 200, longer)
    assert longer["validity_ms"] > 40000 and longer["token"] == lease["token"], longer
    equal(release(service, "longer", lease), 204)


@test
def a_client_that_ran_unlocked_is_told():
    lease = service.take("expired", ttl_ms=100)
    until(lambda: fleet.copies("expired") == 0, "a lease that has ended")
    status, _, problem = service.ask("DELETE", "/v1/locks/expired", Redlock_Token=lease["token"])
    equal((status, problem["type"], problem["result"]), (410, "/v1/problems/lost", "not held"), problem)
    status, _, problem = service.ask("PATCH", "/v1/locks/expired", {}, Redlock_Token=lease["token"])
    equal((status, problem["result"]), (410, "not held"), problem)
    successor = service.take("expired")
    status, _, problem = service.ask("DELETE", "/v1/locks/expired", Redlock_Token=lease["token"])
    equal((status, problem["result"]), (410, "not held"), problem)
    assert "another owner has it now" in problem["detail"], problem
    equal(release(service, "expired", successor), 204)


@test
def a_lock_is_given_back_once():
    lease = service.take("twice")
    equal(release(service, "twice", lease), 204)
    status, _, problem = service.ask("DELETE", "/v1/locks/twice", Redlock_Token=lease["token"])
    equal((status, problem["type"], problem["result"]), (410, "/v1/problems/lost", "not held"), problem)
    equal(problem["detail"],
          "the lock is not held with this token any more: it was released or broken, or its time ran out")


@test
def a_token_of_another_lock_is_not_yours():
    mine, other = service.take("mine"), service.take("other")
    status, _, problem = service.ask("DELETE", "/v1/locks/mine", Redlock_Token=other["token"])
    equal(status in (409, 410), True, problem)
    until(lambda: fleet.copies("mine") == 5, "a lock that is on all nodes")
    older = service.take("older")
    younger = service.take("younger")
    status, _, problem = service.ask("DELETE", "/v1/locks/older", Redlock_Token=younger["token"])
    equal((status, problem["type"], problem["result"]), (409, "/v1/problems/not-yours", "not held"), problem)
    for name, lease in (("mine", mine), ("other", other), ("older", older), ("younger", younger)):
        equal(release(service, name, lease), 204)


@test
def a_waiter_gets_the_lock_when_it_is_given_back():
    lease = service.take("waited")
    answers = []
    waiter = threading.Thread(target=lambda: answers.append(
        service.ask("POST", "/v1/locks/waited", {"wait_ms": 60000, "ttl_ms": 30000})))
    waiter.start()
    until(lambda: service.ask("GET", "/v1/locks/waited")[2]["waiting"] >= 1, "a waiter that is seen")
    equal(release(service, "waited", lease), 204)
    waiter.join()
    status, _, mine = answers[0]
    equal(status, 201, mine)
    assert mine["fence"] > lease["fence"]
    equal(release(service, "waited", mine), 204)


@test
def waiting_ends():
    lease = service.take("never", ttl_ms=60000)
    status, _, problem = service.ask("POST", "/v1/locks/never", {"wait_ms": 50})
    equal((status, problem["type"], problem["result"]), (423, "/v1/problems/held", "timed out"), problem)
    equal(release(service, "never", lease), 204)


@test
def an_answer_after_a_long_wait_wants_to_be_confirmed():
    service.take("confirmed", ttl_ms=2000)  # nobody gives it back: it ends
    status, _, lease = service.ask("POST", "/v1/locks/confirmed", {"wait_ms": 60000, "ttl_ms": 5000})
    equal(status, 201, lease)
    assert lease["waited_ms"] > 250 and lease["confirm"], lease
    assert lease["validity_ms"] <= 5000, "a client that counts from its sending must not rely on it for longer"


@test
def a_fair_lock_is_taken():
    lease = service.take("fair", kind="fair")
    equal(service.ask("POST", "/v1/locks/fair", {"kind": "fair"})[0], 423)
    equal(release(service, "fair", lease), 204)


@test
def a_lock_is_shown_with_what_each_node_says():
    lease = service.take("shown", why="look at me")
    status, _, shown = service.ask("GET", "/v1/locks/shown")
    equal((status, shown["state"], shown["holder"]["why"]), (200, "held", "look at me"))
    equal(len(shown["nodes"]), 5)
    assert lease["token"] not in json.dumps(shown)
    equal(release(service, "shown", lease), 204)
    until(lambda: service.ask("GET", "/v1/locks/shown")[2]["state"] == "free", "a free lock")


@test
def a_repeated_request_gets_the_same_lease_from_another_instance_too():
    status, _, lease = service.ask("POST", "/v1/locks/again", {}, Idempotency_Key="k-1")
    equal(status, 201, lease)
    other = Service(fleet)
    for instance in (service, other):
        status, _, same = instance.ask("POST", "/v1/locks/again", {}, Idempotency_Key="k-1")
        equal((status, same["token"]), (201, lease["token"]), same)
        # Another instance may not know the fence; it never says a wrong one.
        fences = (lease["fence"],) if instance is service else (lease["fence"], None)
        assert same.get("fence") in fences, same
        equal(instance.ask("POST", "/v1/locks/again", {}, Idempotency_Key="k-2")[0], 423)
        equal(instance.ask("POST", "/v1/locks/again", {})[0], 423)
    equal(release(other, "again", lease), 204)
    equal(other.stop(), 0)


@test
def names_may_be_anything_that_can_be_written():
    for name in ("a%2Fb", "%C3%A4%20%F0%9F%94%92", "a:b;c=d,e", "..%2F.."):
        lease = service.take(name)
        equal(release(service, name, lease), 204, name)


@test
def what_cannot_be_used_is_refused_by_name():
    wrong = [
        ({"ttl_ms": 49}, "ttl_ms"), ({"ttl_ms": 60001}, "ttl_ms"), ({"ttl_ms": None}, "ttl_ms"), ({"ttl_ms": "15000"}, "ttl_ms"), ({"ttl_ms": 1.5}, "ttl_ms"),
        ({"ttl_ms": 10**12}, "ttl_ms"), ({"wait_ms": -1}, "wait_ms"), ({"kind": "both"}, "kind"),
        ({"why": "x" * 200}, "why"), ({"why": "a\nb"}, "why"), ({"ttl": 15000}, "\"ttl\""), ([], "object"), ("{", "JSON"),
        ("{\"ttl_ms\": 100, \"ttl_ms\": 200}", "JSON"),
    ]
    for body, word in wrong:
        status, _, problem = service.ask("POST", "/v1/locks/wrong", body)
        equal((status, problem["type"]), (400, "/v1/problems/invalid"), (body, problem))
        assert word in problem["detail"], (body, problem)
    equal(service.ask("POST", "/v1/locks/wrong", "ttl_ms=1", Content_Type="text/plain")[0], 415)
    for name in ("%00", "%ff", "redlock-fence:x", "x" * 1100, ""):
        equal(service.ask("POST", f"/v1/locks/{name}", {})[0] in (400, 404), True, name)
    equal(service.ask("DELETE", "/v1/locks/wrong")[0], 400)
    equal(service.ask("DELETE", "/v1/locks/wrong", Redlock_Token="???")[0], 409)
    equal(service.ask("GET", "/v1/locks/wrong?x=1")[0], 400)
    equal(service.ask("GET", "/v1/nothing")[0], 404)
    status, fields, _ = service.ask("PUT", "/v1/locks/wrong", {})
    equal((status, fields["Allow"]), (405, "POST, PATCH, DELETE, GET"))
    equal(fleet.copies("wrong"), 0)


@test
def one_connection_serves_many_requests():
    connection = service.connect()
    for _ in range(3):
        status, _, lease = ask(connection, "POST", "/v1/locks/kept", {})
        equal(status, 201)
        equal(ask(connection, "DELETE", "/v1/locks/kept", Redlock_Token=lease["token"])[0], 204)
    connection.close()


@test
def without_a_quorum_it_says_so():
    fleet.freeze(0, 1, 2)
    try:
        status, fields, problem = service.ask("POST", "/v1/locks/alone", {})
        equal((status, problem["type"]), (503, "/v1/problems/no-quorum"), problem)
        assert "Retry-After" in fields
        until(lambda: service.ask("GET", "/readyz")[0] == 503, "a service that is not ready")
        equal(service.ask("GET", "/livez")[0], 200)
        assert sum(node["verdict"] in ("silent", "failed") for node in service.ask("GET", "/v1/nodes")[2]["nodes"]) >= 3
    finally:
        fleet.thaw(0, 1, 2)
    until(lambda: service.ask("GET", "/readyz")[0] == 200, "a service that is ready again")


@test
def every_problem_type_explains_itself():
    status, _, kind = service.ask("GET", "/v1/problems/held")
    equal((status, kind["status"]), (200, 423))
    equal(service.ask("GET", "/v1/problems/nonsense")[0], 404)
    status, _, contract = service.ask("GET", "/v1/openapi.json")
    equal((status, contract["openapi"]), (200, "3.1.0"))


@test
def what_happened_is_counted():
    connection = service.connect()
    connection.request("GET", "/metrics")
    answer = connection.getresponse()
    equal((answer.status, answer.getheader("Content-Type")), (200, "text/plain; version=0.0.4; charset=utf-8"))
    text = answer.read().decode()
    connection.close()
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    equal((values["redlock_nodes"], values["redlock_quorum_size"]), ("5", "3"))
    count = int(values['redlock_acquire_duration_seconds_count{outcome="acquired"}'])
    assert count >= 10 and int(values['redlock_acquisitions_total{outcome="acquired"}']) == count, text
    equal(int(values['redlock_acquire_duration_seconds_bucket{outcome="acquired",le="+Inf"}']), count)
    buckets = [int(value) for key, value in values.items() if key.startswith("redlock_acquire_duration_seconds_bucket{outcome=\"acquired")]
    equal(buckets, sorted(buckets), "buckets that add up")
    assert int(values['redlock_http_requests_total{code="2xx"}']) > 10 and int(values['redlock_http_requests_total{code="4xx"}']) > 10
    names = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    equal(len(names), len(set(names)), "each metric is named once")


@test
def it_stops_when_it_is_told_to():
    equal(service.stop(), 0)


main()
