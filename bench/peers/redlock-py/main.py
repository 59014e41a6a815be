"""redlock-py with its defaults: three attempts, 200 ms apart."""

import logging

from driver import drive
from redlock import Redlock

logging.disable(logging.CRITICAL)


def connect(nodes):
    manager = Redlock([{"host": host, "port": port} for host, port in nodes])

    def acquire(name):
        lock = manager.lock(name, 15000)
        return (lambda: manager.unlock(lock)) if lock else None
    return lambda: acquire


drive(connect)
