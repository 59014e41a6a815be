"""A client of a fleet of nodes: options, opening and closing, over forks and at the end of the interpreter."""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
import time
import weakref
from typing import Callable, Iterable, List, Optional, Union

from . import _beside, _operating
from ._errors import Canceled, Result, error
from ._library import Options, Stats, lib, sized
from ._lock import Lock, check_which, milliseconds, reporter, to_bytes, which_spec
from ._operating import Event, Listed, Slots

MODES = {"guarded": 0, "plain": 1}
FORMATS = {"common": 0, "redisson": 1}
open_clients: "weakref.WeakSet[Opened]" = weakref.WeakSet()


class Opened:
    """The C client of one process. It closes with its last user, and before the interpreter ends.

    `with opened as pointer:` makes a call. No call begins once it is closed, and it is not closed while one is about to begin.
    """

    def __init__(self, options: Options):
        pointer = ctypes.c_void_p()
        report = reporter().raw
        code = lib.redlock_client_open(ctypes.byref(options), ctypes.byref(pointer), ctypes.byref(report))
        if code != 0:
            raise error(code, report)
        self.pointer: Optional[int] = pointer.value
        self.pid = os.getpid()
        self._mutex = threading.Lock()
        self._calls = 0
        open_clients.add(self)

    def __enter__(self) -> int:
        with self._mutex:
            if self.pointer is None:
                raise Canceled("the client was closed")
            self._calls += 1
            return self.pointer

    def __exit__(self, *_) -> None:
        with self._mutex:
            self._calls -= 1

    def process(self) -> None:
        """What an event loop does when the descriptor is readable."""
        if self.pointer is not None:
            with self as pointer:
                lib.redlock_client_process(pointer)

    def close(self) -> None:
        if getattr(self, "pointer", None) is None:
            return
        if self.pid != os.getpid():  # a fork: of the parent's threads none is here, and the mutex may be theirs
            pointer, self.pointer = self.pointer, None
            lib.redlock_client_close(pointer)
            return
        with self._mutex:
            pointer, self.pointer = self.pointer, None
        if pointer is not None and self._calls_have_begun(pointer):
            lib.redlock_client_close(pointer)

    def _calls_have_begun(self, pointer: int) -> bool:
        """Waits until every call has ended or waits for a lock: those are inside the library, which cancels them."""
        stats = sized(Stats)
        for _ in range(10000):
            if self._calls == 0:
                return True
            if lib.redlock_client_stats(pointer, ctypes.byref(stats)) == 0 and stats.waiting >= self._calls:
                return True
            time.sleep(0.001)
        return False  # it stays open: closing it under a call would crash

    def __del__(self):
        self.close()


@atexit.register
def close_all() -> None:
    """The library's threads must not call Python any more once the interpreter is taken apart."""
    for opened in list(open_clients):
        opened.close()


class Client:
    """Locks on the given nodes; may be shared by any number of threads. A forked child opens its own connections at first use."""

    def __init__(self, nodes: Union[str, Iterable[str], None] = None, *, mode: str = "guarded", prefix: str = "",
                 user: Optional[str] = None, password: Optional[str] = None, max_ttl: float = 60.0,
                 connect_timeout: float = 1.0, node_timeout: float = 0.5, drift_ppm: int = 0, tls_ca_file: Optional[str] = None,
                 tls_cert_file: Optional[str] = None, tls_key_file: Optional[str] = None, client_name: Optional[str] = None,
                 anonymous: bool = False, format: str = "common"):
        if nodes is None:
            nodes = os.environ.get("REDLOCK_NODES", "")
        urls = nodes if isinstance(nodes, str) else " ".join(nodes)
        if not urls.strip():
            raise ValueError("no nodes: give their URLs, or set REDLOCK_NODES to them")
        if mode not in MODES:
            raise ValueError(f"unknown mode {mode!r}; there are {', '.join(MODES)}")
        if format not in FORMATS:
            raise ValueError(f"unknown format {format!r}; there are {', '.join(FORMATS)}")
        options = self._options = sized(Options)
        texts = {"nodes": urls, "key_prefix": prefix, "user": user, "password": password, "tls_ca_file": tls_ca_file,
                 "tls_cert_file": tls_cert_file, "tls_key_file": tls_key_file, "client_name": client_name}
        for field, value in texts.items():
            setattr(options, field, value.encode() if value else None)
        options.mode = MODES[mode]
        options.format = FORMATS[format]
        options.max_ttl_ms = milliseconds(max_ttl, "max_ttl")
        options.connect_timeout_ms = milliseconds(connect_timeout, "connect_timeout")
        options.node_timeout_ms = milliseconds(node_timeout, "node_timeout")
        options.drift_ppm = drift_ppm
        options.anonymous = int(anonymous)
        self._closed = False
        self._mutex = threading.Lock()
        self._opened: Optional[Opened] = Opened(options)
        os.register_at_fork(after_in_child=_forked(weakref.ref(self)))

    def _after_fork(self) -> None:
        self._mutex = threading.Lock()  # another thread may have had it

    def opened(self) -> Opened:
        """This process's C client."""
        opened = self._opened
        if opened is not None and opened.pid == os.getpid() and opened.pointer is not None:
            return opened
        with self._mutex:
            if self._closed:
                raise RuntimeError("this client is closed")
            if self._opened is None or self._opened.pid != os.getpid():
                self._opened = Opened(self._options)
            return self._opened

    # ---- locks ----

    def lock(self, name, **settings) -> Lock:
        """A lock of that name, not taken yet; see Lock for the settings."""
        return Lock(self, name, **settings)

    def release_owner(self, name, owner: bytes, *, kind: str = "exclusive", permits: int = 0, also: Iterable = ()) -> None:
        """Releases a lock of which only the owner value and what says which lock it is are known: name, kind, permits and also."""
        spec = which_spec(to_bytes(name), check_which(name, kind, permits, also))
        report = reporter().raw
        with self.opened() as client:
            code = lib.redlock_release_spec(client, ctypes.byref(spec), owner, len(owner), ctypes.byref(report))
        if code != 0:
            raise error(code, report)

    def inspect(self, name=None) -> Result:
        """Who holds a name, who waits for it or shares it, and what each node says; takes nothing."""
        name = None if name is None else to_bytes(name)
        report = reporter().raw
        with self.opened() as client:
            code = lib.redlock_inspect(client, name, len(name or b""), ctypes.byref(report))
        if code != 0:
            raise error(code, report)
        return Result.read(report)

    def inspect_slots(self, name) -> Slots:
        """Who has the slots of a semaphore; takes nothing."""
        return _operating.inspect_slots(self.opened(), name)

    def list(self, glob="", *, foreign: bool = False, partial: bool = False) -> "List[Listed]":
        """Every lock that a quorum of nodes has, of the names that match; see redlock_list(3). It walks through the keys of the nodes."""
        return _operating.list_locks(self.opened(), _operating.list_spec(glob, "", foreign, partial, 0))

    def watch(self, each: "Callable[[Event], object]", *, name="", glob="", foreign: bool = False, every: float = 0.0) -> None:
        """Calls each(event) for what happens to a name, or to all names that match, until it returns False; see redlock_watch(3).

        It runs on a thread of the library, one event at a time. Closing the client ends the wait (Canceled).
        """
        _operating.watch(self.opened(), _operating.list_spec(glob, name, foreign, False, every), each)

    def wait(self, name, *, wait: Optional[float] = None) -> None:
        """Waits until a name is free, and takes nothing: somebody else may have it again. Busy or Timeout: it is held."""
        _operating.wait_until_free(self.opened(), name, wait)

    def break_lock(self, name, holder: Union[str, bytes], *, grace: Optional[float] = None, slot: Optional[int] = None) -> Result:
        """Ends somebody else's hold: `holder` is the id of an inspection, or an owner value. Others are kept out until that one was told, for
        `grace` seconds at most (None: the default, 0: not at all). Of a semaphore, that of one holder; with `slot` only if it has that one. See
        redlock_break(3)."""
        return _operating.break_lock(self.opened(), name, holder, grace, slot)

    def stats(self) -> "dict[str, int]":
        """Counts since the client was opened, by the names in redlock_client_stats(3)."""
        raw = sized(Stats)
        with self.opened() as client:
            code = lib.redlock_client_stats(client, ctypes.byref(raw))
        if code != 0:
            raise error(code, reporter().raw)
        return {name: getattr(raw, name) for name, kind in Stats._fields_ if kind in (ctypes.c_uint64, ctypes.c_int64)}

    # ---- without a lock ----

    def update(self, key, change: "Callable[[Optional[bytes]], Union[bytes, str, None]]", *, node: int = 0,
               tries: int = 100) -> Optional[bytes]:
        """Changes one key of one node (from 0) by WATCH, MULTI and EXEC, and returns what was stored.

        change gets the value, None when there is no such key, and returns the new one; None deletes the key. It runs anew when somebody else changed
        the key meanwhile: Timeout when that was so in each of the tries. An exception in it leaves the key alone, and is raised here.
        """
        return _beside.update(self.opened(), key, change, node, tries)

    def mark(self, name, *, keep: float, age: float = 0.0) -> None:
        """Notes at the nodes that something was done `age` seconds ago, for `keep` seconds; meant for the holder of a lock. See redlock_mark(3)."""
        _beside.mark(self.opened(), name, age, keep)

    def marked(self, name) -> Optional[float]:
        """How many seconds ago it was noted to be done, by the nodes' clocks; None: not, or longer ago than that is kept."""
        return _beside.marked(self.opened(), name)

    def barrier(self, name, parties: int, *, wait: Optional[float] = None, lease: float = 15.0,
                waiting: "Optional[Callable[[int], object]]" = None) -> None:
        """Waits until so many have come, wherever they are, and goes on with them; Timeout when `wait` seconds are over. See redlock_barrier(3).

        waiting is called some times a second with how many wait; when it returns False this one gives up (Canceled).
        """
        _beside.barrier(self.opened(), name, parties, wait, lease, waiting)

    # ---- the end ----

    def close(self) -> None:
        """Cancels what waits and closes the connections. Locks still held are not renewed any more, and expire."""
        with self._mutex:
            self._closed = True
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_) -> None:
        self.close()


def _forked(reference):
    """What a forked child does for a client, as long as there is one."""
    def reset():
        client = reference()
        if client is not None:
            client._after_fork()
    return reset


_default: Optional[Client] = None
_default_mutex = threading.Lock()


def default_client() -> Client:
    """The client of the nodes in REDLOCK_NODES, opened at first use."""
    global _default
    with _default_mutex:
        if _default is None or _default._closed:
            _default = Client()
        return _default


def lock(name, **settings) -> Lock:
    """A lock of that name on the nodes in REDLOCK_NODES: with libredlock.lock("nightly") as lock: ..."""
    return default_client().lock(name, **settings)
