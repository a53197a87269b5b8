// How a page gets the module, and what it is told if it cannot: a site for each case. checkLoading(check, browser, package)
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { extname, join, normalize } from 'node:path';
import { types } from './pages.js';

// A site with the package, where `change(path)` may return another response: { status, type, body, headers }; 'cut' ends the connection.
async function serve(folder, change = () => null) {
  const server = createServer((request, response) => {
    const path = normalize(new URL(request.url, 'http://localhost').pathname), other = change(path) ?? {};
    if (other === 'cut') { request.socket.destroy(); return; }
    let body = other.body ?? (path === '/' ? '<!doctype html><title>test</title>' : null);
    try { body ??= readFileSync(join(folder, path)); } catch { /* not found */ }
    const type = other.type ?? (path === '/' ? 'text/html' : types[extname(path)] ?? 'text/plain');
    response.writeHead(other.status ?? (body === null ? 404 : 200), { 'content-type': type, ...other.headers }).end(body);
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return { address: `http://127.0.0.1:${server.address().port}/`, close: () => { server.closeAllConnections(); server.close(); } };
}

// Imports core.js in a page of such a site: what a filter answers there, or the error.
async function importIn(browser, folder, change, where = (name) => import(name).then(({ Filter }) => `added ${new Filter().add('swift')}`)) {
  const site = await serve(folder, change), tab = await browser.newPage();
  try {
    await tab.goto(site.address);
    return await tab.evaluate(`(${where})('/core.js').catch((error) => String(error))`);
  } finally {
    await tab.close();
    site.close();
  }
}

const wasm = (answer) => (path) => (path.endsWith('.wasm') ? answer : null);
const policy = (value) => (path) => (path === '/' ? { headers: { 'content-security-policy': value } } : null);

// In workers; a service worker has no top-level await, and gets the bytes by itself.
const inWorker = (name) => new Promise((done) => {
  const source = `import('${location.origin}${name}').then(({ Filter }) => postMessage('added ' + new Filter().add('swift')), (error) => postMessage(String(error)))`;
  new Worker(URL.createObjectURL(new Blob([source], { type: 'text/javascript' })), { type: 'module' }).onmessage = ({ data }) => done(data);
});
const serviceWorker = `import { load } from '/load.js';
  const ready = fetch('/core-simd.wasm').then((response) => response.arrayBuffer()).then((bytes) => load(bytes));
  self.oninstall = (event) => event.waitUntil(ready);
  self.onmessage = async (event) => { const { Filter } = await ready; event.source.postMessage('added ' + new Filter().add('swift')); };`;
const inServiceWorker = async () => {
  const { installing } = await navigator.serviceWorker.register('/service.js', { type: 'module' });
  await new Promise((done) => { installing.onstatechange = () => installing.state === 'activated' && done(); });
  return new Promise((done) => { navigator.serviceWorker.onmessage = ({ data }) => done(data); installing.postMessage('go'); });
};

export async function checkLoading(check, browser, folder) {
  const said = (change, where) => importIn(browser, folder, change, where);
  const cases = {
    'as application/wasm': [null, /^added true$/],
    'under another type': [wasm({ type: 'application/octet-stream' }), /^added true$/],
    'with a parameter in its type': [wasm({ type: 'application/wasm; charset=utf-8' }), /^added true$/],
    'absent': [wasm({ status: 404, body: '' }), /^Error: http:.*\/core-simd\.wasm cannot be loaded: 404 Not Found: copy the .wasm files/],
    'a page in its place': [wasm({ type: 'text/html', body: '<!doctype html>' }), /^Error: http:.*\/core-simd\.wasm cannot be loaded: it is no WebAssembly module, but text\/html.*beside the bundle/],
    'a page in its place that is called a module': [wasm({ body: '<!doctype html>' }), /^Error: http:.*\/core-simd\.wasm cannot be loaded: .*magic word/],
    'no connection': [wasm('cut'), /^Error: http:.*\/core-simd\.wasm cannot be loaded: Failed to fetch$/],
    'a policy with wasm-unsafe-eval': [policy("script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'"), /^added true$/],
    'a policy without': [policy("script-src 'self'"), /^Error: http:.*\/core-simd\.wasm cannot be loaded: .*wasm-unsafe-eval/],
  };
  for (const [what, [change, pattern]] of Object.entries(cases))
    await check(`the module, ${what}`, async () => assert.match(await said(change ?? undefined), pattern));
  await check('the module in a worker', async () => assert.equal(await said(undefined, inWorker), 'added true'));
  await check('the module in a service worker, by load', async () =>
    assert.equal(await said((path) => (path === '/service.js' ? { body: serviceWorker } : null), inServiceWorker), 'added true'));
}
