// Gets a module that lies beside this file: from the disk in Node, by fetch elsewhere.
import { load } from './load.js';

const isNode = typeof process === 'object' && process !== null && typeof process.versions?.node === 'string' && process.type !== 'renderer';

async function compile(url) {
  if (isNode) {
    const { readFile } = await import('node:fs/promises');
    return WebAssembly.compile(await readFile(url));
  }
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} cannot be loaded: ${response.status} ${response.statusText}`);
  return WebAssembly.compile(await response.arrayBuffer());
}

export async function loadFrom(url) {
  const crypto = globalThis.crypto ?? (await import('node:crypto')).webcrypto; // Node 18 has it there
  return load(await compile(url), { crypto });
}
