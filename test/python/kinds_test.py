"""The kinds of lock from Python: semaphores, shared and reentrant locks, several names; and looking at locks that others have. On five real nodes."""

import asyncio
import gc
import os
import threading

from nodes import Fleet, equal, main, raises, test, until

import libredlock
import libredlock.aio
from libredlock._operating import Waiting

fleet = Fleet()
os.environ["REDLOCK_NODES"] = fleet.nodes
client = libredlock.Client(connect_timeout=20, node_timeout=20)
PATIENCE_S = 40  # longer than anything takes, shorter than what is left behind would last
TTL_S = 50


def on_all(*words):
    for number in range(5):
        fleet.ask(number, *words)


def in_thread(call):
    """What a call comes to in another thread."""
    came = []
    thread = threading.Thread(target=lambda: came.append(call()))
    thread.start()
    thread.join()
    return came[0]


# ---- releases that are not waited for ----------------------------------------------------------------------------------

@test
def only_a_release_that_waits_finds_out_that_nodes_lost_the_lock():
    waits = client.lock("waits", ttl=TTL_S, renew=False).acquire()
    quick = client.lock("quick", ttl=TTL_S, renew=False, quick_release=True).acquire()
    on_all("DEL", "waits", "quick")
    raises(libredlock.NotHeld, waits.release)
    quick.release()
    with client.lock("quick", ttl=TTL_S, quick_release=True, wait=PATIENCE_S) as again:
        equal(again.held, True)


# ---- semaphores ------------------------------------------------------------------------------------------------------

@test
def a_semaphore_has_as_many_slots_as_it_was_said_to():
    locks = [client.lock("slots", permits=2, ttl=TTL_S, why=f"number {number}") for number in range(3)]
    with locks[0], locks[1]:
        equal(sorted((locks[0].slot, locks[1].slot)), [0, 1])
        equal((locks[2].try_acquire(), locks[2].slot), (False, None))
        seen = client.inspect_slots("slots")
        equal((seen.permits, len(seen.held)), (2, 2))
        equal({slot.slot: slot.holder.why for slot in seen.held}, {locks[0].slot: "number 0", locks[1].slot: "number 1"})
        equal(all(slot.votes >= 3 and slot.ttl_left > 0 for slot in seen.held), True, seen)
    locks[2].acquire(wait=PATIENCE_S)
    locks[2].release()
    equal(client.inspect_slots("nobody's"), libredlock.Slots(0, ()))
    raises(libredlock.Invalid, client.lock("slots", kind="semaphore").acquire)
    raises(ValueError, client.lock, "slots", permits=-1)
    raises(ValueError, client.lock, "slots", kind="mutex")


@test
def a_slot_is_adopted_extended_and_released_by_its_owner_value():
    owner = client.lock("left", permits=1, ttl=TTL_S).acquire().leave()
    raises(libredlock.NotHeld, client.release_owner, "left", owner)
    lock = client.lock("left", permits=1, ttl=TTL_S).adopt(owner)
    lock.extend(55)
    equal((lock.validity > 40, client.lock("left", permits=1).try_acquire()), (True, False))
    client.release_owner("left", lock.leave(), permits=1)
    equal(client.lock("left", permits=1).acquire(wait=PATIENCE_S).slot, 0)


@test
def slots_are_listed_and_broken():
    lost = []
    with client.lock("operated", permits=3, ttl=TTL_S) as one:
        other = client.lock("operated", permits=3, ttl=TTL_S, renew_every=0.1, on_lost=lost.append).acquire()
        both = sorted((one.slot, other.slot))
        until(lambda: sorted(listed.slot for listed in client.list("operated")) == both, "two slots in the list")
        equal({(listed.kind, listed.permits) for listed in client.list("operated")}, {("semaphore", 3)})
        held = {slot.slot: slot.holder for slot in client.inspect_slots("operated").held}
        equal(held[other.slot].slot, other.slot)
        raises(libredlock.NotHeld, client.break_lock, "operated", held[other.slot].id, slot=one.slot)
        client.break_lock("operated", held[other.slot].id, slot=other.slot)
        until(lambda: lost, "a holder that was told")
        equal((lost[0].broken, other.lost, one.held), (True, True, True))


# ---- shared locks ----------------------------------------------------------------------------------------------------

@test
def readers_share_a_name_and_a_writer_has_it_alone():
    one, other = (client.lock("read", kind="shared", ttl=TTL_S, why="reading") for _ in range(2))
    with one, other:
        until(lambda: len(client.inspect("read").sharers) == 2, "two readers on enough nodes")
        seen = client.inspect("read")
        equal((seen.sharer_count, {sharer.why for sharer in seen.sharers}), (2, {"reading"}))
        equal(client.lock("read").try_acquire(), False)
    with client.lock("read", ttl=TTL_S):
        equal(one.try_acquire(), False)
    owner = one.acquire(wait=PATIENCE_S).leave()
    client.release_owner("read", owner, kind="shared")
    equal(client.lock("read").acquire(wait=PATIENCE_S).held, True)


# ---- several names ---------------------------------------------------------------------------------------------------

@test
def which_of_several_names_is_in_the_way_or_lost_is_said():
    lost = []
    with client.lock("one", also=["two", "three"], ttl=TTL_S) as lock:
        equal(lock.names, ("one", "two", "three"))
        problem = raises(libredlock.Busy, client.lock("four", also=["five", "two"]).acquire, wait=0)
        equal((problem.report.name_number, fleet.copies("four"), fleet.copies("five")), (2, 0, 0))
    lock = client.lock("kept", also=["removed"], ttl=TTL_S, renew_every=0.1, on_lost=lost.append).acquire()
    on_all("SET", "removed", "another's")
    until(lambda: lost, "a loss")
    equal((lost[0].name_number, lock.lost), (1, True))
    raises(libredlock.Lost, lock.release)
    on_all("DEL", "removed")


@test
def several_names_are_adopted_and_released_together():
    owner = client.lock("both a", also=["both b"], ttl=TTL_S).acquire().leave()
    lock = client.lock("both a", also=["both b"], ttl=TTL_S).adopt(owner)
    equal(client.lock("both b").try_acquire(), False)
    client.release_owner("both a", lock.leave(), also=["both b"])
    until(lambda: fleet.copies("both a") + fleet.copies("both b") == 0, "names that are free on all nodes")


# ---- reentrant locks -------------------------------------------------------------------------------------------------

@test
def a_thread_enters_again_by_one_object_or_several():
    lock = client.lock("again", reentrant=True, ttl=TTL_S)
    with lock:
        first = lock.fence
        with lock, client.lock("again", reentrant=True) as other:
            equal((lock.entries, other.entries, other.fence), (3, 3, first))
            equal(in_thread(lock.try_acquire), False)
        equal((lock.entries, lock.held), (1, True))
    equal((lock.entries, lock.held), (0, False))
    raises(libredlock.NotHeld, lock.release)
    until(lambda: fleet.copies("again") == 0, "a name that is free on all nodes")


@test
def threads_that_share_a_reentrant_object_have_turns():
    lock, counts, inside = client.lock("turns", reentrant=True, ttl=TTL_S), [0], []

    def work():
        for _ in range(5):
            with lock:
                with lock:
                    inside.append(1)
                    value = counts[0]
                    equal(lock.entries, 2)
                    counts[0] = value + 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal((counts[0], len(inside)), (20, 20))


@test
def an_identity_is_an_owner_in_every_thread():
    lock = client.lock("identity", reentrant=True, identity=7, ttl=TTL_S)
    with lock:
        equal(in_thread(lambda: client.lock("identity", reentrant=True, identity=7).acquire(wait=0).entries), 2)
        gc.collect()
        equal(client.lock("identity", reentrant=True, identity=8).try_acquire(), False)
    raises(ValueError, client.lock, "identity", identity=7)
    raises(ValueError, client.lock, "identity", reentrant=True, identity=2**63)


@test
def every_entry_is_told_of_a_loss():
    told = []
    outer = client.lock("lost", reentrant=True, identity=9, ttl=TTL_S, renew_every=0.1,
                        on_lost=lambda report: told.append("outer")).acquire()
    inner = client.lock("lost", reentrant=True, identity=9, on_lost=lambda report: told.append("inner")).acquire()
    gone = client.lock("lost", reentrant=True, identity=9, on_lost=lambda report: told.append("gone")).acquire()
    gone.release()
    outer.release()  # the one that the library knows
    on_all("SET", "lost", "another's")
    until(lambda: told, "a loss")
    equal((told, inner.lost), (["inner"], True))
    raises(libredlock.Lost, client.lock("lost", reentrant=True, identity=9).acquire)
    raises(libredlock.Lost, inner.release)
    on_all("DEL", "lost")
    equal(client.lock("lost", reentrant=True, identity=9).acquire(wait=PATIENCE_S).entries, 1)


@test
def a_thread_that_ends_inside_leaves():
    lock = client.lock("ended", reentrant=True, ttl=TTL_S)
    in_thread(lambda: lock.acquire().acquire().entries)
    gc.collect()
    equal(client.lock("ended").acquire(wait=PATIENCE_S).held, True)


# ---- asyncio ---------------------------------------------------------------------------------------------------------

@test
def every_kind_is_awaited():
    async def run():
        async with libredlock.aio.Client(connect_timeout=20, node_timeout=20) as own:
            async with own.lock("async slots", permits=2, ttl=TTL_S) as lock:
                equal((lock.slot in (0, 1), (await own.inspect_slots("async slots")).permits), (True, 2))
                owner = lock.leave()
            adopted = await own.lock("async slots", permits=2, ttl=TTL_S).adopt(owner)
            equal(adopted.held, True)
            await own.release_owner("async slots", adopted.leave(), permits=2)
            async with own.lock("async read", kind="shared", ttl=TTL_S), own.lock("async read", kind="shared", ttl=TTL_S):
                equal(await own.lock("async read").try_acquire(), False)
                equal((await own.inspect("async read")).sharer_count >= 1, True)
            async with own.lock("async a", also=["async b"], ttl=TTL_S) as lock:
                equal((await own.inspect("async b")).holder.pid, os.getpid())
            try:
                await own.release_owner("async a", b"nobody", also=["async b"])
            except libredlock.NotHeld:
                return
            raise AssertionError("NotHeld was expected")

    asyncio.run(run())


@test
def a_task_enters_again_and_another_one_waits():
    async def run():
        async with libredlock.aio.Client(connect_timeout=20, node_timeout=20) as own:
            lock = own.lock("async again", reentrant=True, ttl=TTL_S)
            async with lock:
                async with lock, own.lock("async again", reentrant=True):
                    equal(lock.entries, 3)
                    equal(await asyncio.create_task(lock.try_acquire()), False)
            equal(lock.held, False)
            async with own.lock("async again", wait=PATIENCE_S):
                equal(lock.entries, 0)
            async with own.lock("async identity", reentrant=True, identity=3, ttl=TTL_S) as outer:
                async def enter():
                    async with own.lock("async identity", reentrant=True, identity=3) as inner:
                        return inner.entries
                equal((await asyncio.create_task(enter()), outer.entries), (2, 1))

    asyncio.run(run())


# ---- looking at locks, and ending them -------------------------------------------------------------------------------

@test
def locks_are_listed():
    with client.lock("listed one", why="first", ttl=TTL_S) as one, client.lock("listed two", kind="shared", ttl=TTL_S):
        until(lambda: len(client.list("listed *")) == 2, "two locks")
        found = {listed.name: listed for listed in client.list("listed *")}
        equal((found[b"listed one"].holder.why, found[b"listed one"].kind, found[b"listed one"].fence), ("first", "exclusive", one.fence))
        equal((found[b"listed two"].kind, found[b"listed two"].quorum, found[b"listed two"].foreign), ("shared", 3, False))
    until(lambda: not client.list("listed *"), "no locks")


@test
def what_happens_to_a_name_is_told_until_enough_was_seen():
    seen, began = [], threading.Event()

    def each(event):
        seen.append((event.change, event.lock.name))
        began.set()
        return event.change != "released"

    thread = threading.Thread(target=lambda: client.watch(each, name="watched", every=0.05))
    thread.start()
    began.wait()
    with client.lock("watched", ttl=TTL_S):
        until(lambda: len(seen) > 1, "an acquisition that is seen")
    thread.join()
    equal((seen[0], seen[1], seen[-1]), (("free", b"watched"), ("acquired", b"watched"), ("released", b"watched")))
    raises(ZeroDivisionError, client.watch, lambda event: 1 // 0, name="watched")


@test
def closing_the_client_ends_a_watch_and_a_wait():
    other, ended, began = libredlock.Client(), [], threading.Event()

    def run(call, *arguments, **named):
        ended.append(type(raises(libredlock.RedlockError, call, *arguments, **named)))

    with client.lock("closed", ttl=TTL_S):
        threads = [threading.Thread(target=run, args=(other.watch, lambda event: began.set()), kwargs={"name": "closed"}),
                   threading.Thread(target=run, args=(other.wait, "closed"))]
        for thread in threads:
            thread.start()
        began.wait()
        until(lambda: len(Waiting._pending) == 2, "a watch and a wait")
        other.close()
        for thread in threads:
            thread.join()
    equal(set(ended), {libredlock.Canceled})


@test
def a_name_is_waited_for_and_a_lock_broken():
    lost = []
    lock = client.lock("broken", ttl=TTL_S, renew_every=0.1, why="stuck", on_lost=lost.append).acquire()
    raises(libredlock.Busy, client.wait, "broken", wait=0)
    raises(libredlock.Timeout, client.wait, "broken", wait=0.05)
    raises(libredlock.NotHeld, client.break_lock, "broken", "nobody00")
    client.break_lock("broken", client.inspect("broken").holder.id)
    client.wait("broken", wait=PATIENCE_S)
    until(lambda: lost, "a holder that was told")
    equal((lost[0].broken, lock.lost), (True, True))
    lock = client.lock("broken", ttl=TTL_S).acquire(wait=PATIENCE_S)
    client.break_lock("broken", lock.owner, grace=0)
    client.wait("broken")


main()
