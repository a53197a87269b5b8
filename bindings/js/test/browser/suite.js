// The tests that Node runs, in Chromium: the same files, in a page whose import map has page_test.js and page_package.js in the
// place of what only Node has. Prints a line for each test; all modules of the package, with and without vectors.
//
//   node suite.js      CHROMIUM names another browser than Debian's, ROOST_JS another package than that of `make js`
import { execFileSync } from 'node:child_process';
import { createServer } from 'node:http';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join, normalize, resolve } from 'node:path';
import { checkLoading } from './loading.js';
import { launch, root, types } from './pages.js';

const here = join(root, 'bindings/js/test');
const folders = { package: resolve(process.env.ROOST_JS ?? join(root, 'build/js/package')), test: here };
const program = resolve(process.env.ROOST ?? join(root, 'build/roost'));
const scratch = mkdtempSync(join(tmpdir(), 'roost-js-'));

// ---- the site ------------------------------------------------------------------------------------------------------------

const names = ['node:test', 'node:assert/strict', 'node:crypto', 'node:util'];
const imports = { ...Object.fromEntries(names.map((name) => [name, '/test/browser/page_test.js'])), '/test/package.js': '/test/browser/page_package.js' };
const page = `<!doctype html><title>tests</title><script type="importmap">${JSON.stringify({ imports })}</script>`;

// What withProgram of page_package.js asks for: a run of the program in a folder, a file that it left, a file for it.
function runProgram(url, body) {
  const [, , place, name] = url.pathname.split('/').map(decodeURIComponent);
  const folder = join(scratch, normalize(`/${place}`)), file = join(folder, normalize(`/${name ?? ''}`));
  mkdirSync(folder, { recursive: true });
  if (url.searchParams.has('read')) return readFileSync(file);
  if (!url.searchParams.has('write')) return execFileSync(program, JSON.parse(url.searchParams.get('words')), { cwd: folder, input: body });
  writeFileSync(file, body);
  return '';
}

function answer(url, body) {
  if (url.pathname === '/') return page;
  const [, top, ...rest] = normalize(url.pathname).split('/');
  if (top === 'program') return runProgram(url, body);
  return readFileSync(join(folders[top], ...rest));
}

const server = createServer(async (request, response) => {
  const url = new URL(request.url, 'http://localhost'), chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  try {
    const bytes = answer(url, Buffer.concat(chunks));
    response.writeHead(200, { 'content-type': url.pathname === '/' ? 'text/html' : types[extname(url.pathname)] ?? 'application/octet-stream' }).end(bytes);
  } catch (error) {
    response.writeHead(404).end(String(error));
  }
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));

// ---- the runs ------------------------------------------------------------------------------------------------------------

const browser = await launch('--expose-gc');
const counts = { passed: 0, failed: 0, skipped: 0 };

function tell(about, { name, error, skipped }) {
  counts[error ? 'failed' : skipped === undefined ? 'passed' : 'skipped']++;
  console.log(error ? `not ok ${about}: ${name}\n${error}` : `${skipped === undefined ? 'ok' : 'skipped'} ${about}: ${name}`);
}

async function run(query, files) {
  const tab = await browser.newPage();
  await tab.goto(`http://127.0.0.1:${server.address().port}/?${query}${process.env.ROOST_LONG ? '&long' : ''}`);
  const results = await tab.evaluate(async (files) => {
    const { runTests } = await import('/test/browser/page_test.js');
    for (const file of files) await import(`/test/${file}.test.js`);
    return runTests();
  }, files);
  for (const result of results) tell(query, result);
  await tab.close();
}

async function check(name, run) {
  try { await run(); tell('loading', { name }); } catch (error) { tell('loading', { name, error: error.stack }); }
}

try {
  await checkLoading(check, browser, folders.package);
  await run('module=index', ['filter', 'timed', 'vectors', 'hostile']);
  for (const query of ['module=removal', 'module=core', 'module=index&plain', 'module=removal&plain', 'module=core&plain']) await run(query, ['filter', 'hostile']);
} finally {
  await browser.close();
  server.close();
  rmSync(scratch, { recursive: true });
}
console.log(`${counts.passed} tests passed in Chromium ${browser.version()}, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exit(counts.failed === 0 && counts.passed > 100 ? 0 : 1);
