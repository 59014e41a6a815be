"""A drop-in for redlock.Redlock of redlock-py: lock(resource, ttl) and unlock(lock), with the same Lock tuples.

Locks taken here can be unlocked by another process that knows the tuple, as there. Unlike there, a quorum that was reached is never an
error because of the nodes that failed.
"""

from __future__ import annotations

import collections
from typing import Union

from ._client import Client
from ._errors import Busy, NotHeld
from ._lock import Lock as _Lock

Lock = collections.namedtuple("Lock", ("validity", "resource", "key"))


def url_of(connection) -> str:
    """The URL of a node that redlock-py describes by a dictionary."""
    if isinstance(connection, str):
        return connection
    if connection.get("unix_socket_path"):
        return f"unix://{connection['unix_socket_path']}"
    return f"redis://{connection.get('host', 'localhost')}:{connection.get('port', 6379)}/{connection.get('db', 0)}"


class Redlock:
    def __init__(self, connection_list, retry_count: int = 3, retry_delay: float = 0.2, **options):
        password = next((c["password"] for c in connection_list if isinstance(c, dict) and c.get("password")), None)
        self._client = Client([url_of(connection) for connection in connection_list], password=password, **options)
        self._wait = retry_count * retry_delay

    def lock(self, resource, ttl: int) -> Union[Lock, bool]:
        """Takes it for ttl milliseconds; False when another owner has it to the end of the retries, which are one wait here."""
        lock = _Lock(self._client, resource, ttl=ttl / 1000, renew=False)
        try:
            lock.acquire(wait=self._wait)
        except Busy:
            return False
        validity = int(lock.validity * 1000)
        return Lock(validity, resource, lock.leave())

    def unlock(self, lock: Lock) -> None:
        try:
            self._client.release_owner(lock.resource, lock.key)
        except NotHeld:
            pass  # it has expired
