"""Locks from asyncio: many tasks, cancelled ones, losses. On five real nodes."""

import asyncio
import gc
import os
import subprocess
import sys
import threading

from nodes import SOURCE, Fleet, add_one, equal, main, test, until, work

import libredlock
import libredlock.aio

fleet = Fleet()
os.environ["REDLOCK_NODES"] = fleet.nodes


async def until_free(name):
    await asyncio.to_thread(until, lambda: fleet.copies(name) == 0, "a name that is free on all nodes")


@test
def two_hundred_tasks_lose_no_count_and_need_no_thread():
    path = work / "tasks"
    path.write_text("0")

    async def count(client):
        async with client.lock("tasks") as lock:
            equal(lock.held, True)
            add_one(path)
            return threading.get_ident()

    async def run():
        async with libredlock.aio.Client() as client:
            return await asyncio.gather(*(count(client) for _ in range(200)))

    equal(set(asyncio.run(run())), {threading.get_ident()})
    equal(path.read_text(), "200")


COUNT_IN_A_PROCESS = """
import pathlib, sys, libredlock
path = pathlib.Path(sys.argv[1])
for _ in range(10):
    with libredlock.lock("everybody"):
        path.write_text(str(int(path.read_text()) + 1))
"""


@test
def threads_processes_and_tasks_on_one_counter_lose_no_count():
    path = work / "everybody"
    path.write_text("0")
    blocking = libredlock.Client()

    def count_in_a_thread():
        for _ in range(3):
            with blocking.lock("everybody"):
                add_one(path)

    async def count(client):
        async with client.lock("everybody"):
            add_one(path)

    async def count_in_tasks():
        async with libredlock.aio.Client() as client:
            await asyncio.gather(*(count(client) for _ in range(200)))

    processes = [subprocess.Popen([sys.executable, "-c", COUNT_IN_A_PROCESS, str(path)],
                                  env={**os.environ, "PYTHONPATH": str(SOURCE / "python")}) for _ in range(4)]
    threads = [threading.Thread(target=count_in_a_thread) for _ in range(16)]
    for thread in threads:
        thread.start()
    asyncio.run(count_in_tasks())
    for thread in threads:
        thread.join()
    equal([process.wait() for process in processes], [0] * 4, "the processes ended with")
    blocking.close()
    equal(path.read_text(), str(200 + 16 * 3 + 4 * 10))


@test
def a_cancelled_task_leaves_nothing_behind():
    async def run():
        async with libredlock.aio.Client() as client:
            async with client.lock("cancelled"):
                waiter = asyncio.create_task(client.lock("cancelled").acquire())
                await asyncio.sleep(0)
                waiter.cancel()
                try:
                    await waiter
                except asyncio.CancelledError:
                    pass
            await until_free("cancelled")
            tasks = [asyncio.create_task(client.lock("cancelled", ttl=30).acquire()) for _ in range(20)]
            await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await until_free("cancelled")
            equal(await client.lock("cancelled", wait=10).try_acquire(), True)

    asyncio.run(run())


@test
def waits_end_and_errors_carry_the_report():
    async def run():
        async with libredlock.aio.Client() as client:
            async with client.lock("busy", why="first"):
                try:
                    await client.lock("busy").acquire(wait=0.05)
                except libredlock.Timeout as problem:
                    equal(problem.report.holder.why, "first")
                else:
                    raise AssertionError("a timeout was expected")
                equal(await client.lock("busy").try_acquire(), False)

    asyncio.run(run())


@test
def a_loss_is_told_in_the_loop_and_at_the_end_of_the_block():
    async def run():
        told = asyncio.Event()
        async with libredlock.aio.Client() as client:
            async with client.lock("removed", ttl=0.6, on_lost=lambda report: told.set()) as lock:
                for number in range(5):
                    fleet.ask(number, "SET", "removed", "another")
                await asyncio.wait_for(told.wait(), 60)
                equal(lock.lost, True)

    try:
        asyncio.run(run())
    except libredlock.Lost:
        return
    raise AssertionError("Lost was expected")


@test
def extend_and_release_are_awaited():
    async def run():
        async with libredlock.aio.Client() as client:
            lock = await client.lock("extended", ttl=10, renew=False).acquire()
            await lock.extend(30)
            equal(lock.validity > 20, True)
            await lock.release()
            await until_free("extended")

    asyncio.run(run())


@test
def a_release_that_cannot_begin_says_why():
    async def run():
        client = libredlock.aio.Client()
        locks = [await client.lock(f"closed-{number}", ttl=3).acquire() for number in range(20)]
        await client.aclose()
        for lock in locks:
            try:
                await lock.release()
            except libredlock.RedlockError as problem:
                equal(problem.report.nodes, ())
            else:
                raise AssertionError("an error was expected")

    asyncio.run(run())


@test
def a_client_that_is_dropped_does_not_harm_its_loop():
    async def run():
        for number in range(20):
            lock = await libredlock.aio.Client().lock("dropped", ttl=10).acquire()
            equal(lock.held, True)
            await lock.release()
            del lock
            gc.collect()
            await asyncio.sleep(0)

    asyncio.run(run())


main()
