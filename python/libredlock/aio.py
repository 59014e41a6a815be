"""Locks for asyncio: the library's descriptor is in the loop, and no call leaves its thread.

    async with libredlock.aio.Client() as client:
        async with client.lock("nightly") as lock:
            await work(lock.fence)
"""

from __future__ import annotations

import asyncio
import ctypes
import itertools
import os
import weakref
from typing import Optional

from . import _client
from ._errors import Busy, Lost, NotHeld, Result, error
from ._operating import RawSlot, Slot, Slots, Visitor
from ._library import ACQUIRED, DONE, SLOT, Report, lib, sized
from ._lock import OWN_IDENTITIES, BaseLock, Entries, Handle, check_which, milliseconds, to_bytes, which_spec

_numbers = itertools.count(1)
_pending: "dict[int, _Request]" = {}


class _Request:
    """A call under way. Its callback runs exactly once, inside the loop."""

    def __init__(self, loop, handle: Optional[Handle] = None, client=None):
        self.number = next(_numbers)
        self.done = loop.create_future()
        self.handle = handle
        self.client = client
        self.id = ctypes.c_uint64()
        self.wants_result = False
        self.result: Optional[Result] = None
        _pending[self.number] = self

    def end(self, code: int, report) -> None:
        self.result = Result.read(report.contents) if code == 0 and self.wants_result else None
        problem = error(code, report.contents) if code != 0 else None
        if not self.done.done():
            self.done.set_result(problem)


@ACQUIRED
def _acquired(context, code, lock, report):
    request = _pending.pop(context)
    if code == 0:
        request.handle.take(lock, request.client)
    request.end(code, report)


@DONE
def _done(context, code, report):
    _pending.pop(context).end(code, report)


class Client:
    """Locks on the given nodes for the event loop it is first used in. Takes the same options as libredlock.Client."""

    def __init__(self, nodes=None, **options):
        self._client = _client.Client(nodes, **options)
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._pid = os.getpid()
        self._fd = -1

    def _attach(self):
        loop = asyncio.get_running_loop()
        opened = self._client.opened()
        if self._loop is loop and self._fd >= 0 and self._pid == os.getpid():
            return opened
        if self._loop is not None and self._loop is not loop and not self._loop.is_closed():
            raise RuntimeError("this client belongs to another event loop; make one for each")
        self._loop, self._pid = loop, os.getpid()
        with opened as pointer:
            self._fd = lib.redlock_client_fd(pointer)
        if self._fd < 0:
            raise OSError("libredlock: the system refused a descriptor for the event loop")
        loop.add_reader(self._fd, opened.process)
        return opened

    def lock(self, name, **settings) -> "Lock":
        """A lock of that name, not taken yet; the settings are those of libredlock.Lock."""
        return Lock(self, name, **settings)

    async def release_owner(self, name, owner: bytes, *, kind: str = "exclusive", permits: int = 0, also=()) -> None:
        """Releases a lock of which only the owner value and what says which lock it is are known; see libredlock.Client."""
        spec = which_spec(to_bytes(name), check_which(name, kind, permits, also))
        await self._ask(lambda pointer, *rest: lib.redlock_release_spec_async(pointer, ctypes.byref(spec), owner, len(owner), *rest))

    async def inspect(self, name=None) -> Result:
        """Who holds a name, who waits for it or shares it, and what each node says; takes nothing."""
        name = None if name is None else to_bytes(name)
        return await self._ask(lambda pointer, *rest: lib.redlock_inspect_async(pointer, name, len(name or b""), *rest), cancel=True)

    async def inspect_slots(self, name) -> Slots:
        """Who has the slots of a semaphore; takes nothing."""
        name, found = to_bytes(name), []
        visitor = Visitor(found.append, RawSlot, Slot.read)
        tell = SLOT(visitor)
        await self._ask(lambda pointer, *rest: lib.redlock_inspect_slots_async(pointer, name, len(name), tell, *rest), cancel=True)
        visitor.end(0, None)
        found.sort(key=lambda slot: slot.slot)
        return Slots(found[0].holder.permits if found else 0, tuple(found))

    async def _ask(self, call, cancel: bool = False) -> Result:
        opened = self._attach()
        request = _Request(asyncio.get_running_loop())
        request.wants_result = True
        with opened as pointer:
            code = call(pointer, _done, request.number, ctypes.byref(request.id))
        if code != 0:
            _pending.pop(request.number)
            raise error_of(code)
        await _finish(request, opened, cancel=cancel)
        return request.result

    async def aclose(self) -> None:
        """Cancels what waits and closes the connections; at most a node timeout long."""
        if self._loop is not None and self._fd >= 0:
            self._loop.remove_reader(self._fd)
            self._fd = -1
        self._client.close()

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *_) -> None:
        await self.aclose()


async def _finish(request: _Request, opened, cancel: bool) -> None:
    """Waits for the callback, also when the task is cancelled: then the request is, and what it got is given back."""
    try:
        problem = await asyncio.shield(request.done)
    except asyncio.CancelledError:
        if cancel and opened.pointer is not None:
            lib.redlock_cancel(opened.pointer, request.id.value)
        problem = await request.done
        if problem is None and request.handle is not None and request.handle.pointer is not None:
            await _release(request.handle, asyncio.get_running_loop())
        raise
    if problem is not None:
        raise problem


async def _release(handle: Handle, loop) -> Optional[Exception]:
    request = _Request(loop)
    code = lib.redlock_release_async(handle.pointer, _done, request.number, ctypes.byref(request.id))
    if code != 0:
        _pending.pop(request.number)
        handle.free()
        return error_of(code)
    try:
        return await asyncio.shield(request.done)
    finally:
        if not request.done.done():
            await request.done
        handle.free()


class _TaskEntries:
    """The handles of a reentrant lock, for each task that may enter it again."""

    def __init__(self):
        self._stacks: "weakref.WeakKeyDictionary[asyncio.Task, list[Handle]]" = weakref.WeakKeyDictionary()

    @property
    def stack(self) -> "list[Handle]":
        try:
            task = asyncio.current_task()
        except RuntimeError:
            task = None  # nobody's, outside of the loop
        return [] if task is None else self._stacks.setdefault(task, [])


_task_numbers: "weakref.WeakKeyDictionary[asyncio.Task, int]" = weakref.WeakKeyDictionary()


class Lock(BaseLock):
    """As libredlock.Lock, awaited: `async with`, or acquire() and release(). With reentrant=True a task enters again."""

    def _new_entries(self):
        return _TaskEntries() if self._settings["reentrant"] and not self._settings["identity"] else Entries()

    def _identity(self) -> int:
        if not self._settings["reentrant"] or self._settings["identity"]:
            return self._settings["identity"]
        task = asyncio.current_task()
        if task not in _task_numbers:
            _task_numbers[task] = OWN_IDENTITIES + next(_numbers)
        return _task_numbers[task]

    async def acquire(self, *, wait=...) -> "Lock":
        """Takes it; see libredlock.Lock.acquire(). Cancelling the task leaves nothing behind at the nodes."""
        return await self._begin(lambda pointer, spec, *rest: lib.redlock_acquire_async(
            pointer, ctypes.byref(spec), self._wait_ms(wait), *rest))

    async def _begin(self, call) -> "Lock":
        opened = self._client._attach()
        loop = asyncio.get_running_loop()
        told = self._on_lost
        handle, spec = self._new_handle(None if told is None else lambda report: loop.call_soon_threadsafe(told, report))
        request = _Request(loop, handle, opened)
        with opened as pointer:
            code = call(pointer, spec, _acquired, request.number, ctypes.byref(request.id))
        if code != 0:
            _pending.pop(request.number)
            raise error_of(code)
        await _finish(request, opened, cancel=True)
        self._keep(handle)
        return self

    async def adopt(self, owner: bytes) -> "Lock":
        """Goes on with a lock that another process acquired, whose `owner` is known: extends it to `ttl` from now."""
        return await self._begin(lambda pointer, spec, *rest: lib.redlock_adopt_async(
            pointer, ctypes.byref(spec), owner, len(owner), *rest))

    async def try_acquire(self) -> bool:
        try:
            await self.acquire(wait=0)
        except Busy:
            return False
        return True

    async def extend(self, ttl: Optional[float] = None) -> None:
        handle = self._held_handle()
        request = _Request(asyncio.get_running_loop())
        code = lib.redlock_extend_async(handle.pointer, 0 if ttl is None else milliseconds(ttl, "ttl"), _done, request.number,
                                        ctypes.byref(request.id))
        if code != 0:
            _pending.pop(request.number)
            raise error_of(code)
        await _finish(request, handle.client, cancel=True)

    async def release(self) -> None:
        """Releases it. Raises Lost when its validity had ended before."""
        handle = self._take_back()
        problem = await _release(handle, asyncio.get_running_loop())
        if problem is not None:
            raise problem

    async def __aenter__(self) -> "Lock":
        return await self.acquire()

    async def __aexit__(self, kind, value, trace) -> None:
        if self._handle is None or not self._handle.ours:
            return
        try:
            await self.release()
        except (Lost, NotHeld):
            if value is None:
                raise


def error_of(code: int) -> Exception:
    """A call that did not begin has no report."""
    return error(code, sized(Report))


__all__ = ["Client", "Lock"]
