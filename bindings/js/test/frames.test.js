// The playground's reader of frames (web/frames.js), a second one beside the library's: it finds as many bits and prefixes as the
// filter says that it has, and the same prefixes of the same keys in filters of different kinds.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { isCore, removes, roost } from './package.js';

// By a URL that says that it is a module: web/ has no package.json, and Node 18 takes its files for CommonJS.
const { marksOf } = await import(`data:text/javascript;base64,${readFileSync(new URL('../../../web/frames.js', import.meta.url), 'base64')}`);
const { Filter, Window, Counter } = roost;
const START = 1.8e12, names = (count) => Array.from({ length: count }, (_, i) => `key-${i}`);
const inside = (marks) => marks.every(([, place]) => place >= 0 && place < 1);
// The first bits of prefixes, which have different lengths.
const firsts = (marks) => [...new Set(marks.map(([, place]) => Math.floor(place * 2 ** 20)))].sort((a, b) => a - b);

function agrees(filter) {
  const marks = marksOf(filter.toBytes());
  assert.equal(marks.length, filter.info().entries);
  assert.equal(new Set(marks.map(([number]) => number)).size, marks.length);
  assert.ok(inside(marks));
  return marks;
}

test('the bits of a Bloom filter, as positions and as they are', () => {
  const filter = new Filter({ kind: 'bloom', capacity: 1000, fpr: 0.01 });
  for (const count of [0, 20, 1000]) {
    filter.addMany(names(count));
    assert.ok(agrees(filter).every(([number]) => number < filter.info().bits));
  }
});

test('prefixes with dots, after removals and merges', { skip: !removes }, () => {
  const filter = new Filter({ kind: 'orcuckoo' }), other = new Filter({ kind: 'orcuckoo' });
  agrees(filter);
  for (let i = 0; i < 5; i++) {
    filter.addMany(names(100 * (i + 1)));
    other.add(`other-${i}`);
    filter.deleteMany(names(20 * i));
    filter.merge(other);
    agrees(filter);
  }
});

test('prefixes of windows and counters, and until when they are found', { skip: isCore }, () => {
  const filter = new Filter({ kind: 'orcuckoo' }), window = new Window({ window: 60 }), counter = new Counter({ window: 60 });
  for (const [i, key] of names(300).entries()) {
    filter.add(key);
    window.add(key, START + i * 100);
    counter.increment(key, 1, START + i * 100);
  }
  const marks = agrees(window);
  for (const later of [0, 20, 40, 60, 70, 74, 75, 80, 90, 120, 300]) {
    const now = START + later * 1000, found = names(300).filter((key) => window.has(key, now));
    assert.equal(marks.filter(([, , , until]) => until > now).length, found.length, `${later} seconds later`);
  }
  for (const [, , since, until] of marks) assert.ok(since <= START + 30000 && until - since === 75000); // a window and a slot
  for (const timed of [window, counter]) assert.deepEqual(firsts(agrees(timed)), firsts(agrees(filter)));
});
