// Chromium, and a site that has a built package. playwright-core is below build/js/browser, where `fetch` puts it.
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { extname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../../..', import.meta.url));

/** `flags` are those of the engine. */
export function launch(flags = '') {
  const { chromium } = createRequire(resolve(root, 'build/js/browser/x.js'))('playwright-core');
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', ...(flags ? [`--js-flags=${flags}`] : [])] });
}

export const types = { '.js': 'text/javascript', '.wasm': 'application/wasm', '.html': 'text/html' };

/** Serves the files of a folder on a port of this machine, and an empty page at its root. */
export async function servePackage(folder) {
  const server = createServer((request, response) => {
    const path = new URL(request.url, 'http://localhost').pathname;
    if (path === '/') { response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>test</title>'); return; }
    let bytes = null;
    try { bytes = readFileSync(join(folder, path.replaceAll('..', ''))); } catch { /* not found */ }
    response.writeHead(bytes ? 200 : 404, { 'content-type': types[extname(path)] ?? 'text/plain' }).end(bytes ?? '');
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return { address: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}
