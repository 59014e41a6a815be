"""python-redis-lock on one node; its keys begin with lock:, and its leases are whole seconds."""

import logging

from lines import serve
from redis import StrictRedis
from redis_lock import Lock, NotAcquired

logging.disable(logging.CRITICAL)


class Peer:
    def __init__(self, _, nodes):
        (host, port), = nodes
        self.redis = StrictRedis(host=host, port=port)
        self.lock = None

    def acquire(self, ttl_ms, names):
        lock = Lock(self.redis, names[0], expire=ttl_ms // 1000)
        if not lock.acquire(blocking=False):
            return False
        self.lock = lock
        return True

    def extend(self, ttl_ms):
        return self.attempt(lambda: self.lock.extend(ttl_ms // 1000))

    def release(self):
        return self.attempt(self.lock.release)

    @staticmethod
    def attempt(function):
        try:
            function()
            return True
        except NotAcquired:
            return False


serve(Peer)
