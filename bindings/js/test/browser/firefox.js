// The playground in Firefox, Debian's or that of FIREFOX, over WebDriver BiDi: the digests of Chromium for the same addresses.
// Without a Firefox a line says that this was left out.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './pages.js';
import { address, digests, runTo, shots } from './tabs.js';

const program = process.env.FIREFOX ?? 'firefox-esr';
const SECONDS = 120; // a busy machine takes half a minute to start it

function within(promise, what) {
  let timer;
  const late = new Promise((_, fail) => { timer = setTimeout(() => fail(new Error(`Firefox: ${what} takes more than ${SECONDS} s`)), 1000 * SECONDS); });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// ---- WebDriver BiDi --------------------------------------------------------------------------------------------------------

class Session {
  #socket; #last = 0; #waiting = new Map();
  errors = [];

  static async to(url) {
    const WebSocket = createRequire(join(root, 'build/js/browser/x.js'))('ws'), session = new Session();
    session.#socket = new WebSocket(`${url}/session`);
    session.#socket.on('message', (text) => session.#take(JSON.parse(text)));
    await within(new Promise((done, fail) => session.#socket.on('open', done).on('error', fail)), 'the connection');
    await session.send('session.new', { capabilities: {} });
    await session.send('session.subscribe', { events: ['log.entryAdded'] });
    session.context = (await session.send('browsingContext.getTree', {})).contexts[0].context;
    return session;
  }

  #take({ id, type, method, result, params, message }) {
    if (method === 'log.entryAdded' && params.level === 'error') this.errors.push(params.text);
    const { done, fail } = this.#waiting.get(id) ?? {};
    this.#waiting.delete(id);
    if (type === 'error') fail?.(new Error(message)); else done?.(result);
  }

  send(method, params) {
    const id = ++this.#last, answer = new Promise((done, fail) => this.#waiting.set(id, { done, fail }));
    this.#socket.send(JSON.stringify({ id, method, params }));
    return within(answer, method);
  }

  /** What an expression of the page is, through JSON. */
  async evaluate(expression) {
    const { type, result, exceptionDetails } = await this.send('script.evaluate', { expression: `(async () => JSON.stringify(await (${expression})))()`, target: { context: this.context }, awaitPromise: true });
    if (type === 'exception') throw new Error(exceptionDetails.text);
    return JSON.parse(result.value);
  }

  async open(url) {
    await this.send('browsingContext.navigate', { context: this.context, url: 'about:blank', wait: 'complete' }); // a hash alone loads nothing
    await this.send('browsingContext.navigate', { context: this.context, url, wait: 'complete' });
    await this.evaluate('new Promise((done) => { const look = () => (globalThis.playground ? done(true) : setTimeout(look, 20)); look(); })');
    await this.evaluate('playground.pause() ?? true');
  }

  async screenshot(path) {
    const { data } = await this.send('browsingContext.captureScreenshot', { context: this.context });
    writeFileSync(path, Buffer.from(data, 'base64'));
  }
}

async function withFirefox(use) {
  const profile = mkdtempSync(join(tmpdir(), 'roost-firefox-'));
  const firefox = spawn(program, ['--headless', '--no-remote', '--profile', profile, '--remote-debugging-port', '0', '--window-size', '1280,900'], { stdio: ['ignore', 'ignore', 'pipe'] });
  try {
    let said = '';
    const url = await within(new Promise((done, fail) => {
      firefox.stderr.on('data', (bytes) => { said += bytes; const found = /WebDriver BiDi listening on (ws:\S+)/.exec(said); if (found) done(found[1]); });
      firefox.on('exit', () => fail(new Error(`Firefox ended: ${said}`)));
    }), 'its start');
    await use(await Session.to(url));
  } finally {
    firefox.kill();
    await new Promise((done) => { if (firefox.exitCode !== null || firefox.signalCode) done(); else firefox.on('exit', done); });
    rmSync(profile, { recursive: true, force: true });
  }
}

// ---- the page --------------------------------------------------------------------------------------------------------------

const script = '5.add.0.swift~10.toggle.0-1~12.toggle.2-3~20.kill.2~25.add.3.heron~40.kill.2~45.restore.1~50.stream.off~50.all.on';
const hashes = ['grow', 'remove', 'window', 'counter', 'reconcile'].map((mode) => `#mode=${mode}&replicas=4&seed=12&script=${script}`);

export async function checkFirefox(check, open) {
  const { error } = spawnSync(program, ['--version']);
  if (error) { console.log(`skip Firefox: there is no ${program}`); return; }
  await check('Firefox: 120 ticks in each mode, lost 0, all equal, the digests of Chromium', async () => {
    await withFirefox(async (firefox) => {
      for (const hash of [...hashes, '#scenario=backup']) {
        await firefox.open(address + hash);
        const seen = await firefox.evaluate('(playground.run(120 - playground.world.tick), { ...playground.world.result, tick: playground.world.tick, digests: playground.world.replicas.map(({ digest }) => digest), title: document.querySelector("#agreement strong").textContent })');
        const tab = await open(hash);
        await runTo(tab, 120);
        assert.deepEqual(seen.digests, await digests(tab), hash);
        assert.deepEqual([seen.tick, seen.lost, seen.returned], [120, 0, 0], hash);
        if (!hash.includes('scenario')) assert.deepEqual([seen.converged, seen.title], [true, 'All replicas are equal'], hash);
        await tab.context().close();
      }
      await firefox.evaluate('new Promise((done) => setTimeout(() => done(true), 1000))'); // the colours change within half a second
      await firefox.screenshot(join(shots, 'firefox.png'));
      assert.deepEqual(firefox.errors, []);
    });
  });
}
