"""redis-py's Lock: one node, a key and a script; it asks again every 100 ms by default."""

from driver import drive
from redis import Redis


def connect(nodes):
    (host, port), = nodes
    redis = Redis(host=host, port=port)

    def acquire(name):
        lock = redis.lock(name, timeout=15)
        return lock.release if lock.acquire() else None
    return lambda: acquire


drive(connect)
