// Windows, counters and reconciliation.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isCore, roost, withProgram } from './package.js';

const { Counter, Filter, Window, reconcile, sync } = roost;
const minute = 60000, start = 1.8e12;

test('a window remembers for as long as it says, and forgets', { skip: isCore }, () => {
  const window = new Window({ window: '10m' });
  assert.equal(window.add('swift', start), true);
  assert.equal(window.add('swift', start + minute), false);
  assert.equal(window.has('swift', new Date(start + 10 * minute)), true);
  assert.equal(window.has('swift', start + 30 * minute), false);
  assert.equal(window.addMany(['a', 'b', 'a'], start + minute), 2);
  assert.throws(() => window.add('old', start - 60 * minute), { code: 'CLOCK' });
  assert.throws(() => window.add('x', 'now'), TypeError);
  assert.throws(() => new Window({}), /window: is missing/);
  assert.throws(() => new Window({ window: '10x' }), /window: must be .*, not '10x'/);
  for (const latest of [start + 2 * minute, 0, new Date(0)]) {
    window.trustUntil(latest);
    assert.throws(() => window.add('x', start + 5 * minute), { code: 'CLOCK' }, String(latest));
  }
  window.trustUntil(null);
  assert.equal(window.add('x', start + 5 * minute), true);
  assert.equal(window.info().window_seconds, 600);
});

test('the length of a window is what the program makes of the same text', { skip: isCore }, () => withProgram(({ run, read }) => {
  const accepted = ['10', '1.5', '.5', '5.', '1e3', '1E+2s', '25e-1m', '90s', '10m', '1.5h', '2d', '250ms', '1.0000009s', '0'.repeat(30) + '7'];
  for (const [i, text] of accepted.entries()) {
    run(['window', 'add', `w${i}`, 'swift', '--window', text]);
    assert.doesNotThrow(() => new Window({ window: text }).merge(read(`w${i}`)), text); // which refuses another length
  }
  const refused = ['', '.', 'e3', '1e', '1_0', '+1', '-1', ' 1', '1 ', '10 m', '10S', '1w', '0x10', '1,5', '٣', 'inf', 'NaN', '0', '0s', '1e-7', '1e999', '400000d',
    '1'.repeat(41), 0, -1, NaN, Infinity, null, [60]];
  for (const value of refused) assert.throws(() => new Window({ window: value }), { code: 'INVALID', message: /^window: must be / }, String(value));
}));

test('windows merge, sync, and are read by the program', { skip: isCore }, () => withProgram(({ run, read, write }) => {
  const a = new Window({ window: 600 }), b = new Window({ window: 600 });
  a.addMany(['a', 'b'], start);
  b.add('c', start + 1000);
  sync(a, b);
  assert.equal(a.digest(), b.digest());
  run(['window', 'add', 'w', 'a', 'b', '--window', '10m', '--time', String(start / 1000)]);
  assert.equal(Window.fromBytes(read('w')).has('b', start), true);
  assert.throws(() => Filter.fromBytes(read('w')), { code: 'MISMATCH', message: /bytes of a window/ });
  write('v', a.toBytes());
  assert.equal(run(['window', 'check', 'v', 'c', 'd', '--time', String(start / 1000 + 1)]).trim(), 'c');
}));

test('an operation has an id of 1 to 65536 bytes', { skip: isCore }, () => {
  const counter = new Counter({ window: '1h' });
  for (const id of ['', new Uint8Array(0), 'x'.repeat(65537)])
    assert.throws(() => counter.increment(id), { code: 'INVALID', message: 'the id of an operation has 1 to 65536 bytes' });
  assert.deepEqual(counter.increment('x'.repeat(65536), 2), { applied: true, value: 2 });
});

test('a counter counts each operation once', { skip: isCore }, () => {
  const a = new Counter({ window: '1h' }), b = new Counter({ window: '1h' });
  assert.deepEqual(a.increment('order-1', 5, start), { applied: true, value: 5 });
  assert.deepEqual(a.increment('order-1', 5, start + 1), { applied: false, value: 5 });
  b.increment('order-2', -2n, start);
  sync(a, b);
  assert.equal(a.value, 3);
  assert.equal(b.value, 3);
  assert.deepEqual(b.increment('order-1', 5, start + 2), { applied: false, value: 3 });
  assert.equal(a.increment('big', 2n ** 62n, start).value, 2n ** 62n + 3n);
  assert.throws(() => a.increment('bigger', 2n ** 62n, start), { code: 'OVERFLOW' });
  assert.throws(() => a.increment('', 1, start), { code: 'INVALID' });
  assert.throws(() => a.increment('x', 1.5, start), { name: 'TypeError', message: 'an amount must be a whole number' });
  assert.throws(() => a.increment('x', 2 ** 53, start), { name: 'TypeError', message: /whole number, beyond 2\^53 - 1 as a bigint/ });
  assert.throws(() => a.increment('x', 2n ** 70n, start), { code: 'OVERFLOW' });
  assert.equal(Counter.fromBytes(a.toBytes()).value, 2n ** 62n + 3n);
});

function run(a, b, options) {
  const here = reconcile(a, options);
  let message = here.next();
  const there = reconcile(b, { first: message });
  for (let turn = there; message; turn = turn === there ? here : there) message = turn.next(message);
  return [here, there];
}
const keysOf = (session) => session.differences().map(({ key }) => key);

for (const method of ['auto', 'riblt', 'dbf', 'ccf-query', 'ccf-decode'])
  test(`reconcile by ${method} finds what differs`, { skip: isCore }, () => {
    const common = Array.from({ length: 1000 }, (_, i) => `common-${i}`);
    const [here, there] = run([...common, 'swift', 'ä'], [...common, 'martin'], { method });
    assert.ok(here.done && there.done);
    if (!method.startsWith('ccf')) {
      assert.deepEqual(keysOf(here), ['swift', 'ä']);
      assert.deepEqual(keysOf(there), ['martin']);
      assert.equal(here.result().exact, true);
    }
    assert.ok(here.result().sent > 0);
  });

test('reconcile of multisets, of bytes, and its errors', { skip: isCore }, () => {
  const bytes = new Uint8Array([1, 2]);
  const [here, there] = run(['a', 'a', 'a', bytes], ['a', 'b'], { multiset: true });
  assert.deepEqual(here.differences(), [{ key: 'a', here: 3, there: 1 }, { key: bytes, here: 1, there: 0 }]);
  assert.deepEqual(keysOf(there), ['a', 'b']);
  assert.throws(() => reconcile('abc'), TypeError);
  assert.throws(() => reconcile(['a', 5]), TypeError);
  assert.throws(() => reconcile([], { method: 'guess' }), /method: must be one of/);
  assert.throws(() => reconcile(['a'], { first: new Uint8Array([1]) }), { name: 'RoostError' });
  assert.throws(() => reconcile(['a']).differences(), /once the session is done/);
  const session = reconcile(['a']);
  session.next();
  assert.throws(() => session.next(new Uint8Array([7, 7, 7])), { name: 'RoostError' });
});
