"""A drop-in for redis.lock.Lock: the same calls, on a fleet of nodes. Give it a libredlock.Client where redis-py takes a Redis.

What differs, because it must: a lock always expires. timeout=None, which redis-py takes for a lock without an end, is a lock that is
renewed while this process lives and ends 15 seconds after it died.
"""

from __future__ import annotations

from typing import Optional

from ._errors import Busy, RedlockError
from ._lock import Lock as _Lock

RENEWED_TTL = 15.0


class LockError(Exception):
    """As in redis.exceptions."""


class LockNotOwnedError(LockError):
    """As in redis.exceptions."""


class Lock:
    def __init__(self, client, name, timeout: Optional[float] = None, sleep: float = 0.1, blocking: bool = True,
                 blocking_timeout: Optional[float] = None, thread_local: bool = True):
        # sleep and thread_local are accepted and have no meaning: nobody polls, and an object is one lock.
        self.name, self.timeout, self.blocking, self.blocking_timeout = name, timeout, blocking, blocking_timeout
        self._lock = _Lock(client, name, ttl=timeout or RENEWED_TTL, renew=timeout is None)
        self._client = client

    def acquire(self, sleep=None, blocking: Optional[bool] = None, blocking_timeout: Optional[float] = None) -> bool:
        blocking = self.blocking if blocking is None else blocking
        wait = self.blocking_timeout if blocking_timeout is None else blocking_timeout
        try:
            self._lock.acquire(wait=wait if blocking else 0)
        except Busy:
            return False
        return True

    def release(self) -> None:
        if not self._lock.owner:
            raise LockError("Cannot release an unlocked lock")
        self._own(self._lock.release)

    def extend(self, additional_time: float, replace_ttl: bool = False) -> bool:
        if not self._lock.owner:
            raise LockError("Cannot extend an unlocked lock")
        self._own(lambda: self._lock.extend(additional_time if replace_ttl else self._lock.validity + additional_time))
        return True

    def reacquire(self) -> bool:
        if not self._lock.owner:
            raise LockError("Cannot reacquire an unlocked lock")
        self._own(self._lock.extend)
        return True

    def owned(self) -> bool:
        return self._lock.held

    def locked(self) -> bool:
        return self._client.inspect(self.name).holder is not None

    def _own(self, call) -> None:
        try:
            call()
        except RedlockError as problem:
            raise LockNotOwnedError(str(problem)) from problem

    def __enter__(self) -> "Lock":
        if not self.acquire():
            raise LockError("Unable to acquire lock within the time specified")
        return self

    def __exit__(self, *_) -> None:
        self.release()
