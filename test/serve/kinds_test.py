#!/usr/bin/env python3
"""Every kind of lock over HTTP, on real nodes: shared locks, semaphores, several names; by any instance, in sessions, as a hold, with an
Idempotency-Key; and what cannot be asked for."""

import concurrent.futures
import hashlib
import json
import threading

from lib import Fleet, Service, Stream, equal, main, release, test, until, work

fleet = Fleet()
service = Service(fleet).meet(fleet)
other = Service(fleet)

# What each kind is asked for with, and how many may have it at once.
KINDS = {"exclusive": ({}, 1), "shared": ({"kind": "shared"}, 4), "semaphore": ({"kind": "semaphore", "permits": 2}, 2),
         "several": ({"also": ["several:b", "several:c"]}, 1)}


def take(name, body, instance=service, **fields):
    return instance.ask("POST", f"/v1/locks/{name}", {"ttl_ms": 60000, **body}, **fields)


def taken(name, body, instance=service, **fields):
    status, _, lease = take(name, body, instance, **fields)
    equal(status, 201, lease)
    return lease


def extend(name, lease, instance=service):
    return instance.ask("PATCH", f"/v1/locks/{name}", {"ttl_ms": 60000}, Redlock_Token=lease["token"])


def give_back(name, *leases):
    for lease in leases:
        equal(release(service, name, lease), 204, (name, lease))


@test
def so_many_have_it_at_once_and_no_more():
    for kind, (body, count) in KINDS.items():
        leases = [taken(f"count:{kind}", body) for _ in range(count)]
        equal(len({lease["token"] for lease in leases}), count)
        if kind == "shared":
            equal(take("count:shared", {})[0], 423, "a writer among readers")
        else:
            equal(take(f"count:{kind}", body)[0], 423, kind)
        give_back(f"count:{kind}", *leases)
        again = taken(f"count:{kind}", body)
        assert kind == "shared" or again["fence"] > leases[0]["fence"], (kind, again)
        give_back(f"count:{kind}", again)


@test
def a_lease_says_which_lock_it_is():
    reader, permit, several = (taken(f"says:{kind}", KINDS[kind][0]) for kind in ("shared", "semaphore", "several"))
    equal((reader["kind"], reader.get("permits"), reader.get("also")), ("shared", None, None))
    equal((permit["kind"], permit["permits"]), ("semaphore", 2))
    assert permit["slot"] in (0, 1), permit
    equal((several["kind"], several["also"]), ("exclusive", ["several:b", "several:c"]))
    give_back("says:shared", reader)
    give_back("says:semaphore", permit)
    give_back("says:several", several)


@test
def another_instance_lengthens_and_ends_every_kind():
    for kind, (body, _) in KINDS.items():
        name = f"moved:{kind}"
        lease = taken(name, body)
        status, _, longer = extend(name, lease, other)
        equal((status, longer["token"], longer["kind"]), (200, lease["token"], lease["kind"]), longer)
        equal(longer.get("slot"), lease.get("slot"), longer)
        equal(release(other, name, lease), 204, kind)
        for status, _, problem in (extend(name, lease), other.ask("DELETE", f"/v1/locks/{name}", Redlock_Token=lease["token"])):
            equal((status, problem["type"]), (410, "/v1/problems/lost"), (kind, problem))


@test
def a_writer_waits_for_readers_and_readers_behind_it_for_the_writer():
    readers = [taken("library", {"kind": "shared"}) for _ in range(2)]
    answers = {}

    def wait(who, body):
        answers[who] = take("library", {"wait_ms": 60000, **body}, other)

    writer = threading.Thread(target=wait, args=("writer", {}))
    writer.start()
    until(lambda: service.ask("GET", "/v1/locks/library")[2]["waiting"] >= 1, "a writer that waits")
    late = threading.Thread(target=wait, args=("late", {"kind": "shared"}))
    late.start()
    until(lambda: service.ask("GET", "/v1/locks/library")[2]["waiting"] + other.ask("GET", "/v1/locks/library")[2]["waiting"] >= 3,
          "a reader behind it")
    give_back("library", *readers)
    writer.join()
    equal(answers["writer"][0], 201, answers)
    assert "late" not in answers, "a reader came in beside a writer"
    equal(release(other, "library", answers["writer"][2]), 204)
    late.join()
    equal(answers["late"][0], 201, answers)
    assert answers["late"][2]["fence"] > answers["writer"][2]["fence"]
    give_back("library", answers["late"][2])


@test
def a_waiter_gets_the_slot_that_is_given_back():
    body = KINDS["semaphore"][0]
    leases = [taken("slots", body) for _ in range(2)]
    answers = []
    waiters = [threading.Thread(target=lambda: answers.append(take("slots", {"wait_ms": 60000, **body}, other))) for _ in range(3)]
    for waiter in waiters:
        waiter.start()
    for _ in range(3):
        before = len(answers)
        give_back("slots", leases.pop(0))
        until(lambda: len(answers) > before, "a waiter that is served")
        equal(answers[-1][0], 201, answers[-1])
        leases.append(answers[-1][2])
    for waiter in waiters:
        waiter.join()
    give_back("slots", *leases)


@test
def a_name_in_use_for_another_kind_says_for_which():
    permit = taken("used", {"kind": "semaphore", "permits": 3})
    for body in ({}, {"kind": "shared"}, {"kind": "semaphore", "permits": 2}):
        status, _, problem = take("used", body)
        equal((status, problem["type"]), (409, "/v1/problems/foreign-type"), problem)
        assert "in use for a semaphore of 3 slots" in problem["detail"], problem
    give_back("used", permit)


@test
def names_are_taken_together_or_not_at_all():
    one = taken("bank:b", {})
    status, _, problem = take("bank:a", {"also": ["bank:b", "bank:c"]})
    equal((status, problem["type"], problem["name"]), (423, "/v1/problems/held", "bank:b"), problem)
    until(lambda: fleet.copies("bank:a") == 0 and fleet.copies("bank:c") == 0, "names that were given back")
    give_back("bank:b", one)
    all_three = taken("bank:a", {"also": ["bank:b", "bank:c"]})
    for name in "abc":
        equal(take(f"bank:{name}", {})[0], 423, name)
    status, _, problem = service.ask("DELETE", "/v1/locks/bank:b", Redlock_Token=all_three["token"])
    equal((status, problem["type"]), (409, "/v1/problems/not-yours"), problem)
    equal(take("bank:b", {})[0], 423, "what the wrong address did not end")
    give_back("bank:a", all_three)
    for name in "abc":
        give_back(f"bank:{name}", taken(f"bank:{name}", {}))


@test
def one_that_waits_for_several_names_does_not_hold_up_others():
    b = taken("park:b", {})
    answers = []
    waiter = threading.Thread(target=lambda: answers.append(take("park:a", {"also": ["park:b"], "wait_ms": 60000})))
    waiter.start()
    until(lambda: service.ask("GET", "/v1/locks/park:b")[2]["waiting"] >= 1, "a waiter for both")
    equal(take("park:c", {"wait_ms": 60000})[0], 201)
    give_back("park:b", b)
    waiter.join()
    equal(answers[0][0], 201, answers)
    give_back("park:a", answers[0][2])


@test
def rights_are_checked_for_every_name():
    word = "w" * 40
    path = work / "access"
    path.write_text(f"token {hashlib.sha256(word.encode()).hexdigest()} app lock app:\n", encoding="utf-8")
    path.chmod(0o600)
    guarded = Service(fleet, config=f"serve_access = {path}\n")
    own = {"Authorization": f"Bearer {word}"}
    status, _, problem = guarded.ask("POST", "/v1/locks/app:1", {"also": ["app:2", "bank:gold"]}, **own)
    equal((status, problem["type"]), (403, "/v1/problems/forbidden"), problem)
    assert "name 2 of also" in problem["detail"], problem
    equal(fleet.copies("app:1"), 0)
    status, _, problem = guarded.ask("GET", "/v1/locks/app:1/hold?max_hold_ms=1000&also=bank:gold", **own)
    equal(status, 403, problem)
    # A token is no way round it, nor is a session.
    lease = taken("app:1", {"also": ["bank:gold"]})
    for method in ("PATCH", "DELETE"):
        status, _, problem = guarded.ask(method, "/v1/locks/app:1", Redlock_Token=lease["token"], **own)
        equal(status, 403, (method, problem))
    _, _, session = guarded.ask("POST", "/v1/sessions", {}, **own)
    status, _, problem = guarded.ask("POST", f"/v1/sessions/{session['id']}/keepalive",
                                     {"locks": [{"name": "app:1", "token": lease["token"]}]}, **own)
    equal(status, 403, problem)
    give_back("app:1", lease)
    equal(guarded.stop(), 0)


@test
def a_session_keeps_every_kind_and_another_instance_goes_on_with_it():
    _, _, session = service.ask("POST", "/v1/sessions", {"ttl_ms": 60000})
    where = f"/v1/sessions/{session['id']}"
    leases = {kind: taken(f"session:{kind}", {"session": session["id"], **body}) for kind, (body, _) in KINDS.items()}
    for instance in (service, other):
        claims = [{"name": lease["name"], "token": lease["token"]} for lease in leases.values()]
        status, _, kept = instance.ask("POST", f"{where}/keepalive", {"locks": claims})
        equal(status, 200, kept)
        found = {lock["name"]: lock for lock in kept["locks"]}
        for kind, lease in leases.items():
            lock = found[f"session:{kind}"]
            equal((lock["state"], lock["token"], lock["kind"], lock.get("slot")),
                  ("held", lease["token"], lease["kind"], lease.get("slot")), lock)
    status, _, closed = other.ask("DELETE", where)
    equal((status, {lock["state"] for lock in closed["locks"]}), (200, {"released"}), closed)
    for kind, (body, count) in KINDS.items():
        leases = [taken(f"session:{kind}", body) for _ in range(count)]
        give_back(f"session:{kind}", *leases)


@test
def a_lock_taken_twice_in_a_session_is_kept_once():
    _, _, session = service.ask("POST", "/v1/sessions", {"ttl_ms": 60000})
    for kind, (body, _) in KINDS.items():
        first, again = (taken(f"twice:{kind}", {"session": session["id"], **body}, Idempotency_Key=f"twice {kind}".replace(" ", "-"))
                        for _ in range(2))
        equal(first["token"], again["token"], kind)
        _, _, kept = service.ask("POST", f"/v1/sessions/{session['id']}/keepalive", {})
        equal([(lock["name"], lock["state"], lock["fence"]) for lock in kept["locks"]], [(f"twice:{kind}", "held", first["fence"])])
        give_back(f"twice:{kind}", again)
        _, _, kept = service.ask("POST", f"/v1/sessions/{session['id']}/keepalive", {})
        equal(kept["locks"], [], "what was given back is not told of any more")


@test
def a_hold_is_a_lock_of_any_kind():
    queries = {"shared": "kind=shared", "semaphore": "kind=semaphore&permits=1", "exclusive": "also=hold:b,hold:c"}
    for kind, query in queries.items():
        stream = Stream(service, f"/v1/locks/hold:{kind}/hold?max_hold_ms=600000&{query}")
        event = stream.next()
        equal((stream.status, event["type"], event["data"]["kind"]), (200, "acquired", kind), event)
        body = {"kind": "semaphore", "permits": 1} if kind == "semaphore" else {}
        equal(take("hold:b" if kind == "exclusive" else f"hold:{kind}", body)[0], 423, kind)
        stream.close()
        give_back(f"hold:{kind}", taken(f"hold:{kind}", {"wait_ms": 60000, **body}))


@test
def a_repeated_key_gets_the_same_lease_of_every_kind_from_any_instance():
    for kind, (body, count) in KINDS.items():
        name = f"again:{kind}"
        lease = taken(name, body, Idempotency_Key=f"key-{kind}")
        for instance in (service, other, service):
            same = taken(name, body, instance, Idempotency_Key=f"key-{kind}")
            equal((same["token"], same.get("slot"), same["kind"]), (lease["token"], lease.get("slot"), lease["kind"]), same)
        others = [taken(name, body) for _ in range(count - 1)]
        if kind != "shared":
            equal(take(name, body)[0], 423, f"{kind}: only one permit was handed out")
        give_back(name, lease, *others)
        anew = taken(name, body, other, Idempotency_Key=f"key-{kind}")
        assert anew["token"] != lease["token"], "what was given back is not handed out again"
        give_back(name, anew)


@test
def requests_with_one_key_at_once_get_one_permit():
    body = {"kind": "semaphore", "permits": 20}
    for turn in range(3):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda number: take("herd", body, (service, other)[number % 2], Idempotency_Key=f"herd-{turn}"), range(8)))
        tokens = {answer[2]["token"] for answer in answers if answer[0] == 201}
        equal(len(tokens), 1, answers)
        equal({answer[0] for answer in answers} <= {201, 423}, True, answers)
        rest = [taken("herd", body) for _ in range(19)]
        equal(take("herd", body)[0], 423, "nineteen more, and no second one of the key")
        give_back("herd", *rest)
        equal(release(service, "herd", {"token": tokens.pop()}), 204)


@test
def a_key_of_one_lock_does_nothing_to_another_kind():
    kinds = [{}, {"kind": "shared"}, {"kind": "semaphore", "permits": 2}, {"kind": "semaphore", "permits": 3}, {"also": ["reuse:b"]}]
    for number, first in enumerate(kinds):
        for second in kinds:
            if first is second:
                continue
            name, key = f"reuse:{number}", f"reuse-{number}"
            lease = taken(name, first, Idempotency_Key=key)
            status, _, problem = take(name, second, other, Idempotency_Key=key)
            assert status in (409, 422, 423), (first, second, status, problem)
            assert status != 422 or (problem["type"] == "/v1/problems/key-reused" and "new key" in problem["detail"]), problem
            equal(extend(name, lease)[0], 200, (first, second, "the lock is as it was"))
            give_back(name, lease)
    # The ones that are sure to be noticed.
    for first, second in (({"kind": "shared"}, {"kind": "semaphore", "permits": 2}), ({}, {"kind": "shared"}), ({}, {"also": ["reuse:b"]})):
        lease = taken("reuse", first, Idempotency_Key="sure")
        equal(take("reuse", second, other, Idempotency_Key="sure")[0], 422, (first, second))
        give_back("reuse", lease)


@test
def readers_are_shown():
    readers = [taken("shown", {"kind": "shared", "why": f"reader {number}"}) for number in range(3)]
    until(lambda: service.ask("GET", "/v1/locks/shown")[2].get("sharers") == 3, "three readers")
    _, _, shown = service.ask("GET", "/v1/locks/shown")
    equal((shown["state"], shown["kind"], {holder["why"] for holder in shown["sharing"]}),
          ("held", "shared", {"reader 0", "reader 1", "reader 2"}), shown)
    _, _, problem = take("shown", {})
    assert problem["sharers"] >= 1 and problem["holder"]["why"].startswith("reader"), problem
    give_back("shown", *readers)


@test
def slots_are_shown_with_their_holders():
    leases = [taken("pool", {"kind": "semaphore", "permits": 3, "why": f"job {number}"}) for number in range(2)]
    expected = sorted((lease["slot"], f"job {number}") for number, lease in enumerate(leases))

    def slots_of(lock):
        return [(slot["slot"], slot["holder"]["why"]) for slot in lock.get("slots", [])]

    until(lambda: slots_of(service.ask("GET", "/v1/locks/pool")[2]) == expected, "both slots in the detail")
    _, _, shown = service.ask("GET", "/v1/locks/pool")
    equal((shown["state"], shown["kind"], shown["permits"]), ("held", "semaphore", 3), shown)
    assert all(0 < slot["holder_ttl_left_ms"] <= 60000 and slot["votes"] >= 3 for slot in shown["slots"]), shown
    _, _, page = service.ask("GET", "/v1/locks?prefix=pool")
    equal([(lock["name"], lock["kind"], lock["permits"], slots_of(lock)) for lock in page["locks"]], [("pool", "semaphore", 3, expected)])
    give_back("pool", *leases)
    until(lambda: service.ask("GET", "/v1/locks/pool")[2]["state"] == "free", "a semaphore that nobody has")
    equal(service.ask("GET", "/v1/locks?prefix=pool")[2]["locks"], [])


@test
def a_break_ends_one_reader_or_one_slot():
    breaker = Service(fleet, config="serve_break = yes\n")
    for kind in ("shared", "semaphore"):
        body, name = KINDS[kind][0], f"broken:{kind}"
        stays, goes = taken(name, {**body, "why": "stays"}), taken(name, {**body, "why": "goes"})

        def holders():
            _, _, shown = service.ask("GET", f"/v1/locks/{name}")
            return {holder["why"]: holder["id"] for holder in shown.get("sharing", []) + [slot["holder"] for slot in shown.get("slots", [])]}

        until(lambda: len(holders()) == 2, "two holders")
        status, _, broken = breaker.ask("POST", f"/v1/locks/{name}/break", {"id": holders()["goes"], "grace_ms": 0, "reason": "a test"})
        equal((status, broken["holder"]["why"]), (200, "goes"), broken)
        equal(extend(name, goes)[0], 410, kind)
        equal(extend(name, stays)[0], 200, kind)
        status, _, problem = breaker.ask("POST", f"/v1/locks/{name}/break", {"id": "00000000", "reason": "nobody"})
        equal((status, problem["type"]), (409, "/v1/problems/not-holder"), problem)
        give_back(name, stays)
    equal(breaker.stop(), 0)


@test
def events_say_the_kind_and_come_for_every_name():
    stream = Stream(service, "/v1/events?name=told")
    permit = taken("told", {"kind": "semaphore", "permits": 2})
    event = stream.next()
    equal((event["type"], event["data"]["kind"], event["data"]["slot"]), ("acquired", "semaphore", permit["slot"]), event)
    give_back("told", permit)
    equal((stream.next()["type"]), "released")
    both = taken("untold", {"also": ["told"]})
    event = stream.next()
    equal((event["type"], event["data"]["name"]), ("acquired", "told"), event)
    give_back("untold", both)
    equal((stream.next()["type"]), "released")
    stream.close()


@test
def what_cannot_be_asked_for_is_refused_with_what_to_do():
    wrong = [
        ({"kind": "semaphore"}, "permits is missing"), ({"kind": "semaphore", "permits": 0}, "from 1 to 1000"),
        ({"kind": "semaphore", "permits": 1001}, "from 1 to 1000"), ({"kind": "semaphore", "permits": "2"}, "permits"),
        ({"kind": "shared", "permits": 2}, "leave it out"), ({"permits": 2}, "leave it out"), ({"kind": "both"}, "kind is not"),
        ({"kind": 3}, "kind"), ({"also": ["wrong"]}, "twice"), ({"also": ["x", "y", "x"]}, "name 3 of also"), ({"also": "x"}, "list"),
        ({"also": [1]}, "list"), ({"also": [f"n{number}" for number in range(100)]}, "at most 15"), ({"also": [""]}, "empty"),
        ({"also": ["redlock-fence:x"]}, "reserved"), ({"also": ["redlock-key:x"]}, "reserved"), ({"also": ["a\nb"]}, "control"),
        ({"also": ["x" * 1100]}, "1024"), ({"also": [f"{number}" * 1000 for number in range(6)]}, "4096"),
        ({"kind": "shared", "also": ["x"]}, "exclusive"), ({"kind": "semaphore", "permits": 2, "also": ["x"]}, "exclusive"),
    ]
    for body, words in wrong:
        status, fields, problem = service.ask("POST", "/v1/locks/wrong", body)
        equal((status, problem["type"], fields["Content-Type"]), (400, "/v1/problems/invalid", "application/problem+json"), (body, problem))
        assert words in problem["detail"] and problem["fix"], (words, problem)
    for query in ("kind=semaphore", "kind=semaphore&permits=0", "permits=2", "kind=semaphore&permits=2x", "also=wrong", "also=a,a", "also=,"):
        equal(service.ask("GET", f"/v1/locks/wrong/hold?max_hold_ms=1000&{query}")[0], 400, query)
    equal(service.ask("POST", "/v1/locks/wrong", {"also": []})[0], 201)
    lease = taken("tokens", {})
    for end in (".", ".s.s", ".p0", ".p01", ".p1001", ".p", ".x", ".n", ".n!", ".s.nYQ", ".nYQ.s", ".sx", ".nYR"):
        status, _, problem = service.ask("DELETE", "/v1/locks/tokens", Redlock_Token=lease["token"] + end)
        equal((status, problem["type"]), (409, "/v1/problems/not-yours"), (end, problem))
    assert service.ask("DELETE", "/v1/locks/tokens", Redlock_Token=lease["token"] + ".p2")[0] in (409, 410), "it is no semaphore"
    give_back("tokens", lease)


@test
def no_token_is_shown_to_others():
    leases = [taken(f"secret:{kind}", body) for kind, (body, _) in KINDS.items()]
    shown = json.dumps([service.ask("GET", f"/v1/locks/{lease['name']}")[2] for lease in leases] + [service.ask("GET", "/v1/locks")[2]])
    for lease in leases:
        assert lease["token"].split(".")[0] not in shown, lease
        give_back(lease["name"], lease)
    assert "redlock-key:" not in shown, "records of keys are nobody's business"


main()
