// node-redlock 5.0.0-beta.2 with ioredis and its default settings: acquire and release.
'use strict';

const Redis = require('ioredis');
const Redlock = require('redlock').default;
const { drive } = require('./driver.js');

drive((nodes) => {
  const redlock = new Redlock(nodes.map((node) => new Redis(node)));
  redlock.on('error', () => {}); // a node that fails is the library's business
  return async (name) => {
    const lock = await redlock.acquire([name], 15000);
    return () => lock.release();
  };
});
