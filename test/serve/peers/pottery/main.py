"""pottery's Redlock through the RESP port; what the words mean is in ../run. Its keys begin with redlock:."""

import sys

import redis
from pottery import Redlock

masters = {redis.Redis(port=int(sys.argv[1]))}
lock = Redlock(key="peer", masters=masters, auto_release_time=20)
print("held" if lock.acquire(blocking=False) else "refused", flush=True)
print("held" if Redlock(key="peer", masters=masters, auto_release_time=20).acquire(blocking=False) else "refused", flush=True)
lock.extend()
print("extended" if lock.locked() else "lost", flush=True)
sys.stdin.readline()
lock.release()
print("released", flush=True)
