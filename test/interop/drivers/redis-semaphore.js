// redis-semaphore's RedlockMutex with ioredis; its keys begin with mutex:. Its own renewal is switched off.
'use strict';

const Redis = require('ioredis');
const { RedlockMutex } = require('redis-semaphore');
const { serve } = require('./lines.js');

const ONCE = { acquireAttemptsLimit: 1, refreshInterval: 0 };

serve((kind, nodes) => {
  const clients = nodes.map((node) => new Redis(node));
  let lock = null;
  let name = null;
  return {
    async acquire(ttlMs, names) {
      const made = new RedlockMutex(clients, names[0], { ...ONCE, lockTimeout: ttlMs });
      if (!(await made.tryAcquire())) return false;
      [lock, name] = [made, names[0]];
      return true;
    },
    // Taking over what this owner has already is its way to extend by hand.
    async extend(ttlMs) {
      const made = new RedlockMutex(clients, name,
        { ...ONCE, lockTimeout: ttlMs, identifier: lock.identifier, acquiredExternally: true });
      if (!(await made.tryAcquire())) return false;
      lock = made;
      return true;
    },
    async release() {
      await lock.release(); // it does not tell what became of it
      return true;
    },
  };
});
