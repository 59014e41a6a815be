// node-redlock 4 through the RESP port; what the words mean is in ../run.
'use strict';

const Redis = require('ioredis');
const Redlock = require('redlock');

const redlock = new Redlock([new Redis(Number(process.argv[2]))], { retryCount: 0 });
redlock.on('clientError', () => {});
(async () => {
  let lock = await redlock.lock('peer', 20000);
  console.log('held');
  await redlock.lock('peer', 20000).then(() => console.log('held'), () => console.log('refused'));
  lock = await lock.extend(20000);
  console.log('extended');
  await new Promise((resolve) => process.stdin.once('data', resolve));
  await lock.unlock();
  console.log('released');
  process.exit(0);
})().catch((error) => { console.error(error); process.exit(1); });
