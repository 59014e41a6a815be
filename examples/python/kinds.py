#!/usr/bin/env python3
"""The kinds of lock in Python: one of four slots, two names at once, a lock that is entered again, and readers that share a name.
Usage: kinds.py [NODES], by default REDLOCK_NODES
"""

import sys

import libredlock


def append_to_log(client, words):
    """Alone, or inside of a caller that has the lock already."""
    with client.lock("log", reentrant=True) as lock:
        print(f"{words} ({lock.entries} deep)")


def main():
    client = libredlock.Client(sys.argv[1] if len(sys.argv) > 1 else None)
    with client.lock("gpus", permits=4) as lock:  # the same number for all who use it
        print(f"working on gpu {lock.slot}, {len(client.inspect_slots('gpus').held)} of 4 in use")
    with client.lock("account:3", also=["account:7"]) as lock:  # both, or none of them
        print(f"{' and '.join(lock.names)}, fence {lock.fence}")
    with client.lock("log", reentrant=True):
        append_to_log(client, "moved")
        append_to_log(client, "done")
    with client.lock("catalogue", kind="shared"):
        print(f"{client.inspect('catalogue').sharer_count} read it")


if __name__ == "__main__":
    try:
        main()
    except libredlock.RedlockError as problem:
        sys.exit(f"kinds.py: {problem}")
