"""kazoo's Lock recipe: every client has a session of its own, up to 16 of them; more clients than that share them."""

import logging

from driver import drive
from kazoo.client import KazooClient

logging.disable(logging.CRITICAL)
SESSIONS = 16


def connect(nodes):
    hosts = ",".join(f"{host}:{port}" for host, port in nodes)
    sessions = []

    def open_client():
        if len(sessions) < SESSIONS:
            session = KazooClient(hosts=hosts, timeout=10)
            session.start()
            sessions.append(session)
        session = sessions[open_client.count % SESSIONS]
        open_client.count += 1

        def acquire(name):
            lock = session.Lock("/" + name)
            return lock.release if lock.acquire() else None
        return acquire
    open_client.count = 0
    return open_client


drive(connect)
