// The picture of the dashboard in the README: tools/dashboard with its load, once there is something of everything to see.
// Usage: MODULES=FOLDER REDLOCK=COMMAND node picture.mjs PICTURE.png
import {spawn} from 'node:child_process';
import path from 'node:path';
import {browser, live, redlock, until, visit, work} from './stage.mjs';
import {rmSync} from 'node:fs';

const demo = spawn(path.join(import.meta.dirname, '../../tools/dashboard'), [redlock, '127.0.0.1:0'], {stdio: ['ignore', 'pipe', 'inherit']});
let words = '';
demo.stdout.on('data', data => { words += data; });
try {
  const url = await until(() => (/at (http\S+)/.exec(words) || [])[1], 'a dashboard');
  const page = await visit({url}, {'prefers-color-scheme': 'light'}, 1280, 860);
  await page.setViewport({width: 1280, height: 860, deviceScaleFactor: 1.5});
  await live(page);
  await until(() => page.evaluate(() => [...locks.values()].some(l => l.risk) && circles().length > 0 && locks.size > 20), 'a lively scene');
  await page.screenshot({path: process.argv[2], captureBeyondViewport: false});
} finally {
  await browser.close();
  demo.kill('SIGTERM');
  await new Promise(done => demo.once('exit', done));
  rmSync(work, {recursive: true, force: true});
}
