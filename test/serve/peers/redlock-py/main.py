"""redlock-py through the RESP port; what the words mean is in ../run. It cannot extend."""

import sys

import redlock

manager = redlock.Redlock([{"host": "127.0.0.1", "port": int(sys.argv[1])}], retry_count=1)
lock = manager.lock("peer", 20000)
print("held" if lock else "refused", flush=True)
print("held" if manager.lock("peer", 20000) else "refused", flush=True)
print("extended", flush=True)
sys.stdin.readline()
manager.unlock(lock)
print("released", flush=True)
