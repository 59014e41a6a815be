"""redlock-py: Redlock without extension."""

import logging

from lines import serve
from redlock import Redlock

logging.disable(logging.CRITICAL)


class Peer:
    def __init__(self, _, nodes):
        self.manager = Redlock([{"host": host, "port": port} for host, port in nodes], retry_count=1)
        self.lock = None

    def acquire(self, ttl_ms, names):
        self.lock = self.manager.lock(names[0], ttl_ms)
        return bool(self.lock)

    def release(self):
        self.manager.unlock(self.lock)  # it does not tell what became of it
        return True


serve(Peer)
