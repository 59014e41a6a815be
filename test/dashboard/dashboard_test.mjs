// The dashboard in a real Chromium, before real nodes: what an operator has to see is seen without a reload.
// Usage: MODULES=FOLDER-WITH-NODE_MODULES REDLOCK=COMMAND node dashboard_test.mjs [SCREENSHOT.png]
import {createHash} from 'node:crypto';
import {admit, ask, equal, file, live, main, nodeLines, run, signalNode, startFleet, startNode, startService, states, test, text, until, violations, visit} from './stage.mjs';

await startFleet();
const service = await startService();
let page;

const row = (on, name) => on.evaluate(n => { const tr = [...document.querySelectorAll('tr.lock')].find(r => r.dataset.name === n); return tr ? tr.innerText : ''; }, name);
const wrong = on => text(on, '#wrongs');

test('the page is one small file with a strict policy', async () => {
  const {status, fields, text: html} = await ask(service, 'GET', '/');
  const policy = fields.get('content-security-policy');
  equal([status, html.length < 60000, fields.get('content-type')], [200, true, 'text/html; charset=utf-8']);
  const hash = tag => createHash('sha256').update(new RegExp(`<${tag}>([^]*?)</${tag}>`).exec(html)[1]).digest('base64');
  equal([policy.includes("default-src 'none'"), policy.includes(`script-src 'sha256-${hash('script')}'`), policy.includes(`style-src 'sha256-${hash('style')}'`), /unsafe|\*/.test(policy)], [true, true, true, false], policy);
});

test('a fleet in good health is said to be that', async () => {
  page = await visit(service);
  await live(page);
  await until(async () => (await wrong(page)).includes('Nothing: 5 of 5 nodes may vote'), 'a page that finds nothing wrong');
  equal(await states(page), ['up', 'up', 'up', 'up', 'up']);
});

test('a lock is shown with its holder while it is held, and gone when it is released', async () => {
  const lease = (await ask(service, 'POST', '/v1/locks/shown', {ttl_ms: 60000, why: 'see me'})).data;
  await until(async () => (await row(page, 'shown')).includes('see me'), 'the row of a lock');
  equal(/[345]\/5/.test(await row(page, 'shown')), true, 'its votes:'); // a node may still have been connecting
  await ask(service, 'DELETE', '/v1/locks/shown', null, {'Redlock-Token': lease.token});
  await until(async () => await row(page, 'shown') === '', 'a row that goes');
  equal((await text(page, '#events')).includes('was released'), true);
});

test('a node that is frozen is seen, and seen to come back', async () => {
  signalNode(3, 'SIGSTOP');
  await until(async () => (await states(page))[3] === 'down', 'a node that is down');
  await until(async () => (await wrong(page)).includes('node4.sock is down'), 'what is wrong');
  signalNode(3, 'SIGCONT');
  await until(async () => (await states(page))[3] === 'up', 'a node that is up again');
});

test('a node that is killed is seen, and is quarantined with a count-down when it was started again', async () => {
  signalNode(4, 'SIGKILL');
  await until(async () => (await states(page))[4] === 'down', 'a node that is down');
  startNode(4);
  await until(async () => (await states(page))[4] === 'quarantined', 'a node that is quarantined');
  await until(async () => /quarantined, [0-9.]+ s left/.test(await text(page, '#nodes .node:nth-child(5)')), 'a count-down');
  admit();
  await until(async () => (await states(page))[4] === 'up', 'a node that is up again');
});

test('three nodes away: no lock can be taken, and that comes first', async () => {
  for (const i of [1, 2, 3]) signalNode(i, 'SIGSTOP');
  await until(async () => (await wrong(page)).startsWith('critical') && (await wrong(page)).includes('No lock can be taken'), 'what is wrong');
  for (const i of [1, 2, 3]) signalNode(i, 'SIGCONT');
  await until(async () => !(await wrong(page)).includes('No lock can be taken'), 'a fleet that votes again');
});

test('a holder that stops renewing is at risk before it loses the lock', async () => {
  const holder = run('stuck', '-q', '--ttl', '30s', '--renew', '500ms', '--', 'sleep', '600');
  await until(async () => await row(page, 'stuck'), 'a lock');
  await until(() => page.evaluate(() => locks.get('stuck').renewed), 'a renewal that was seen');
  process.kill(-holder.pid, 'SIGSTOP');
  await until(async () => (await row(page, 'stuck')).includes('at risk'), 'a lock at risk');
  equal((await ask(service, 'GET', '/v1/locks/stuck')).data.state, 'held', 'while it is still');
  await until(async () => (await wrong(page)).includes('stuck is at risk'), 'what is wrong');
  equal(await page.$eval('tr.lock', tr => tr.dataset.name), 'stuck', 'the first row is');
  process.kill(-holder.pid, 'SIGCONT');
  process.kill(-holder.pid, 'SIGTERM');
  await until(async () => await row(page, 'stuck') === '', 'a lock that is gone');
});

test('those who wait are shown in their order', async () => {
  run('line', '-q', '--who', 'holder', '--', 'sleep', '600');
  await until(async () => (await row(page, 'line')).includes('holder'), 'the holder');
  for (const [i, name] of ['first', 'second', 'third'].entries()) {
    run('line', '-q', '--who', name, '--', 'sleep', '600');
    await until(() => page.evaluate(count => (locks.get('line').waiters || []).length === count, i + 1), 'a waiter');
  }
  await until(async () => (await page.$$eval('#graph li.waiter', list => list.map(e => e.innerText.replace(/@.*/, '')))).join() === '1. first,2. second,3. third', 'the line');
  equal((await text(page, '#hot')).startsWith('line'), true, 'it is hot:');
});

test('a circle is found and shown', async () => {
  const take = (name, why, wait_ms) => ask(service, 'POST', '/v1/locks/' + name, {ttl_ms: 60000, wait_ms, why});
  const alice = (await take('alice', 'transfer 1', 0)).data, bob = (await take('bob', 'transfer 2', 0)).data;
  const waits = [take('bob', 'transfer 1', 50000), take('alice', 'transfer 2', 50000)];
  await until(async () => (await wrong(page)).includes('In a circle'), 'a circle');
  await until(() => page.$$eval('#graph .tag', list => list.length === 2), 'two that are marked');
  await ask(service, 'DELETE', '/v1/locks/alice', null, {'Redlock-Token': alice.token});
  await ask(service, 'DELETE', '/v1/locks/bob', null, {'Redlock-Token': bob.token});
  for (const [i, name] of ['bob', 'alice'].entries()) await ask(service, 'DELETE', '/v1/locks/' + name, null, {'Redlock-Token': (await waits[i]).data.token});
  await until(async () => !(await wrong(page)).includes('In a circle'), 'a circle that is gone');
});

test('the keyboard is enough', async () => {
  for (const name of ['key-a', 'key-b', 'key-c']) await ask(service, 'POST', '/v1/locks/' + name, {ttl_ms: 60000});
  await until(async () => await row(page, 'key-c'), 'three locks');
  await page.keyboard.press('/');
  await page.keyboard.type('key-');
  await until(() => page.$$eval('tr.lock', list => list.length === 3), 'a filter that works');
  await page.keyboard.press('Enter');
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.keyboard.press('k');
  equal(await page.$eval('tr.picked', tr => tr.dataset.name), 'key-b');
  await page.keyboard.press('Enter');
  await until(async () => (await text(page, '#detail')).includes('What each node says'), 'the detail');
  equal(await page.$$eval('#detail tbody tr', list => list.length), 5, 'verdicts of nodes:');
  equal(await page.$eval('#detail-title', e => e.textContent), 'key-b');
  await page.keyboard.press('Escape');
  equal(await page.$eval('#detail', e => e.open), false);
  await until(() => page.evaluate(() => document.activeElement.dataset.name === 'key-b'), 'the focus where it was');
  await page.keyboard.press('/');
  await page.keyboard.press('Escape');
});

test('it asked for nothing from elsewhere, and broke no rule of its policy', async () => {
  equal(page.asked.filter(url => !url.startsWith(service.url) && !url.startsWith('data:')), []);
  equal(page.complaints, []);
  await page.close();
});

for (const scheme of ['light', 'dark'])
  for (const [width, height] of [[1280, 900], [360, 740]])
    test(`axe finds nothing wrong, and nothing sticks out: ${scheme}, ${width} pixels wide`, async () => {
      const on = await visit(service, {'prefers-color-scheme': scheme, 'prefers-reduced-motion': 'reduce'}, width, height);
      await live(on);
      await until(async () => await row(on, 'line'), 'a lock');
      equal(await violations(on), '');
      equal(await on.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), true, 'no scrolling sideways:');
      await on.evaluate(() => open('line'));
      await until(async () => (await text(on, '#detail')).includes('What each node says'), 'the detail');
      equal(await violations(on), '');
      equal(await on.evaluate(() => getComputedStyle(document.querySelector('.lease i')).transitionDuration), '0s', 'nothing moves where that is not wanted:');
      const [r, g, b] = await on.$eval('body', e => getComputedStyle(e).backgroundColor.match(/\d+/g).map(Number));
      equal(r + g + b < 380, scheme === 'dark', 'dark:');
      equal(on.complaints, []);
      await on.close();
    });

test('five thousand locks: few rows at a time, and the last one can be reached', async () => {
  const names = Array.from({length: 5000}, (_, i) => 'many-' + String(i).padStart(4, '0'));
  while (names.length) await Promise.all(names.splice(0, 50).map(name => ask(service, 'POST', '/v1/locks/' + name, {ttl_ms: 60000})));
  const on = await visit(service);
  await live(on);
  await until(() => on.evaluate(() => locks.size >= 4000), 'thousands of locks');
  const outcome = await on.evaluate(async () => {
    const box = document.getElementById('scroll'), counts = [], gaps = [];
    let late = 0, last = performance.now();
    for (let i = 0; i <= 120; i++) {
      box.scrollTop = i / 120 * (box.scrollHeight - box.clientHeight);
      await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
      counts.push(document.querySelectorAll('tr.lock').length);
      const seen = document.elementFromPoint(box.getBoundingClientRect().left + 40, box.getBoundingClientRect().top + 200);
      gaps.push(!(seen && seen.closest('tr.lock')));
      const at = performance.now(); late += at - last > 250; last = at;
    }
    return {most: Math.max(...counts), empty: gaps.filter(Boolean).length, late, end: [...document.querySelectorAll('tr.lock')].pop().dataset.name === order[order.length - 1]};
  });
  equal([outcome.most < 60, outcome.empty, outcome.end], [true, 0, true], JSON.stringify(outcome));
  console.log(`# ${outcome.late} of 121 steps of scrolling took longer than 250 ms`);
  await on.close();
});

test('a page that nobody sees lets go of its stream, and goes on where it is seen again', async () => {
  const on = await visit(service);
  await live(on);
  const show = hidden => on.evaluate(value => { Object.defineProperty(document, 'hidden', {value, configurable: true}); document.dispatchEvent(new Event('visibilitychange')); }, hidden);
  await show(true);
  await until(async () => await text(on, '#live') === 'paused', 'a page that pauses');
  await show(false);
  await live(on);
  await on.close();
});

test('where tokens are asked for, the page asks for one', async () => {
  const access = file('access', `token ${createHash('sha256').update('let-me-look').digest('hex')} viewer read\n`);
  const config = file('serve.conf', nodeLines() + `serve_access = ${access}\n`);
  const guarded = await startService('--config', config);
  const on = await visit(guarded);
  await until(() => on.$eval('#login', e => !e.hidden), 'a question for a token');
  await on.type('#token', 'let-me-look');
  await on.keyboard.press('Enter');
  await live(on);
  await until(() => on.evaluate(() => locks.size > 0), 'locks');
  await on.close();
});

test('readers, slots and names that were taken together are shown', async () => {
  const take = (name, body) => ask(service, 'POST', '/v1/locks/' + name, {ttl_ms: 60000, ...body});
  for (const why of ['one', 'two']) equal((await take('the-book', {kind: 'shared', why})).status, 201);
  for (const why of ['first', 'second']) equal((await take('the-pool', {kind: 'semaphore', permits: 3, why})).status, 201);
  equal((await take('left-hand', {also: ['right-hand']})).status, 201);
  const on = await visit(service);
  await live(on);
  const words = async name => on.evaluate(wanted => { filter = wanted; arrange(); showRows(true); const tr = document.querySelector('tr.lock'); return tr ? tr.textContent : ''; }, name);
  await until(async () => (await words('the-book')).includes('2 readers'), 'two readers');
  await until(async () => (await words('the-pool')).includes('2 of 3 slots'), 'two slots');
  await until(async () => (await words('left-hand')).includes('with right-hand'), 'names that were taken together');
  for (const [name, title, holders] of [['the-book', 'Readers', ['one', 'two']], ['the-pool', 'Slots', ['first', 'second']]]) {
    await detailOf(on, name);
    const detail = await text(on, '#detail');
    equal([title, ...holders].filter(word => !detail.includes(word)), [], name);
    equal(await violations(on), '');
  }
  equal(on.complaints, []);
  await on.close();
});

async function detailOf(on, name) {
  await live(on);
  await until(() => on.evaluate(wanted => locks.has(wanted), name), 'a lock');
  await on.evaluate(wanted => open(wanted), name);
  await until(async () => (await text(on, '#detail')).includes('What each node says'), 'the detail');
}

test('break is not offered where it is not switched on', async () => {
  const on = await visit(service);
  await detailOf(on, 'line');
  equal(await on.$eval('#break', e => e.hidden), true);
  await on.close();
});

test('break is offered to an admin where it is switched on, asks for a reason, and works', async () => {
  const hash = word => createHash('sha256').update(word).digest('hex');
  const access = file('roles', `token ${hash('boss')} boss admin\ntoken ${hash('viewer')} viewer read\n`);
  const open = await startService('--config', file('break.conf', nodeLines() + `serve_break = yes\nserve_access = ${access}\n`));
  const holder = run('doomed', '-q', '--ttl', '10s', '--renew', '500ms', '--', 'sleep', '600');
  for (const [token, hidden] of [['viewer', true], ['boss', false]]) {
    const on = await visit(open);
    await until(() => on.$eval('#login', e => !e.hidden), 'a question for a token');
    await on.type('#token', token);
    await on.keyboard.press('Enter');
    await detailOf(on, 'doomed');
    equal(await on.$eval('#break', e => e.hidden), hidden, token);
    if (!hidden) {
      equal(await violations(on), '');
      await on.click('#break-button');
      equal(await on.$eval('#break-answer', e => e.textContent), '', 'nothing is done without a reason:');
      // The list of events is short, and thousands of locks may end meanwhile.
      await on.evaluate(() => { window.heard = []; const tell = say; say = (...words) => { window.heard.push(words.join(' ')); tell(...words); }; });
      await on.type('#reason', 'it hangs');
      await on.click('#break-button');
      await until(async () => await on.$eval('#break-answer', e => e.textContent) === 'Broken.', 'a broken lock');
      await until(() => holder.exitCode === 79, 'a holder that was told');
      await until(() => on.evaluate(() => !locks.has('doomed')), 'a lock that is gone');
      equal(await on.evaluate(() => window.heard.some(words => words.includes('it hangs'))), true);
      equal(on.complaints.filter(words => !words.includes('401')), [], 'apart from the first refusal:');
    }
    await on.close();
  }
});

await main();
