// The package and the playground in Chromium. Prints a line for each check. That filters of a page have the bytes of all other
// languages is in tests/languages. ONLY=words runs the checks with these words; ROOST_LONG=1 runs longer; SEED repeats random acts.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { launch, root, servePackage } from './pages.js';
import { addressOf, figures, opener, run, runTo, shots } from './tabs.js';
import { checkStranger } from './stranger.js';
import { checkVisit } from './visit.js';
import { checkHostile } from './hostile.js';
import { checkAccess } from './access.js';
import { checkFirefox } from './firefox.js';
import { checkWays } from './ways.js';

const browser = await launch(), open = opener(browser);
let failed = 0;
async function check(what, run) {
  if (!what.includes(process.env.ONLY ?? '')) return;
  try { await run(); console.log(`ok ${what}`); } catch (error) { failed++; console.log(`not ok ${what}\n${error.stack}`); }
}

// ---- the package -------------------------------------------------------------------------------------------------------

const site = await servePackage(join(root, 'build/js/package')), { address } = site;

for (const name of ['index.js', 'removal.js'])
  await check(`${name} in a page: filters merge and sync`, async () => {
    const tab = await browser.newPage();
    await tab.goto(address);
    const seen = await tab.evaluate(async (name) => {
      const roost = await import(`/${name}`);
      const a = new roost.Filter({ kind: 'orcuckoo' }), b = new roost.Filter({ kind: 'orcuckoo' });
      a.addMany(['swift', 'größe']);
      b.merge(a.toBytes());
      a.delete('swift');
      const result = roost.sync(a, b);
      return { has: b.hasMany(['swift', 'größe']), equal: result.equal };
    }, name);
    assert.deepEqual(seen, { has: [false, true], equal: true });
    await tab.close();
  });

await check('filters of two tabs sync over a BroadcastChannel', async () => {
  const context = await browser.newContext(), tabs = [await context.newPage(), await context.newPage()];
  for (const tab of tabs) {
    await tab.goto(address);
    await tab.evaluate(async (source) => {
      const url = URL.createObjectURL(new Blob([source.replace("'roost-filter'", `'${location.origin}/index.js'`)], { type: 'text/javascript' }));
      globalThis.shared = (await import(url)).share('birds');
    }, readFileSync(join(root, 'bindings/js/examples/broadcast-channel.js'), 'utf8'));
  }
  await tabs[0].evaluate(() => { shared.add('swift'); });
  await tabs[1].evaluate(() => { shared.add('heron'); });
  for (const tab of tabs) await tab.waitForFunction(() => shared.filter.has('swift') && shared.filter.has('heron'), null, { timeout: 60000 });
  await tabs[1].evaluate(() => { shared.delete('swift'); });
  await tabs[0].waitForFunction(() => !shared.filter.has('swift') && shared.filter.has('heron'), null, { timeout: 60000 });
  await context.close();
});
site.close();

// ---- the playground ----------------------------------------------------------------------------------------------------

async function calm(tab) { // the stream ends, all is healed, and the network does its work
  await tab.uncheck('#stream');
  await tab.click('#heal');
  await run(tab, 250);
}

for (const mode of ['grow', 'remove', 'window', 'counter', 'reconcile'])
  await check(`mode ${mode}: cut, killed, restored, healed, and nothing is lost`, async () => {
    const tab = await open();
    await tab.click(`#mode-${mode}`);
    await run(tab, 60);
    await tab.fill('#key', 'swift');
    await tab.selectOption('#at', '1');
    await tab.click('#add');
    await tab.focus('[data-line="0-1"]');
    await tab.keyboard.press('Enter');
    assert.equal(await tab.getAttribute('[data-line="0-1"]', 'aria-checked'), 'false');
    await tab.click('.card:nth-child(3) .bar button:nth-child(1)');
    await run(tab, 40);
    assert.equal(await tab.textContent('.card:nth-child(3) .size'), 'killed');
    await tab.click('.card:nth-child(3) .bar button:nth-child(1)');
    await tab.click('.card:nth-child(2) .bar button:nth-child(3)');
    if (mode === 'remove') {
      await tab.click('#add');
      await tab.click('#remove');
      assert.match(await tab.textContent('#said'), /swift is removed at Tokyo/);
    }
    await run(tab, 60);
    const amid = await figures(tab);
    if (mode !== 'reconcile') { // a card draws what its filter has; two dots of one prefix are one mark
      const entries = await tab.evaluate(() => playground.world.replicas.map(({ filter }) => filter.info().entries));
      const drawn = (await tab.locator('.card .caption').allTextContents()).map((caption) => Number(/^([0-9,]+) (bits set|prefixes), /.exec(caption)[1].replaceAll(',', '')));
      drawn.forEach((count, i) => assert.ok(count <= entries[i] && count >= entries[i] * 0.95, `${count} of ${entries[i]}`));
    }
    assert.deepEqual([amid.lost, amid.returned], [0, 0]);
    await calm(tab);
    const after = await figures(tab);
    assert.deepEqual([after.lost, after.returned, after.converged], [0, 0, true]);
    assert.equal(await tab.textContent('#agreement strong'), 'All replicas are equal');
    assert.equal(await tab.locator('.card.agrees').count(), 4);
    assert.ok(after.sent > 0 && after.sent < after.whole, `${after.sent} of ${after.whole}`);
    if (after.asked) assert.ok(after.wrong / after.asked <= after.promised * 2 + 0.002);
    assert.deepEqual(tab.errors, []);
    // The address replays it.
    const digests = await tab.evaluate(() => playground.world.replicas.map(({ digest }) => digest));
    const again = await open(await addressOf(tab));
    await run(again, after.tick - (await figures(again)).tick);
    assert.deepEqual(await again.evaluate(() => playground.world.replicas.map(({ digest }) => digest)), digests);
    await tab.context().close();
    await again.context().close();
  });

await check('a drag across a line cuts it, and another heals it', async () => {
  const tab = await open();
  const drag = async () => {
    const box = await tab.locator('#map').boundingBox();
    await tab.mouse.move(box.x + box.width / 2, box.y + 4);
    await tab.mouse.down();
    await tab.mouse.move(box.x + box.width / 2 - 30, box.y + box.height * 0.4, { steps: 8 });
    await tab.mouse.up();
  };
  await drag();
  assert.equal(await tab.evaluate(() => playground.world.lines.get('0-1')), false);
  await drag();
  assert.equal(await tab.evaluate(() => playground.world.lines.get('0-1')), true);
  await tab.focus('#mode-remove');
  await tab.keyboard.press('ArrowRight');
  assert.equal(await tab.evaluate(() => playground.world.mode), 'window');
  await tab.context().close();
});

await check('with the keyboard alone: cut a line, add and remove a key, kill, another mode', async () => {
  const tab = await open('#mode=remove&replicas=3&seed=3');
  const reach = async (selector) => {
    for (let i = 0; i < 90; i++) {
      if (await tab.evaluate((selector) => document.activeElement.matches(selector), selector)) return;
      await tab.keyboard.press('Tab');
    }
    assert.fail(`Tab does not reach ${selector}`);
  };
  await reach('[data-line="0-2"]');
  await tab.keyboard.press('Enter');
  assert.equal(await tab.evaluate(() => playground.world.lines.get('0-2')), false);
  await reach('#delay');
  await tab.keyboard.press('ArrowRight');
  assert.equal(await tab.textContent('#delay-value'), '7 ticks');
  await reach('#key');
  await tab.keyboard.type('swift');
  await tab.keyboard.press('Enter');
  assert.match(await tab.textContent('#said'), /swift is added at Amsterdam/);
  await reach('#remove');
  await tab.keyboard.press('Space');
  assert.match(await tab.textContent('#said'), /swift is removed at Amsterdam/);
  await reach('.card:nth-child(2) .bar button');
  await tab.keyboard.press('Enter');
  assert.equal(await tab.textContent('.card:nth-child(2) .size'), 'killed');
  await reach('#mode-remove');
  await tab.keyboard.press('ArrowLeft');
  assert.equal(await tab.evaluate(() => playground.world.mode), 'grow');
  assert.deepEqual(tab.errors, []);
  await tab.context().close();
});

await check('nothing is wider than a phone, and controls have names', async () => {
  const tab = await open('', { viewport: { width: 360, height: 780 }, isMobile: true, hasTouch: true });
  assert.ok(await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the page scrolls sideways');
  const nameless = await tab.evaluate(() => [...document.querySelectorAll('button, input, select, [role=switch]')].filter((node) => !(node.textContent.trim() || node.getAttribute('aria-label') || node.labels?.length)).map((node) => node.outerHTML));
  assert.deepEqual(nameless, []);
  await tab.context().close();
});

await checkVisit(check, open);
await checkStranger(check, open);
await checkWays(check, browser, open);
await checkAccess(check, open);
await checkHostile(check, open);
await checkFirefox(check, open);

for (const [name, options] of Object.entries({
  light: { viewport: { width: 1280, height: 1000 } }, dark: { viewport: { width: 1280, height: 1000 }, colorScheme: 'dark' }, phone: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true },
}))
  await check(`screenshot: ${name}`, async () => {
    const tab = await open('#scenario=partition', options);
    await runTo(tab, 126);
    await tab.screenshot({ path: join(shots, `${name}.png`) });
    await tab.context().close();
  });

await browser.close();
process.exit(failed ? 1 : 0);
