"""What a call came to, as exceptions that carry the library's report. It does not decide which calls raise."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Optional

from ._library import Holder as RawHolder
from ._library import NodeReport, Report, Waiter, lib, sized


@dataclass(frozen=True)
class Holder:
    """Who holds a lock or waits for it, as far as its owner value says."""

    id: str
    host: str
    user: str
    why: str
    pid: int
    since: float  # seconds since 1970
    ttl: float  # it was taken with; 0 not known
    tag: bytes
    broken: bool = False  # an operator has broken it, and it may not know that yet
    slot: Optional[int] = None  # of a semaphore, where a slot of it is reported: which one, from 0
    permits: int = 0  # and how many there are; 0: it is no semaphore

    @classmethod
    def read(cls, raw) -> "Optional[Holder]":
        if not raw.id and not raw.host and not raw.pid:
            return None
        return cls(text(raw.id), text(raw.host), text(raw.user), text(raw.why), raw.pid, raw.since_ms / 1000, raw.ttl_ms / 1000,
                   bytes(raw.tag[:raw.tag_length]), bool(raw.broken), raw.slot if raw.permits else None, raw.permits)


@dataclass(frozen=True)
class Node:
    """What one node answered in the last round."""

    url: str
    verdict: str
    cause: str  # "none" when nothing is known to be wrong
    detail: str
    eligible: bool
    eligible_in: Optional[float]  # seconds of quarantine left; None when that cannot be said
    latency: Optional[float]  # seconds
    ttl_left: Optional[float]  # seconds; None never expires, or not known
    fence: int
    owner: Optional[bytes]


@dataclass(frozen=True)
class Place:
    """A waiter, in the report of an inspection."""

    who: Optional[Holder]
    count: int
    place: int


@dataclass(frozen=True)
class Result:
    """A report: what a call came to, in numbers and in one readable line."""

    line: str
    node_count: int
    quorum: int
    granted: int
    held: int
    eligible: int
    rounds: int
    waited: float
    fence: int
    holder: Optional[Holder]
    holder_ttl_left: Optional[float]
    waiting: int
    broken: bool = False  # an operator has broken the lock
    nodes: "tuple[Node, ...]" = field(default=(), repr=False)
    waiters: "tuple[Place, ...]" = field(default=(), repr=False)
    name_number: Optional[int] = None  # of several names: which was in the way, or was lost; 0 is the name, 1 the first of also
    sharer_count: int = 0  # how many share the lock; 0 it is not shared
    sharers: "tuple[Holder, ...]" = field(default=(), repr=False)  # from an inspection, 16 of them at most

    @classmethod
    def read(cls, raw) -> "Result":
        return cls(text(raw.line), raw.node_count, raw.quorum, raw.granted, raw.held, raw.eligible, raw.rounds,
                   raw.waited_ms / 1000, raw.fence, Holder.read(raw.holder), seconds(raw.holder_ttl_left_ms), raw.waiting, bool(raw.broken),
                   tuple(read_nodes(raw)), tuple(read_waiters(raw)), raw.name_number - 1 if raw.name_number else None, raw.sharers,
                   tuple(read_sharers(raw)))


def text(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


def seconds(ms: int) -> Optional[float]:
    return ms / 1000 if ms >= 0 else None


def read_nodes(report):
    raw = sized(NodeReport)
    index = 0
    while report.details and lib.redlock_report_node(ctypes.byref(report), index, ctypes.byref(raw)):
        owner = ctypes.string_at(raw.owner, raw.owner_length) if raw.owner else None
        yield Node(text(raw.url), text(lib.redlock_verdict_name(raw.verdict)), text(lib.redlock_cause_name(raw.cause)),
                   text(raw.detail), bool(raw.eligible), seconds(raw.eligible_in_ms),
                   raw.latency_us / 1e6 if raw.latency_us >= 0 else None, seconds(raw.ttl_left_ms), raw.fence, owner)
        index += 1


def read_waiters(report):
    raw = sized(Waiter)
    index = 0
    while report.details and lib.redlock_report_waiter(ctypes.byref(report), index, ctypes.byref(raw)):
        yield Place(Holder.read(raw.who), raw.count, raw.place)
        index += 1


def read_sharers(report):
    raw = RawHolder()
    index = 0
    while report.details and lib.redlock_report_sharer(ctypes.byref(report), index, ctypes.byref(raw)):
        yield Holder.read(raw)
        index += 1


class RedlockError(Exception):
    """Something other than the lock itself came of a call; `report` says what, node by node."""

    def __init__(self, line: str, report: Optional[Result] = None):
        super().__init__(line)
        self.report = report


class Busy(RedlockError):
    """Held by another owner, and the caller did not want to wait."""


class Timeout(Busy, TimeoutError):
    """Still held by another owner when the wait ran out."""


class NotHeld(RedlockError):
    """Released already, or not on a quorum of nodes."""


class Lost(RedlockError):
    """It was held, and its validity ended before it was released: the work may have run unprotected."""


class Canceled(RedlockError):
    """The request was cancelled, or its client closed."""


class NoQuorum(RedlockError, ConnectionError):
    """Too few nodes could be reached."""


class TooSlow(RedlockError):
    """A quorum granted it, but too late for any validity to be left."""


class Quarantine(RedlockError):
    """Too few nodes are eligible to vote: restarted or wiped nodes wait until old locks have expired."""


class Forbidden(RedlockError, PermissionError):
    """The nodes refused the credentials or the rights."""


class ForeignType(RedlockError):
    """The key holds something that is not a lock of this kind."""


class Invalid(RedlockError, ValueError):
    """An argument is wrong."""


class Misuse(RedlockError):
    """Right arguments at the wrong time."""


class SystemRefused(RedlockError, OSError):
    """The operating system refused a descriptor, a thread or the like."""


ERRORS = {1: Busy, 2: Timeout, 3: NotHeld, 4: Lost, 5: Canceled, 16: NoQuorum, 17: TooSlow, 18: Quarantine, 19: Forbidden,
          20: ForeignType, 32: Invalid, 33: Misuse, 35: SystemRefused}
NO_MEMORY = 34


def error(code: int, report) -> Exception:
    """The exception for a result; report: the C struct."""
    result = Result.read(report)
    line = result.line or text(lib.redlock_result_name(code))
    return MemoryError(line) if code == NO_MEMORY else ERRORS.get(code, RedlockError)(line, result)


class Reporter:
    """A report with room for each node's part, used for one call at a time."""

    def __init__(self):
        self.details = lib.redlock_details_new(None)
        self.raw = sized(Report)
        self.raw.details = self.details

    def __del__(self):
        if getattr(self, "details", None):
            lib.redlock_details_free(self.details)
