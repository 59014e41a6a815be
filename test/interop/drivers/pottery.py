"""pottery's Redlock; its keys begin with redlock:."""

from lines import serve
from pottery import ExtendUnlockedLock, Redlock, ReleaseUnlockedLock
from redis import Redis


class Peer:
    def __init__(self, _, nodes):
        self.masters = {Redis(host=host, port=port) for host, port in nodes}
        self.lock = None

    def acquire(self, ttl_ms, names):
        lock = Redlock(key=names[0], masters=self.masters, auto_release_time=ttl_ms / 1000)
        if not lock.acquire(blocking=False):
            return False
        self.lock = lock
        return True

    def extend(self, ttl_ms):
        self.lock.auto_release_time = ttl_ms / 1000
        try:
            self.lock.extend()
            return True
        except ExtendUnlockedLock:
            return False

    def release(self):
        try:
            self.lock.release()
            return True
        except ReleaseUnlockedLock:
            return False


serve(Peer)
