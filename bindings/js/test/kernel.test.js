// The kernel for vectors of WebAssembly beside the one in plain C, and beside exact models: tests of the library (tests/unit), compiled
// as WebAssembly by ../build.sh.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { folder } from './package.js';

const start = `
import { readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';
const wasi = new WASI({ version: 'preview1', env: process.env, returnOnExit: true });
const module = new WebAssembly.Module(readFileSync(process.argv[1]));
process.exitCode = wasi.start(new WebAssembly.Instance(module, { wasi_snapshot_preview1: wasi.wasiImport, math: Math }));`;

for (const unit of ['prefix_table', 'tagged_table'])
  test(`${unit}, with vectors`, { skip: globalThis.Deno && 'Deno has no WASI' }, () => {
    const file = join(folder, '..', `unit_${unit}.wasm`);
    execFileSync('ninja', ['-C', join(folder, '..'), '--quiet', `unit_${unit}.wasm`]);
    const said = execFileSync(process.execPath, ['--no-warnings', '--input-type=module', '-e', start, file], { encoding: 'utf8' });
    assert.ok(said.match(/^ok /gm).length >= 3, said);
  });
