"""Our own Python package, beside the Python locks of others. LIBREDLOCK names the library that is measured."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "python"))

from driver import drive  # noqa: E402

import libredlock  # noqa: E402


def connect(nodes):
    client = libredlock.Client([f"redis://{host}:{port}" for host, port in nodes])

    def acquire(name):
        return client.lock(name, wait=1, renew=False).acquire().release
    return lambda: acquire


drive(connect)
