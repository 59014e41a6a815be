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

KINDS = {"exclusive": 0, "fair": 1, "shared": 2}


def milliseconds(value: float, what: str) -> int:
    if value != value or value < 0:
        raise ValueError(f"{what} must not be negative: {value!r}")
    return min(int(round(value * 1000)), 2**31 - 1)


def wait_ms(wait: Optional[float]) -> int:
    return WAIT_FOREVER if wait is None else milliseconds(wait, "wait")


class Handle:
    """A lock at the nodes, and the C handle of it. Freed exactly once, in whichever process and order."""

    _numbers = itertools.count(1)
    _by_number: "weakref.WeakValueDictionary[int, Handle]" = weakref.WeakValueDictionary()

    def __init__(self, on_lost: Optional[Callable[[Result], None]] = None):
        self.number = next(self._numbers)
        self.pointer: Optional[int] = None
        self.pid = os.getpid()
        self.lost = threading.Event()
        self.on_lost = on_lost
        self.fence = 0
        self.owner = b""
        self.client = None  # keeps it open for as long as a lock is held
        self._by_number[self.number] = self

    def take(self, pointer: int, client) -> None:
        length = ctypes.c_size_t()
        self.pointer = pointer
        self.client = client
        self.fence = lib.redlock_lock_fence(pointer)
        owner = lib.redlock_lock_owner(pointer, ctypes.byref(length))
        self.owner = ctypes.string_at(owner, length.value) if owner else b""

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
    if handle is None:
        return
    handle.lost.set()
    if handle.on_lost is not None:
        handle.on_lost(Result.read(report.contents))


def make_spec(name: bytes, handle: Handle, settings: dict) -> Spec:
    spec = sized(Spec)
    spec.kind = settings["kind"]
    spec.name = name
    spec.name_length = len(name)
    spec.ttl_ms = settings["ttl_ms"]
    spec.auto_extend = 1 if settings["renew"] else 0
    spec.unbound = 1
    spec.why = settings["why"]
    spec.on_lost = lost_callback
    spec.context = handle.number
    spec.tag = settings["tag"]
    spec.tag_length = len(settings["tag"])
    if settings["also"]:
        names = (Name * len(settings["also"]))(*[Name(other, len(other)) for other in settings["also"]])
        spec.also = names  # ctypes keeps the array with the struct
        spec.also_count = len(names)
    return spec


def check_settings(name, ttl, renew, why, kind, tag, also) -> dict:
    if kind not in KINDS:
        raise ValueError(f"unknown kind {kind!r}; there are {', '.join(KINDS)}")
    if not name:
        raise ValueError("a lock needs a name")
    return {"kind": KINDS[kind], "ttl_ms": milliseconds(ttl, "ttl"), "renew": renew, "why": why.encode(), "tag": bytes(tag),
            "also": [to_bytes(other) for other in also]}


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


class BaseLock:
    """What a lock knows of itself, whichever way it is waited for: its settings, its handle, and what that says."""

    def __init__(self, client, name, *, ttl: float = 15.0, wait: Optional[float] = None, renew: bool = True, why: str = "",
                 kind: str = "exclusive", tag: bytes = b"", also: Iterable = (),
                 on_lost: Optional[Callable[[Result], None]] = None):
        self._settings = check_settings(name, ttl, renew, why, kind, tag, also)
        self._client = client
        self._wait = wait
        self._on_lost = on_lost
        self._handle: Optional[Handle] = None
        self.name = name

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
    def owner(self) -> bytes:
        """The secret value that signs the lock at the nodes, for adopt() by another process."""
        return self._handle.owner if self._handle is not None else b""

    @property
    def lost(self) -> bool:
        """Whether it was lost since it was taken: the work may run unprotected."""
        return self._handle is not None and self._handle.lost.is_set()

    def _held_handle(self) -> Handle:
        if self._handle is None or not self._handle.ours:
            raise NotHeld(f"{self.name!r} is not held by this object")
        return self._handle

    def _new_handle(self, on_lost: Optional[Callable[[Result], None]]) -> "tuple[Handle, Spec]":
        """For the next attempt to take it."""
        if self._handle is not None and self._handle.ours:
            raise RuntimeError(f"{self.name!r} is held already by this object; it is not reentrant")
        handle = Handle(on_lost)
        return handle, make_spec(to_bytes(self.name), handle, self._settings)

    def _wait_ms(self, wait) -> int:
        return wait_ms(self._wait if wait is ... else wait)

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.{type(self).__name__} {self.name!r} {'held' if self.held else 'not held'}>"


class Lock(BaseLock):
    """A lock of one name. Use it with `with`, or call acquire() and release(); not reentrant, as threading.Lock.

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
        """Goes on with a lock that another process acquired, whose `owner` is known."""
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
        self._handle = handle

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
        handle = self._held_handle()
        report = reporter().raw
        code = lib.redlock_release(handle.pointer, ctypes.byref(report))
        problem = error(code, report) if code != 0 else None
        handle.free()
        self._handle = None
        if problem is not None:
            raise problem

    def leave(self) -> bytes:
        """Leaves it at the nodes, where it ends by itself, and returns its owner value for adopt()."""
        handle = self._held_handle()
        handle.free()
        self._handle = None
        return handle.owner

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
