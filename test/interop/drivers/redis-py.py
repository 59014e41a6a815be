"""redis-py's Lock, which is made for one node: here one on every node, all with the same owner value."""

import uuid

from lines import serve
from redis import Redis
from redis.exceptions import LockError


class Peer:
    def __init__(self, _, nodes):
        self.nodes = [Redis(host=host, port=port) for host, port in nodes]
        self.locks = []

    def acquire(self, ttl_ms, names):
        locks = [node.lock(names[0], timeout=ttl_ms / 1000) for node in self.nodes]
        owner = uuid.uuid4().hex
        granted = [lock for lock in locks if lock.acquire(blocking=False, token=owner)]
        if len(granted) < len(locks):
            for lock in granted:
                lock.release()
            return False
        self.locks = locks
        return True

    def extend(self, ttl_ms):
        return self.on_each(lambda lock: lock.extend(ttl_ms / 1000, replace_ttl=True))

    def release(self):
        return self.on_each(lambda lock: lock.release())

    def on_each(self, function):
        done = 0
        for lock in self.locks:
            try:
                function(lock)
                done += 1
            except LockError:  # not its own any more, there
                pass
        return done > len(self.nodes) // 2


serve(Peer)
