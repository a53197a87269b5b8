// Gets a module that lies beside this file, by fetch; in Node, node.js does it. Bundlers for pages read this file,
// so it imports nothing of Node.
import { load } from './load.js';
import { hasVectors } from './vectors.js';

const advice = 'copy the .wasm files of the package beside the bundle, or see "Pages and bundlers" in docs/javascript.md';

// While it arrives, if the server says what it is. Servers that do not know the type, and those that send a page for
// any path that they do not have, are found by the first bytes.
async function compile(response) {
  const type = response.headers.get('content-type') ?? 'of no type';
  if (type === 'application/wasm') return WebAssembly.compileStreaming(response);
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (String(bytes.subarray(0, 4)) !== '0,97,115,109') throw new Error(`it is no WebAssembly module, but ${type}: ${advice}`);
  return WebAssembly.compile(bytes);
}

function hintAt({ message }) {
  return /Content Security|CSP|unsafe-eval/.test(message) ? `${message} (script-src must have 'wasm-unsafe-eval')` : message;
}

export async function loadFrom(plain, withVectors) {
  const url = hasVectors() ? withVectors : plain;
  try {
    const response = await fetch(url);
    if (!response.ok) throw new Error(`${response.status} ${response.statusText}`.trim() + (response.status === 404 ? `: ${advice}` : ''));
    return load(await compile(response));
  } catch (cause) {
    throw new Error(`${url} cannot be loaded: ${hintAt(cause)}`, { cause });
  }
}
