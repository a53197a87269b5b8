// The package in pages that bundlers make, opened in Chromium: node bundlers.js FOLDER, where ./bundlers has installed the bundlers and
// the archive of `make js`. Prints a line for each. docs/javascript.md says what each of them needs; it is what is done here.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { launch, servePackage } from './browser/pages.js';

const place = resolve(process.argv[2]);
const versionOf = (name) => JSON.parse(readFileSync(join(place, 'node_modules', name, 'package.json'), 'utf8')).version;
const run = (program, ...words) => execFileSync(join(place, 'node_modules/.bin', program), words, { cwd: place, stdio: ['ignore', 'pipe', 'pipe'] });
const write = (name, text) => { mkdirSync(join(place, name, '..'), { recursive: true }); writeFileSync(join(place, name), text); };
const copyModules = (to) => { for (const name of ['roost.wasm', 'roost-simd.wasm']) cpSync(join(place, 'node_modules/roost-filter', name), join(place, to, name)); };

// ---- the page ------------------------------------------------------------------------------------------------------------

const use = `const here = new Filter({ kind: 'cuckoo' }), there = new Filter({ kind: 'cuckoo' });
here.addMany(['swift', 'größe']);
there.merge(here.toBytes());
document.title = 'has ' + there.hasMany(['swift', 'größe', 'heron']);\n`;
const page = (script) => `<!doctype html><meta charset="utf-8"><title>waits</title><script type="module" src="${script}"></script>\n`;
write('main.js', `import { Filter } from 'roost-filter';\n${use}`);
write('inlined.js', `import bytes from 'roost-filter/core-simd.wasm';\nimport { load } from 'roost-filter/load';\nconst { Filter } = load(bytes);\n${use}`);
write('index.html', page('./main.js'));
write('rollup.config.mjs', `import resolve from '@rollup/plugin-node-resolve';
import { importMetaAssets } from '@web/rollup-plugin-import-meta-assets';
export default { input: 'main.js', output: { dir: 'out/rollup' }, plugins: [resolve({ browser: true }), importMetaAssets()] };\n`);
const older = "export default { build: { target: 'es2022' }, optimizeDeps: { exclude: ['roost-filter'] } };\n";
write('older.config.mjs', older);

// ---- the bundlers --------------------------------------------------------------------------------------------------------

const vite = (name, ...options) => (out) => { run('../' + name + '/bin/vite.js', 'build', '--outDir', out, ...options); };
// What each leaves in `out`; a page is added where there is none.
const bundlers = {
  'vite': vite('vite'),
  'vite5': vite('vite5', '--config', 'older.config.mjs'),
  'webpack': (out) => run('webpack', '--mode', 'production', '--entry', './main.js', '--output-path', join(place, out)),
  'rollup': () => run('rollup', '-c'),
  'parcel': (out) => run('parcel', 'build', 'index.html', '--dist-dir', out, '--no-cache'),
  'esbuild': (out) => { run('esbuild', 'main.js', '--bundle', '--format=esm', `--outdir=${out}`); copyModules(out); },
  'esbuild, inlined': (out) => run('esbuild', 'inlined.js', '--bundle', '--format=esm', '--loader:.wasm=binary', '--target=es2022', `--outfile=${out}/main.js`),
  'bun': (out) => { run('bun', 'build', 'main.js', '--outdir', out); copyModules(out); },
};

const browser = await launch();
let failed = 0;

async function visit(tab, address) {
  await tab.goto(address);
  await tab.waitForFunction(() => document.title !== 'waits', null, { timeout: 20000 });
}

async function check(what, open) {
  const tab = await browser.newPage(), errors = [];
  tab.on('pageerror', (error) => errors.push(error.message));
  try {
    await open(tab);
    assert.equal(await tab.title(), 'has true,true,false');
    console.log(`ok ${what}`);
  } catch (error) {
    failed++;
    console.log(`not ok ${what}\n${errors.join('\n')}\n${error.message}${error.stderr ?? ''}`);
  }
  await tab.close();
}

for (const [name, build] of Object.entries(bundlers)) {
  const [program] = name.split(','), out = `out/${name.replace(', ', '-')}`;
  await check(`a page of ${name.replace('vite5', 'vite')} ${versionOf(program)}`, async (tab) => {
    rmSync(join(place, out), { recursive: true, force: true });
    build(out);
    if (!existsSync(join(place, out, 'index.html'))) write(`${out}/index.html`, page('./main.js'));
    const site = await servePackage(join(place, out));
    try {
      await visit(tab, `${site.address}index.html`);
    } finally {
      site.close();
    }
  });
}

for (const [name, configFile] of [['vite', false], ['vite5', join(place, 'older.config.mjs')]])
  await check(`the server of vite ${versionOf(name)}`, async (tab) => {
    const { createServer } = await import(join(place, 'node_modules', name, 'dist/node/index.js'));
    const server = await createServer({ root: place, configFile, logLevel: 'silent', cacheDir: join(place, 'out', `cache-${name}`), server: { port: 0, host: '127.0.0.1' } });
    try {
      await server.listen();
      await visit(tab, `http://127.0.0.1:${server.httpServer.address().port}/`);
    } finally {
      await server.close();
    }
  });

await browser.close();
process.exit(failed ? 1 : 0);
