"""Distributed locks on Redis and Valkey nodes: Redlock with fencing tokens, renewal, and nodes that may crash.

    import libredlock

    with libredlock.lock("nightly") as lock:        # nodes from REDLOCK_NODES; waits until it is free
        report(lock.fence)

See Client for explicit nodes, libredlock.aio for asyncio, and redlock(3) for what is promised.
"""

from ._client import Client, default_client, lock
from ._errors import (Busy, Canceled, ForeignType, Forbidden, Holder, Invalid, Lost, Misuse, Node, NoQuorum, NotHeld, Place,
                      Quarantine, RedlockError, Result, SystemRefused, Timeout, TooSlow)
from ._library import lib as _lib
from ._lock import Lock
from ._operating import Event, Listed, Slot, Slots

__version__ = _lib.redlock_version().decode()
__all__ = ["Busy", "Canceled", "Client", "Event", "ForeignType", "Forbidden", "Holder", "Invalid", "Listed", "Lock", "Lost", "Misuse",
           "NoQuorum", "Node", "NotHeld", "Place", "Quarantine", "RedlockError", "Result", "Slot", "Slots", "SystemRefused", "Timeout",
           "TooSlow", "default_client", "lock"]
