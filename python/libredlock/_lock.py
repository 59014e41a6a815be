"""One lock: what it knows of itself, and how it is taken and released by blocking calls. Waiting in an event loop is aio's."""

from __future__ import annotations

import ctypes
import itertools
import os
import threading
import weakref
from typing import Callable, Iterable, Optional

from ._errors import Busy, Lost, NotHeld, Reporter, Result, error
from ._library import LOCK_EVENT, WAIT_FOREVER, Name, Spec, lib, sized

KINDS = {"exclusive": 0, "fair": 1, "shared": 2, "semaphore": 3}


OWN_IDENTITIES = 2**63  # from here on: those of aio's tasks


def milliseconds(value: float, what: str) -> int:
    if value != value or value < 0:
        raise ValueError(f"{what} must not be negative: {value!r}")
    return min(int(round(value * 1000)), 2**31 - 1)


def wait_ms(wait: Optional[float]) -> int:
    return WAIT_FOREVER if wait is None else milliseconds(wait, "wait")


class Handle:
    """A lock at the nodes, and the C handle of it. Freed exactly once, in whichever process and order.

    Of a reentrant lock it is one entry: those of one owner have the same pointer, and each frees it once.
    """

    _numbers = itertools.count(1)
    _by_number: "weakref.WeakValueDictionary[int, Handle]" = weakref.WeakValueDictionary()

    def __init__(self, on_lost: Optional[Callable[[Result], None]] = None, reentrant: bytes = b""):
        self.number = next(self._numbers)
        self.reentrant = reentrant  # the name, if it may be entered again
        self.early: "Optional[tuple[int, Result]]" = None  # a loss that was told before its pointer was known
        self.pointer: Optional[int] = None
        self.pid = os.getpid()
        self.lost = threading.Event()
        self._untold = [True]
        self.on_lost = on_lost
        self.fence = 0
        self.slot: Optional[int] = None
        self.owner = b""
        self.client = None  # keeps it open for as long as a lock is held
        self._by_number[self.number] = self

    def take(self, pointer: int, client) -> None:
        length = ctypes.c_size_t()
        self.pointer = pointer
        self.client = client
        self.fence = lib.redlock_lock_fence(pointer)
        slot = lib.redlock_lock_slot(pointer)
        self.slot = slot if slot >= 0 else None
        owner = lib.redlock_lock_owner(pointer, ctypes.byref(length))
        self.owner = ctypes.string_at(owner, length.value) if owner else b""
        if self.early is not None and self.early[0] == pointer and self.validity() == 0:
            self.lose(self.early[1])

    def lose(self, result: Result) -> None:
        """Tells its user, once."""
        self.lost.set()
        try:
            self._untold.pop()
        except IndexError:
            return
        if self.on_lost is not None:
            self.on_lost(result)

    @property
    def ours(self) -> bool:
        """Whether there is a handle that this process took, not one that a fork inherited."""
        return self.pointer is not None and self.pid == os.getpid()

    def validity(self) -> float:
        return lib.redlock_lock_validity_ms(self.pointer) / 1000 if self.ours else 0.0

    def free(self) -> None:
        pointer, self.pointer = self.pointer, None
        if pointer is not None:
            lib.redlock_lock_free(pointer)
        self.client = None

    def __del__(self):
        pointer = self.pointer
        if pointer is None:
            return
        if self.pid == os.getpid():
            lib.redlock_release(pointer, None)  # no lock outlives its object; after a close this does nothing
        self.free()


@LOCK_EVENT
def lost_callback(context, _lock, report):
    """Runs on a thread of the library."""
    handle = Handle._by_number.get(context)
    if handle is not None:
        handle.lose(Result.read(report.contents))


@LOCK_EVENT
def entries_lost_callback(_context, lock, report):
    """The same for a reentrant lock: every entry is told, and one whose call has not returned yet when it does."""
    length = ctypes.c_size_t()
    start = lib.redlock_lock_name(lock, ctypes.byref(length))
    name, result = ctypes.string_at(start, length.value), Result.read(report.contents)
    entries = [handle for handle in list(Handle._by_number.values()) if handle.reentrant == name]
    for handle in entries:
        handle.early = (lock, result)
    for handle in entries:
        if handle.pointer == lock:
            handle.lose(result)


def which_spec(name: bytes, settings: dict) -> Spec:
    """What says which lock it is, and nothing else."""
    spec = sized(Spec)
    spec.kind = settings["kind"]
    spec.name = name
    spec.name_length = len(name)
    spec.permits = settings["permits"]
    if settings["also"]:
        names = (Name * len(settings["also"]))(*[Name(other, len(other)) for other in settings["also"]])
        spec.also = names  # ctypes keeps the array with the struct
        spec.also_count = len(names)
    return spec


def make_spec(name: bytes, handle: Handle, settings: dict, identity: int) -> Spec:
    spec = which_spec(name, settings)
    spec.ttl_ms = settings["ttl_ms"]
    spec.auto_extend = 1 if settings["renew"] else 0
    spec.renew_ms = settings["renew_ms"]
    spec.unbound = 1
    spec.why = settings["why"]
    spec.on_lost = entries_lost_callback if settings["reentrant"] else lost_callback
    spec.context = handle.number
    spec.tag = settings["tag"]
    spec.tag_length = len(settings["tag"])
    spec.reentrant = int(settings["reentrant"])
    spec.identity = identity
    spec.quick_release = int(settings["quick_release"])
    return spec


def check_which(name, kind, permits, also) -> dict:
    """The settings that say which lock it is. Permits make it a semaphore."""
    if permits and kind == "exclusive":
        kind = "semaphore"
    if kind not in KINDS:
        raise ValueError(f"unknown kind {kind!r}; there are {', '.join(KINDS)}")
    if not name:
        raise ValueError("a lock needs a name")
    if not 0 <= permits < 2**32:
        raise ValueError(f"permits must not be negative: {permits!r}")
    return {"kind": KINDS[kind], "permits": permits, "also": [to_bytes(other) for other in also]}


def check_settings(ttl, renew, renew_every, why, tag, reentrant, identity) -> dict:
    if identity and not reentrant:
        raise ValueError("identity is for reentrant locks: say reentrant=True, too")
    if not 0 <= identity < OWN_IDENTITIES:
        raise ValueError(f"identity must be below 2**63, and not negative: {identity!r}")
    return {"ttl_ms": milliseconds(ttl, "ttl"), "renew": renew, "renew_ms": milliseconds(renew_every, "renew_every"), "why": why.encode(),
            "tag": bytes(tag), "reentrant": bool(reentrant), "identity": identity}


def to_bytes(name) -> bytes:
    return name.encode() if isinstance(name, str) else bytes(name)


reporters = threading.local()


def reporter() -> Reporter:
    """This thread's report."""
    try:
        return reporters.one
    except AttributeError:
        reporters.one = Reporter()
        return reporters.one


class Entries:
    """The handles of one owner."""

    def __init__(self):
        self.stack: "list[Handle]" = []


class BaseLock:
    """What a lock knows of itself, whichever way it is waited for: its settings, its handle, and what that says.

    kind: "exclusive", "shared" (several readers, or one who has it alone), "semaphore" (with permits: one of so many slots), "fair".
    also: names that are locked together with this one, all or none. reentrant: an owner that is inside enters again, without asking
    the nodes, and is out after as many releases; owners are threads (in aio: tasks), or those who give the same `identity`.
    renew_every: seconds between renewals; a third of the ttl unless set. quick_release: release() of a lock that is still valid does
    not wait for the nodes' answers, and does not find out whether they had lost it.
    """

    def __init__(self, client, name, *, ttl: float = 15.0, wait: Optional[float] = None, renew: bool = True, why: str = "",
                 kind: str = "exclusive", tag: bytes = b"", also: Iterable = (),
                 on_lost: Optional[Callable[[Result], None]] = None, permits: int = 0, reentrant: bool = False, identity: int = 0,
                 renew_every: float = 0.0, quick_release: bool = False):
        also = list(also)
        self._settings = {**check_which(name, kind, permits, also), "quick_release": bool(quick_release),
                          **check_settings(ttl, renew, renew_every, why, tag, reentrant, identity)}
        self._client = client
        self._wait = wait
        self._on_lost = on_lost
        self._entries = self._new_entries()
        self.name = name
        self.names = (name, *also)

    def _new_entries(self):
        """Where handles are kept: for everybody, or for each thread that may enter again."""
        return threading.local() if self._settings["reentrant"] and not self._settings["identity"] else Entries()

    def _stack(self) -> "list[Handle]":
        """The handles of the caller, innermost last; more than one when it has entered again."""
        entries = self._entries
        try:
            return entries.stack
        except AttributeError:
            entries.stack = []
            return entries.stack

    @property
    def _handle(self) -> Optional[Handle]:
        stack = self._stack()
        return stack[-1] if stack else None

    @property
    def held(self) -> bool:
        """Whether it may still be relied on."""
        return self.validity > 0

    @property
    def validity(self) -> float:
        """Seconds that may still be relied on; reads a clock, asks nobody."""
        return self._handle.validity() if self._handle is not None else 0.0

    @property
    def fence(self) -> int:
        """The fencing token: higher than that of every lock of this name handed out before. 0 in plain mode."""
        return self._handle.fence if self._handle is not None else 0

    @property
    def slot(self) -> Optional[int]:
        """Which slot of a semaphore it is, from 0: no two holders have the same one at a time. None: no semaphore, or not held."""
        return self._handle.slot if self._handle is not None else None

    @property
    def entries(self) -> int:
        """How often its owner is inside: more than 1 when it was entered again, 0 when it is not held."""
        handle = self._handle
        return lib.redlock_lock_entries(handle.pointer) if handle is not None and handle.ours else 0

    @property
    def owner(self) -> bytes:
        """The secret value that signs the lock at the nodes, for adopt() by another process."""
        return self._handle.owner if self._handle is not None else b""

    @property
    def lost(self) -> bool:
        """Whether it was lost since it was taken: the work may run unprotected."""
        return self._handle is not None and self._handle.lost.is_set()

    def _held_handle(self) -> Handle:
        handle = self._handle
        if handle is None or not handle.ours:
            raise NotHeld(f"{self.name!r} is not held by this object")
        return handle

    def _identity(self) -> int:
        """Who enters again; 0: the calling thread."""
        return self._settings["identity"]

    def _new_handle(self, on_lost: Optional[Callable[[Result], None]]) -> "tuple[Handle, Spec]":
        """For the next attempt to take it."""
        reentrant, name = self._settings["reentrant"], to_bytes(self.name)
        if not reentrant and self._handle is not None and self._handle.ours:
            raise RuntimeError(f"{self.name!r} is held already by this object; it is not reentrant")
        handle = Handle(on_lost, name if reentrant else b"")
        return handle, make_spec(name, handle, self._settings, self._identity())

    def _keep(self, handle: Handle) -> None:
        self._stack().append(handle)

    def _take_back(self) -> Handle:
        """The innermost handle, for its end."""
        self._held_handle()
        return self._stack().pop()

    def leave(self) -> bytes:
        """Leaves it at the nodes, where it ends by itself, and returns its owner value for adopt()."""
        handle = self._take_back()
        handle.free()
        return handle.owner

    def _wait_ms(self, wait) -> int:
        return wait_ms(self._wait if wait is ... else wait)

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.{type(self).__name__} {self.name!r} {'held' if self.held else 'not held'}>"


class Lock(BaseLock):
    """A lock. Use it with `with`, or call acquire() and release(); as threading.Lock, or with reentrant=True as threading.RLock.

    It is renewed until it is released, unless renew=False. When it is lost all the same, `lost` is set and on_lost is called (on a
    thread of the library) before anybody else can get it; leaving the block then raises Lost.
    """

    # ---- taking it ----

    def acquire(self, *, wait=...) -> "Lock":
        """Takes it, waiting as long as the lock was made to, or `wait` seconds (None: without end, 0: not at all). Raises Busy or
        Timeout when another owner has it, and what else RedlockError stands for."""
        handle, spec = self._new_handle(self._on_lost)
        self._begin(handle, lambda client, lock, report: lib.redlock_acquire(
            client, ctypes.byref(spec), self._wait_ms(wait), lock, report))
        return self

    def adopt(self, owner: bytes) -> "Lock":
        """Goes on with a lock that another process acquired, whose `owner` is known: extends it to `ttl` from now."""
        handle, spec = self._new_handle(self._on_lost)
        self._begin(handle, lambda client, lock, report: lib.redlock_adopt(client, ctypes.byref(spec), owner, len(owner), lock,
                                                                          report))
        return self

    def _begin(self, handle: Handle, call) -> None:
        pointer = ctypes.c_void_p()
        report = reporter().raw
        opened = self._client.opened()
        with opened as client:
            code = call(client, ctypes.byref(pointer), ctypes.byref(report))
        if code != 0:
            raise error(code, report)
        handle.take(pointer.value, opened)
        self._keep(handle)

    def try_acquire(self) -> bool:
        """Takes it if it is free; False when another owner has it."""
        try:
            self.acquire(wait=0)
        except Busy:
            return False
        return True

    # ---- while it is held ----

    def extend(self, ttl: Optional[float] = None) -> None:
        """Lengthens the lease to `ttl` seconds from now (None: the TTL it was made with). Raises Lost or NotHeld."""
        handle = self._held_handle()
        report = reporter().raw
        code = lib.redlock_extend(handle.pointer, 0 if ttl is None else milliseconds(ttl, "ttl"), ctypes.byref(report))
        if code != 0:
            raise error(code, report)

    # ---- giving it back ----

    def release(self) -> None:
        """Releases it. Raises Lost when its validity had ended before: the work may have run unprotected."""
        handle = self._take_back()
        report = reporter().raw
        code = lib.redlock_release(handle.pointer, ctypes.byref(report))
        problem = error(code, report) if code != 0 else None
        handle.free()
        if problem is not None:
            raise problem

    def __enter__(self) -> "Lock":
        return self.acquire()

    def __exit__(self, kind, value, trace) -> None:
        if self._handle is None or not self._handle.ours:
            return  # released inside the block
        try:
            self.release()
        except (Lost, NotHeld):
            if value is None:
                raise
