// redlock-universal with ioredis: its RedLock over all nodes.
'use strict';

const Redis = require('ioredis');
const { IoredisAdapter, createRedlock } = require('redlock-universal');
const { serve, whether } = require('./lines.js');

serve((kind, nodes) => {
  const adapters = nodes.map((node) => new IoredisAdapter(new Redis(node)));
  let lock = null;
  let handle = null;
  return {
    acquire: (ttlMs, names) => {
      const made = createRedlock({ adapters, key: names[0], ttl: ttlMs, retryAttempts: 0 });
      return whether(made.acquire().then((got) => { lock = made; handle = got; }), (error) => error.name === 'LockAcquisitionError');
    },
    extend: (ttlMs) => lock.extend(handle, ttlMs),
    release: () => lock.release(handle),
  };
});
