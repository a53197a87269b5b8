// What is tested: the package in ROOST_JS, or the one that `make js` left. ROOST_JS_MODULE: index (all of it), removal or core.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export const root = fileURLToPath(new URL('../../..', import.meta.url));
export const folder = resolve(process.env.ROOST_JS ?? join(root, 'build/js/package'));
const name = process.env.ROOST_JS_MODULE ?? 'index';
export const isCore = name !== 'index', removes = name !== 'core';
if (!existsSync(join(folder, 'core.wasm'))) throw new Error(`there is no package in ${folder}: run make js`);

const file = (name) => pathToFileURL(join(folder, name));
export const roost = await import(file(`${name}.js`));
export const { load } = await import(file('load.js'));
export const wasm = () => readFileSync(join(folder, isCore ? `${name}.wasm` : 'roost.wasm'));

// Runs the program on files in a folder of its own; `input` is what it reads.
const program = process.env.ROOST ?? join(root, 'build/roost');
export function withProgram(use) {
  const place = mkdtempSync(join(tmpdir(), 'roost-js-'));
  try {
    return use({
      run: (words, input = '') => execFileSync(program, words, { cwd: place, input, encoding: 'utf8' }),
      read: (name) => new Uint8Array(readFileSync(join(place, name))),
      write: (name, bytes) => writeFileSync(join(place, name), bytes),
    });
  } finally {
    rmSync(place, { recursive: true });
  }
}
