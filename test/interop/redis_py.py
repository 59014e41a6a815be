"""redis-py's Lock holds, extends and releases a lock on every node as lib.sh tells it to, line by line.
Usage: redis_py.py SOCKET..."""

import sys
import uuid

import redis

TTL_S = 600
nodes = [redis.Redis(unix_socket_path=socket) for socket in sys.argv[1:]]
held = []


def acquire(name):
    locks = [node.lock(name, timeout=TTL_S) for node in nodes]
    token = uuid.uuid4().hex  # one holder, not five
    granted = [lock for lock in locks if lock.acquire(blocking=False, token=token)]
    if len(granted) < len(locks):
        for lock in granted:
            lock.release()
        return "refused"
    held[:] = locks
    return "held"


def extend():
    for lock in held:
        lock.extend(TTL_S, replace_ttl=True)
    return "extended"


def release():
    for lock in held:
        lock.release()
    return "released"


commands = {"acquire": acquire, "extend": extend, "release": release}
for line in sys.stdin:
    command, *names = line.split()
    try:
        print(commands[command](*names), flush=True)
    except redis.exceptions.RedisError as error:
        print(f"failed: {error}", flush=True)
