// ../package.js in a page: the same names. The address says what is tested: ?module=core&plain. The program runs on the machine
// that serves the page, by requests that wait.
const asked = new URLSearchParams(location.search);
const name = asked.get('module') ?? 'index', isPlain = asked.has('plain');
export const isCore = name !== 'index', removes = name !== 'core', isLong = asked.has('long'), isBrief = false;

export const { load } = await import('/package/load.js');
const file = (plain) => `/package/${isCore ? name : 'roost'}${plain ? '' : '-simd'}.wasm`;
const files = await Promise.all([false, true].map(async (plain) => new Uint8Array(await (await fetch(file(plain))).arrayBuffer())));
export const wasm = (plain = isPlain) => files[Number(plain)];
export const roost = isPlain ? load(wasm()) : await import(`/package/${name}.js`);

export const folderUrl = new URL('/package/', location);
export const collector = async () => globalThis.gc; // suite.js has asked the engine for it

function request(path, body) {
  const call = new XMLHttpRequest();
  call.open('POST', path, false);
  call.overrideMimeType('text/plain; charset=x-user-defined'); // a character for each byte
  call.send(body);
  if (call.status !== 200) throw new Error(call.responseText);
  return Uint8Array.from(call.responseText, (character) => character.charCodeAt(0) & 255);
}

export function withProgram(use) {
  const place = crypto.randomUUID();
  const at = (name) => `/program/${place}/${encodeURIComponent(name)}`;
  return use({
    run: (words, input = '') => new TextDecoder().decode(request(`/program/${place}?words=${encodeURIComponent(JSON.stringify(words))}`, input)),
    read: (name) => request(`${at(name)}?read`, ''),
    write: (name, bytes) => void request(`${at(name)}?write`, bytes),
  });
}
