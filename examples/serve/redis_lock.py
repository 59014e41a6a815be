#!/usr/bin/env python3
"""redis-py's Lock on five nodes: only the port is another one (redlock serve --resp 6380). Usage: redis_lock.py [PORT]"""

import sys

import redis

client = redis.Redis(port=int(sys.argv[1]) if len(sys.argv) > 1 else 6380)
with client.lock("invoice:42", timeout=15, blocking_timeout=10) as lock:
    print("working")
    lock.reacquire()
print("given back")
