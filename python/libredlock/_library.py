"""The C library as ctypes sees it: where it is, its structs and its functions. It decides nothing.

Every struct mirrors include/redlock.h; a test compares sizes and offsets with a C compiler's.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import pathlib
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_int, c_int32, c_int64, c_size_t, c_ubyte, c_uint32,
                    c_uint64, c_void_p)

SONAME = "libredlock.so.1"
WAIT_FOREVER = -1
TAG_MAX = 128
CAUSES = 64
HISTOGRAM_BUCKETS = 66


class Holder(Structure):
    _fields_ = [
        ("id", c_char * 9), ("host", c_char * 65), ("user", c_char * 33), ("why", c_char * 129), ("pid", c_uint32),
        ("tag_length", c_uint32), ("since_ms", c_int64), ("tag", c_ubyte * TAG_MAX), ("ttl_ms", c_int64), ("broken", c_uint64),
        ("permits", c_uint32),
        ("slot", c_uint32),
        ("reserved", c_uint64 * 5),
    ]


class Report(Structure):
    _fields_ = [
        ("size", c_size_t), ("details", c_void_p), ("result", c_int), ("node_count", c_uint32), ("quorum", c_uint32),
        ("rounds", c_uint32), ("granted", c_uint32), ("held", c_uint32), ("free", c_uint32), ("not_held", c_uint32),
        ("eligible", c_uint32), ("waiting", c_uint32), ("waiter_count", c_uint32), ("waited_ms", c_int64),
        ("validity_ms", c_int64), ("fence", c_uint64), ("holder_ttl_left_ms", c_int64), ("holder", Holder),
        ("line", c_char * 320), ("broken", c_uint32), ("name_number", c_uint32), ("sharers", c_uint32),
    ]


class NodeReport(Structure):
    _fields_ = [
        ("size", c_size_t), ("verdict", c_int), ("cause", c_int), ("eligible", c_uint32), ("notifies", c_uint32),
        ("eligible_in_ms", c_int64), ("latency_us", c_int64), ("ttl_left_ms", c_int64), ("fence", c_uint64),
        ("url", c_char_p), ("detail", c_char_p), ("owner", c_void_p), ("owner_length", c_size_t),
    ]


class Waiter(Structure):
    _fields_ = [("size", c_size_t), ("count", c_uint32), ("place", c_uint32), ("who", Holder)]


class Options(Structure):
    _fields_ = [
        ("size", c_size_t), ("nodes", c_char_p), ("key_prefix", c_char_p), ("mode", c_int), ("max_ttl_ms", c_uint32),
        ("client_name", c_char_p), ("user", c_char_p), ("password", c_char_p), ("tls_ca_file", c_char_p),
        ("tls_cert_file", c_char_p), ("tls_key_file", c_char_p), ("host", c_char_p), ("login", c_char_p),
        ("anonymous", c_uint32), ("connect_timeout_ms", c_uint32), ("node_timeout_ms", c_uint32), ("drift_ppm", c_uint32),
        ("retry_min_ms", c_uint32), ("retry_max_ms", c_uint32), ("allocator", c_void_p), ("log", c_void_p),
        ("log_context", c_void_p), ("trace", c_void_p), ("trace_context", c_void_p), ("pid", c_uint32),
        ("format", c_int),
    ]


LOCK_EVENT = CFUNCTYPE(None, c_void_p, c_void_p, POINTER(Report))
ACQUIRED = CFUNCTYPE(None, c_void_p, c_int, c_void_p, POINTER(Report))
DONE = CFUNCTYPE(None, c_void_p, c_int, POINTER(Report))
SLOT = CFUNCTYPE(c_int, c_void_p, c_void_p)
LISTED = CFUNCTYPE(c_int, c_void_p, c_void_p)
EVENT = CFUNCTYPE(c_int, c_void_p, c_void_p)
UPDATE = CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, POINTER(c_void_p), POINTER(c_size_t))
WAITING = CFUNCTYPE(c_int, c_void_p, c_uint32)


class Name(Structure):
    _fields_ = [("name", c_char_p), ("length", c_size_t)]


class Spec(Structure):
    _fields_ = [
        ("size", c_size_t), ("kind", c_int), ("name", c_char_p), ("name_length", c_size_t), ("ttl_ms", c_uint32),
        ("auto_extend", c_uint32), ("renew_ms", c_uint32), ("max_extensions", c_uint32), ("max_hold_ms", c_int64),
        ("unbound", c_uint32), ("why", c_char_p), ("on_lost", LOCK_EVENT), ("on_renewed", LOCK_EVENT), ("context", c_void_p),
        ("tag", c_char_p), ("tag_length", c_size_t), ("permits", c_uint32), ("reentrant", c_uint32), ("identity", c_uint64),
        ("also", POINTER(Name)), ("also_count", c_uint32), ("keep_on_nodes", c_uint32),
        ("quick_release", c_uint32),
    ]


class Slot(Structure):
    _fields_ = [("size", c_size_t), ("slot", c_uint32), ("votes", c_uint32), ("ttl_left_ms", c_int64), ("holder", Holder)]


class Listed(Structure):
    _fields_ = [
        ("size", c_size_t), ("name", c_void_p), ("name_length", c_size_t), ("kind", c_int), ("foreign", c_uint32),
        ("votes", c_uint32), ("node_count", c_uint32), ("quorum", c_uint32), ("waiting", c_uint32), ("ttl_left_ms", c_int64),
        ("fence", c_uint64), ("holder", Holder),
    ]


class ListSpec(Structure):
    _fields_ = [
        ("size", c_size_t), ("glob", c_char_p), ("glob_length", c_size_t), ("name", c_char_p), ("name_length", c_size_t),
        ("foreign", c_uint32), ("partial", c_uint32), ("every_ms", c_uint32),
    ]


class Event(Structure):
    _fields_ = [("size", c_size_t), ("change", c_int), ("at_ms", c_int64), ("lock", Listed), ("before", Holder)]


class BreakSpec(Structure):
    _fields_ = [
        ("size", c_size_t), ("name", c_char_p), ("name_length", c_size_t), ("id", c_char_p), ("id_length", c_size_t),
        ("grace_ms", c_int64), ("slot_number", c_uint32),
    ]


class BarrierSpec(Structure):
    _fields_ = [
        ("size", c_size_t), ("name", c_char_p), ("name_length", c_size_t), ("parties", c_uint32), ("lease_ms", c_uint32),
        ("waiting", WAITING), ("context", c_void_p),
    ]


class Histogram(Structure):
    _fields_ = [("count", c_uint64), ("sum_us", c_uint64), ("buckets", c_uint64 * HISTOGRAM_BUCKETS)]


class Stats(Structure):
    _fields_ = [("size", c_size_t)] + [(name, c_uint64) for name in (
        "acquired", "busy", "timeouts", "canceled", "no_quorum", "too_slow", "quarantined", "forbidden", "failed", "rounds",
        "fence_rounds", "extended", "extend_failed", "renewed", "renew_failed", "released", "release_failed", "lost", "held",
        "waiting", "connected", "eligible")] + [("lowest_validity_ms", c_int64)] + [(name, Histogram) for name in (
            "acquire_ok", "acquire_failed", "extend", "release", "renew")]


def sized(kind):
    """A zeroed struct that says how large it is."""
    value = kind()
    value.size = ctypes.sizeof(kind)
    return value


FUNCTIONS = {
    "redlock_client_open": (c_int, [POINTER(Options), POINTER(c_void_p), POINTER(Report)]),
    "redlock_client_close": (None, [c_void_p]),
    "redlock_client_node_count": (c_uint32, [c_void_p]),
    "redlock_client_fd": (c_int, [c_void_p]),
    "redlock_client_process": (c_int, [c_void_p]),
    "redlock_client_stats": (c_int, [c_void_p, POINTER(Stats)]),
    "redlock_acquire": (c_int, [c_void_p, POINTER(Spec), c_int64, POINTER(c_void_p), POINTER(Report)]),
    "redlock_adopt": (c_int, [c_void_p, POINTER(Spec), c_char_p, c_size_t, POINTER(c_void_p), POINTER(Report)]),
    "redlock_extend": (c_int, [c_void_p, c_uint32, POINTER(Report)]),
    "redlock_release": (c_int, [c_void_p, POINTER(Report)]),
    "redlock_release_spec": (c_int, [c_void_p, POINTER(Spec), c_char_p, c_size_t, POINTER(Report)]),
    "redlock_inspect": (c_int, [c_void_p, c_char_p, c_size_t, POINTER(Report)]),
    "redlock_inspect_slots": (c_int, [c_void_p, c_char_p, c_size_t, SLOT, c_void_p, POINTER(c_uint32), POINTER(Report)]),
    "redlock_list": (c_int, [c_void_p, POINTER(ListSpec), LISTED, c_void_p, POINTER(Report)]),
    "redlock_break": (c_int, [c_void_p, POINTER(BreakSpec), POINTER(Report)]),
    "redlock_update": (c_int, [c_void_p, c_uint32, c_char_p, c_size_t, UPDATE, c_void_p, c_uint32, POINTER(Report)]),
    "redlock_mark": (c_int, [c_void_p, c_char_p, c_size_t, c_int64, c_int64, POINTER(Report)]),
    "redlock_marked": (c_int, [c_void_p, c_char_p, c_size_t, POINTER(c_int64), POINTER(Report)]),
    "redlock_barrier": (c_int, [c_void_p, POINTER(BarrierSpec), c_int64, POINTER(Report)]),
    "redlock_lock_free": (None, [c_void_p]),
    "redlock_lock_validity_ms": (c_int64, [c_void_p]),
    "redlock_lock_fence": (c_uint64, [c_void_p]),
    "redlock_lock_name": (c_void_p, [c_void_p, POINTER(c_size_t)]),
    "redlock_lock_owner": (c_void_p, [c_void_p, POINTER(c_size_t)]),
    "redlock_lock_slot": (c_int32, [c_void_p]),
    "redlock_lock_entries": (c_uint32, [c_void_p]),
    "redlock_acquire_async": (c_int, [c_void_p, POINTER(Spec), c_int64, ACQUIRED, c_void_p, POINTER(c_uint64)]),
    "redlock_extend_async": (c_int, [c_void_p, c_uint32, DONE, c_void_p, POINTER(c_uint64)]),
    "redlock_release_async": (c_int, [c_void_p, DONE, c_void_p, POINTER(c_uint64)]),
    "redlock_adopt_async": (c_int, [c_void_p, POINTER(Spec), c_char_p, c_size_t, ACQUIRED, c_void_p, POINTER(c_uint64)]),
    "redlock_release_spec_async": (c_int, [c_void_p, POINTER(Spec), c_char_p, c_size_t, DONE, c_void_p, POINTER(c_uint64)]),
    "redlock_inspect_async": (c_int, [c_void_p, c_char_p, c_size_t, DONE, c_void_p, POINTER(c_uint64)]),
    "redlock_inspect_slots_async": (c_int, [c_void_p, c_char_p, c_size_t, SLOT, DONE, c_void_p, POINTER(c_uint64)]),
    "redlock_watch_async": (c_int, [c_void_p, POINTER(ListSpec), EVENT, DONE, c_void_p, POINTER(c_uint64)]),
    "redlock_wait_async": (c_int, [c_void_p, c_char_p, c_size_t, c_int64, DONE, c_void_p, POINTER(c_uint64)]),
    "redlock_cancel": (c_int, [c_void_p, c_uint64]),
    "redlock_details_new": (c_void_p, [c_void_p]),
    "redlock_details_free": (None, [c_void_p]),
    "redlock_report_node": (c_int, [POINTER(Report), c_uint32, POINTER(NodeReport)]),
    "redlock_report_waiter": (c_int, [POINTER(Report), c_uint32, POINTER(Waiter)]),
    "redlock_report_sharer": (c_int, [POINTER(Report), c_uint32, POINTER(Holder)]),
    "redlock_version": (c_char_p, []),
    "redlock_change_name": (c_char_p, [c_int]),
    "redlock_verdict_name": (c_char_p, [c_int]),
    "redlock_cause_name": (c_char_p, [c_int]),
    "redlock_result_name": (c_char_p, [c_int]),
}


def find():
    """The library: the one named by LIBREDLOCK, else the one this package carries, else the system's."""
    named = os.environ.get("LIBREDLOCK")
    if named:
        return named
    carried = pathlib.Path(__file__).with_name(SONAME)
    return str(carried) if carried.exists() else SONAME


def load():
    try:
        library = ctypes.CDLL(find())
    except OSError as problem:
        raise ImportError(f"libredlock: the C library cannot be loaded ({problem}); install {SONAME}, or name it in "
                          "LIBREDLOCK") from problem
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library


lib = load()
