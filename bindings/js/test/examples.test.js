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
  const there = { send: (message) => arrived.push(message) };
  const here = { send: (message) => answerOver(there, server, message.slice().buffer) };
  const next = async () => arrived.shift();
  const memory = await syncOver(here, next, client);
  assert.equal(client.digest(), server.digest());
  client.delete('swift');
  await syncOver(here, next, client, memory);
  assert.equal(server.has('swift'), false);
  assert.throws(() => answerOver(there, server, new Uint8Array([1, 2, 3]).buffer), { name: 'RoostError' });
  assert.ok(arrived.pop() instanceof Uint8Array); // which tells the peer
});

test('the block of the package\'s README does what it says', async () => {
  const [, block] = /```js\n([^]*?)```/.exec(readFileSync(new URL('../README.md', import.meta.url), 'utf8'));
  const printed = [];
  await new (Object.getPrototypeOf(async () => {}).constructor)('roost', 'console', block.replace(/import (\{.*\}) from .*;/, 'const $1 = roost;'))(roost, { log: (...values) => printed.push(...values) });
  assert.deepEqual(printed, [true, true]);
});
