// Tabs with the playground, paused.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './pages.js';

export const shots = join(root, 'build/web');
export const address = pathToFileURL(join(shots, 'index.html')).href;

/** Returns a function that opens the playground at a hash. Errors of the page, and anything it asks the network for, are in `errors`. */
export const opener = (browser) => async (hash = '', { pause = true, before = null, ...options } = {}) => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options }), tab = await context.newPage();
  tab.errors = [];
  tab.on('pageerror', (error) => tab.errors.push(error.message));
  tab.on('request', (request) => { if (!/^(file|data|blob):/.test(request.url())) tab.errors.push(`asked for ${request.url()}`); });
  if (before) await tab.addInitScript(before);
  await tab.goto(address + hash);
  if (!pause) return tab;
  await tab.waitForFunction(() => globalThis.playground?.world.tick > 0, null, { timeout: 60000 });
  await tab.evaluate(() => playground.pause());
  return tab;
};
export const run = (tab, ticks) => tab.evaluate((ticks) => playground.run(ticks), ticks);
export const runTo = (tab, tick) => tab.evaluate((tick) => playground.run(tick - playground.world.tick), tick);
export const figures = (tab) => tab.evaluate(() => ({ ...playground.world.result, tick: playground.world.tick, sent: playground.world.bytes.sent, whole: playground.world.bytes.whole }));
export const digests = (tab) => tab.evaluate(() => playground.world.replicas.map(({ digest }) => digest));
/** What the chips of a replica say: key to text. */
export const chips = (tab, replica) => tab.evaluate((replica) => Object.fromEntries([...document.querySelectorAll('.card')][replica].querySelectorAll('.chip').values().map((chip) => [chip.querySelector('bdi').textContent, chip.querySelector('span').textContent])), replica);
/** The address, which the page writes a moment after the last act. */
export const addressOf = async (tab) => { await tab.click('#copy'); return tab.evaluate(() => location.hash); };
