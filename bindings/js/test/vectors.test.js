// The two forms of the module, without and with vectors: the same answers, frames and digests, for slots of all widths.
import assert from 'node:assert/strict';
import { webcrypto } from 'node:crypto';
import { test } from 'node:test';
import { load, removes, wasm } from './package.js';

const [plain, vectors] = [true, false].map((isPlain) => load(wasm(isPlain), { crypto: webcrypto }));
const keysOf = (name, from, count) => Array.from({ length: count }, (_, i) => `${name}-${from + i}`);
const rates = [0.3, 0.1, 0.01, 1e-3, 1e-4, 1e-6, 1e-8, 1e-10];
const counts = [50, 3000, 20000];

function addSome(filter, from, count) {
  const one = Math.min(count, 500);
  let changed = filter.addMany(keysOf('key', from, count - one));
  for (const key of keysOf('key', from + count - one, one)) changed += filter.add(key);
  return changed;
}

const looksOf = (filter, count) => {
  const keys = [...keysOf('key', 0, count), ...keysOf('other', 0, count)];
  return [filter.hasMany(keys).join(), keys.slice(-1000).map((key) => filter.has(key)).join()];
};

function assertAlike(a, b, count) {
  assert.deepEqual(looksOf(a, count), looksOf(b, count));
  assert.equal(a.info().entries, b.info().entries);
}

for (const fpr of rates)
  test(`a filter that grows, at ${fpr}`, () => {
    for (const [i, count] of counts.entries()) {
      const options = { fpr, kind: 'cuckoo', scalable: true, ...(i === 1 && { capacity: 1000 }) };
      const made = [plain, vectors].map(({ Filter }) => {
        const [whole, left, right] = [1, 2, 3].map(() => new Filter(options));
        const changed = addSome(whole, 0, count) + addSome(whole, count >> 1, count >> 1);
        addSome(left, 0, (2 * count) / 3 | 0);
        addSome(right, count >> 1, count - (count >> 1));
        left.merge(right);
        return { whole, left, changed };
      });
      assert.equal(made[0].changed, made[1].changed);
      for (const name of ['whole', 'left']) {
        const [a, b] = made.map((one) => one[name]);
        assertAlike(a, b, count);
        assert.equal(a.digest(), b.digest());
        assert.deepEqual(a.toBytes(), b.toBytes());
        assert.ok(b.hasMany(keysOf('key', 0, count)).every(Boolean));
        assert.equal(vectors.Filter.fromBytes(a.toBytes()).merge(b.toBytes()), false);
      }
      for (const { whole, left } of made) whole.free(), left.free();
    }
  });

for (const fpr of rates)
  test(`a filter that removes, at ${fpr}`, { skip: !removes }, () => {
    for (const count of counts) {
      const [a, b] = [plain, vectors].map(({ Filter }) => new Filter({ kind: 'orcuckoo', fpr }));
      assert.equal(addSome(a, 0, count), addSome(b, 0, count));
      assert.equal(a.deleteMany(keysOf('key', 0, count >> 2)), b.deleteMany(keysOf('key', 0, count >> 2)));
      assertAlike(a, b, count);
      for (const [made, { Filter }] of [[b, plain], [a, vectors]]) {
        const read = Filter.fromBytes(made.toBytes());
        assert.equal(read.digest(), made.digest());
        assertAlike(read, made, count);
        read.free();
      }
      assert.ok(b.merge(a.toBytes()) && a.merge(b.toBytes()));
      assert.equal(a.digest(), b.digest());
      assertAlike(a, b, count);
      a.free(), b.free();
    }
  });
