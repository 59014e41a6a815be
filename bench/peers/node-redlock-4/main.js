// node-redlock 4.2.0 with ioredis and its default settings: lock and unlock.
'use strict';

const Redis = require('ioredis');
const Redlock = require('redlock');
const { drive } = require('./driver.js');

drive((nodes) => {
  const redlock = new Redlock(nodes.map((node) => new Redis(node)));
  redlock.on('clientError', () => {}); // a node that fails is the library's business
  return async (name) => {
    const lock = await redlock.lock(name, 15000);
    return () => lock.unlock();
  };
});
