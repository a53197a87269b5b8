// What a visitor sees: typed keys, ready runs, what just happened, cells, speed.
import assert from 'node:assert/strict';
import { addressOf, chips, digests, figures, run, runTo } from './tabs.js';

async function type(tab, key, replica, button = '#add') {
  await tab.fill('#key', key);
  await tab.selectOption('#at', String(replica));
  await tab.click(button);
}

async function checkChips(check, open) {
  await check('typed keys: not yet at a replica that is cut off, here when the message arrives, gone when the removal does', async () => {
    const tab = await open('#mode=remove&replicas=4&seed=2&script=0.stream.off~0.toggle.0-2~0.toggle.1-2~0.toggle.2-3');
    await type(tab, 'swift', 0);
    assert.deepEqual([await chips(tab, 0), await chips(tab, 1)], [{ swift: 'here' }, { swift: 'not yet' }]);
    await run(tab, 80);
    assert.deepEqual([await chips(tab, 1), await chips(tab, 2), await chips(tab, 3)], [{ swift: 'here' }, { swift: 'not yet' }, { swift: 'here' }]);
    await tab.click('#heal');
    await run(tab, 80);
    assert.deepEqual(await chips(tab, 2), { swift: 'here' });
    await type(tab, 'swift', 2, '#remove');
    assert.deepEqual([await chips(tab, 2), await chips(tab, 0)], [{ swift: 'removed' }, { swift: 'here' }]);
    await run(tab, 80);
    for (let i = 0; i < 4; i++) assert.deepEqual(await chips(tab, i), { swift: 'removed' });
    await tab.click('.card:nth-child(2) .bar button:nth-child(1)');
    assert.deepEqual(await chips(tab, 1), { swift: 'no answer' });
    for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) await type(tab, key, 0);
    assert.deepEqual(Object.keys(await chips(tab, 0)), ['a', 'b', 'c', 'd', 'e', 'f']); // the last six
    assert.ok(await tab.evaluate(() => ['swift', 'a', 'f'].every((key) => playground.world.everAdded.has(key)))); // they count as lost or reappeared
    await tab.context().close();
  });

  await check('typed keys in windows are forgotten, and operations are counted once', async () => {
    const tab = await open('#mode=window&replicas=3&seed=2&script=0.stream.off');
    await type(tab, 'swift', 0);
    assert.deepEqual(await chips(tab, 0), { swift: '60 s left' });
    await run(tab, 45);
    assert.deepEqual(await chips(tab, 1), { swift: '15 s left' });
    assert.equal(await tab.getAttribute('.chip', 'data-state'), 'fading');
    await run(tab, 60);
    assert.deepEqual(await chips(tab, 1), { swift: 'forgotten' });
    await tab.click('#mode-counter');
    for (let i = 0; i < 3; i++) await type(tab, 'order-17', 0);
    assert.deepEqual([await chips(tab, 0), await chips(tab, 1)], [{ 'order-17': 'counted once' }, { 'order-17': 'not yet' }]);
    await tab.context().close();
  });

  await check('chips: one stop for Tab, arrow keys, and a press takes the key to the form; a redraw keeps the focus', async () => {
    const tab = await open('#mode=remove&replicas=3&seed=2&script=0.add.0.swift~0.add.1.heron');
    assert.equal(await tab.locator('.card:nth-child(2) .chip[tabindex="0"]').count(), 1);
    await tab.focus('.card:nth-child(2) .chip[tabindex="0"]');
    await tab.keyboard.press('ArrowDown');
    await run(tab, 5);
    assert.equal(await tab.evaluate(() => document.activeElement.textContent), '✓heron here');
    await tab.keyboard.press('Enter');
    assert.deepEqual(await tab.evaluate(() => [document.activeElement.id, document.getElementById('key').value, document.getElementById('at').value]), ['key', 'heron', '1']);
    await tab.context().close();
  });
}

// What is true of each scenario at its end, beside that nothing was lost and that all agree.
const ends = {
  partition: { swift: 'here', heron: 'here' }, concurrent: { swift: 'here', heron: 'removed' }, backup: { swift: 'removed', heron: 'here' }, death: { swift: 'here', heron: 'here', kite: 'here' },
  weather: { swift: 'here', heron: 'removed' }, retries: { 'order-17': 'counted once', 'order-18': 'counted once' }, minute: { swift: 'forgotten', heron: 'forgotten', kite: 'forgotten' }, lists: { swift: 'here', heron: 'here', kite: 'here' },
};

async function checkScenarios(check, open) {
  await check('ready runs: each has its captions, ends as it says, and its address gives the same digests', async () => {
    const tab = await open(), ids = await tab.evaluate(() => [...document.querySelectorAll('#scenario option')].map(({ value }) => value).filter(Boolean));
    assert.deepEqual(ids, Object.keys(ends));
    for (const id of ids) {
      await tab.selectOption('#scenario', id);
      await tab.evaluate(() => playground.pause());
      const captions = new Set();
      for (let i = 0; i < 40; i++) {
        captions.add(await tab.textContent('#caption'));
        await run(tab, 10);
        const now = await figures(tab);
        assert.deepEqual([now.lost, now.returned], [0, 0], id);
      }
      assert.ok(captions.size >= 4 && ![...captions].includes(''), `${id}: ${captions.size} captions`);
      assert.equal((await figures(tab)).converged, true, id);
      for (let i = 0; i < 3; i++) assert.deepEqual(await chips(tab, i), ends[id], id);
      const address = await addressOf(tab), { tick } = await figures(tab), before = await digests(tab);
      for (const hash of [address, `#scenario=${id}`]) {
        for (const [next, scenario] of [['#mode=grow', ''], [hash, id]]) {
          await tab.evaluate((next) => { location.hash = next; }, next);
          await tab.waitForFunction((scenario) => playground.world.scenario === scenario && playground.world.tick < 100, scenario);
        }
        await runTo(tab, tick);
        assert.deepEqual(await digests(tab), before, `${id} at ${hash}`);
        assert.equal(await tab.evaluate(() => document.getElementById('scenario').value), id);
      }
    }
    assert.deepEqual(tab.errors, []);
    await tab.context().close();
  });

  await check('an act in the middle of a replay keeps the rest of the script', async () => {
    const tab = await open('#scenario=partition');
    await runTo(tab, 60);
    await type(tab, 'kite', 1);
    const address = await addressOf(tab);
    assert.match(address, /60\.add\.1\.kite.*~130\.all\.on/);
    await runTo(tab, 260);
    const again = await open(address);
    await runTo(again, 260);
    assert.deepEqual(await digests(again), await digests(tab));
    await tab.context().close();
    await again.context().close();
  });
}

async function checkReplay(check, open) {
  await check('Restart: the chips of a replay are those of the run, also of keys typed within one tick', async () => {
    const tab = await open('#mode=remove&replicas=3&seed=2&script=0.stream.off~0.all.off'), shown = async () => [await chips(tab, 0), Object.keys(await chips(tab, 0))];
    await runTo(tab, 5);
    await type(tab, 'swift', 0);
    await type(tab, 'swift', 0, '#remove');
    await type(tab, 'swift', 1); // which Amsterdam has not heard of; it had the key before
    await run(tab, 1);
    const once = await shown();
    assert.deepEqual(once[0], { swift: 'removed' });
    await tab.click('#restart');
    await runTo(tab, 6);
    assert.deepEqual(await shown(), once);
    for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) await type(tab, key, 0);
    await tab.evaluate(() => { for (const key of ['g', 'h', 'b']) playground.world.act('add', 0, key); playground.run(1); }); // one drawing
    assert.deepEqual((await shown())[1], ['d', 'e', 'f', 'g', 'h', 'b']);
    await tab.context().close();
  });

  await check('Back to the page: the speed is the one that is shown', async () => {
    const tab = await open('#mode=remove&replicas=3&seed=2', { pause: false, before: () => { globalThis.requestAnimationFrame = (call) => { globalThis.frame = call; }; } });
    const begun = () => tab.waitForFunction(() => globalThis.frame, null, { polling: 50 });
    await begun();
    await tab.selectOption('#speed', '4');
    await tab.goto('about:blank');
    await tab.goBack();
    await begun();
    const ticks = await tab.evaluate(() => { for (let now = 1000; now < 3000; now += 10) frame(now); return playground.world.tick; }), speed = Number(await tab.inputValue('#speed'));
    assert.ok(Math.abs(ticks - (2000 / 140) * speed) < 8, `${speed}×: ${ticks} ticks`);
    await tab.context().close();
  });

  await check('Copy address: the address of this run, also where the browser refuses to change the one it shows', async () => {
    const tab = await open('#mode=remove&replicas=3&seed=2', { permissions: ['clipboard-read', 'clipboard-write'] });
    await tab.evaluate(() => { history.replaceState = () => { throw new Error('for a test'); }; });
    await type(tab, 'swift', 0);
    await tab.click('#copy');
    await tab.waitForFunction(() => document.getElementById('copy').textContent === 'Copied');
    assert.match(await tab.evaluate(() => navigator.clipboard.readText()), /^file:.*index\.html#mode=remove&replicas=3&seed=2&script=[0-9]+\.add\.0\.swift$/);
    await tab.context().close();
  });
}

async function checkRest(check, open) {
  await check('what just happened: the last five, and announcements with a pause between them', async () => {
    const tab = await open('#mode=remove&replicas=3&seed=2&script=0.stream.off');
    await runTo(tab, 45);
    await tab.evaluate(() => { globalThis.spoken = 0; new MutationObserver(() => { spoken++; }).observe(document.getElementById('announced'), { childList: true, characterData: true, subtree: true }); });
    await tab.click('#cut');
    for (let i = 0; i < 12; i++) await tab.click('.card:nth-child(1) .bar button:nth-child(1)');
    await tab.click('.card:nth-child(2) .bar button:nth-child(3)');
    await tab.click('#heal');
    const rows = await tab.locator('#events bdi').allTextContents();
    assert.deepEqual([rows.length, rows[0], rows[1]], [5, 'All lines are healed', 'Tokyo is restored from tick 40']);
    await tab.waitForFunction(() => spoken > 0, null, { timeout: 12000 });
    assert.ok(await tab.evaluate(() => spoken) <= 2);
    await tab.context().close();
  });

  await check('a cell says which key it is and who has it: hover, keyboard', async () => {
    const tab = await open('#mode=grow&replicas=3&seed=2&script=0.stream.off~0.all.off~0.add.1.key-43');
    await run(tab, 2);
    const box = await tab.locator('.card:nth-child(1) canvas').boundingBox(), scale = box.width / 480;
    await tab.mouse.move(box.x + 3.5 * 12 * scale, box.y + (6 + 1.5 * 12) * scale);
    assert.equal(await tab.textContent('#tip'), 'key-43: at Tokyo, not at Amsterdam and Lima');
    await tab.mouse.move(5, 5);
    assert.equal(await tab.isVisible('#tip'), false);
    await tab.focus('.card:nth-child(2) canvas');
    await tab.keyboard.press('Home');
    for (const key of ['ArrowDown', 'ArrowRight', 'ArrowRight', 'ArrowRight']) await tab.keyboard.press(key);
    assert.equal(await tab.getAttribute('.card:nth-child(2) canvas', 'aria-valuetext'), 'key-43: at Tokyo, not at Amsterdam and Lima');
    await tab.context().close();
  });

  await check('a pointer on a picture between a tick and its drawing: also of a replica that just started', async () => {
    const tab = await open('#mode=remove&replicas=3&seed=2&script=5.kill.1~10.kill.1');
    await runTo(tab, 9);
    await tab.evaluate(() => playground.world.step()); // and no drawing
    await tab.hover('.card:nth-child(1) canvas', { position: { x: 20, y: 8 } });
    assert.equal(await tab.isVisible('#tip'), true);
    assert.deepEqual(tab.errors, []);
    await tab.context().close();
  });

  await check('speed, and running until all digests are equal', async () => {
    const tab = await open('#mode=remove&replicas=3&seed=2');
    await runTo(tab, 20);
    await tab.selectOption('#speed', '4');
    await tab.click('#cut');
    await tab.click('#equal');
    assert.match(await tab.textContent('#refused'), /cut off/);
    await tab.click('#heal');
    const kill = async () => { for (let i = 1; i <= 3; i++) await tab.click(`.card:nth-child(${i}) .bar button`); };
    await kill();
    await tab.click('#equal');
    assert.deepEqual([await tab.textContent('#refused'), await tab.textContent('#play')], ['All replicas are killed. Start one first.', 'Play']);
    await kill(); // which starts them
    await tab.evaluate(() => { location.hash = '#mode=remove&replicas=3&seed=2&script=0.stream.off~0.all.off'; });
    await tab.waitForFunction(() => !playground.world.stream && playground.world.tick < 50);
    await tab.click('#equal'); // they are: cut lines do not matter
    assert.equal(await tab.textContent('#refused'), '');
    await tab.waitForFunction(() => document.getElementById('play').textContent === 'Play', null, { timeout: 20000 });
    await tab.click('#heal');
    await tab.check('#stream');
    await run(tab, 20);
    await tab.click('#equal');
    await tab.waitForFunction(() => document.getElementById('play').textContent === 'Play', null, { timeout: 20000 });
    assert.equal((await figures(tab)).converged, true);
    await tab.context().close();
  });
}

export async function checkVisit(check, open) {
  await checkChips(check, open);
  await checkScenarios(check, open);
  await checkReplay(check, open);
  await checkRest(check, open);
}
