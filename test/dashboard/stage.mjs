// What the tests of the dashboard share: real nodes, the service, programs that hold locks, a browser, and TAP. Not a test itself.
import {spawn, execFileSync} from 'node:child_process';
import {mkdtempSync, rmSync, existsSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {setTimeout as pause} from 'node:timers/promises';

const require = createRequire(path.resolve(process.env.MODULES, 'x.js'));
const puppeteer = require('puppeteer-core');
export const axe = require.resolve('axe-core/axe.min.js');
export const redlock = process.env.REDLOCK;
export const work = mkdtempSync(path.join(tmpdir(), 'redlock-page-'));
const started = [];
const PATIENCE_MS = 60000;

export function start(words, more = {}) {
  const child = spawn(words[0], words.slice(1), {stdio: ['ignore', 'ignore', 'ignore'], env: environment(), ...more});
  started.push(child);
  return child;
}

export async function until(condition, what) {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await pause(50)) {
    const value = await condition();
    if (value) return value;
  }
  throw new Error(what + ' was never reached');
}

// ---- nodes and service ----
const sockets = [1, 2, 3, 4, 5].map(n => path.join(work, `node${n}.sock`));
const nodes = [];
const environment = () => ({...process.env, REDLOCK_NODES: sockets.map(s => 'unix://' + s).join(' '), XDG_RUNTIME_DIR: work, HOME: work});

export function startNode(i) {
  nodes[i] = start([process.env.REDIS_SERVER || 'redis-server', '--port', '0', '--unixsocket', sockets[i], '--save', '', '--appendonly', 'no', '--dir', work]);
}
export const signalNode = (i, signal) => nodes[i].kill(signal);
export const cli = (i, ...words) => execFileSync('redis-cli', ['-s', sockets[i], ...words], {encoding: 'utf8'}).trim();
export const run = (...words) => start([redlock, 'run', ...words], {detached: true});

// Nodes that were started again vote at once: nothing is locked that matters.
export const admit = () => execFileSync(redlock, ['init', '--yes', '--force', '-q'], {env: environment()});
export const nodeLines = () => sockets.map(s => `node = unix://${s}\n`).join('');

export async function startFleet() {
  sockets.forEach((_, i) => startNode(i));
  await until(() => sockets.every(existsSync), 'five nodes');
  await until(() => { try { return sockets.every((_, i) => cli(i, 'PING') === 'PONG'); } catch { return false; } }, 'nodes that answer');
  admit();
}

export async function startService(...options) {
  const child = start([redlock, 'serve', '--listen', '127.0.0.1:0', ...options], {stdio: ['ignore', 'ignore', 'pipe']});
  let words = '';
  child.stderr.on('data', data => { words += data; });
  const port = await until(() => (/listening for HTTP on \S*:(\d+)/.exec(words) || [])[1], 'a service that listens: ' + words);
  return {url: `http://127.0.0.1:${port}/`, child};
}

export function file(name, text) {
  const place = path.join(work, name);
  writeFileSync(place, text, {mode: 0o600});
  return place;
}

export async function ask(service, method, target, body, fields = {}) {
  const answer = await fetch(new URL(target, service.url), {method, headers: {'Content-Type': 'application/json', ...fields}, body: body && JSON.stringify(body)});
  const text = await answer.text();
  return {status: answer.status, fields: answer.headers, text, data: text.startsWith('{') ? JSON.parse(text) : null};
}

// ---- the browser ----
export const browser = await puppeteer.launch({executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage']});

// A page that keeps what it asked for and what it complained of.
export async function visit(service, features = {}, width = 1280, height = 900) {
  const page = await browser.newPage();
  page.asked = [];
  page.complaints = [];
  page.on('request', request => page.asked.push(request.url()));
  page.on('console', message => { if (['error', 'warn'].includes(message.type())) page.complaints.push(message.text()); });
  page.on('requestfailed', request => { if (process.env.ONLY) console.log('# failed', request.method(), request.url(), request.failure().errorText); });
  page.on('pageerror', error => page.complaints.push(error.message));
  await page.setViewport({width, height});
  await page.emulateMediaFeatures(Object.entries(features).map(([name, value]) => ({name, value})));
  await page.goto(service.url);
  return page;
}

export const live = page => until(() => page.$eval('#live', e => e.textContent === 'live'), 'a live page');
export const text = (page, selector) => page.$eval(selector, e => e.innerText);
export const states = page => page.$$eval('#nodes .node', list => list.map(e => e.dataset.state));

// What axe has to say, as text; empty is good. The page's own policy keeps foreign scripts out, so it is put there by the debugger.
export async function violations(page) {
  const source = await import('node:fs').then(fs => fs.readFileSync(axe, 'utf8'));
  await page.evaluate(source);
  const found = await page.evaluate(async () => (await window.axe.run(document)).violations.map(v => v.id + ': ' + v.nodes.map(n => n.target + ' ' + n.failureSummary).join(' | ')));
  return found.join('\n');
}

// ---- TAP ----
const tests = [];
export const test = (name, body) => { if (new RegExp(process.env.ONLY || '').test(name)) tests.push({name, body}); };
export function equal(actual, expected, what = '') {
  if (JSON.stringify(actual) !== JSON.stringify(expected)) throw new Error(`${what} ${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`);
}
export async function main() {
  let failures = 0;
  try {
    for (const [i, {name, body}] of tests.entries()) {
      try {
        const skipped = await body();
        console.log(`ok ${i + 1} - ${name}${typeof skipped === 'string' ? ' # SKIP ' + skipped : ''}`);
      } catch (error) {
        failures++;
        console.log(`not ok ${i + 1} - ${name}\n${String(error.stack).replace(/^/gm, '# ')}`);
      }
    }
    console.log(`1..${tests.length}`);
  } finally {
    await browser.close();
    for (const child of started) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      try { if (child.spawnargs.includes('run')) process.kill(-child.pid, 'SIGCONT'); } catch { /* it has ended */ }
      child.kill('SIGCONT');
      child.kill('SIGKILL');
    }
    rmSync(work, {recursive: true, force: true});
  }
  process.exit(failures ? 1 : 0);
}
