// That all can use the page: axe, the keyboard alone, screen readers, forced colours, less motion, slow phones.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './pages.js';
import { run, runTo } from './tabs.js';

const MODES = ['grow', 'remove', 'window', 'counter', 'reconcile'];
const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

// ---- axe -------------------------------------------------------------------------------------------------------------------

async function violations(tab) {
  const found = await tab.evaluate(() => axe.run(document, { resultTypes: ['violations'] }));
  return found.violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 120)}`));
}

async function checkAxe(check, open) {
  const source = readFileSync(join(root, 'build/js/browser/node_modules/axe-core/axe.min.js'), 'utf8');
  for (const colorScheme of ['light', 'dark'])
    await check(`axe, ${colorScheme}: no violation in any mode, in a scenario, on a phone`, async () => {
      const states = MODES.map((mode) => [`#mode=${mode}&replicas=4&seed=2&script=0.add.0.swift~5.toggle.0-1~20.kill.1`, 45, {}]);
      for (const [hash, tick, options] of [...states, ['#scenario=backup', 118, {}], ['#scenario=partition', 190, phone]]) {
        const tab = await open(hash, { colorScheme, reducedMotion: 'reduce', ...options });
        await runTo(tab, tick);
        await tab.click('#what summary');
        await tab.evaluate(source);
        assert.deepEqual(await violations(tab), [], hash);
        await tab.context().close();
      }
    });
}

// ---- the keyboard ----------------------------------------------------------------------------------------------------------

// What has the focus, whether one sees that, and where it is in the page.
const focused = () => {
  const { activeElement: node } = document, wire = node.querySelector('.wire'), style = getComputedStyle(wire ?? node);
  const order = [...document.querySelectorAll('*')].indexOf(node);
  return { name: node.id || node.dataset.line || `${node.tagName} ${node.textContent.trim().slice(0, 20)}`, body: node === document.body, order, seen: wire ? parseFloat(style.strokeWidth) >= 5 : style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2 };
};

async function checkKeyboard(check, open) {
  await check('Tab: in the order of the page, through all that can be used, with a mark that one sees', async () => {
    const tab = await open('#mode=remove&replicas=3&seed=2&script=0.add.0.swift~40.backup.0'), stops = [];
    await runTo(tab, 45);
    for (let i = 0; i < 90; i++) {
      await tab.keyboard.press('Tab');
      const stop = await tab.evaluate(focused);
      if (stop.body) break;
      stops.push(stop);
    }
    assert.deepEqual(stops.filter(({ seen }) => !seen).map(({ name }) => name), [], 'focus that is not seen');
    assert.deepEqual(stops.map(({ order }) => order), stops.map(({ order }) => order).sort((a, b) => a - b), 'another order');
    const usable = await tab.evaluate(() => [...document.querySelectorAll('button, input, select, summary, [tabindex]')].filter((node) => node.checkVisibility() && !node.disabled && node.tabIndex >= 0).length);
    assert.equal(stops.length, usable);
    await tab.context().close();
  });

  await check('Esc: the tip goes, and so does a drag', async () => {
    const tab = await open('#mode=remove&replicas=4&seed=2'), { x, y, width } = await tab.locator('#map').boundingBox();
    await tab.focus('.card:nth-child(1) canvas');
    await tab.keyboard.press('ArrowRight');
    assert.equal(await tab.isVisible('#tip'), true);
    await tab.keyboard.press('Escape');
    assert.equal(await tab.isVisible('#tip'), false);
    await tab.mouse.move(x + width / 2, y + 4);
    await tab.mouse.down();
    await tab.mouse.move(x + width / 2, y + 20, { steps: 3 });
    await tab.keyboard.press('Escape');
    await tab.mouse.move(x + width / 2, y + 90, { steps: 5 });
    await tab.mouse.up();
    assert.equal(await tab.evaluate(() => [...playground.world.lines.values()].includes(false)), false);
    await tab.context().close();
  });
}

// ---- what is spoken --------------------------------------------------------------------------------------------------------

async function checkSpoken(check, open) {
  await check('screen readers: routine is silent, and in a scenario the captions speak', async () => {
    const listen = (tab) => tab.evaluate(() => {
      globalThis.spoken = [];
      for (const node of document.querySelectorAll('[aria-live], [role=status], [role=alert]')) new MutationObserver(() => { if (node.textContent) spoken.push(`${node.id}: ${node.textContent}`); }).observe(node, { childList: true, characterData: true, subtree: true });
    });
    for (const [hash, most] of [['#mode=remove&replicas=4&seed=2&script=5.all.off~50.all.on', 2], ['#scenario=partition', 8]]) {
      const tab = await open(hash);
      await listen(tab);
      for (let i = 0; i < 160; i++) await run(tab, 1);
      await tab.waitForTimeout(4500); // the pause before announcements
      const spoken = await tab.evaluate(() => spoken);
      assert.ok(spoken.length <= most, spoken.join('\n'));
      const routine = await tab.evaluate(() => playground.world.events.filter(({ text }) => / merges | start with |backed up/.test(text)));
      assert.ok(routine.length > 2 && routine.every(({ quiet }) => quiet));
      if (hash.includes('scenario')) assert.ok(spoken.length >= 6 && spoken.every((text) => text.startsWith('caption:')), spoken.join('\n'));
      await tab.click('.card:nth-child(1) .bar button');
      await tab.waitForFunction(() => spoken.includes('announced: Amsterdam is killed.'), null, { timeout: 12000 });
      await tab.context().close();
    }
  });

  await check('screen readers and voice control press a line: it is cut once, as with a mouse', async () => {
    const tab = await open('#mode=remove&replicas=3&seed=2'), isUp = () => tab.evaluate(() => playground.world.lines.get('0-2'));
    await tab.evaluate(() => document.querySelector('[data-line="0-2"]').dispatchEvent(new MouseEvent('click', { bubbles: true }))); // no pointer before it
    assert.equal(await isUp(), false);
    const { x, y, width, height } = await tab.locator('[data-line="0-2"] .wire').boundingBox();
    await tab.mouse.click(x + width / 2, y + height / 2);
    assert.equal(await isUp(), true);
    await tab.context().close();
  });

  await check('charts and pictures have names that say what they show', async () => {
    const tab = await open('#mode=grow&replicas=4&seed=2');
    await runTo(tab, 60);
    assert.match(await tab.getAttribute('#rate-chart', 'aria-label'), /^False positives: 0\.[0-9]+ % measured, at most 5 % promised$/);
    assert.match(await tab.getAttribute('#byte-chart', 'aria-label'), /^Bytes: [0-9,]+ k?B sent\. Whole states instead: [0-9,]+ kB$/);
    assert.equal(await tab.getAttribute('.card:nth-child(1) canvas', 'aria-label'), 'Keys at Amsterdam');
    await tab.context().close();
  });
}

// ---- what users ask of their system ----------------------------------------------------------------------------------------

async function checkSystem(check, open) {
  for (const colorScheme of ['light', 'dark'])
    await check(`forced colours, ${colorScheme}: what is a colour alone elsewhere is still to be seen`, async () => {
      const tab = await open('#mode=remove&replicas=4&seed=2&script=0.stream.off~0.add.0.swift', { forcedColors: 'active', colorScheme, reducedMotion: 'reduce' });
      const same = await tab.evaluate(() => {
        const paint = (node, what) => getComputedStyle(node)[what], paper = paint(document.body, 'backgroundColor');
        const unseen = [...document.querySelectorAll('#legend i, #dots i, .digest i, .state i')].filter((node) => node.checkVisibility() && paint(node, 'backgroundColor') === paper);
        const [chosen, other] = ['mode-remove', 'mode-grow'].map((id) => paint(document.getElementById(id), 'borderTopWidth'));
        const unread = [...document.querySelectorAll('button.primary')].filter((node) => paint(node, 'backgroundColor') === paint(node, 'color'));
        const { data } = document.querySelector('.card canvas').getContext('2d').getImageData(0, 0, 480, 210);
        return { unseen: unseen.length, unread: unread.length, chosen: chosen !== other, colours: new Set(new Uint32Array(data.buffer)).size };
      });
      assert.deepEqual({ ...same, colours: same.colours > 1 }, { unseen: 0, unread: 0, chosen: true, colours: true });
      await tab.context().close();
    });

  await check('less motion: no dots on the lines, no transitions', async () => {
    const tab = await open('#mode=remove&replicas=4&seed=2', { reducedMotion: 'reduce' });
    await run(tab, 20);
    const dots = (page) => page.evaluate(() => { const { width, height } = document.getElementById('packets'); return new Uint32Array(document.getElementById('packets').getContext('2d').getImageData(0, 0, width, height).data.buffer).some(Boolean); });
    const moving = await tab.evaluate(() => [...document.querySelectorAll('*')].filter((node) => node.checkVisibility() && (node.matches('#packets') || getComputedStyle(node).transitionDuration !== '0s' || getComputedStyle(node).animationName !== 'none')).length);
    assert.ok(await tab.evaluate(() => playground.world.messages.length) > 0);
    assert.equal(moving, 0);
    const other = await open('#mode=remove&replicas=4&seed=2');
    await run(other, 20);
    assert.deepEqual([await dots(tab), await dots(other)], [false, true]);
    await tab.context().close();
    await other.context().close();
  });

  await check('the theme that was chosen stays after a reload', async () => {
    const tab = await open('', { colorScheme: 'light' }), dark = () => tab.evaluate(() => getComputedStyle(document.documentElement).colorScheme);
    await tab.click('#theme');
    await tab.reload();
    await tab.waitForFunction(() => globalThis.playground);
    assert.deepEqual([await dark(), await tab.textContent('#theme')], ['dark', 'Light theme']);
    await tab.context().close();
  });
}

// ---- time ------------------------------------------------------------------------------------------------------------------

// Processor time, which other work on the machine does not change: a phone takes six times as long, and a frame may take 50 ms.
async function checkTime(check, open) {
  await check('a tick takes less than 10 ms of processor time, in any mode, with five replicas', async () => {
    for (const mode of MODES) {
      const tab = await open(`#mode=${mode}&replicas=5&seed=2`, { ...phone, deviceScaleFactor: 2 }), session = await tab.context().newCDPSession(tab);
      await session.send('Performance.enable', { timeDomain: 'threadTicks' });
      const used = async () => (await session.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'TaskDuration').value * 1000;
      await run(tab, 60);
      const before = await used();
      await tab.evaluate(() => { for (let i = 0; i < 120; i++) playground.run(1); });
      const each = (await used() - before) / 120;
      assert.ok(each < 10, `${mode}: ${each.toFixed(1)} ms`);
      await tab.context().close();
    }
  });
}

export async function checkAccess(check, open) {
  await checkAxe(check, open);
  await checkKeyboard(check, open);
  await checkSpoken(check, open);
  await checkSystem(check, open);
  await checkTime(check, open);
}
