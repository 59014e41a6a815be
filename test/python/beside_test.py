"""What is no lock, from Python: keys changed without one, notes, meetings. On five real nodes."""

import threading

from nodes import Fleet, equal, main, raises, test, until

import libredlock

fleet = Fleet()
client = libredlock.Client(fleet.nodes)


def add_one(value):
    return str(int(value or 0) + 1)


@test
def updates_of_many_threads_lose_nothing():
    threads = [threading.Thread(target=lambda: [client.update("counter", add_one, tries=1000) for _ in range(20)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(fleet.ask(0, "GET", "counter"), "80")


@test
def an_update_has_any_bytes_and_may_delete():
    equal(client.update("bytes", lambda value: bytes(range(256)), node=1), bytes(range(256)))
    seen = []
    equal(client.update("bytes", lambda value: seen.append(value) or b"", node=1), b"")
    equal((seen, fleet.ask(1, "EXISTS", "bytes"), fleet.ask(1, "STRLEN", "bytes")), ([bytes(range(256))], "1", "0"))
    equal(client.update("bytes", lambda value: None, node=1), None)
    equal(fleet.ask(1, "EXISTS", "bytes"), "0")


@test
def what_fails_leaves_the_key_alone():
    problem = raises(ZeroDivisionError, client.update, "counter", lambda value: 1 // 0)
    equal(type(problem), ZeroDivisionError)
    raises(libredlock.Timeout, client.update, "counter", lambda value: fleet.ask(0, "INCR", "counter") and "0", tries=2)
    equal(fleet.ask(0, "GET", "counter"), "82")
    raises(libredlock.Invalid, client.update, "counter", add_one, node=5)
    fleet.ask(0, "RPUSH", "list", "x")
    raises(libredlock.ForeignType, client.update, "list", add_one)


@test
def a_note_is_as_old_as_it_was_said_to_be():
    equal(client.marked("report"), None)
    client.mark("report", age=100, keep=1000)
    age = client.marked("report")
    equal(100 <= age < 900, True, age)
    raises(libredlock.Invalid, client.mark, "report", keep=0)


@test
def those_who_meet_go_on_together():
    arrived, went = [], []

    def meet():
        client.barrier("meeting", 3, waiting=arrived.append)
        went.append(1)

    threads = [threading.Thread(target=meet) for _ in range(2)]
    for thread in threads:
        thread.start()
    until(lambda: 2 in arrived, "two that wait")
    equal(went, [])
    problem = raises(libredlock.Invalid, client.barrier, "meeting", 2)
    equal("others wait for 3" in str(problem), True, problem)
    client.barrier("meeting", 3, wait=60)
    for thread in threads:
        thread.join()
    equal(len(went), 2)


@test
def a_party_may_give_up_and_fail():
    raises(libredlock.Timeout, client.barrier, "nobody", 2, wait=0.05)
    raises(libredlock.Canceled, client.barrier, "nobody", 2, waiting=lambda arrived: False)
    raises(ZeroDivisionError, client.barrier, "nobody", 2, waiting=lambda arrived: 1 // 0)


@test
def closing_the_client_ends_a_wait():
    other, arrived, ended = libredlock.Client(fleet.nodes), [], []

    def wait():
        ended.append(type(raises(libredlock.Canceled, other.barrier, "closed", 2, waiting=arrived.append)))

    thread = threading.Thread(target=wait)
    thread.start()
    until(lambda: arrived, "one that waits")
    other.close()
    thread.join()
    equal(ended, [libredlock.Canceled])


main()
