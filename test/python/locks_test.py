"""Locks from Python by blocking calls: threads, processes, forks, losses, exits. On five real nodes."""

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading

from nodes import SOURCE, Fleet, add_one, equal, main, raises, test, until, work

import libredlock
from libredlock.redis_lock import Lock as RedisLock
from libredlock.redis_lock import LockError, LockNotOwnedError
from libredlock.redlock_py import Redlock

fleet = Fleet()
os.environ["REDLOCK_NODES"] = fleet.nodes


def run_python(program, **options):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False,
                          env={**os.environ, "PYTHONPATH": str(SOURCE / "python")}, **options)


@test
def a_block_holds_the_lock_and_gives_it_back():
    with libredlock.lock("nightly", why="testing") as lock:
        equal((lock.held, lock.fence > 0, fleet.copies("nightly") >= 3), (True, True, True))
        problem = raises(libredlock.Busy, libredlock.lock("nightly", wait=0).acquire)
        equal((problem.report.holder.why, problem.report.holder.pid), ("testing", os.getpid()))
        equal(len(problem.report.nodes), 5)
        first = lock.fence
    until(lambda: fleet.copies("nightly") == 0, "a name that is free on all nodes")
    with libredlock.lock("nightly") as lock:
        equal(lock.fence > first, True, "fences rise:")


@test
def an_exception_in_the_block_releases():
    try:
        with libredlock.lock("thrown"):
            raise KeyError("work failed")
    except KeyError:
        pass
    until(lambda: fleet.copies("thrown") == 0, "a name that is free on all nodes")


@test
def several_names_are_one_lock():
    with libredlock.lock("one", also=["two", b"thr\x00ee"]) as lock:
        equal((lock.fence > 0, fleet.copies("one") >= 3, fleet.copies("two") >= 3), (True, True, True))
        raises(libredlock.Busy, libredlock.lock("two", wait=0).acquire)
        raises(libredlock.Busy, libredlock.lock("four", also=["two"], wait=0).acquire)
        equal(fleet.copies("four"), 0)
    until(lambda: fleet.copies("one") + fleet.copies("two") == 0, "names that are free on all nodes")


@test
def no_lock_survives_its_object():
    lock = libredlock.lock("deleted").acquire()
    equal(fleet.copies("deleted") >= 3, True)
    del lock
    gc.collect()
    until(lambda: fleet.copies("deleted") == 0, "a name that is free on all nodes")


@test
def waiting_ends_with_timeout_and_names_the_holder():
    with libredlock.lock("waited"):
        problem = raises(libredlock.Timeout, libredlock.lock("waited", wait=0.05).acquire)
        equal((isinstance(problem, TimeoutError), problem.report.holder.pid), (True, os.getpid()))


@test
def sixteen_threads_lose_no_count():
    path = work / "threads"
    path.write_text("0")
    client = libredlock.Client()

    def count():
        for _ in range(10):
            with client.lock("threads"):
                add_one(path)

    threads = [threading.Thread(target=count) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    client.close()
    equal(path.read_text(), "160")


def count_in_process(path, rounds):
    for _ in range(rounds):
        with libredlock.lock("processes"):
            add_one(path)


@test
def four_forked_processes_lose_no_count_and_open_their_own_connections():
    path = work / "processes"
    path.write_text("0")
    count_in_process(path, 1)  # the default client is open when the others are forked
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=count_in_process, args=(path, 20)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    equal([process.exitcode for process in processes], [0] * 4)
    equal(path.read_text(), "81")


@test
def a_forked_child_does_not_hold_nor_release_what_its_parent_holds():
    with libredlock.lock("parent") as lock:
        child = os.fork()
        if child == 0:
            held = lock.held
            del lock
            gc.collect()
            os._exit(1 if held else 0)
        equal(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0, "the child:")
        equal((lock.held, fleet.copies("parent") >= 3), (True, True))


@test
def a_killed_interpreter_loses_the_lock_after_its_ttl():
    program = "import libredlock, time; libredlock.lock('killed', ttl=3).acquire(); print('held', flush=True); time.sleep(600)"
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE,
                               env={**os.environ, "PYTHONPATH": str(SOURCE / "python")})
    equal(process.stdout.readline(), b"held\n")
    process.send_signal(signal.SIGKILL)
    process.wait()
    with libredlock.lock("killed", wait=60) as lock:
        equal(lock.held, True)


@test
def an_interpreter_may_exit_with_locks_held_and_callbacks_due():
    done = run_python("""
import contextlib, libredlock, threading
def wait():
    with contextlib.suppress(libredlock.Canceled):
        libredlock.lock('exit-0', wait=30).acquire()
kept = [libredlock.lock(f'exit-{number}', ttl=0.2, on_lost=print).acquire() for number in range(20)]
threading.Thread(target=wait, daemon=True).start()
""")
    equal((done.returncode, done.stderr), (0, ""))


@test
def a_client_may_be_closed_while_threads_ask_for_locks():
    def ask(client):
        try:
            while True:
                client.lock("asked", wait=30).acquire().release()
        except (libredlock.Canceled, libredlock.Misuse, RuntimeError):
            ended.append(1)

    for _ in range(10):
        ended = []
        client = libredlock.Client()
        threads = [threading.Thread(target=ask, args=[client]) for _ in range(6)]
        for thread in threads:
            thread.start()
        client.close()
        for thread in threads:
            thread.join()
        equal(len(ended), 6)


@test
def a_lost_lock_says_so_at_once_and_at_the_end_of_the_block():
    told = threading.Event()

    def lose():
        with libredlock.lock("removed", ttl=0.6, on_lost=lambda report: told.set()) as lock:
            for number in range(5):
                fleet.ask(number, "SET", "removed", "another")
            until(told.is_set, "a loss that is told")
            equal((lock.lost, lock.held), (True, False))

    raises(libredlock.Lost, lose)
    for number in range(5):
        fleet.ask(number, "DEL", "removed")


@test
def an_owner_value_takes_a_lock_to_another_process():
    lock = libredlock.lock("handed", ttl=30, tag=b"\0any\xff").acquire()
    fence, owner = lock.fence, lock.leave()
    equal((lock.held, fence > 0), (False, True))
    program = f"import libredlock; libredlock.lock('handed', ttl=30).adopt({owner!r}).release()"
    equal(run_python(program).returncode, 0)
    until(lambda: fleet.copies("handed") == 0, "a name that is free on all nodes")


@test
def an_inspection_sees_holder_tag_and_nodes():
    with libredlock.lock("seen", tag=b"\0any\xff") as lock:
        seen = libredlock.default_client().inspect("seen")
        equal((seen.holder.pid, seen.holder.tag, len(seen.nodes)), (os.getpid(), b"\0any\xff", 5))
        equal(sum(node.owner == lock.owner for node in seen.nodes) >= 3, True)
    equal(libredlock.default_client().stats()["acquired"] > 0, True)


@test
def bad_input_is_named():
    raises(ValueError, libredlock.lock, "")
    raises(ValueError, libredlock.lock, "x", kind="sideways")
    raises(ValueError, libredlock.lock("x", wait=-1).acquire)
    raises(libredlock.Invalid, libredlock.lock("x", ttl=0.001).acquire)
    raises(libredlock.Invalid, libredlock.Client, "http://somewhere")
    raises(libredlock.NotHeld, libredlock.lock("x").release)
    with libredlock.lock("twice") as lock:
        raises(RuntimeError, lock.acquire)
    client = libredlock.Client()
    client.close()
    raises(RuntimeError, client.lock("x").acquire)


@test
def fewer_than_a_quorum_is_no_quorum_with_each_node_named():
    client = libredlock.Client([f"unix://{work}/nobody-{number}.sock" for number in range(3)])
    problem = raises(libredlock.NoQuorum, client.lock("x", wait=0).acquire)
    equal((len(problem.report.nodes), isinstance(problem, ConnectionError)), (3, True))
    client.close()


@test
def code_for_redis_py_goes_on():
    client = libredlock.Client()
    first, second = RedisLock(client, "redis-py", timeout=5), RedisLock(client, "redis-py", blocking_timeout=0.05)
    equal((first.acquire(), second.acquire(), first.locked(), first.owned()), (True, False, True, True))
    equal((first.extend(1), first.reacquire()), (True, True))
    raises(LockError, second.release)
    first.release()
    with second:
        for number in range(5):
            fleet.ask(number, "DEL", "redis-py")
        raises(LockNotOwnedError, second.release)
        second.acquire()
    client.close()


@test
def code_for_redlock_py_goes_on():
    manager = Redlock([{"unix_socket_path": str(fleet.path(number))} for number in range(5)], retry_count=1, retry_delay=0.05)
    lock = manager.lock("redlock-py", 5000)
    equal((0 < lock.validity <= 5000, lock.resource, manager.lock("redlock-py", 5000)), (True, "redlock-py", False))
    manager.unlock(lock)
    manager.unlock(lock)
    equal(bool(manager.lock("redlock-py", 1000)), True)


@test
def the_readme_example_runs_as_it_stands():
    text = (SOURCE / "python" / "README.md").read_text()
    done = run_python(text.split("```python\n")[1].split("```")[0])
    equal((done.returncode, done.stdout.startswith("fencing token ")), (0, True), done.stderr)


main()
