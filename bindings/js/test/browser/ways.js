// The ways to the page: the server of `make play`, a file, the source in the repository; the tour that a first visit starts.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './pages.js';
import { digests, figures, run, runTo } from './tabs.js';

// The server, with a desktop whose xdg-open writes down what it is to open.
async function serve(use) {
  const folder = mkdtempSync(join(tmpdir(), 'roost-play-')), program = join(folder, 'xdg-open'), opened = join(folder, 'opened');
  writeFileSync(program, `#!/bin/sh\nprintf %s "$1" >'${opened}'\n`);
  chmodSync(program, 0o755);
  const server = spawn(process.execPath, [join(root, 'web/serve.js'), join(root, 'build/web'), '0'], { env: { ...process.env, PATH: `${folder}${delimiter}${process.env.PATH}`, DISPLAY: ':99' } });
  try {
    const said = await new Promise((done) => server.stdout.once('data', (bytes) => done(String(bytes))));
    await use(/http:\/\/127\.0\.0\.1:[0-9]+\//.exec(said)[0], () => readFileSync(opened, 'utf8'));
  } finally {
    server.kill();
    rmSync(folder, { recursive: true });
  }
}

async function checkOpening(check, browser, open) {
  await check('make play: the server opens the page, which goes on without a network and gives the digests of the file', async () => {
    await serve(async (address, opened) => {
      const context = await browser.newContext(), tab = await context.newPage(), hash = '#mode=remove&replicas=3&seed=9';
      for (let i = 0; i < 100; i++) { try { if (opened() === address) break; } catch { /* not yet */ } await new Promise((next) => setTimeout(next, 50)); }
      assert.equal(opened(), address);
      for (const path of ['..%2f', 'x', '//']) assert.equal((await fetch(address + path)).status, 404, path);
      await tab.goto(address + hash);
      await tab.waitForFunction(() => globalThis.playground);
      await context.setOffline(true);
      await tab.evaluate(() => playground.pause());
      await runTo(tab, 90);
      const file = await open(hash);
      await runTo(file, 90);
      assert.deepEqual(await digests(tab), await digests(file));
      await context.close();
      await file.context().close();
    });
  });

  await check('web/index.html of the repository says how to build the page, and shows nothing that does not work', async () => {
    const tab = await browser.newPage();
    await tab.goto(pathToFileURL(join(root, 'web/index.html')).href);
    assert.match(await tab.innerText('body'), /run make play, .* or make web,/);
    assert.equal(await tab.locator('button:visible, input:visible, select:visible, svg:visible').count(), 0);
    assert.notEqual(await tab.evaluate(() => getComputedStyle(document.querySelector('.sorry')).borderTopStyle), 'none');
    await tab.click('.sorry a');
    await tab.waitForFunction(() => globalThis.playground);
    assert.doesNotMatch(await tab.innerText('body'), /make web/);
    await tab.close();
  });
}

async function checkTour(check, open) {
  await check('a first visit: within five seconds, by itself, a replica is cut off; then one scenario after the other', async () => {
    const tab = await open('', { viewport: { width: 1280, height: 900 } }), text = (id) => tab.textContent(`#${id}`);
    assert.equal(await tab.isVisible('#next.primary'), false);
    await runTo(tab, 35); // 140 ms each
    assert.match(await text('caption'), /^Lima is cut off/);
    assert.equal(await tab.locator('#map .line.cut').count(), 3);
    for (const selector of ['#map', '#agreement', '#figures', '#rate-chart', '#byte-chart', '.card:nth-child(1) .digest']) {
      const { y, height } = await tab.locator(selector).boundingBox();
      assert.ok(y >= 0 && y + height <= 900, `${selector} is not on the first screen`);
    }
    await runTo(tab, 200);
    const seen = [];
    for (let i = 0; i < 8; i++) {
      await tab.evaluate(() => playground.pause());
      await run(tab, 260);
      assert.equal(await tab.isVisible('#next.primary'), true);
      const bars = await tab.evaluate(() => [...document.querySelectorAll('#progress i')].map((bar) => bar.getBoundingClientRect().width / bar.parentElement.getBoundingClientRect().width));
      assert.ok(bars.length >= 4 && bars.every((part) => part > 0.99), 'a story that is not at its end');
      seen.push(await tab.inputValue('#scenario'));
      await tab.click('#next');
    }
    assert.equal(new Set(seen).size, 8);
    assert.deepEqual([await tab.inputValue('#scenario'), await text('next'), await text('caption')], ['', 'First scenario', '']);
    await tab.context().close();
  });
}

// ---- charts ----------------------------------------------------------------------------------------------------------------

// The last value of a line, and that of the promise, from 0 to 1 of the chart's height.
const heights = () => {
  const [last, limit] = [document.querySelector('#rate-chart .ours').getAttribute('points').split(' ').at(-1).split(',')[1], document.querySelector('#rate-chart .limit').getAttribute('y1')];
  return [last, limit].map((y) => 1 - Number(y) / 100);
};

async function checkCharts(check, open) {
  await check('false positives are drawn live against the promise: below it, and above it when a filter breaks it', async () => {
    const tab = await open('#mode=grow&replicas=3&seed=2'), measured = () => tab.locator('#rates dd').allTextContents();
    await runTo(tab, 400);
    const [early, limit] = await tab.evaluate(heights), { wrong, asked } = await figures(tab);
    assert.ok(wrong > 0 && early > 0.02 && early < limit / 2, `${early} of ${limit}`);
    assert.ok(Math.abs((early - 0.02) / (limit - 0.02) - wrong / asked / 0.05) < 0.03, 'the line is not at the measured rate');
    assert.equal((await measured())[1], '5 %');
    assert.equal(await tab.locator('#rates dd.good').count(), 1);
    await tab.evaluate(() => { for (const { filter } of playground.world.replicas) filter.addMany(Array.from({ length: 3000 }, (_, i) => `more-${i}`)); });
    await run(tab, 60);
    const [late, lower] = await tab.evaluate(heights);
    assert.ok(late > 2 * lower, `${late} beside ${lower}`);
    assert.equal(await tab.locator('#rates dd.bad').count(), 1);
    await tab.context().close();
  });

  await check('each mode says what was asked, and lists are exact', async () => {
    const tab = await open('#mode=remove&replicas=3&seed=2'), note = () => tab.textContent('#wrong p');
    for (const [mode, text] of [['remove', /^[0-9]+ of [0-9,]+ queries for keys that nobody added/], ['window', /^0 of [0-9,]+ queries/], ['counter', /^0 of 4[0-9]{2} new operations were taken for retries\.$/], ['reconcile', /^None: reconciliation compares the keys themselves\.$/]]) {
      await tab.click(`#mode-${mode}`);
      await tab.evaluate(() => playground.pause());
      await run(tab, 20);
      assert.match(await note(), text);
      assert.equal(await tab.isVisible('#rate-chart'), mode !== 'reconcile');
      assert.equal(await tab.isVisible('#delay'), mode !== 'reconcile'); // which has no messages to delay
    }
    await tab.context().close();
  });
}

export async function checkWays(check, browser, open) {
  await checkOpening(check, browser, open);
  await checkTour(check, open);
  await checkCharts(check, open);
}
