// What must not break the page: addresses that anyone may write, engines without WebAssembly, long runs, random acts, colours.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { launch, root } from './pages.js';
import { addressOf, digests, figures, opener, run, runTo } from './tabs.js';

const long = Boolean(process.env.ROOST_LONG);
const MODES = ['grow', 'remove', 'window', 'counter', 'reconcile'];
const keys = ['on', 'off', '1', 'a.b~c', '👩‍🚀🦢', 'עברית و العربية', '\u202egnirts', '\ud800', '__proto__', '<img src=x onerror=alert(1)>', 'x'.repeat(3000), ' ', '%', 'a&b=c#d+e'];

async function checkAddresses(check, open) {
  await check('hostile addresses: no exception, nothing lost, the page goes on', async () => {
    const names = ['add', 'remove', 'toggle', 'all', 'kill', 'backup', 'restore', 'set', 'stream', 'constructor', '__proto__', 'say'];
    const values = ['0', '4', '9', '-1', 'NaN', 'length', 'map', '__proto__', '', '1e3', '%', '%FF', 'on', '0-1', '1-1', '0.0', '99999999999', '%F0%9F'];
    const all = names.flatMap((name) => values.flatMap((value) => [`1.${name}.${value}`, `2.${name}.${value}.swift`, `0.${name}.delay.${value}`, `${value}.${name}.1.x`]));
    const hashes = ['#', '#mode=nothing&replicas=99&seed=-5', '#seed=1e9&replicas=NaN&mode=__proto__', '#scenario=__proto__', '#scenario=minute&script=5.kill.0&mode=grow', `#mode=counter&script=${all.join('~')}`, `#mode=remove&script=${all.join('~')}`,
      `#script=${'0.kill.0~'.repeat(1e4)}`, `#script=${'~'.repeat(2e6)}`, `#mode=grow&script=${Array.from({ length: 3000 }, (_, i) => `0.add.0.k${i}`).join('~')}`];
    for (const hash of hashes) {
      const tab = await open(hash);
      await run(tab, 20);
      const { lost, returned, wrong, asked } = await figures(tab);
      assert.deepEqual([lost, returned, tab.errors], [0, 0, []], hash.slice(0, 60));
      assert.ok(!asked || wrong / asked < 0.02);
      await tab.context().close();
    }
  });

  await check('sliders show what the network has: after an address, a scenario, with the focus on them', async () => {
    const tab = await open('#mode=remove&replicas=3&seed=2&script=0.set.delay.60~0.set.loss.60'), shown = () => tab.evaluate(() => ['delay', 'duplicate', 'loss'].map((name) => [playground.world.network[name], Number(document.getElementById(name).value), parseInt(document.getElementById(`${name}-value`).textContent)]));
    assert.deepEqual(await shown(), [[40, 40, 40], [10, 10, 10], [60, 60, 60]]);
    await tab.focus('#loss');
    await tab.keyboard.press('ArrowLeft');
    assert.deepEqual((await shown())[2], [59, 59, 59]);
    await tab.evaluate(() => { location.hash = '#scenario=weather'; });
    await tab.waitForFunction(() => playground.world.scenario === 'weather');
    assert.deepEqual((await shown())[2], [5, 5, 5]);
    await runTo(tab, 25);
    assert.deepEqual(await shown(), [[40, 40, 40], [50, 50, 50], [50, 50, 50]]);
    const { x, y, width, height } = await tab.locator('#loss').boundingBox();
    await tab.mouse.move(x + width / 2, y + height / 2);
    await tab.mouse.down();
    await run(tab, 2); // a slider that is held stays where it is
    const [, held, text] = (await shown())[2];
    assert.ok(held < 40 && text === held, `${held}`);
    await tab.mouse.up();
    assert.deepEqual((await shown())[2], [held, held, held]);
    await tab.evaluate(() => { location.hash = '#mode=remove&replicas=3&seed=2&script=20.set.loss.30'; });
    await tab.waitForFunction(() => playground.world.tick < 20);
    await tab.evaluate(() => { for (const value of [50, 5]) { document.getElementById('loss').value = value; document.getElementById('loss').dispatchEvent(new Event('input')); } }); // there and back, which is no change
    await runTo(tab, 20);
    assert.deepEqual((await shown())[2], [30, 30, 30]);
    assert.deepEqual(tab.errors, []);
    await tab.context().close();
  });

  await check('keys of any text are shown as text, and replayed from the address', async () => {
    const tab = await open('#mode=remove&replicas=3&seed=2&script=0.stream.off', { viewport: { width: 360, height: 700 } });
    for (const key of keys) {
      await tab.evaluate((key) => { document.getElementById('key').value = key; document.getElementById('add').click(); }, key);
      assert.ok(await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `too wide: ${key.slice(0, 20)}`);
    }
    assert.equal(await tab.locator('.card img').count(), 0);
    await run(tab, 100);
    const again = await open(await addressOf(tab));
    await runTo(again, (await figures(tab)).tick);
    assert.deepEqual(await digests(again), await digests(tab));
    assert.equal(await again.evaluate(() => playground.world.everTyped.size), keys.filter((key) => key.trim()).length);
    await tab.fill('#key', ' heron '); // keyboards of phones add the space
    await tab.click('#check');
    assert.match(await tab.textContent('#said'), /^heron: certainly not/);
    await tab.fill('#key', ' ');
    await tab.click('#add');
    assert.equal(await tab.textContent('#said'), 'Type a key first.');
    assert.ok(await again.evaluate(() => [...playground.world.everTyped].every(({ length }) => length <= 100)));
    assert.deepEqual([...tab.errors, ...again.errors], []);
    await tab.context().close();
    await again.context().close();
  });

  await check('a run that an error stopped goes on with Restart, as the message says; one that was paused stays so', async () => {
    const tab = await open('#mode=remove&replicas=3&seed=2');
    await run(tab, 5);
    await tab.click('#restart');
    assert.deepEqual([await tab.textContent('#play'), (await figures(tab)).tick], ['Play', 0]);
    await tab.evaluate(() => { playground.world.step = () => { throw new Error('for a test'); }; });
    await tab.click('#play');
    await tab.waitForFunction(() => !document.getElementById('sorry').hidden);
    assert.equal(await tab.textContent('#sorry'), 'The run stopped: for a test. Press Restart to go on.');
    await tab.click('#restart');
    await tab.waitForFunction(() => playground.world.tick > 2);
    assert.deepEqual([await tab.isVisible('#sorry'), await tab.textContent('#play'), tab.errors], [false, 'Pause', ['for a test']]);
    await tab.context().close();
  });

  await check('without WebAssembly, or without JavaScript, the page says so, and shows no control that does nothing', async () => {
    for (const [options, sorry] of [[{ before: () => { delete globalThis.WebAssembly; } }, /^This browser has no WebAssembly/], [{ javaScriptEnabled: false }, /needs JavaScript and WebAssembly\.$/]]) {
      const tab = await open('', { pause: false, ...options });
      assert.match(await tab.locator('#sorry:visible, .sorry:visible').innerText(), sorry);
      assert.equal(await tab.locator('button:visible, input:visible, select:visible').count(), 0);
      assert.deepEqual(tab.errors, []);
      await tab.context().close();
    }
  });

  await check('the limit of typed keys: what the message says to do helps', async () => {
    const tab = await open(`#mode=grow&replicas=3&seed=2&script=${Array.from({ length: 250 }, (_, i) => `0.add.0.k${i}`).join('~')}`), add = async () => { await tab.fill('#key', 'swift'); await tab.click('#add'); return tab.textContent('#said'); };
    assert.equal(await add(), 'The playground takes 250 typed keys. Choose a mode for a new run.');
    await tab.click('#mode-grow');
    assert.equal(await add(), 'swift is added at Amsterdam.');
    await tab.context().close();
  });

  await check('the page runs in an engine without 128-bit vectors', async () => {
    const browser = await launch('--no-enable-sse4-1'), tab = await opener(browser)(); // V8 has them with SSE 4.1 alone
    const vectors = await tab.evaluate((bytes) => WebAssembly.validate(Uint8Array.from(bytes)), [...readFileSync(join(root, 'build/js/package/roost-simd.wasm'))]);
    assert.equal(vectors, process.arch !== 'x64');
    await run(tab, 20);
    assert.deepEqual(tab.errors, []);
    await browser.close();
  });
}

async function checkLong(check, open) {
  const ticks = long ? 10000 : 2000;
  await check(`memory does not grow over ${ticks} ticks, in any mode`, async () => {
    for (const mode of MODES) {
      const tab = await open(`#mode=${mode}&replicas=3&seed=5`), session = await tab.context().newCDPSession(tab);
      const used = async () => { await session.send('HeapProfiler.collectGarbage'); const { usedSize } = await session.send('Runtime.getHeapUsage'); return usedSize / 1e6; };
      const steps = (count) => tab.evaluate((count) => { for (let i = 0; i < count; i++) playground.world.step(); }, count);
      await steps(long && mode === 'counter' ? 8000 : 500); // counters know operations for two hours
      const before = await used();
      await steps(ticks);
      const after = await used(), { lost, returned } = await figures(tab);
      assert.ok(after - before < 1.5, `${mode}: ${before.toFixed(1)} to ${after.toFixed(1)} MB`);
      assert.deepEqual([lost, returned], [0, 0], mode);
      await tab.context().close();
    }
  });

  await check('modes switched 50 times leave no world behind', async () => {
    const tab = await open('#replicas=3'), session = await tab.context().newCDPSession(tab);
    await tab.evaluate(() => { globalThis.worlds = []; });
    for (let i = 0; i < 50; i++) await tab.evaluate((mode) => { worlds.push(new WeakRef(playground.world)); document.getElementById(`mode-${mode}`).click(); }, MODES[i % 5]);
    for (let i = 0; i < 3; i++) { await tab.waitForTimeout(50); await session.send('HeapProfiler.collectGarbage'); }
    assert.ok(await tab.evaluate(() => worlds.filter((world) => world.deref()).length) <= 1);
    assert.deepEqual(tab.errors, []);
    await tab.context().close();
  });

  await check('after an hour in the background the run goes on tick by tick', async () => {
    const tab = await open('', { pause: false, before: () => { globalThis.later = 0; const real = requestAnimationFrame; globalThis.requestAnimationFrame = (call) => real((now) => call(now + later)); } });
    await tab.waitForFunction(() => globalThis.playground?.world.tick > 1);
    const [before, after] = await tab.evaluate(async () => {
      const { tick } = playground.world;
      later = 3600e3;
      await new Promise((done) => setTimeout(done, 700));
      return [tick, playground.world.tick];
    });
    assert.ok(after > before && after - before < 9, `${before} to ${after}`);
    await tab.context().close();
  });
}

async function checkPointers(check, open) {
  await check('drags that leave the map, are cancelled, or have two fingers; touch; twice the zoom', async () => {
    const tab = await open('#replicas=4', { hasTouch: true }), map = await tab.locator('#map').boundingBox(), cut = () => tab.evaluate(() => [...playground.world.lines.values()].filter((up) => !up).length);
    await tab.mouse.move(map.x + map.width / 2, map.y + 60);
    await tab.mouse.down();
    await tab.mouse.move(map.x + map.width / 2, map.y - 300, { steps: 6 });
    await tab.mouse.up();
    await tab.mouse.move(map.x + map.width / 2, map.y + map.height - 5, { steps: 6 }); // no longer a drag
    assert.equal(await cut(), 1);
    assert.equal(await tab.getAttribute('#knife', 'points'), '');
    await tab.evaluate(() => {
      const send = (type, pointerId, x, y, button = 0) => document.getElementById('map').dispatchEvent(new PointerEvent(type, { pointerId, clientX: x, clientY: y, button, bubbles: true, isPrimary: pointerId === 1 }));
      const { left, top, width, height } = document.getElementById('map').getBoundingClientRect(), x = left + width / 2;
      send('pointerdown', 1, x, top + height - 2);
      send('pointerdown', 2, x, top + 2);
      send('pointermove', 2, x, top + height / 2); // a second finger cuts nothing
      send('pointercancel', 1, x, top);
      send('pointermove', 1, x, top);
      send('pointerdown', 3, x, top + 2, 2); // nor does another button
      send('pointermove', 3, x, top + height);
    });
    assert.equal(await cut(), 1);
    const at = await tab.evaluate(() => { const { left, top, width, height } = document.querySelector('[data-line="2-3"] .wire').getBoundingClientRect(); return [left + width / 2, top + height / 2]; });
    await tab.touchscreen.tap(...at);
    assert.equal(await cut(), 2);
    for (let i = 0; i < 4; i++) { // on a replica all its lines meet, and none is meant
      const { x, y, width, height } = await tab.locator('#map circle').nth(i).boundingBox();
      for (const hit of [tab.mouse.click.bind(tab.mouse), tab.touchscreen.tap.bind(tab.touchscreen)]) {
        await hit(x + width / 2, y + height / 2);
        assert.equal(await cut(), 2, `on replica ${i}`);
      }
    }
    await tab.dblclick('.card:nth-child(1) .bar button:nth-child(1)');
    assert.equal(await tab.evaluate(() => playground.world.replicas[0].alive), true);
    for (const [width, height] of [[640, 450], [320, 480], [1280, 900]]) {
      await tab.setViewportSize({ width, height });
      assert.ok(await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width} wide`);
    }
    assert.deepEqual(tab.errors, []);
    await tab.context().close();
  });
}

// The contrast of all text that is shown, by the formula of WCAG 2: 4.5, or 3 for large text.
const poor = () => {
  const parse = (text) => { const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number); return [r, g, b, a]; };
  const over = ([r, g, b, a], under) => [r, g, b].map((value, i) => value * a + under[i] * (1 - a));
  const light = (rgb) => rgb.map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ratio = (a, b) => { const [high, low] = [light(a), light(b)].sort((x, y) => y - x); return (high + 0.05) / (low + 0.05); };
  const behind = (node) => { const layers = []; for (let at = node; at; at = at.parentElement) layers.unshift(parse(getComputedStyle(at).backgroundColor)); return layers.reduce((under, layer) => over(layer, under), [255, 255, 255]); };
  const bad = [];
  for (const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); walker.nextNode();) {
    const node = walker.currentNode.parentElement, style = getComputedStyle(node), isSvg = node.namespaceURI.endsWith('svg');
    if (!walker.currentNode.data.trim() || !node.checkVisibility() || node.closest('script, style, option, noscript, :disabled')) continue;
    const circle = node.matches('.count') ? node.parentElement.querySelector('circle') : null;
    const ground = circle ? parse(getComputedStyle(circle).fill).slice(0, 3) : behind(isSvg ? document.querySelector('.network') : node), ink = over(parse(isSvg ? style.fill : style.color), ground);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700), found = ratio(ink, ground);
    if (found < (large ? 3 : 4.5)) bad.push(`${walker.currentNode.data.trim().slice(0, 30)}: ${found.toFixed(2)}`);
  }
  const paint = (name) => { const hex = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim(); return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)); };
  for (const [a, b] of ['wire panel', 'cut panel', 'soft panel', 'green panel', 'red panel', 'edge panel', 'blue panel', 'green-ink green', 'cell field', 'blue field', 'red field', 'amber field'].map((pair) => pair.split(' ')))
    if (ratio(paint(a), paint(b)) < 3) bad.push(`${a} on ${b}: ${ratio(paint(a), paint(b)).toFixed(2)}`);
  return bad;
};

async function checkColours(check, open) {
  for (const colorScheme of ['light', 'dark'])
    await check(`contrast, ${colorScheme}: all text and what is drawn`, async () => {
      const tab = await open('#scenario=backup', { colorScheme, reducedMotion: 'reduce' });
      for (const tick of [12, 118, 170]) { await runTo(tab, tick); assert.deepEqual(await tab.evaluate(poor), []); }
      await tab.click('.card:nth-child(1) .bar button:nth-child(1)');
      assert.deepEqual(await tab.evaluate(poor), []);
      await tab.evaluate(() => { location.hash = '#scenario=minute'; });
      await tab.waitForFunction(() => playground.world.mode === 'window');
      for (const tick of [55, 72, 90]) { await runTo(tab, tick); assert.deepEqual(await tab.evaluate(poor), []); }
      assert.equal(await tab.evaluate(() => getComputedStyle(document.querySelector('.chip')).transitionDuration), '0s');
      await tab.context().close();
    });
}

// ---- random acts -------------------------------------------------------------------------------------------------------

// In the page, so that there are many: presses, keys, drags and typed keys, with ticks between them.
const storm = async ([seed, milliseconds]) => {
  let state = seed;
  const random = (below) => { state = (Math.imul(state, 1664525) + 1013904223) >>> 0; return Math.floor((state / 2 ** 32) * below); };
  const one = (list) => list[random(list.length)], $ = (id) => document.getElementById(id), map = $('map');
  const point = (type) => { const { left, top, width, height } = map.getBoundingClientRect(); map.dispatchEvent(new PointerEvent(type, { pointerId: 1 + random(2), clientX: left + random(width), clientY: top + random(height), button: random(8) ? 0 : 2, bubbles: true })); };
  const acts = [
    () => one([...document.querySelectorAll('button:not(#theme, #copy, #next, #modes button)')].filter(({ disabled }) => !disabled)).click(),
    () => { $('key').value = one(['swift', 'heron', '👩‍🚀', 'a.b~c', 'on', 'kite', `key-${random(320)}`, `bird-${random(100)}`]); $('at').value = random(playground.world.count); one([$('add'), $('remove'), $('check')]).click(); },
    () => point(one(['pointerdown', 'pointermove', 'pointermove', 'pointerup', 'pointercancel'])),
    () => one([...document.querySelectorAll('.line, canvas, .chip, [role=radiogroup] [tabindex="0"]')].filter((node) => node.closest('#modes') === null)).dispatchEvent(new KeyboardEvent('keydown', { key: one(['Enter', ' ', 'ArrowDown', 'ArrowRight', 'Home', 'Escape', 'x']), bubbles: true })),
    () => { const slider = $(one(['delay', 'duplicate', 'loss'])); slider.value = random(60); slider.dispatchEvent(new Event('input')); slider.dispatchEvent(new Event('change')); },
    () => { $('stream').click(); },
    () => { const canvas = one([...document.querySelectorAll('canvas')]), box = canvas.getBoundingClientRect(); canvas.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + random(box.width), clientY: box.top + random(box.height), bubbles: true })); },
  ];
  let done = 0, most = 0;
  for (const end = performance.now() + milliseconds; performance.now() < end; done++) {
    one(acts)();
    playground.pause();
    playground.run(random(4));
    const { lost, returned } = playground.world.result;
    if (lost || returned) return { done, lost, returned, tick: playground.world.tick, hash: location.hash };
    most = Math.max(most, playground.world.done.length);
    if (done % 200 === 0) await new Promise((next) => setTimeout(next));
  }
  return { done, most, lost: 0, returned: 0 };
};

async function checkStorm(check, open) {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31), each = 1000 * Number(process.env.SECONDS ?? (long ? 60 : 12)) / MODES.length;
  await check(`random acts, seed ${seed}: no exception, lost 0, reappeared 0, in every mode`, async () => {
    for (const mode of MODES) {
      const tab = await open(`#mode=${mode}&replicas=${3 + (seed % 3)}&seed=${seed}`);
      const { done, lost, returned, ...rest } = await tab.evaluate(storm, [seed, each]);
      assert.deepEqual([lost, returned, tab.errors], [0, 0, []], `${mode}: ${JSON.stringify(rest)}`);
      assert.ok(done > 30, `${mode}: ${done} acts`);
      await tab.context().close();
    }
  });
}

export async function checkHostile(check, open) {
  await checkAddresses(check, open);
  await checkLong(check, open);
  await checkPointers(check, open);
  await checkColours(check, open);
  await checkStorm(check, open);
}
