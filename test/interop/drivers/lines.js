// The part of every Node.js driver that does not depend on the library: it reads commands, one a line, and answers each with
// one line. README.md here lists them.
'use strict';

const fs = require('fs');
const readline = require('readline');

const COUNTING_TTL_MS = 60000;
const pause = () => new Promise((done) => setTimeout(done, 2 + 18 * Math.random()));

// Adds to the number in a file, under the lock; waits for it by asking again.
async function add(peer, times, name, path) {
  for (let i = 0; i < times; i++) {
    while (!(await peer.acquire(COUNTING_TTL_MS, [name]))) await pause();
    fs.writeFileSync(path, String(Number(fs.readFileSync(path)) + 1));
    await peer.release();
  }
}

async function answer(peer, [command, ...words]) {
  switch (command) {
    case 'acquire': return (await peer.acquire(Number(words[0]), words.slice(1))) ? 'held' : 'refused';
    case 'extend': return (await peer.extend(Number(words[0]))) ? 'extended' : 'lost';
    case 'release': return (await peer.release()) ? 'released' : 'lost';
    case 'add': await add(peer, Number(words[0]), words[1], words[2]); return 'added';
    default: return `failed: unknown command ${command}`;
  }
}

// peer has acquire(ttlMs, names), extend(ttlMs) and release(), which promise whether that worked.
exports.serve = function serve(openPeer) {
  const [kind, ...nodes] = process.argv.slice(2);
  const peer = openPeer(kind, nodes.map((node) => ({ host: node.split(':')[0], port: Number(node.split(':')[1]) })));
  console.log('ready');
  readline.createInterface({ input: process.stdin }).on('line', async (line) => {
    const said = answer(peer, line.split(' ')).catch((error) => `failed: ${error.name} ${error.message}`);
    console.log((await said).replace(/\n/g, ' '));
  }).on('close', () => process.exit(0));
};

// whether(promise, isLoss): true when it is kept, false when it is broken by an error that says the lock is not ours.
exports.whether = async function whether(promise, isLoss) {
  try {
    await promise;
    return true;
  } catch (error) {
    if (!isLoss(error)) throw error;
    return false;
  }
};
