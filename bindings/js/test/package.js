// What is tested: the package in ROOST_JS, or the one that `make js` left. ROOST_JS_MODULE: index (all of it), removal or core.
// Node has vectors, and the package takes the form with these; with ROOST_JS_PLAIN the one without is tested.
import { execFileSync } from 'node:child_process';
import { webcrypto } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export const root = fileURLToPath(new URL('../../..', import.meta.url));
export const folder = resolve(process.env.ROOST_JS ?? join(root, 'build/js/package'));
const name = process.env.ROOST_JS_MODULE ?? 'index';
export const isCore = name !== 'index', removes = name !== 'core', isLong = process.env.ROOST_LONG !== undefined;
// As in tests/check.h: make check runs a part of what make check-js does.
export const isBrief = process.env.ROOST_BRIEF !== undefined && !isLong;
if (!existsSync(join(folder, 'core-simd.wasm'))) throw new Error(`there is no package in ${folder}: run make js`);

const file = (name) => pathToFileURL(join(folder, name));
export const folderUrl = file('/');
export const { load } = await import(file('load.js'));
const isPlain = process.env.ROOST_JS_PLAIN !== undefined;
export const wasm = (plain = isPlain) => readFileSync(join(folder, `${isCore ? name : 'roost'}${plain ? '' : '-simd'}.wasm`));
export const roost = isPlain ? load(wasm(), { crypto: webcrypto }) : await import(file(`${name}.node.js`));

// What collects garbage, in the words of the engine.
export async function collector() {
  if (globalThis.Bun) return () => globalThis.Bun.gc(true);
  if (globalThis.gc) return globalThis.gc;
  const { setFlagsFromString } = await import('node:v8');
  const { runInNewContext } = await import('node:vm');
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc');
}

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
