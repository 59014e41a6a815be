"""Looking at locks that others have, and ending them: slots, lists, watching, waiting, breaking. It takes nothing; see redlock_list(3) and its like."""

from __future__ import annotations

import ctypes
import itertools
import threading
from dataclasses import dataclass
from typing import Callable, Optional

from ._errors import Holder, Reporter, Result, error, seconds, text
from ._library import DONE, EVENT, LISTED, SLOT, BreakSpec, ListSpec, Report, lib, sized
from ._library import Event as RawEvent
from ._library import Listed as RawListed
from ._library import Slot as RawSlot
from ._lock import KINDS, milliseconds, to_bytes, wait_ms

KIND_NAMES = {number: name for name, number in KINDS.items()}
BREAK_NOW = -1
CANCELED = 5


@dataclass(frozen=True)
class Slot:
    """A slot of a semaphore that is held."""

    slot: int  # from 0
    votes: int  # nodes that have this holder's key
    ttl_left: Optional[float]  # seconds that a quorum will have it unless it is renewed
    holder: Optional[Holder]

    @classmethod
    def read(cls, raw) -> "Slot":
        return cls(raw.slot, raw.votes, seconds(raw.ttl_left_ms), Holder.read(raw.holder))


@dataclass(frozen=True)
class Slots:
    """The slots of a semaphore, from the first to the last that is held."""

    permits: int  # how many there are; 0: it is no semaphore, or nobody has a slot
    held: "tuple[Slot, ...]"


@dataclass(frozen=True)
class Listed:
    """A lock that was seen."""

    name: bytes
    kind: str
    foreign: bool  # its owner value is not one of ours
    votes: int
    node_count: int
    quorum: int
    waiting: int
    ttl_left: Optional[float]  # seconds; None never expires, or not known
    fence: int
    holder: Optional[Holder]
    slot: Optional[int] = None  # of a semaphore, each slot of which is reported by itself: which one, from 0
    permits: int = 0  # and how many there are

    @classmethod
    def read(cls, raw) -> "Listed":
        return cls(ctypes.string_at(raw.name, raw.name_length) if raw.name else b"", KIND_NAMES.get(raw.kind, str(raw.kind)), bool(raw.foreign),
                   raw.votes, raw.node_count, raw.quorum, raw.waiting, seconds(raw.ttl_left_ms), raw.fence, Holder.read(raw.holder),
                   raw.holder.slot if raw.holder.permits else None, raw.holder.permits)


@dataclass(frozen=True)
class Event:
    """What was seen to happen to a lock: "acquired", "handed on", "released", and the rest of redlock_watch(3)."""

    change: str
    at: float  # seconds since 1970
    lock: Listed  # as it is now
    before: Optional[Holder]  # the holder before, if it was another one


class Visitor:
    """A function that a C call runs for each thing that it finds: False ends it, and what is raised is raised where the call was made."""

    def __init__(self, each: "Callable[[object], object]", kind, read):
        self.each, self.kind, self.read = each, kind, read
        self.problem: Optional[BaseException] = None
        self.stopped = False

    def __call__(self, _context, raw) -> int:
        try:
            self.stopped = self.each(self.read(ctypes.cast(raw, ctypes.POINTER(self.kind)).contents)) is False
        except BaseException as problem:  # noqa: BLE001 - raised again where the call was made
            self.problem = problem
        return int(self.stopped or self.problem is not None)

    def end(self, code: int, report) -> None:
        if self.problem is not None:
            raise self.problem
        if code != 0 and not (code == CANCELED and self.stopped):
            raise error(code, report)


def inspect_slots(opened, name) -> Slots:
    name, report, permits, found = to_bytes(name), Reporter(), ctypes.c_uint32(), []
    visitor = Visitor(found.append, RawSlot, Slot.read)
    with opened as client:
        code = lib.redlock_inspect_slots(client, name, len(name), SLOT(visitor), None, ctypes.byref(permits), ctypes.byref(report.raw))
    visitor.end(code, report.raw)
    return Slots(permits.value, tuple(found))


def list_spec(glob, name, foreign: bool, partial: bool, every: float) -> ListSpec:
    spec = sized(ListSpec)
    glob, name = to_bytes(glob), to_bytes(name)
    spec.glob, spec.glob_length = glob or None, len(glob)
    spec.name, spec.name_length = name or None, len(name)
    spec.foreign, spec.partial = int(foreign), int(partial)
    spec.every_ms = milliseconds(every, "every")
    return spec


def list_locks(opened, spec: ListSpec) -> "list[Listed]":
    report, found = Reporter(), []
    visitor = Visitor(found.append, RawListed, Listed.read)
    with opened as client:
        code = lib.redlock_list(client, ctypes.byref(spec), LISTED(visitor), None, ctypes.byref(report.raw))
    visitor.end(code, report.raw)
    return found


class Waiting:
    """A call that may take for ever: asynchronous to the library, so that closing the client or an interrupt ends it."""

    _numbers = itertools.count(1)
    _pending: "dict[int, Waiting]" = {}

    def __init__(self, opened):
        self.opened = opened
        self.number = next(self._numbers)
        self.ended = threading.Event()
        self.problem: Optional[Exception] = None
        self.code = 0

    def run(self, call) -> int:
        """The result, once there is one."""
        request = ctypes.c_uint64()
        self._pending[self.number] = self
        with self.opened as client:
            code = call(client, waited, self.number, ctypes.byref(request))
        if code != 0:
            self._pending.pop(self.number)
            raise error(code, sized(Report))
        try:
            self.ended.wait()
        except BaseException:
            if self.opened.pointer is not None:
                with self.opened as client:
                    lib.redlock_cancel(client, request.value)
            self.ended.wait()
            raise
        return self.code


@DONE
def waited(context, code, report):
    """Runs on a thread of the library."""
    waiting = Waiting._pending.pop(context)
    waiting.code = code
    waiting.problem = error(code, report.contents) if code != 0 else None
    waiting.ended.set()


def watch(opened, spec: ListSpec, each) -> None:
    visitor = Visitor(each, RawEvent, lambda raw: Event(text(lib.redlock_change_name(raw.change)), raw.at_ms / 1000, Listed.read(raw.lock),
                                                        Holder.read(raw.before)))
    callback, waiting = EVENT(visitor), Waiting(opened)
    code = waiting.run(lambda client, *rest: lib.redlock_watch_async(client, ctypes.byref(spec), callback, *rest))
    if visitor.problem is not None:
        raise visitor.problem
    if code != 0 and not (code == CANCELED and visitor.stopped):
        raise waiting.problem


def wait_until_free(opened, name, wait: Optional[float]) -> None:
    name, waiting = to_bytes(name), Waiting(opened)
    if waiting.run(lambda client, *rest: lib.redlock_wait_async(client, name, len(name), wait_ms(wait), *rest)) != 0:
        raise waiting.problem


def break_lock(opened, name, holder, grace: Optional[float], slot: Optional[int]) -> Result:
    name, holder, report, spec = to_bytes(name), to_bytes(holder), Reporter(), sized(BreakSpec)
    spec.name, spec.name_length = name, len(name)
    spec.id, spec.id_length = holder, len(holder)
    spec.slot_number = 0 if slot is None else slot + 1
    spec.grace_ms = 0 if grace is None else milliseconds(grace, "grace") or BREAK_NOW
    with opened as client:
        code = lib.redlock_break(client, ctypes.byref(spec), ctypes.byref(report.raw))
    if code != 0:
        raise error(code, report.raw)
    return Result.read(report.raw)
