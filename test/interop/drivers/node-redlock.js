// node-redlock with ioredis, versions 4 and 5: both have the same calls, and take several names in one lock.
'use strict';

const Redis = require('ioredis');
const library = require('redlock');
const { serve, whether } = require('./lines.js');

const Redlock = library.default || library;
const isRefusal = (error) => ['ExecutionError', 'LockError'].includes(error.name);

serve((kind, nodes) => {
  const redlock = new Redlock(nodes.map((node) => new Redis(node)), { retryCount: 0 });
  redlock.on(library.default ? 'error' : 'clientError', () => {}); // a node that refuses is told by the call as well
  let lock = null;
  return {
    acquire: (ttlMs, names) => whether(redlock.acquire(names, ttlMs).then((made) => { lock = made; }), isRefusal),
    extend: (ttlMs) => whether(redlock.extend(lock, ttlMs).then((made) => { lock = made; }), isRefusal),
    release: () => whether(redlock.release(lock), isRefusal),
  };
});
