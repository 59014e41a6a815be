// The part of every Node.js driver that does not depend on the library: clients, phases, latencies, figures. The workloads
// are those of bench/bench.h; every client is a promise of one event loop.
'use strict';

const now = () => Number(process.hrtime.bigint());

async function tryOnce(client, acquire, name) {
  try {
    return await acquire(name);
  } catch {
    client.errors++;
    return null;
  }
}

async function work(client, acquire, name, contend, until) {
  let asked = now();
  while (now() < until) {
    const release = await tryOnce(client, acquire, name);
    if (release) {
      client.waits.push(now() - asked);
      await release().catch(() => client.errors++);
    } else if (contend) {
      continue; // it still wants the lock
    }
    asked = now();
  }
  if (contend) {
    client.waits.push(now() - asked);
    client.cutOff++;
  }
}

async function pass(acquire, count, contend, seconds) {
  const clients = Array.from({ length: count }, () => ({ waits: [], cutOff: 0, errors: 0 }));
  const until = now() + seconds * 1e9;
  await Promise.all(clients.map((client, i) =>
    work(client, acquire, 'bench:' + String(contend ? 0 : i).padStart(8, '0'), contend, until)));
  return clients;
}

function figures(clients, elapsed) {
  const counts = clients.map((client) => client.waits.length - client.cutOff);
  const pairs = counts.reduce((a, b) => a + b, 0);
  const waits = clients.flatMap((client) => client.waits).sort((a, b) => a - b);
  const made = {
    pairs, pairs_per_s: pairs / elapsed, seconds: elapsed, least: Math.min(...counts), most: Math.max(...counts),
    errors: clients.reduce((sum, client) => sum + client.errors, 0),
  };
  for (const [key, share] of [['p50', 0.5], ['p99', 0.99], ['max', 1]]) {
    if (waits.length > 0) made[`acquire_${key}_us`] = waits[Math.floor(share * (waits.length - 1))] / 1e3;
  }
  return made;
}

// connect(nodes) returns acquire(name), which promises a function that releases.
exports.drive = async function drive(connect) {
  const [nodes, workload, count, seconds] = process.argv.slice(2);
  const contend = workload === 'contend';
  const acquire = connect(nodes.split(',').map((node) => ({ host: node.split(':')[0], port: Number(node.split(':')[1]) })));
  await pass(acquire, Number(count), contend, 0.3);
  console.log('ready');
  await new Promise((go) => process.stdin.once('data', go));
  const started = now();
  const clients = await pass(acquire, Number(count), contend, Number(seconds));
  console.log(JSON.stringify(figures(clients, (now() - started) / 1e9)));
  process.exit(0);
};
