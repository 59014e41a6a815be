"""pottery's Redlock with its defaults, used like threading.Lock."""

from driver import drive
from pottery import Redlock
from redis import Redis


def connect(nodes):
    masters = {Redis(host=host, port=port) for host, port in nodes}

    def acquire(name):
        lock = Redlock(key=name, masters=masters, auto_release_time=15)
        return lock.release if lock.acquire() else None
    return lambda: acquire


drive(connect)
