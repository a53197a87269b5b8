// The examples that need no browser, over sockets that are lists of messages.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { roost } from './package.js';
import { answerOver, syncOver } from '../examples/websocket.js';

const { Filter } = roost;

test('two filters sync over a socket', async () => {
  const client = new Filter({ kind: 'orcuckoo' }), server = new Filter({ kind: 'orcuckoo' }), arrived = [];
  client.addMany(['swift', 'heron']);
  server.add('martin');
  const there = { send: (message) => arrived.push(message), close: () => arrived.push('closed') };
  const here = { send: (message) => answerOver(there, server, message.slice().buffer) };
  const next = async () => arrived.shift();
  const memory = await syncOver(here, next, client);
  assert.equal(client.digest(), server.digest());
  client.delete('swift');
  await syncOver(here, next, client, memory);
  assert.equal(server.has('swift'), false);
  assert.equal(answerOver(there, server, new Uint8Array([1, 2, 3]).buffer).name, 'RoostError');
  assert.equal(arrived.pop(), 'closed');
  assert.ok(arrived.pop() instanceof Uint8Array); // which tells the peer
});

// What a block prints, with the package that is tested in the place of what it imports.
async function printedBy(page) {
  const [, block] = /```js[^\n]*\n([^]*?)```/.exec(readFileSync(new URL(page, import.meta.url), 'utf8'));
  const printed = [];
  await new (Object.getPrototypeOf(async () => {}).constructor)('roost', 'console', block.replace(/import (\{.*\}) from .*;/, 'const $1 = roost;'))(roost, { log: (...values) => printed.push(...values) });
  return printed;
}

test('the blocks of the package\'s README and of the project\'s do what they say', async () => {
  assert.deepEqual(await printedBy('../README.md'), [true, true]);
  assert.deepEqual(await printedBy('../../../README.md'), ['swift', true]);
});
