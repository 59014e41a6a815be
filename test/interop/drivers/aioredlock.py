"""aioredlock: Redlock for asyncio."""

import asyncio
import logging

from aioredlock import Aioredlock, LockError
from lines import serve

logging.disable(logging.CRITICAL)


class Peer:
    def __init__(self, _, nodes):
        self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        self.manager = Aioredlock([{"host": host, "port": port} for host, port in nodes], retry_count=1)
        self.lock = None

    def wait_for(self, work):
        """What it cleans up after a refusal goes on in the background: the loop runs until that is done."""
        async def all_of_it():
            try:
                return await work
            finally:
                left = [task for task in asyncio.all_tasks() if "cleanup" in repr(task)]
                await asyncio.gather(*left)
        return self.loop.run_until_complete(all_of_it())

    def attempt(self, work):
        try:
            return self.wait_for(work) or True
        except LockError:
            return False

    def acquire(self, ttl_ms, names):
        made = self.attempt(self.manager.lock(names[0], lock_timeout=ttl_ms / 1000))
        if made:
            self.lock = made
        return bool(made)

    def extend(self, ttl_ms):
        return self.attempt(self.manager.extend(self.lock, lock_timeout=ttl_ms / 1000))

    def release(self):
        return self.attempt(self.manager.unlock(self.lock))


serve(Peer)
