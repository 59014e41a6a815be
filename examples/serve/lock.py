#!/usr/bin/env python3
"""A lock of redlock serve with nothing but Python's own library. Usage: lock.py [HOST:PORT]"""

import http.client
import json
import sys
import time


class Lock:
    """with Lock("127.0.0.1:7420", "invoice:42") as lock: ..."""

    def __init__(self, address, name, ttl_ms=15000, wait_ms=10000):
        self.connection = http.client.HTTPConnection(address)
        self.path, self.wish = f"/v1/locks/{name}", {"ttl_ms": ttl_ms, "wait_ms": wait_ms}

    def ask(self, method, body=None, **fields):
        self.sent = time.monotonic()
        self.connection.request(method, self.path, body and json.dumps(body), {"Content-Type": "application/json", **fields})
        answer = self.connection.getresponse()
        text = answer.read()
        content = json.loads(text) if text else {}
        if answer.status >= 400:
            raise RuntimeError(content["detail"])
        return content

    def __enter__(self):
        self.lease = self.ask("POST", self.wish)
        if self.lease["confirm"]:  # it took long: what was granted may be old news
            self.lease.update(self.ask("PATCH", {"ttl_ms": self.wish["ttl_ms"]}, **self.token()))
        self.deadline = self.sent + self.lease["validity_ms"] / 1000  # counted from when the request was sent
        return self

    def __exit__(self, *_):
        self.ask("DELETE", **self.token())

    def token(self):
        return {"Redlock-Token": self.lease["token"]}


if __name__ == "__main__":
    with Lock(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:7420", "invoice:42") as lock:
        print(f"fence {lock.lease['fence']}, {lock.deadline - time.monotonic():.1f} s to work")
    print("given back")
