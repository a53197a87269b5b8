// Gets a module that lies beside this file: from the disk in Node, by fetch elsewhere. Of its two forms it gets the one that the
// engine can run: with vectors of 128 bits, by which filters that grow are faster, or without.
import { load } from './load.js';

const isNode = typeof process === 'object' && process !== null && typeof process.versions?.node === 'string' && process.type !== 'renderer';

// A function of no arguments that returns a vector, whose bytes are all 0: (func (result v128) (i8x16.splat (i32.const 0)))
const vectors = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 8, 1, 6, 0, 65, 0, 253, 15, 11]);

async function compile(url) {
  if (isNode) {
    const { readFile } = await import('node:fs/promises');
    return WebAssembly.compile(await readFile(url));
  }
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} cannot be loaded: ${response.status} ${response.statusText}`);
  return WebAssembly.compile(await response.arrayBuffer());
}

export async function loadFrom(plain, withVectors) {
  const crypto = globalThis.crypto ?? (await import('node:crypto')).webcrypto; // Node 18 has it there
  return load(await compile(WebAssembly.validate(vectors) ? withVectors : plain), { crypto });
}
