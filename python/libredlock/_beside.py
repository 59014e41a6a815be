"""What is no lock: a key that is changed without one, notes of what was done, and meetings. It decides nothing; see redlock_update(3) and its like."""

from __future__ import annotations

import ctypes
from typing import Callable, Optional, Union

from ._errors import error
from ._library import UPDATE, WAITING, BarrierSpec, lib, sized
from ._lock import Reporter, milliseconds, to_bytes, wait_ms

Value = Optional[bytes]


class Update:
    """One call of redlock_update(): runs the caller's function, and keeps what it made until the call returns."""

    def __init__(self, change: "Callable[[Value], Union[bytes, str, None]]"):
        self.change = change
        self.made: Value = None
        self.kept = None
        self.problem: Optional[BaseException] = None

    def __call__(self, _context, value, length, following, following_length) -> int:
        try:
            made = self.change(None if value is None else ctypes.string_at(value, length))
            self.made = None if made is None else to_bytes(made)
        except BaseException as problem:  # noqa: BLE001 - raised again where the call was made
            self.problem = problem
            return 1
        self.kept = None if self.made is None else ctypes.create_string_buffer(self.made, max(len(self.made), 1))
        following[0] = None if self.kept is None else ctypes.addressof(self.kept)
        following_length[0] = len(self.made or b"")
        return 0


def update(opened, key, change, node: int, tries: int) -> Value:
    key, doing, report = to_bytes(key), Update(change), Reporter()
    with opened as client:
        code = lib.redlock_update(client, node, key, len(key), UPDATE(doing), None, tries, ctypes.byref(report.raw))
    if doing.problem is not None:
        raise doing.problem
    if code != 0:
        raise error(code, report.raw)
    return doing.made


def mark(opened, name, age: float, keep: float) -> None:
    name, report = to_bytes(name), Reporter()
    with opened as client:
        code = lib.redlock_mark(client, name, len(name), int(age * 1000), int(keep * 1000), ctypes.byref(report.raw))
    if code != 0:
        raise error(code, report.raw)


def marked(opened, name) -> Optional[float]:
    name, report, age_ms = to_bytes(name), Reporter(), ctypes.c_int64()
    with opened as client:
        code = lib.redlock_marked(client, name, len(name), ctypes.byref(age_ms), ctypes.byref(report.raw))
    if code == NOT_HELD:
        return None
    if code != 0:
        raise error(code, report.raw)
    return age_ms.value / 1000


NOT_HELD = 3


class Meeting:
    """One call of redlock_barrier(): tells the caller's function how many wait, and ends it when the client is closed."""

    def __init__(self, opened, waiting: "Optional[Callable[[int], object]]"):
        self.opened = opened
        self.waiting = waiting
        self.problem: Optional[BaseException] = None

    def __call__(self, _context, arrived: int) -> int:
        if self.opened.pointer is None:
            return 1
        try:
            return int(self.waiting is not None and self.waiting(arrived) is False)
        except BaseException as problem:  # noqa: BLE001 - raised again where the call was made
            self.problem = problem
            return 1


def barrier(opened, name, parties: int, wait: Optional[float], lease: float, waiting) -> None:
    name, meeting, report = to_bytes(name), Meeting(opened, waiting), Reporter()
    spec = sized(BarrierSpec)
    spec.name, spec.name_length, spec.parties = name, len(name), parties
    spec.lease_ms = milliseconds(lease, "lease")
    spec.waiting = WAITING(meeting)
    with opened as client:
        code = lib.redlock_barrier(client, ctypes.byref(spec), wait_ms(wait), ctypes.byref(report.raw))
    if meeting.problem is not None:
        raise meeting.problem
    if code != 0:
        raise error(code, report.raw)
