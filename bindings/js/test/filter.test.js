// Filters: what each call promises. Runs on the core as well. That all languages make the same bytes is in tests/languages.
import assert from 'node:assert/strict';
import { webcrypto } from 'node:crypto'; // Node 18 has it only there
import { test } from 'node:test';
import { inspect } from 'node:util';
import { collector, isBrief, isCore, isLong, load, removes as canRemove, roost, wasm, withProgram } from './package.js';

const { Filter, RoostError, sync } = roost;
const names = (count, prefix = 'bird') => Array.from({ length: count }, (_, i) => `${prefix}-${i}`);
const forms = {
  'bloom of fixed size': { kind: 'bloom', capacity: 5000 },
  'bloom, classic': { capacity: 5000, layout: 'classic', fpr: 0.001 },
  'cuckoo that grows': {},
  ...(canRemove && { 'orcuckoo that grows': { kind: 'orcuckoo' } }),
  ...(!isCore && {
    'bloom that grows': { kind: 'bloom', scalable: true, writers: 2 },
    'cuckoo of fixed size': { kind: 'cuckoo', capacity: 5000, seed: 7n },
    'orcuckoo of fixed size': { kind: 'orcuckoo', capacity: 5000 },
    'multiset': { kind: 'orcuckoo', multiset: true, capacity: 5000, entry: 32 },
    'remove-wins': { kind: 'orcuckoo', semantics: 'remove-wins' },
    'last-writer-wins': { kind: 'orcuckoo', semantics: 'last-writer-wins' },
  }),
};
const anyKind = canRemove ? { kind: 'orcuckoo' } : {}; // the one with most to it
const removes = (options) => options.kind === 'orcuckoo';

for (const [form, options] of Object.entries(forms)) {
  test(`${form}: what was added is there, at the promised rate`, () => {
    const filter = new Filter(options), keys = names(5000), others = names(20000, 'other');
    assert.equal(filter.add('swift'), true);
    assert.equal(filter.has('swift'), true);
    assert.equal(filter.has('martin'), false);
    if (!options.multiset) assert.equal(filter.add('swift'), false);
    assert.ok(filter.addMany(keys.slice(0, 4998)) > 4800);
    assert.ok(filter.hasMany(keys.slice(0, 4998)).every((found) => found === true));
    const { fpr_promised: promised, promise_holds: holds } = filter.info();
    const wrong = filter.hasMany(others).filter(Boolean).length / others.length;
    assert.ok(wrong <= promised * 1.5 + 1e-3, `${wrong} of ${promised}`);
    assert.equal(holds, true);
    filter.free();
  });

  test(`${form}: one call and batches give the same bytes`, () => {
    const keys = ['', 'ä', '𝄞 clef', 'x'.repeat(50), 'y'.repeat(20000), new Uint8Array([0, 255, 10]), globalThis.Buffer?.from('buffer') ?? new Uint8Array(6), ...names(300)];
    const one = new Filter(options), many = new Filter(options);
    for (const key of keys) one.add(key);
    many.addMany(new Set(keys));
    assert.deepEqual(many.hasMany(keys), keys.map(() => true));
    for (const key of keys) assert.equal(one.has(key), true);
    if (!removes(options) && form !== 'bloom that grows') assert.deepEqual(many.toBytes(), one.toBytes()); // those have an actor
    assert.equal(one.has(new TextEncoder().encode('ä')), true);
  });

  test(`${form}: the program knows the same about it`, () => withProgram(({ run, read, write }) => {
    const keys = [...names(2000), 'größe', ''];
    const ours = new Filter(options);
    ours.addMany(keys);
    write('ours', ours.toBytes());
    assert.equal(run(['check', '-c', 'ours', '-'], keys.map((key) => `${key}\n`).join('')).trim(), String(keys.length));
    run(['add', 'ours', 'one more']);
    ours.merge(read('ours')); // with a section about the file behind the frame
    const info = JSON.parse(run(['info', '--json', 'ours'])), mine = ours.info();
    for (const name of ['kind', 'capacity', 'entries', 'fpr_promised', 'promise_holds', 'digest', 'seed', 'scalable'])
      assert.equal(mine[name] ?? 0, info[name] ?? mine[name], name);
  }));

  test(`${form}: merge is idempotent, commutative and associative`, () => {
    const [a, b, c] = ['a', 'b', 'c'].map((prefix) => { const filter = new Filter(options); filter.addMany(names(300, prefix)); return filter; });
    if (removes(options)) assert.equal(a.delete('a-1'), true);
    const left = a.clone(), right = c.clone();
    assert.equal(left.merge(b), true);
    assert.equal(left.merge(c.toBytes()), true);
    assert.equal(right.merge(a), true);
    right.merge(b);
    assert.equal(left.merge(a), false);
    assert.equal(left.merge(left), false);
    assert.equal(left.equals(right), true);
    assert.equal(left.digest(), right.digest());
    assert.deepEqual(left.toBytes(), right.toBytes());
    assert.equal(a.compare(b), 'concurrent');
    assert.equal(a.compare(left), 'before');
    assert.equal(left.compare(a), 'after');
    assert.equal(left.compare(right), 'equal');
    assert.equal(a.leq(left), true);
    assert.equal(left.leq(a), false);
    if (removes(options)) assert.equal(left.has('a-1'), false);
  });

  test(`${form}: deltas carry what changed, sync all of it`, () => {
    const a = new Filter(options), b = new Filter(options);
    a.addMany(names(500));
    const first = a.delta();
    assert.equal(b.merge(first.bytes), true);
    a.add('late');
    const second = a.delta(first.cursor);
    assert.ok(second.bytes.length < first.bytes.length / 2);
    b.merge(second.bytes);
    assert.equal(b.has('late'), true);
    assert.equal(a.delta(a.cursor()).cursor.length, 16);
    b.addMany(names(500, 'there'));
    if (removes(options)) a.delete('late');
    let result = sync(a, b);
    assert.equal(result.equal, true);
    assert.equal(a.digest(), b.digest());
    assert.equal(b.has('late'), !removes(options));
    b.add('last');
    result = sync(a, b, result.memory);
    assert.equal(a.has('last'), true);
    assert.ok(result.sent + result.received < 400, `${result.sent} + ${result.received}`);
  });
}

test('a removed key stays removed, an addition at the same time survives', { skip: !canRemove }, () => {
  const a = new Filter({ kind: 'orcuckoo' }), b = new Filter({ kind: 'orcuckoo' });
  a.addMany(['swift', 'heron']);
  b.merge(a);
  b.delete('swift');
  a.add('swift');
  b.delete('heron');
  sync(a, b);
  assert.deepEqual(a.hasMany(['swift', 'heron']), [true, false]);
  assert.equal(b.delete('never'), false);
  assert.equal(a.deleteMany(['swift', 'swift', 'never']), 1);
  assert.throws(() => new Filter().delete('swift'), { code: 'UNSUPPORTED', message: /^not supported by this kind of filter/ });
});

test('a stored replica goes on as itself, a copy does not', { skip: !canRemove }, () => {
  const a = new Filter({ kind: 'orcuckoo' });
  a.add('swift');
  const { actor } = a.info();
  assert.match(actor, /^[0-9a-f]{16}$/);
  const again = Filter.fromBytes(a.toBytes(), { replica: a.replica() });
  assert.equal(again.info().actor, actor);
  assert.equal(Filter.fromBytes(a.toBytes()).info().actor, null);
  assert.equal(a.clone().info().actor, null);
  assert.throws(() => Filter.fromBytes(a.toBytes(), { replica: new Uint8Array([9, 9]) }), { name: 'RoostError' });
});

test('bad input is refused with the reason', () => {
  const filter = new Filter({ kind: 'bloom', capacity: 100 });
  filter.add('swift');
  const before = filter.digest();
  for (const key of [1, null, undefined, {}, [], Symbol('x'), 1n, () => 1, new Uint16Array(2), new ArrayBuffer(2), Object.create(Uint8Array.prototype)]) {
    assert.throws(() => filter.add(key), { name: 'TypeError', message: /a key must be a string or a Uint8Array/ });
    assert.throws(() => filter.has(key), TypeError);
    assert.throws(() => filter.addMany(['a', key]), TypeError);
  }
  for (const keys of ['abc', 5, null, undefined, {}, new Uint8Array(3)]) assert.throws(() => filter.addMany(keys), { name: 'TypeError', message: /keys must be an array/ });
  const detached = new Uint8Array(8);
  structuredClone(detached.buffer, { transfer: [detached.buffer] });
  assert.throws(() => filter.add(detached), { name: 'TypeError', message: /detached/ });
  assert.throws(() => filter.addMany(['b', detached]), /detached/);
  assert.throws(() => filter.merge(detached), /detached/);
  assert.throws(() => filter.merge(5), { name: 'TypeError', message: /merge takes a filter or its bytes/ });
  assert.throws(() => filter.compare({}), TypeError);
  assert.throws(() => filter.merge(new Filter({ kind: 'bloom', capacity: 200 })), { code: 'MISMATCH', message: 'the filters have different configurations: capacity 100 and 200' });
  assert.throws(() => filter.compare(new Filter()), { code: 'MISMATCH' });
  assert.throws(() => filter.merge(new Uint8Array()), { code: 'NOT_FRAME' });
  assert.throws(() => filter.merge(new TextEncoder().encode('not a filter')), { code: 'NOT_FRAME', message: 'not a Roost filter' });
  const frame = filter.toBytes();
  assert.throws(() => Filter.fromBytes(frame.subarray(0, -3)), { code: 'TRUNCATED' });
  const wrong = frame.slice();
  wrong[20] ^= 1;
  assert.throws(() => Filter.fromBytes(wrong), { code: 'CORRUPT' });
  assert.throws(() => filter.merge(wrong), { code: 'CORRUPT' });
  assert.throws(() => filter.reply(new Uint8Array([1, 2, 3])), (error) => error instanceof RoostError && error.reply instanceof Uint8Array);
  assert.throws(() => filter.delta('x'), TypeError);
  assert.throws(() => filter.startSync(5), TypeError);
  assert.throws(() => Filter.prototype.add.call({}, 'x'), TypeError);
  assert.equal(filter.digest(), before);
});

test('what wins is chosen when a filter is made', { skip: isCore && 'not in the smaller modules' }, async () => {
  const later = () => new Promise((resolve) => setTimeout(resolve, 3));
  for (const [semantics, wins] of [['add-wins', true], ['remove-wins', false], ['last-writer-wins', false]]) {
    const here = new Filter({ kind: 'orcuckoo', semantics }), there = new Filter({ kind: 'orcuckoo', semantics });
    here.add('swift');
    there.merge(here);
    here.add('swift');
    await later();
    assert.equal(there.delete('swift'), true);
    assert.equal(there.deleteMany(['never there']), 0);
    here.merge(there.toBytes());
    there.merge(here);
    assert.equal(here.equals(there), true);
    assert.equal(here.has('swift'), wins, semantics);
    assert.equal(here.info().semantics, semantics);
    await later();
    there.addMany(['swift']);
    here.merge(there);
    assert.equal(here.has('swift'), true);
    const other = new Filter({ kind: 'orcuckoo', semantics: semantics === 'add-wins' ? 'remove-wins' : 'add-wins' });
    assert.throws(() => other.merge(here), { code: 'MISMATCH' });
  }
  // by the clock, not by how often each has changed
  const here = new Filter({ kind: 'orcuckoo', semantics: 'last-writer-wins' }), there = Filter.fromBytes(here.toBytes());
  for (let i = 0; i < 10; i++) here.add('swift');
  await later();
  there.delete('swift');
  here.merge(there);
  assert.equal(here.has('swift'), false);
});

test('where the last writer wins, each call that changes something has its time', { skip: isCore && 'not in the smaller modules' }, async () => {
  const later = () => new Promise((resolve) => setTimeout(resolve, 3));
  const calls = { add: true, addMany: true, delete: false, deleteMany: false };
  for (const [name, adds] of Object.entries(calls)) {
    const [here, there] = [1, 2].map(() => new Filter({ kind: 'orcuckoo', semantics: 'last-writer-wins' }));
    here.add('swift');
    there.merge(here);
    await later();
    for (let i = 0; i < 5; i++) here[adds ? 'delete' : 'add']('swift');
    await later();
    there[name](name.endsWith('Many') ? ['swift'] : 'swift');
    here.merge(there);
    assert.equal(here.has('swift'), adds, name);
  }
});

test('what wins is the same in the program, by the same clock', { skip: isCore && 'not in the smaller modules' }, () => {
  withProgram(({ run, read, write }) => {
    for (const semantics of ['add-wins', 'remove-wins', 'last-writer-wins']) {
      run(['create', semantics, '--kind', 'orcuckoo', '--semantics', semantics]);
      const filter = new Filter({ kind: 'orcuckoo', semantics });
      assert.equal(Filter.fromBytes(read(semantics)).digest(), filter.digest(), semantics);
      run(['add', semantics], 'swift\nheron\n');
      filter.addMany(['swift', 'heron', 'kite']);
      for (const until = Date.now() + 3; Date.now() < until;); // the clock here counts milliseconds
      filter.delete('swift'); // after the program has added it
      write('there', filter.toBytes());
      run(['remove', semantics], 'heron\n'); // after this filter has
      const both = `${semantics} and there`;
      run(['merge', both, semantics, 'there']);
      filter.merge(read(semantics));
      assert.equal(Filter.fromBytes(read(both)).digest(), filter.digest());
      assert.equal(run(['check', both], 'swift\nheron\nkite\n'), semantics === 'add-wins' ? 'swift\nheron\nkite\n' : 'kite\n', semantics);
    }
  });
});

test('options are those of the program, and refused as there', () => {
  const refused = (options, pattern) => assert.throws(() => new Filter(options), (error) => error.code === 'INVALID' && pattern.test(error.message), String(pattern));
  refused({ capicity: 5 }, /capicity: no such option/);
  refused({ kind: 'cukoo' }, /kind: must be one of bloom, cuckoo, orcuckoo/);
  refused({ capacity: 1.5 }, /capacity: must be a whole number/);
  refused({ fpr: 2 }, /fpr: must be a number between 0 and 1/);
  refused({ kind: 'cuckoo', layout: 'classic' }, /layout: only for kind bloom/);
  refused({ capacity: 5, growth: 2 }, /growth: only with scalable/);
  refused({ kind: 'bloom', capacity: 5, multiset: true }, /multiset: only for kind orcuckoo/);
  refused({ semantics: 'remove-wins' }, /semantics: only for kind orcuckoo/);
  refused({ kind: 'orcuckoo', semantics: 'mine' }, /semantics: must be one of add-wins, remove-wins, last-writer-wins/);
  refused({ kind: 'orcuckoo', semantics: 'remove-wins', capacity: 9 }, /add scalable/);
  refused({ kind: 'orcuckoo', semantics: 'last-writer-wins', multiset: true }, /leave multiset out/);
  refused({ kind: 'orcuckoo', bits: 20 }, /bits: not for a cuckoo filter that grows/);
  refused({ seed: -1 }, /seed/);
  assert.throws(() => new Filter(5), TypeError);
  assert.equal(new Filter({ capacity: 10 }).info().kind, 'bloom');
  assert.equal(new Filter().info().kind, 'cuckoo');
  assert.equal(new Filter({ seed: '0x10' }).info().seed, '0x10');
});

test('a freed object is refused, and frees nothing twice', () => {
  const filter = new Filter(anyKind), other = new Filter(anyKind);
  filter.add('swift');
  const session = filter.startSync();
  const message = session.next();
  filter.free();
  filter.free();
  for (const use of [() => filter.add('x'), () => filter.add('x'.repeat(50000)), () => filter.has('x'), () => filter.has('x'.repeat(50000)), () => filter.addMany(['x']), () => filter.toBytes(), () => filter.digest(),
    () => filter.info(), () => filter.clone(), () => other.merge(filter), () => other.compare(filter), () => filter.startSync(), () => filter.delta()])
    assert.throws(use, { code: 'FREED', message: 'this object was freed' });
  assert.ok(session.next(other.reply(message)) === null || true); // the session still holds the filter
  session.free();
  session.free();
  assert.throws(() => session.next(), { code: 'FREED' });
  function* hostile() { yield 'a'; other.free(); yield 'b'; }
  assert.throws(() => other.addMany(hostile()), { code: 'FREED' });
});

test('keys that come from a generator which uses the same instance', () => {
  const filter = new Filter(), beside = new Filter();
  function* keys() { for (let i = 0; i < 9000; i++) { if (i % 1000 === 0) beside.addMany(names(50, `n${i}`)); yield `k${i}`; } }
  filter.addMany(keys());
  for (let i = 0; i < 9000; i++) assert.equal(filter.has(`k${i}`), true);
  assert.equal(beside.has('n8000-49'), true);
});

test('without memory a call fails, changes nothing, and the instance stays usable', () => {
  const small = load(wasm(), { maximumMemory: canRemove ? 4 << 20 : 2 << 20, crypto: webcrypto });
  const filter = new small.Filter(anyKind);
  let added = 0, refused = 0;
  for (; added < 2e6; added += 1000) {
    try { filter.addMany(Array.from({ length: 1000 }, (_, i) => `k${added + i}`)); } catch (error) { assert.equal(error.code, 'NO_MEMORY'); assert.equal(error.message, 'out of memory'); refused = error.done; break; }
  }
  assert.ok(added > 10000 && added < 2e6, `${added}`);
  for (let i = 0; i < added + refused; i += 7) assert.equal(filter.has(`k${i}`), true);
  assert.throws(() => new small.Filter({ capacity: 4e8 }), { code: 'NO_MEMORY', message: 'out of memory' });
  assert.throws(() => filter.add('x'.repeat(8 << 20)), { code: 'NO_MEMORY' });
  filter.free();
  const next = new small.Filter();
  next.addMany(names(5000));
  assert.equal(next.has('bird-4999'), true);
});

test('without random numbers there is no instance', () => {
  for (const crypto of [null, {}]) assert.throws(() => load(wasm(), { crypto }), { name: 'TypeError', message: /crypto: is missing/ });
});

test('a stack that is exhausted in the middle of a call is an exception', () => {
  const own = load(wasm(), { crypto: webcrypto });
  const filter = new own.Filter(anyKind);
  filter.addMany(names(1000));
  const down = (use) => { try { return down(use); } catch { try { use(); } catch (error) { throw error; } } };
  for (const use of [() => filter.has('bird-1'), () => filter.info()]) try { down(use); } catch (error) { assert.ok(error instanceof RangeError || error instanceof RoostError, String(error)); }
  assert.equal(filter.has('bird-999'), true);
  try { down(() => filter.add('deep')); } catch (error) { assert.ok(error instanceof RangeError || error.code === 'BROKEN', String(error)); }
  try { assert.equal(filter.has('bird-999'), true); } catch (error) { assert.equal(error.code, 'BROKEN'); }
});

if (isCore) test('what a smaller module leaves out is refused by name', () => {
  for (const options of [{ kind: 'cuckoo', capacity: 10 }, { kind: 'orcuckoo', capacity: 10 }, { kind: 'bloom', scalable: true }, { capacity: 10, fpr: 1e-7 },
    { kind: 'orcuckoo', semantics: 'remove-wins' }, { kind: 'orcuckoo', semantics: 'last-writer-wins' }, ...(canRemove ? [] : [{ kind: 'orcuckoo' }])])
    assert.throws(() => new Filter(options), { code: 'UNSUPPORTED', message: canRemove ? /not in roost-filter\/removal/ : /not in roost-filter\/core/ });
  withProgram(({ run, read }) => {
    run(['create', 'fixed', '--kind', 'cuckoo', '--capacity', '10']);
    assert.throws(() => Filter.fromBytes(read('fixed')), { code: 'UNSUPPORTED' });
    assert.throws(() => new Filter().merge(read('fixed')), { name: 'RoostError' });
    run(['window', 'add', 'w', 'a', '--window', '10m']);
    assert.throws(() => Filter.fromBytes(read('w')), { code: 'UNSUPPORTED' });
    assert.throws(() => new Filter().merge(read('w')), { name: 'RoostError' });
    for (const semantics of ['remove-wins', 'last-writer-wins']) {
      run(['create', semantics, '--kind', 'orcuckoo', '--semantics', semantics]);
      assert.throws(() => Filter.fromBytes(read(semantics)), { code: 'UNSUPPORTED' });
      assert.throws(() => new Filter(anyKind).merge(read(semantics)), { name: 'RoostError' });
    }
    run(['create', 'or', '--kind', 'orcuckoo']);
    if (!canRemove) assert.throws(() => Filter.fromBytes(read('or')), { code: 'UNSUPPORTED' });
  });
  if (canRemove) return;
  for (const remove of [(filter) => filter.delete('a'), (filter) => filter.deleteOne('a'), (filter) => filter.deleteMany(['a'])])
    assert.throws(() => remove(new Filter()), { code: 'UNSUPPORTED', message: /^not supported by this kind of filter/ });
});

// The table of rates that they have is shorter (wasm/left_out.c).
if (isCore && !(isBrief && canRemove)) test('smaller modules have the sizes of the program, or none', () => withProgram(({ run, write }) => {
  const refused = [], every = isLong ? 1 : 12; // with 0.0571 among them
  const rates = Array.from({ length: 900 }, (_, i) => Number(`${i + 100}e-${3 + i % 5}`)).filter((_, i) => i % every === 471 % every);
  for (const fpr of rates) {
    try {
      write(String(fpr), new Filter({ kind: 'bloom', capacity: 1000, fpr }).toBytes());
    } catch (error) {
      assert.equal(error.code, 'UNSUPPORTED');
      refused.push(fpr);
    }
  }
  assert.ok(refused.every((fpr) => fpr < 1e-5 || fpr === 0.0571), String(refused));
  for (let i = 0; i < rates.length; i += Math.ceil(30 / every)) {
    if (refused.includes(rates[i])) continue;
    run(['create', 'theirs', '-f', '--capacity', '1000', '--fpr', String(rates[i])]);
    assert.equal(run(['digest', String(rates[i])]).split(' ')[0], run(['digest', 'theirs']).split(' ')[0], String(rates[i]));
  }
}));

test('objects that nobody refers to are freed', async () => {
  const collect = await collector();
  const own = load(wasm(), { maximumMemory: 16 << 20, crypto: webcrypto }); // without freeing, 12 filters of 1.2 MB fill it
  for (let i = 0; i < (isBrief ? 30 : 100); i++) {
    new own.Filter({ kind: 'bloom', capacity: 1e6 }).startSync().next();
    for (let turn = 0; turn < 50 && i % 5 === 4; turn++) {
      collect();
      await new Promise((done) => setTimeout(done, turn));
      if (turn > 1) break;
    }
  }
  assert.ok(own.usedMemory() <= 16 << 20);
});

test('errors say what to do', { skip: isCore && 'not in the smaller modules' }, () => {
  const { Window } = roost;
  const says = (call, text) => assert.throws(call, (error) => error.message.includes(text) || assert.fail(error.message));
  says(() => new Filter({ capacity: 100 }).merge(new Filter({ capacity: 200 })), 'different configurations: capacity 100 and 200');
  says(() => new Filter({ capacity: 100 }).merge(new Filter().toBytes()), ': one has a capacity of 100, and the other grows');
  says(() => new Filter({ capacity: 100 }).compare(new Filter({ capacity: 100, fpr: 0.5 })), ': fpr 0.01 and 0.5');
  says(() => new Window({ window: '10m' }).merge(new Window({ window: 60 })), ': window 600 and 60');
  says(() => new Window({ window: 60 }).merge(new Window({ window: 60, past: 9 })), ': past 3 and 9');
  const cuckoo = { kind: 'cuckoo', capacity: 100, fpr: 0.01 }, orcuckoo = { kind: 'orcuckoo', capacity: 100 }, grows = { kind: 'bloom', capacity: 100, scalable: true };
  for (const [common, ours, theirs, text] of [
    [cuckoo, { bits: 12 }, { bits: 14 }, ': bits 12 and 14'], [cuckoo, { bucket: 2 }, { bucket: 8 }, ': bucket 2 and 8'],
    [{ ...orcuckoo, multiset: true }, { bits: 8 }, { bits: 8, entry: 32 }, ': entry 64 and 32'], [orcuckoo, {}, { multiset: true }, ': multiset false and true'],
    [grows, { writers: 1 }, { writers: 2 }, ': writers 1 and 2'], [grows, { growth: 2 }, { growth: 4 }, ': growth 2 and 4'],
    [grows, {}, { schedule: 'halving' }, ': schedule quadratic and halving'], [{ capacity: 100 }, {}, { layout: 'classic' }, ': layout blocked and classic'],
  ])
    says(() => new Filter({ ...common, ...ours }).merge(new Filter({ ...common, ...theirs })), text);
  says(() => new Filter({ kind: 'bloom', capacity: 100 }).delete('swift'), 'bloom; only filters of kind orcuckoo');
  says(() => new Filter({ kind: 'bloom', capacity: 100 }).deleteMany(['swift']), 'bloom; only filters of kind orcuckoo');
  const small = new Filter({ kind: 'cuckoo', capacity: 8 });
  says(() => { for (let i = 0; i < 1000; i++) small.add(`${i}`); }, 'it was made for 8 keys; give a larger capacity');
  says(() => small.addMany(Array.from({ length: 1000 }, (_, i) => `${i}`)), 'it was made for 8 keys');
  says(() => new Filter({ capacity: 100, fpr: 1e-20 }), "layout: 'classic'");
  says(() => new Filter({ capacity: 2 ** 52 }), 'give a smaller capacity');
  says(() => new Filter({ capacity: 0 }), 'not 0');
  says(() => new Filter({ fpr: 2 }), 'not 2');
  says(() => new Window(), 'window: is missing');
});

test('size, and what console.log shows', () => {
  for (const options of [{}, { capacity: 1000 }]) assert.ok(Object.is(new Filter(options).size, 0)); // and not -0
  const filter = new Filter();
  filter.addMany(['swift', 'heron', 'kite']);
  assert.equal(filter.size, 3);
  assert.equal(inspect(filter), 'Filter cuckoo (about 3 keys, grows, fpr 0.01)');
  filter.free();
  assert.equal(inspect(filter), 'Filter (freed)');
  assert.throws(() => filter.size, { code: 'FREED' });
});
