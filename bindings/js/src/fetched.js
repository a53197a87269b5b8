// Gets a module that lies beside this file, by fetch; in Node, node.js does it. Bundlers for pages read this file,
// so it imports nothing of Node.
import { load } from './load.js';
import { hasVectors } from './vectors.js';

export async function loadFrom(plain, withVectors) {
  const url = hasVectors() ? withVectors : plain;
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} cannot be loaded: ${response.status} ${response.statusText}`);
  return load(await WebAssembly.compile(await response.arrayBuffer()));
}
