// node-redlock holds, extends and releases a lock as lib.sh tells it to, line by line; both majors have the same calls.
// Usage: node_redlock.js SOCKET...
'use strict';

const readline = require('readline');
const Redis = require('ioredis');
const library = require('redlock');

const TTL_MS = 600000;
const Redlock = library.default || library;
const redlock = new Redlock(process.argv.slice(2).map((socket) => new Redis(socket)), { retryCount: 0 });
redlock.on(library.default ? 'error' : 'clientError', () => {}); // a node that refuses is told by the call as well
let lock = null;

const commands = {
  async acquire(name) {
    try {
      lock = await redlock.acquire([name], TTL_MS);
      return 'held';
    } catch (error) {
      if (error.name !== 'ExecutionError' && error.name !== 'LockError') throw error;
      return 'refused';
    }
  },
  async extend() {
    lock = await redlock.extend(lock, TTL_MS);
    return 'extended';
  },
  async release() {
    await redlock.release(lock);
    return 'released';
  },
};

readline.createInterface({ input: process.stdin }).on('line', async (line) => {
  const [command, name] = line.split(' ');
  console.log(await commands[command](name).catch((error) => `failed: ${error.message}`));
}).on('close', () => process.exit(0));
