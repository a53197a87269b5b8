// What someone sees who comes for the first time: whether replicas are equal and why not, what changes cost, queries, words, a phone.
import assert from 'node:assert/strict';
import { addressOf, digests, figures, run, runTo } from './tabs.js';

const MODES = ['grow', 'remove', 'window', 'counter', 'reconcile'];
const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
const said = (tab) => tab.textContent('#said');
const agreement = (tab) => tab.evaluate(() => [document.querySelector('#agreement strong').textContent, document.getElementById('more').textContent]);

async function checkAgreement(check, open) {
  await check('the stream comes in bursts: in each rest, all replicas become equal', async () => {
    for (const mode of MODES)
      for (const seed of [1, 2, 3]) {
        const tab = await open(`#mode=${mode}&replicas=4&seed=${seed}`), equal = await tab.evaluate(() => {
          const rests = [];
          while (playground.world.tick < 240) { playground.world.step(); const { tick, result } = playground.world; if ((tick - 1) % 60 >= 30) rests[Math.floor((tick - 1) / 60)] ||= result.converged; }
          return rests;
        });
        assert.deepEqual(equal, [true, true, true, true], `${mode}, seed ${seed}`);
        await tab.context().close();
      }
  });

  await check('the panel says how much is still spreading, who is cut off, and that all are equal', async () => {
    for (const [mode, detail] of [['grow', '1 key is not everywhere yet.'], ['remove', '1 change is not everywhere yet.'], ['window', '1 change is not everywhere yet.'], ['counter', '1 operation is not everywhere yet.'], ['reconcile', '1 key is not everywhere yet.']]) {
      const tab = await open(`#mode=${mode}&replicas=4&seed=2&script=0.stream.off~2.all.off~2.add.2.heron`);
      await runTo(tab, 2);
      assert.deepEqual(await agreement(tab), ['Cut off: all replicas', detail], mode);
      for (const line of ['0-1', '0-3', '1-3']) await tab.evaluate((line) => document.querySelector(`[data-line="${line}"]`).dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter' })), line);
      assert.deepEqual(await agreement(tab), ['Cut off: Lima', detail], mode);
      await tab.click('#heal');
      assert.deepEqual(await agreement(tab), ['Still spreading', detail], mode);
      await run(tab, 60);
      assert.deepEqual(await agreement(tab), ['All replicas are equal', 'All digests are the same.'], mode);
      await tab.click('.card:nth-child(1) .bar button:nth-child(1)');
      assert.equal((await agreement(tab))[0], 'All others are equal');
      await tab.context().close();
    }
  });

  await check('changes cost less than whole states from the first message on, and setup costs nothing', async () => {
    for (const mode of MODES) {
      const tab = await open(`#mode=${mode}&replicas=4&seed=1&script=0.stream.off`);
      await runTo(tab, 30);
      if (mode !== 'reconcile') assert.equal((await figures(tab)).sent, 0, mode);
      await tab.evaluate((mode) => { location.hash = `#mode=${mode}&replicas=4&seed=4`; }, mode);
      await tab.waitForFunction(() => playground.world.seed === 4);
      for (let i = 0; i < 60; i++) {
        await run(tab, 1);
        const { sent, whole, tick } = await figures(tab);
        assert.ok(sent <= whole / 4, `${mode}: ${sent} of ${whole} at tick ${tick}`);
      }
      await tab.context().close();
    }
  });
}

async function checkQueries(check, open) {
  const ask = async (tab, key, at) => { await tab.fill('#key', key); await tab.selectOption('#at', String(at)); await tab.click('#check'); return said(tab); };

  await check('Check: certainly not, probably, a false positive; it changes nothing', async () => {
    const tab = await open('#mode=remove&replicas=4&seed=2&script=0.stream.off~0.all.off~0.add.2.swift');
    const before = [await digests(tab), await addressOf(tab)];
    assert.equal(await ask(tab, 'swift', 2), 'swift: probably at Lima (it is)');
    assert.equal(await ask(tab, 'swift', 1), 'swift: certainly not at Tokyo');
    await tab.fill('#key', '');
    await tab.click('#check');
    assert.equal(await said(tab), 'Type a key first.');
    assert.deepEqual([await digests(tab), await addressOf(tab)], before);
    assert.equal(await tab.locator('.chip').count(), 4); // swift alone
    await tab.click('.card:nth-child(3) .bar button:nth-child(1)');
    assert.equal(await ask(tab, 'swift', 2), 'Lima is killed. Start it first.');
    for (const [mode, there, not] of [['grow', /^heron: probably at Oslo \(it is\)$/, /^kite: certainly not at Oslo$/], ['window', /^heron: probably at Oslo \(it is\)$/, /^kite: certainly not at Oslo$/], ['reconcile', /^heron: in the list of Oslo$/, /^kite: not in the list of Oslo$/]]) {
      await tab.click(`#mode-${mode}`);
      await tab.evaluate(() => playground.pause());
      await tab.fill('#key', 'heron');
      await tab.selectOption('#at', '3');
      await tab.click('#add');
      assert.match(await ask(tab, 'heron', 3), there);
      assert.match(await ask(tab, 'kite', 3), not);
    }
    await tab.click('#mode-grow');
    const wrong = await tab.evaluate(() => { playground.pause(); for (let i = 0; i < 1e5; i++) if (playground.world.replicas[2].filter.has(`bird-${i}`)) return `bird-${i}`; });
    assert.equal(await ask(tab, wrong, 2), `${wrong}: probably at Lima (a false positive: nobody added it)`);
    await tab.click('#add');
    assert.equal(await said(tab), `${wrong} is added at Lima.`);
    await tab.click('#add');
    assert.equal(await said(tab), `${wrong} is there already at Lima.`);
    await tab.evaluate(() => { location.hash = '#mode=remove&replicas=4&seed=3&script=0.stream.off'; });
    await tab.waitForFunction(() => playground.world.seed === 3);
    await tab.evaluate(() => playground.world.replicas[2].filter.add('owl')); // as if it were one: here they are rare
    assert.equal(await ask(tab, 'owl', 2), 'owl: probably at Lima (a false positive: nobody added it)');
    await tab.click('#remove');
    assert.equal(await said(tab), 'owl is not at Lima.');
    await tab.click('#mode-counter');
    assert.deepEqual([await tab.isVisible('#check'), await tab.isVisible('#remove')], [false, false]); // a counter has neither
    assert.deepEqual(tab.errors, []);
    await tab.context().close();
  });

  await check('messages beside the key go when the mode, the key or the run changes', async () => {
    const tab = await open('#mode=remove&replicas=4&seed=2');
    for (const leave of ['#mode-grow', '#restart', '#mode-counter', '#heal', 'key', 'chosen']) {
      await tab.fill('#key', '');
      await tab.click('#add');
      assert.match(await said(tab), /^Type (a key|an operation) first\.$/);
      if (leave === 'key') await tab.fill('#key', 'swift');
      else if (leave === 'chosen') await tab.selectOption('#scenario', 'backup');
      else await tab.click(leave);
      assert.equal(await said(tab), '', leave);
    }
    await tab.context().close();
  });
}

async function checkWords(check, open) {
  await check('labels, the legend above the cards, what dots and prefixes are, and what this is', async () => {
    const tab = await open('#mode=remove&replicas=4&seed=2', { viewport: { width: 1280, height: 1000 } });
    const text = (selector) => tab.locator(selector).innerText(), terms = () => tab.locator('#figures dt').allTextContents();
    assert.deepEqual((await terms()).slice(0, 2), ['Keys lost', 'Removed keys that reappeared']);
    assert.ok((await tab.locator('h2').allTextContents()).includes('Compared with the exact sets'));
    assert.equal(await text('label[for=scenario]'), 'Scenario');
    assert.deepEqual(await tab.locator('#dots span').allTextContents(), ['change', 'acknowledgement']);
    assert.match(await text('#cells'), /A prefix is the stored first bits of a key’s hash\.$/);
    assert.equal(await tab.getAttribute('.card:nth-child(1) .caption', 'title'), 'A prefix is the stored first bits of a key’s hash');
    const legend = await tab.locator('#legend').boundingBox(), cards = await tab.locator('#cards').boundingBox();
    assert.ok(legend.height < 30 && legend.y + legend.height <= cards.y, 'one line above the cards');
    assert.equal(await tab.isVisible('#what p'), false);
    await tab.focus('#what summary');
    await tab.keyboard.press('Enter');
    assert.match(await text('#what p'), /^Each replica holds .* send each other .* “Lost 0” means /);
    for (const [mode, second] of [['grow', undefined], ['window', 'Forgotten keys that reappeared'], ['counter', 'Counted too often'], ['reconcile', undefined]]) {
      await tab.click(`#mode-${mode}`);
      assert.equal((await terms())[1], second);
    }
    assert.deepEqual(await tab.locator('#dots span').allTextContents(), ['reconciliation']);
    assert.ok(!/came back|Show me|Beside the|Replicas differ/.test(await tab.innerText('body')));
    await tab.context().close();
  });
}

async function checkNumbers(check, open) {
  await check('one key, one prefix, one message, one tick: no plural of one', async () => {
    for (const hash of ['#mode=window&replicas=3&seed=2&script=0.stream.off~100.add.0.swift~110.set.delay.1', '#mode=grow&replicas=3&seed=2&script=0.set.delay.1']) {
      const tab = await open(hash), seen = await tab.evaluate(() => {
        const wrong = new Set();
        while (playground.world.tick < 180) {
          playground.run(1);
          for (const [text] of document.body.innerText.matchAll(/(?<![\d,.])1 (keys|bits|prefixes|messages|ticks|duplicates|operations|changes)\b/g)) wrong.add(text);
        }
        return [...wrong];
      });
      assert.deepEqual(seen, [], hash);
      await tab.context().close();
    }
  });

  await check('messages: each copy is one, so that no more are lost than there are', async () => {
    const tab = await open('#mode=remove&replicas=3&seed=1&script=0.kill.1~0.kill.2~0.set.duplicate.60~0.set.loss.60');
    await run(tab, 200);
    const text = await tab.textContent('#traffic p'), [all, lost, duplicates] = text.match(/\d+/g).map(Number);
    assert.match(text, /^\d+ messages with acknowledgements; \d+ lost, \d+ duplicates\.$/);
    assert.ok(duplicates > 10 && lost > all / 2 && lost <= all, text);
    assert.deepEqual(await agreement(tab), ['Only Amsterdam is alive', 'Killed replicas get what they lack when they start.']);
    await tab.context().close();
  });

  await check('a window: prefixes get paler without any message, and those that are forgotten are faint', async () => {
    const tab = await open('#mode=window&replicas=3&seed=2&script=0.stream.off'), paints = () => tab.evaluate(() => {
      const { data } = document.querySelector('.card canvas').getContext('2d').getImageData(0, 116, 480, 94);
      return [...new Set(new Uint32Array(data.buffer))].map((paint) => paint & 255).sort((a, b) => a - b); // how red: the darkest first
    });
    const hex = (name) => tab.evaluate((name) => parseInt(getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim().slice(1, 3), 16), name), [empty, field] = [await hex('empty'), await hex('field')];
    const seen = [];
    for (const tick of [10, 40, 59, 90]) { await runTo(tab, tick); seen.push(await paints()); }
    assert.ok(seen[0][0] < seen[1][0] && seen[1][0] < seen[2][0], JSON.stringify(seen));
    assert.deepEqual(seen[3], [empty, field]);
    assert.match(await tab.textContent('.card:nth-child(1) .caption'), /^400 prefixes/); // of the state, which the next addition changes
    assert.match(await tab.textContent('#cells'), /those that are forgotten leave with the next addition\./);
    await tab.context().close();
  });

  await check('no dot hides the number in a replica, and no figure of the charts has two lines', async () => {
    const tab = await open('#mode=remove&replicas=4&seed=2');
    for (let i = 0; i < 40; i++) {
      await run(tab, 1);
      const hidden = await tab.evaluate(() => {
        const canvas = document.getElementById('packets'), { left, top, width } = canvas.getBoundingClientRect(), ratio = canvas.width / width;
        return [...document.querySelectorAll('#map circle')].filter((circle) => {
          const box = circle.getBoundingClientRect(), half = box.width * 0.33, [x, y] = [box.left + box.width / 2 - half - left, box.top + box.height / 2 - half - top];
          return canvas.getContext('2d').getImageData(x * ratio, y * ratio, 2 * half * ratio, 2 * half * ratio).data.some(Boolean);
        }).length;
      });
      assert.equal(hidden, 0, `tick ${i}`);
    }
    for (const mode of MODES) {
      await tab.click(`#mode-${mode}`);
      for (const box of await tab.locator('#rates dt:visible').all()) assert.ok((await box.boundingBox()).height < 25, `${mode}: ${await box.textContent()}`);
    }
    await tab.context().close();
  });
}

// A finger that goes from a place of the map, in units of its drawing, upwards or downwards.
async function swipe(tab, [x, y], by) {
  const session = await tab.context().newCDPSession(tab), at = await tab.evaluate(([x, y]) => { const point = new DOMPoint(x, y).matrixTransform(document.getElementById('map').getScreenCTM()); return { x: point.x, y: point.y }; }, [x, y]);
  const send = (type, touchPoints) => session.send('Input.dispatchTouchEvent', { type, touchPoints });
  await send('touchStart', [at]);
  for (let i = 1; i <= 12; i++) await send('touchMove', [{ x: at.x, y: at.y + (by * i) / 12 }]);
  await send('touchEnd', []);
  await tab.waitForTimeout(300);
}

async function checkPhone(check, open) {
  await check('a phone: lost, reappeared and equal or not are right below the network', async () => {
    const tab = await open('#mode=remove&replicas=4&seed=2&script=0.stream.off', phone), brief = () => tab.locator('#brief').innerText();
    assert.equal((await brief()).replace(/\s+/g, ' '), 'All replicas are equal lost 0 reappeared 0 All digests are the same.');
    const map = await tab.locator('#map').boundingBox(), line = await tab.locator('#brief').boundingBox();
    assert.ok(line.y >= map.y + map.height && line.y - map.y - map.height < 16 && line.height < 80, JSON.stringify([map, line]));
    await tab.click('#cut');
    await tab.fill('#key', 'swift');
    await tab.click('#add');
    assert.match(await brief(), /Cut off: all replicas/);
    await tab.click('#mode-grow');
    assert.doesNotMatch(await brief(), /reappeared/);
    await tab.setViewportSize({ width: 1280, height: 900 });
    assert.equal(await tab.isVisible('#brief'), false);
    await tab.context().close();
  });

  await check('a narrow phone: nothing leaves its card, and typed keys are to be read beside what became of them', async () => {
    const script = (key) => `script=0.stream.off~0.add.0.${key}~0.add.1.${'W'.repeat(100)}~0.all.off~20.kill.1~25.kill.1~30.remove.0.${key}`;
    for (const mode of MODES)
      for (const width of [320, 360]) {
        const tab = await open(`#mode=${mode}&replicas=5&seed=2&${script('order-17')}`, { ...phone, viewport: { width, height: 780 } });
        for (const tick of [22, 40]) {
          await runTo(tab, tick);
          const { out, cut } = await tab.evaluate(() => {
            const cards = [...document.querySelectorAll('.card')], right = (node) => node.getBoundingClientRect().right;
            return {
              out: cards.flatMap((card) => [...card.querySelectorAll('*')].filter((node) => node.checkVisibility() && right(node) > right(card) + 0.5).map((node) => `${node.tagName} ${node.textContent}`)),
              cut: cards.flatMap((card) => [...card.querySelectorAll('bdi')].filter((key) => key.textContent === 'order-17' && key.scrollWidth > key.clientWidth).map((key) => key.parentElement.textContent)),
            };
          });
          assert.deepEqual([out, cut], [[], []], `${mode}, ${width} px`);
        }
        await tab.context().close();
      }
  });

  await check('a phone: the name of each scenario has room beside the button for the next one', async () => {
    const tab = await open('#scenario=death', phone);
    const { room, widest } = await tab.evaluate(() => {
      const select = document.getElementById('scenario'), style = getComputedStyle(select), pen = document.createElement('canvas').getContext('2d');
      pen.font = style.font;
      return { room: select.clientWidth - parseFloat(style.paddingLeft) - 28, widest: Math.max(...[...select.options].map(({ text }) => pen.measureText(text).width)) }; // 28: the arrow
    });
    assert.ok(room >= widest, `${widest} in ${room}`);
    await tab.context().close();
  });

  await check('a scenario: the map stays where it is, however long a caption is, on screens of any width', async () => {
    for (const width of [320, 390, 820, 1280]) {
      const tab = await open('', { viewport: { width, height: 844 } }), ids = await tab.evaluate(() => [...document.querySelectorAll('#scenario option')].map(({ value }) => value).filter(Boolean));
      for (const id of ids) {
        await tab.evaluate((id) => { location.hash = `#scenario=${id}`; }, id);
        await tab.waitForFunction((id) => playground.world.scenario === id, id);
        const tops = await tab.evaluate(() => {
          const seen = new Set();
          while (playground.world.tick < 240) { playground.run(5); seen.add(Math.round(document.getElementById('map').getBoundingClientRect().top + scrollY)); }
          return [...seen];
        });
        assert.equal(tops.length, 1, `${id}, ${width} px: ${tops}`);
      }
      await tab.context().close();
    }
  });

  await check('windows of any width: what there is to watch has room, and so has the map', async () => {
    const tab = await open('#scenario=backup');
    for (let width = 320; width <= 1400; width += 40) {
      await tab.setViewportSize({ width, height: 900 });
      const { watch, map, figures, charts } = await tab.evaluate(() => {
        const box = (selector) => document.querySelector(selector).getBoundingClientRect();
        return { watch: box('#watch').height, map: box('#map').width, figures: box('.exact').right, charts: box('#traffic').right };
      });
      assert.ok(watch < 90 && map >= Math.min(width - 70, 300), `${width} px: ${watch} high, map ${map} wide`);
      assert.equal(charts, figures, `${width} px: a column without a chart`);
      assert.ok(await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width} wide`);
    }
    await tab.context().close();
  });

  await check('a finger on the map scrolls the page, unless it starts near a line', async () => {
    const tab = await open('#mode=remove&replicas=4&seed=2&script=0.stream.off', phone), scrolled = () => tab.evaluate(() => scrollY), cut = () => tab.evaluate(() => [...playground.world.lines].filter(([, up]) => !up).map(([line]) => line));
    await tab.evaluate(() => document.getElementById('map').scrollIntoView({ block: 'center' }));
    const before = await scrolled();
    await swipe(tab, [15, 130], -90); // left of all lines
    const after = await scrolled();
    assert.ok(after > before + 40, `${before} to ${after}`);
    assert.deepEqual(await cut(), []);
    await swipe(tab, [180, 52], -40); // below the line between Amsterdam and Tokyo
    assert.deepEqual([await cut(), await scrolled()], [['0-1'], after]);
    assert.deepEqual(tab.errors, []);
    await tab.context().close();
  });
}

async function checkCounterWords(check, open) {
  await check('a counter has operations, not keys, in all that the page says', async () => {
    const tab = await open('#mode=counter&replicas=3&seed=2'), keys = /\bkeys?\b/i;
    await tab.click('#add');
    assert.equal(await said(tab), 'Type an operation first.');
    for (let i = 0; i < 2; i++) await tab.click('#stream');
    await tab.fill('#key', 'order-17');
    await tab.click('#add');
    const texts = await tab.evaluate(() => ['.story', '.network', '#typed', '#legend', '#cards', '#cells', 'aside', '.log'].flatMap((part) => [...document.querySelectorAll(part)].flatMap((node) => [node.innerText, ...[...node.querySelectorAll('[aria-label], [title]')].filter((inner) => inner.checkVisibility()).flatMap((inner) => [inner.getAttribute('aria-label') ?? '', inner.title])]).filter(Boolean)));
    assert.ok(texts.some((text) => text.includes('Stream of operations')) && texts.some((text) => text.includes('The stream of operations starts')));
    assert.deepEqual(texts.filter((text) => keys.test(text)), []);
    await tab.click('#mode-remove');
    assert.equal(await tab.textContent('#streamed'), 'Stream of keys');
    await tab.context().close();
  });
}

export async function checkStranger(check, open) {
  await checkAgreement(check, open);
  await checkQueries(check, open);
  await checkWords(check, open);
  await checkNumbers(check, open);
  await checkCounterWords(check, open);
  await checkPhone(check, open);
}
