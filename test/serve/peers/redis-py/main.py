"""redis-py's Lock through the RESP port; what the words mean is in ../run."""

import sys

import redis

client = redis.Redis(port=int(sys.argv[1]))
lock = client.lock("peer", timeout=20)
print("held" if lock.acquire(blocking=False) else "refused", flush=True)
print("held" if client.lock("peer", timeout=20).acquire(blocking=False) else "refused", flush=True)
print("extended" if lock.extend(10) and lock.reacquire() and lock.owned() else "lost", flush=True)
sys.stdin.readline()
lock.release()
print("released", flush=True)
