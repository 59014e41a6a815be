#!/usr/bin/env python3
"""Sessions, holds and events: each rule of theirs, on real nodes."""

import signal
import time

from lib import Fleet, Service, Stream, equal, main, release, test, until

fleet = Fleet()
service = Service(fleet)


def open_session(instance=service, **body):
    status, _, session = instance.ask("POST", "/v1/sessions", body)
    equal(status, 201, session)
    return session["id"]


def keep_alive(session, instance=service, **body):
    status, _, answer = instance.ask("POST", f"/v1/sessions/{session}/keepalive", body)
    equal(status, 200, answer)
    return {lock["name"]: lock for lock in answer["locks"]}


# ---- sessions --------------------------------------------------------------------------------------------------------

@test
def one_keep_alive_renews_all_locks_of_a_session():
    session = open_session(ttl_ms=20000)
    leases = {name: service.take(name, session=session) for name in ("s1", "s2", "s3")}
    for lease in leases.values():
        assert lease["ttl_ms"] == 20000, lease
    locks = keep_alive(session)
    equal(sorted(locks), ["s1", "s2", "s3"])
    for name, lock in locks.items():
        equal((lock["state"], lock["token"], lock["fence"]), ("held", leases[name]["token"], leases[name]["fence"]), lock)
        assert 0 < lock["validity_ms"] <= 20000
    equal(release(service, "s2", leases["s2"]), 204)
    equal(sorted(keep_alive(session)), ["s1", "s3"])
    status, _, answer = service.ask("DELETE", f"/v1/sessions/{session}")
    equal((status, {lock["state"] for lock in answer["locks"]}), (200, {"released"}), answer)
    until(lambda: fleet.copies("s1") + fleet.copies("s3") == 0, "locks that are gone")
    equal(service.ask("POST", f"/v1/sessions/{session}/keepalive", {})[0], 404)


@test
def a_session_that_stops_is_not_renewed_and_not_released_early():
    session = open_session(ttl_ms=3000)
    begin = time.monotonic()
    lease = service.take("silent", session=session)
    until(lambda: fleet.copies("silent") < 3, "the end of a lease")
    assert time.monotonic() - begin >= lease["validity_ms"] / 1000, "it was released while its client could rely on it"
    lock = keep_alive(session)["silent"]
    equal((lock["state"], lock["validity_ms"]), ("lost", 0), "what a late keep-alive hears")
    equal(keep_alive(session), {}, "a lock that was lost is named once")


@test
def an_open_stream_is_no_sign_of_life():
    session = open_session(ttl_ms=1000)
    service.take("streamed", session=session)
    stream = Stream(service, f"/v1/events?session={session}")
    until(lambda: fleet.copies("streamed") < 3, "the end of a lease")
    stream.close()


@test
def a_lock_that_was_stolen_is_reported_lost():
    session = open_session(ttl_ms=30000)
    service.take("stolen", session=session)
    for number in range(5):
        fleet.ask(number, "SET", "stolen", "thief", "PX", "60000")
    equal(keep_alive(session)["stolen"]["state"], "lost")
    for number in range(5):
        fleet.ask(number, "DEL", "stolen")


@test
def a_session_goes_on_at_another_instance():
    first = Service(fleet)
    session = open_session(first, ttl_ms=30000)
    leases = [first.take(name, session=session) for name in ("moved", "moved2")]
    first.kill(signal.SIGKILL)
    first.process.wait()
    equal(service.ask("POST", f"/v1/sessions/{session}/keepalive", {})[0], 404)
    claims = [{"name": lease["name"], "token": lease["token"]} for lease in leases]
    locks = keep_alive(session, locks=claims, ttl_ms=30000)
    equal({name: lock["state"] for name, lock in locks.items()}, {"moved": "held", "moved2": "held"})
    equal(sorted(keep_alive(session)), ["moved", "moved2"], "known from now on")
    for number in range(5):
        fleet.ask(number, "DEL", "gone")
    dead = [{"name": "gone", "token": leases[0]["token"]}]
    equal(keep_alive(session, locks=dead)["gone"]["state"], "lost")
    equal(service.ask("DELETE", f"/v1/sessions/{session}")[0], 200)
    until(lambda: fleet.copies("moved") == 0, "a lock that is gone")


@test
def a_session_says_whom_it_is_for():
    session = open_session(who="importer")
    service.take("named", session=session, why="night")
    equal(service.ask("GET", "/v1/locks/named")[2]["holder"]["why"], "importer: night")
    equal(service.ask("POST", "/v1/sessions", {"who": "x" * 33})[0], 400)
    equal(service.ask("DELETE", f"/v1/sessions/{session}")[0], 200)


@test
def an_unknown_session_takes_no_lock():
    status, _, problem = service.ask("POST", "/v1/locks/homeless", {"session": "0" * 32})
    equal((status, problem["type"]), (404, "/v1/problems/not-found"), problem)
    equal(fleet.copies("homeless"), 0)


# ---- hold ------------------------------------------------------------------------------------------------------------

@test
def the_connection_is_the_lock():
    stream = Stream(service, "/v1/locks/held/hold?max_hold_ms=600000&ttl_ms=3000&why=me")
    equal(stream.status, 200)
    first = stream.next()
    equal(first["type"], "acquired")
    assert first["data"]["fence"] >= 1 and first["data"]["token"]
    for _ in range(4):  # well beyond its TTL
        equal(stream.next()["type"], "renewed")
    equal(service.ask("POST", "/v1/locks/held", {})[0], 423)
    stream.close()
    until(lambda: fleet.copies("held") == 0, "a lock that is gone with its connection")


@test
def a_hold_ends_at_its_maximum_and_needs_one():
    equal(service.ask("GET", "/v1/locks/short/hold")[0], 400)
    stream = Stream(service, "/v1/locks/short/hold?max_hold_ms=300&ttl_ms=5000")
    types = []
    while event := stream.next():
        types.append(event["type"])
    equal((types[0], types[-1]), ("acquired", "ended"), types)
    until(lambda: fleet.copies("short") == 0, "a lock that was given back")


@test
def a_hold_waits_and_is_refused_like_any_other():
    lease = service.take("queued")
    equal(service.ask("GET", "/v1/locks/queued/hold?max_hold_ms=1000")[0], 423)
    equal(service.ask("GET", "/v1/locks/queued/hold?max_hold_ms=1000&wait_ms=20")[0], 423)
    equal(release(service, "queued", lease), 204)


@test
def a_hold_that_is_lost_says_so_and_ends():
    stream = Stream(service, "/v1/locks/robbed/hold?max_hold_ms=600000&ttl_ms=3000")
    equal(stream.next()["type"], "acquired")
    for number in range(5):
        fleet.ask(number, "SET", "robbed", "thief", "PX", "60000")
    types = []
    while event := stream.next():
        types.append(event["type"])
    equal(types[-1], "lost", types)
    for number in range(5):
        fleet.ask(number, "DEL", "robbed")


@test
def a_stopping_instance_leaves_a_held_lock_to_its_client():
    first = Service(fleet)
    stream = Stream(first, "/v1/locks/kept/hold?max_hold_ms=600000&ttl_ms=30000")
    token = stream.next()["data"]["token"]
    equal(first.stop(), 0)
    last = stream.next()
    equal(last["type"], "stopping")
    assert last["data"]["validity_ms"] > 0
    assert stream.next() is None
    status, _, lease = service.ask("PATCH", "/v1/locks/kept", {}, Redlock_Token=token)
    equal(status, 200, lease)
    equal(release(service, "kept", lease), 204)


# ---- events ----------------------------------------------------------------------------------------------------------

@test
def what_happens_is_told_in_order_and_by_name():
    every, one = Stream(service, "/v1/events"), Stream(service, "/v1/events?name=told")
    for name in ("told", "untold"):
        lease = service.take(name)
        service.ask("PATCH", f"/v1/locks/{name}", {}, Redlock_Token=lease["token"])
        release(service, name, lease)
    seen = [(event["type"], event["data"]["name"]) for event in (every.next() for _ in range(6))]
    equal(seen, [(kind, name) for name in ("told", "untold") for kind in ("acquired", "renewed", "released")])
    equal([one.next()["type"] for _ in range(3)], ["acquired", "renewed", "released"])
    every.close()
    one.close()


@test
def a_client_that_comes_back_misses_nothing_or_is_told():
    stream = Stream(service, "/v1/events?name=replayed")
    release(service, "replayed", service.take("replayed"))
    first = stream.next()
    stream.close()
    release(service, "replayed", service.take("replayed"))
    again = Stream(service, "/v1/events?name=replayed", Last_Event_ID=first["id"])
    equal([again.next()["type"] for _ in range(3)], ["released", "acquired", "released"])
    again.close()
    foreign = Stream(service, "/v1/events?name=replayed", Last_Event_ID="0000000000000000-7")
    equal(foreign.next()["type"], "gap")
    foreign.close()


@test
def a_node_that_goes_and_comes_is_told():
    stream = Stream(service, "/v1/events")
    fleet.freeze(4)
    while stream.next()["type"] != "node_down":
        pass
    fleet.thaw(4)
    while stream.next()["type"] != "node_up":
        pass
    stream.close()


main()
