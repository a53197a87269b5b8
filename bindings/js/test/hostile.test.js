// What a program may do to the package by mistake or on purpose: keys and options that run code, objects of other classes, sessions
// that were never begun, no memory at any point. A call is right or throws; the instance goes on, and nothing is lost.
import assert from 'node:assert/strict';
import { webcrypto } from 'node:crypto';
import { test } from 'node:test';
import { collector, folderUrl, isCore, load, removes, roost, wasm } from './package.js';

const fresh = (options) => load(wasm(), { crypto: webcrypto, ...options });
const names = (count, prefix = 'bird') => Array.from({ length: count }, (_, i) => `${prefix}-${i}`);
const kind = removes ? { kind: 'orcuckoo' } : {};
const beyondCore = { skip: isCore && 'not in the smaller modules' };

// Allocates and frees, which finds a heap that was damaged.
function assertUsable({ Filter, sync }) {
  const [a, b] = [new Filter(kind), new Filter(kind)];
  a.addMany(names(3000));
  a.add('z'.repeat(30000));
  assert.equal(sync(a, b).equal, true);
  assert.ok(b.hasMany(names(3000)).every(Boolean) && b.has('z'.repeat(30000)));
  a.free();
  b.free();
}

// ---- keys ----------------------------------------------------------------------------------------------------------------

test('a Uint8Array of a class that lies about itself is the bytes that it has', () => {
  const own = fresh(), filter = new own.Filter(kind);
  class Liar extends Uint8Array {
    get length() { return 1; }
    get byteLength() { return 2; }
    get buffer() { throw new Error('buffer'); }
    get [Symbol.toStringTag]() { return 'Other'; }
    set() { throw new Error('set'); }
    slice() { return 'slice'; }
    subarray() { return 'subarray'; }
    static get [Symbol.species]() { return Array; }
  }
  for (const size of [0, 5, 20000, 60000, 400000]) {
    const key = new Liar(size).fill(7), plain = new Uint8Array(size).fill(7);
    assert.equal(filter.add(key), true, String(size));
    assert.equal(filter.has(plain), true);
    assert.equal(filter.addMany([plain, key]), 0);
    assert.deepEqual(filter.hasMany([key, 'x', key]), [true, false, true]);
  }
  const liar = (bytes) => { const copy = new Liar(bytes.buffer); return copy; };
  const copy = own.Filter.fromBytes(liar(filter.toBytes()));
  assert.equal(copy.digest(), filter.digest());
  assert.equal(copy.merge(liar(filter.toBytes())), false);
  assert.equal(new own.Filter(kind).merge(liar(filter.delta(liar(new own.Filter(kind).cursor())).bytes)), true);
  const session = filter.startSync();
  assert.equal(session.next(liar(copy.reply(liar(session.next())))), null);
  assertUsable(own);
});

test('an array whose elements are different each time, or run code, is read once', () => {
  const own = fresh(), filter = new own.Filter(kind), beside = new own.Filter({ kind: 'bloom', capacity: 1e5 });
  const changing = (values) => { let turn = 0; return { get() { return values[turn++ % values.length]; }, enumerable: true }; };
  const lists = [
    Object.defineProperty(['a', 'b', 'c'], 1, changing(['first', 'y'.repeat(300000), new Uint8Array(300000)])),
    Object.defineProperty(['a', 'b', new Uint8Array(1)], 1, changing(['first', 'y'.repeat(300000)])),
    Object.defineProperty(['a', 'b', 'c'], 1, { get() { beside.addMany(names(5000)); new own.Filter({ kind: 'bloom', capacity: 3e6 }).add('grow'); return 'first'; } }),
    new Proxy(['a', 'first', 'c'], {}),
    Object.assign(['a', 'first', 'c'], { slice: () => [5, 6], join: () => 'joined', [Symbol.iterator]: () => [][Symbol.iterator]() }),
    Object.assign(['a', 'first', 'c'], { constructor: { [Symbol.species]: function () { return { set 0(_) {} }; } } }),
  ];
  lists.forEach((list, i) => {
    filter.addMany(list);
    assert.equal(filter.has('first'), true, String(i));
    assert.deepEqual(filter.hasMany(['first', list[2]]), [true, true], String(i));
  });
  assert.equal(filter.has('a'), true);
  assertUsable(own);
});

test('buffers that change their size', { skip: !('resize' in ArrayBuffer.prototype) && 'this engine has none' }, () => {
  const own = fresh(), filter = new own.Filter(kind);
  const buffer = new ArrayBuffer(40000, { maxByteLength: 80000 }), tracks = new Uint8Array(buffer), fixed = new Uint8Array(buffer, 100, 50);
  assert.equal(filter.add(tracks), true);
  buffer.resize(80000);
  assert.equal(filter.has(tracks), false);
  assert.equal(filter.addMany([tracks, fixed]), 2);
  buffer.resize(120);
  for (const use of [() => filter.add(fixed), () => filter.has(fixed), () => filter.addMany(['a', fixed]), () => filter.merge(fixed), () => own.Filter.fromBytes(fixed), () => filter.reply(fixed)])
    assert.throws(use, { name: 'TypeError', message: /this Uint8Array lies outside of its buffer/ });
  const list = ['a', tracks];
  Object.defineProperty(list, 2, { get() { buffer.resize(60); return 'shrunk'; }, enumerable: true });
  filter.addMany(list);
  assert.deepEqual(filter.hasMany([tracks, 'shrunk', new Uint8Array(60)]), [true, true, true]);
  assertUsable(own);
});

test('bytes that are shared with other threads', { skip: typeof SharedArrayBuffer === 'undefined' && 'this page has none' }, () => {
  const own = fresh(), filter = new own.Filter(kind), shared = new Uint8Array(new SharedArrayBuffer(30000));
  shared[0] = 1;
  assert.equal(filter.add(shared), true);
  assert.equal(filter.addMany([shared, shared.subarray(0, 9)]), 1);
  assert.equal(filter.has(shared.slice(0, 9)), true);
  const frame = filter.toBytes(), there = new Uint8Array(new SharedArrayBuffer(frame.length));
  there.set(frame);
  assert.equal(own.Filter.fromBytes(there).digest(), filter.digest());
});

test('an iterator that throws, frees or calls leaves what was added before, and the error says how much', () => {
  const own = fresh(), filter = new own.Filter(kind);
  const thrown = new Error('by the iterator');
  function* throwing() { yield* names(5000, 'throw'); throw thrown; }
  assert.throws(() => filter.addMany(throwing()), (error) => error === thrown);
  assert.ok(filter.hasMany(names(4096, 'throw')).every(Boolean));
  for (const bad of [5, { toString: () => 'x' }, new Uint16Array(3)])
    assert.throws(() => filter.addMany([...names(5000, 'bad'), bad]), (error) => error instanceof TypeError && error.done === 4096 && error.changed <= 4096);
  assert.ok(filter.hasMany(names(4096, 'bad')).every(Boolean));
  function* freeing() { yield* names(4096, 'free'); filter.free(); yield 'a'; }
  assert.throws(() => filter.addMany(freeing()), (error) => error.code === 'FREED' && error.done === 4096);
  let closed = 0;
  const bad = { [Symbol.iterator]: () => ({ next: () => ({ value: 7, done: false }), return: () => { closed++; return {}; } }) };
  assert.throws(() => new own.Filter().addMany(bad), TypeError);
  assert.equal(closed, 1);
  assertUsable(own);
});

test('an iterator that fills the same bytes anew for each key yields as many keys', () => {
  const own = fresh(), filter = new own.Filter(kind), bytes = new Uint8Array(4), view = new DataView(bytes.buffer);
  function* numbers(count) { for (let i = 0; i < count; i++) { view.setUint32(0, i); yield bytes; } }
  filter.addMany(numbers(5000));
  assert.ok(filter.hasMany(numbers(5000)).every(Boolean));
  assert.ok(Array.from({ length: 5000 }, (_, i) => i).every((i) => { view.setUint32(0, i); return filter.has(bytes); }));
  assert.equal(filter.hasMany(numbers(6000)).filter(Boolean).length < 5500, true);
});

// ---- receivers -------------------------------------------------------------------------------------------------------------

test('a method of one class refuses objects of another, and the instance goes on', beyondCore, () => {
  const own = fresh(), objects = () => [new own.Filter(), new own.Window({ window: 60 }), new own.Counter({ window: 60 }), new own.Filter().startSync(), own.reconcile(['a']), {}, null, 5];
  const classes = [own.Filter, own.Window, own.Counter, own.Sync, own.Reconciliation];
  const values = [['x'], [['x']], [new Uint8Array(3)], [], [5]];
  let calls = 0;
  for (const Class of classes)
    for (let at = Class.prototype; at !== Object.prototype; at = Object.getPrototypeOf(at))
      for (const name of Reflect.ownKeys(at).filter((name) => name !== 'constructor' && name !== 'free' && name !== Symbol.dispose))
        for (const object of objects())
          for (const given of values) {
            const { value, get } = Object.getOwnPropertyDescriptor(at, name);
            try {
              (value ?? get).apply(object, given);
            } catch (error) {
              assert.ok(error instanceof own.RoostError || error instanceof TypeError, `${Class.name}.${String(name)} of ${object?.constructor?.name}: ${error}`);
              assert.ok(error.code !== 'BROKEN', `${Class.name}.${String(name)} of ${object?.constructor?.name}: ${error}`);
            }
            calls++;
          }
  assert.ok(calls > 1000, String(calls));
  assertUsable(own);
});

test('sessions and what filters are made of cannot be made by hand', async () => {
  const own = fresh(), collect = await collector();
  for (const Class of [own.Sync, own.Reconciliation, Object.getPrototypeOf(own.Filter), Object.getPrototypeOf(own.Sync)])
    for (const given of [undefined, null, {}, { at: 8, handle: 8 }, 'x']) assert.throws(() => new Class(given), TypeError);
  for (let turn = 0; turn < 3; turn++) {
    collect(); // what was registered in spite of it would end the process
    await new Promise((done) => setTimeout(done, 5));
  }
  assertUsable(own);
});

// The classes below a class, with itself.
function* lineage(Class) { for (let at = Class; at !== Function.prototype; at = Object.getPrototypeOf(at)) yield at; }

test('what programs reach of the classes gives them no cell and no address', beyondCore, () => {
  const own = fresh(), window = new own.Window({ window: 60 }), filter = new own.Filter(), session = filter.startSync(), answers = [];
  for (const Class of [own.Filter, own.Window, own.Counter, own.Sync, own.Reconciliation])
    for (const at of lineage(Class))
      for (const name of Object.getOwnPropertyNames(at).filter((name) => typeof at[name] === 'function' && name !== 'fromBytes'))
        for (const given of [[window], [filter], [session, 'sync_free']])
          try { answers.push(`${at.name}.${name}: ${at[name](...given)}`); } catch { /* refused */ }
  assert.deepEqual(answers, []);
  for (const Class of [own.Filter, own.Sync]) Reflect.set(Object.getPrototypeOf(Class), 'handle', () => 1024);
  assert.ok(session.next() instanceof Uint8Array);
  assert.equal(filter.compare(new own.Filter()), 'equal');
  assertUsable(own);
});

test('no class comes between those of the package, to take what their constructors pass on', beyondCore, () => {
  const own = fresh(), taken = [];
  class Between { constructor(...given) { taken.push(...given); } }
  for (const Class of [own.Filter, own.Window, own.Counter, own.Sync, own.Reconciliation])
    for (const at of [...lineage(Class)].slice(0, -1)) assert.throws(() => Object.setPrototypeOf(at, Between), TypeError, at.name);
  new own.Filter({ capacity: 10 }).startSync();
  assert.deepEqual(taken, []);
});

test('a session that lies about its result gets its differences all the same, and nothing is written beside them', beyondCore, () => {
  const own = fresh(), begun = () => own.reconcile(names(500, 'here'));
  const finish = (here) => {
    let message = here.next();
    const there = own.reconcile(names(400, 'there'), { first: message });
    for (let side = there; message !== null; side = side === there ? here : there) message = side.next(message);
    return here;
  };
  for (const onlyHere of [0, 1, -1, 2 ** 31, NaN, '5', { valueOf: () => 1 }]) {
    const here = Object.defineProperty(finish(begun()), 'result', { value: () => ({ onlyHere }) }), beside = new own.Filter({ kind: 'bloom', capacity: 100 });
    assert.equal(here.differences().length, 500, String(onlyHere));
    beside.free();
    here.free();
  }
  const early = Object.defineProperty(begun(), 'done', { value: true });
  assert.throws(() => early.differences(), { code: 'INVALID' });
  assertUsable(own);
});

test('classes that extend Filter keep what is read and cloned', () => {
  class Birds extends roost.Filter {
    constructor() { super({ capacity: 100 }); }
    sing() { return 'song'; }
  }
  const birds = new Birds();
  birds.add('swift');
  for (const copy of [birds.clone(), Birds.fromBytes(birds.toBytes())]) {
    assert.equal(copy.has('swift'), true);
    assert.equal(copy.digest(), birds.digest());
    assert.equal(copy.sing(), 'song');
    assert.ok(copy instanceof Birds);
  }
  const odd = roost.Filter.fromBytes(birds.toBytes());
  odd.constructor = class { };
  assert.equal(odd.clone().has('swift'), true);
  if (isCore) return;
  const window = Object.setPrototypeOf(odd, roost.Window.prototype).clone();
  for (const use of [() => window.add('a'), () => window.has('a'), () => window.info(), () => window.trustUntil(5)]) assert.throws(use, TypeError);
  assert.equal(Object.setPrototypeOf(window, roost.Filter.prototype).has('swift'), true);
});

test('a class that has calls of its own for what errors say does not break the instance', beyondCore, () => {
  const own = fresh();
  class Odd extends own.Filter {
    info() { throw new Error('info'); }
    digest() { return null; }
    get size() { return NaN; }
    free() { throw new Error('free'); }
    toBytes() { return 5; }
  }
  const full = new Odd({ kind: 'cuckoo', capacity: 8 }), bloom = new Odd({ capacity: 100 });
  assert.throws(() => { for (let i = 0; i < 1000; i++) full.add(`k${i}`); }, { code: 'FULL' });
  assert.throws(() => { for (let i = 0; i < 1000; i++) full.add(`${i}`.padStart(20000)); }, { code: 'FULL' });
  assert.throws(() => full.addMany(names(1000)), { code: 'FULL' });
  assert.throws(() => bloom.delete('a'), { code: 'UNSUPPORTED' });
  assert.throws(() => bloom.merge(new Odd({ capacity: 200 })), { code: 'MISMATCH', message: /capacity 100 and 200/ });
  assert.throws(() => bloom.compare(full), { code: 'MISMATCH' });
  assert.throws(() => bloom.merge(new own.Filter({ capacity: 200 }).toBytes()), { code: 'MISMATCH', message: /capacity 100 and 200/ });
  assertUsable(own);
});

test('a filter of another instance merges by its bytes, and is refused elsewhere with the reason', () => {
  const own = fresh(), here = new own.Filter(), there = new roost.Filter();
  there.add('swift');
  assert.equal(here.merge(there), true);
  assert.equal(here.has('swift'), true);
  for (const name of ['compare', 'equals', 'leq']) assert.throws(() => here[name](there), { name: 'TypeError', message: /filter of another instance.*toBytes/ });
  for (const other of [null, 5, {}, 'x']) assert.throws(() => here.compare(other), { name: 'TypeError', message: /must be a filter, not/ });
});

// ---- options ---------------------------------------------------------------------------------------------------------------

test('options are read once, and inherited ones count', () => {
  const reads = {}, once = (name, value) => ({ get() { reads[name] = (reads[name] ?? 0) + 1; return reads[name] === 1 ? value : NaN; }, enumerable: true });
  const given = { ...(removes && { kind: 'orcuckoo', semantics: 'add-wins' }), fpr: 0.02, seed: 7, writers: 2 };
  const { fpr_promised: fpr, seed, writers } = new roost.Filter(Object.defineProperties({}, Object.fromEntries(Object.entries(given).map(([name, value]) => [name, once(name, value)])))).info();
  assert.deepEqual([fpr, seed, writers], [0.02, '0x7', 2]);
  assert.deepEqual(reads, Object.fromEntries(Object.keys(given).map((name) => [name, 1])));
  assert.equal(new roost.Filter(Object.create({ capacity: 70 })).info().capacity, 70);
  assert.throws(() => new roost.Filter({ get capacity() { throw new Error('mine'); } }), /mine/);
});

test('options that make no sense are refused, wherever they are', () => {
  const strange = [NaN, Infinity, -Infinity, -1, -0.5, 1.5, 2 ** 53, 1e308, 5e-324, '5', 5n, {}, [], true, null, Symbol('x'), () => 5];
  const refused = (make, what) => assert.throws(make, (error) => (error instanceof roost.RoostError && error.code !== 'BROKEN') || error instanceof TypeError || assert.fail(error.stack), what);
  const fields = ['capacity', 'fpr', 'kind', 'layout', 'bits', 'bucket', 'entry', 'seed', 'growth', 'schedule', 'writers', 'semantics', 'multiset', 'scalable'];
  for (const name of fields)
    for (const value of strange) {
      if ((name === 'seed' && (value === null || value === '5' || value === 5n)) || (value === true && (name === 'multiset' || name === 'scalable'))) continue;
      if (name === 'fpr' && value === 5e-324 && !isCore) continue; // a rate that a filter which grows has
      refused(() => new roost.Filter({ [name]: value }), `${name} ${String(value)}`);
    }
  assert.throws(() => new roost.Filter({ capacity: 10, fpr: 5e-324, layout: 'classic' }), { code: 'INVALID', message: /^(?!.*use layout)/ });
  refused(() => roost.Filter.fromBytes(new roost.Filter().toBytes(), { replca: new Uint8Array(3) }));
  refused(() => roost.Filter.fromBytes(new roost.Filter().toBytes(), null));
  for (const maximumMemory of [NaN, -1, 0, 1000, '64', null, {}, 4n]) assert.throws(() => fresh({ maximumMemory }), { name: 'TypeError', message: /maximumMemory: must be a number of bytes/ });
  for (const maximumMemory of [2 ** 40, Infinity]) assert.equal(new (fresh({ maximumMemory })).Filter().add('a'), true);
  assert.throws(() => fresh({ maximumMemry: 5 }), /maximumMemry: no such option/);
  if (isCore) return;
  for (const value of strange) {
    for (const name of ['window', 'past', 'fpr']) if (name !== 'window' || (value !== 1.5 && value !== '5')) refused(() => new roost.Window({ window: 60, [name]: value }), `${name} ${String(value)}`);
    if (value !== true) refused(() => roost.reconcile(['a'], { multiset: value }));
    refused(() => roost.reconcile(['a'], { method: value }));
    refused(() => roost.reconcile(['a'], { metod: value }));
    if (value !== 1.5 && value !== 5e-324) refused(() => new roost.Window({ window: 60 }).add('a', value));
  }
  refused(() => roost.reconcile(['a'], null));
});

test('what others add to Object.prototype changes nothing', () => {
  Object.defineProperty(Object.prototype, 'roostTest', { value: 5, enumerable: true, configurable: true });
  try {
    const filter = new roost.Filter({ capacity: 100 });
    filter.addMany(['a', 'b']);
    assert.equal(roost.Filter.fromBytes(filter.toBytes()).digest(), filter.digest());
    assert.throws(() => new roost.Filter({ kind: 'toString' }), { code: 'INVALID' });
    assert.throws(() => new roost.Filter({ kind: '__proto__' }), { code: 'INVALID' });
  } finally {
    delete Object.prototype.roostTest;
  }
});

// ---- what the engine has, and has not ----------------------------------------------------------------------------------------

test('random numbers that fail are the reason, and a source that calls back is refused', { skip: !removes }, () => {
  const own = fresh({ crypto: { getRandomValues() { throw new Error('no entropy today'); } } });
  assert.throws(() => new own.Filter(kind).add('a'), { name: 'RoostError', message: /no entropy today/ });
  assert.equal(new own.Filter({ capacity: 10 }).add('a'), true);
  let filter = null, inner = null;
  const calling = fresh({ crypto: { getRandomValues(bytes) { try { filter?.add('inner'); } catch (error) { inner = error; } return webcrypto.getRandomValues(bytes); } } });
  filter = new calling.Filter({ capacity: 10 });
  assert.equal(new calling.Filter(kind).add('a'), true);
  assert.equal(inner.code, 'BUSY');
  assert.equal(filter.has('inner'), false);
  assertUsable(calling);
});

// A source of random numbers that calls `act` first, in the middle of a call.
function interrupting() {
  const source = { act: () => {}, getRandomValues(bytes) { source.act(bytes); return webcrypto.getRandomValues(bytes); } };
  return source;
}

test('a source of random numbers gets bytes of its own, not the memory of the module', { skip: !removes }, () => {
  const source = interrupting(), own = fresh({ crypto: source }), filter = new own.Filter(kind), kept = [];
  source.act = (bytes) => kept.push(bytes);
  filter.add('a');
  filter.cursor();
  assert.ok(kept.length > 0 && kept.every(({ buffer }) => buffer.byteLength <= 64), 'more than what was asked for');
  const { actor } = filter.info();
  for (const bytes of kept) bytes.fill(7);
  assert.equal(filter.info().actor, actor);
});

test('a source of random numbers that gives none, or gives them later, is the reason', { skip: !removes }, () => {
  for (const getRandomValues of [() => {}, (bytes) => bytes.fill(0), async (bytes) => webcrypto.getRandomValues(await bytes)]) {
    const own = fresh({ crypto: { getRandomValues } }), filter = new own.Filter(kind);
    assert.throws(() => filter.add('a'), { code: 'EXHAUSTED', message: /there are no random numbers: the source left all bytes 0/ });
  }
});

test('a source of random numbers that fails, frees or calls in the middle of any call loses no memory', { skip: !removes }, async () => {
  const source = interrupting(), { own, calls } = withCalls(() => fresh({ crypto: source, maximumMemory: 4 << 20 })), long = 'w'.repeat(40000);
  let filter = null, other = null, turns = 0;
  freeRoom(calls); // the memory is then as large as it may be
  const during = {
    throws: () => { throw new Error('no entropy today'); },
    frees: () => { filter.free(); other.free(); },
    calls: () => { for (const call of [() => other.has('short'), () => other.add('short'), () => other.has(long), () => other.addMany([long]), () => other.clone(), () => other.startSync(), () => new own.Filter(kind)]) assert.throws(call, { code: 'BUSY' }); },
  };
  const acts = {
    add: () => filter.add('a'), long: () => filter.add(long), addMany: () => filter.addMany(['a', long, 'b']), delete: () => filter.delete(long), cursor: () => filter.cursor(), delta: () => filter.delta(), replica: () => filter.replica(),
    startSync: () => filter.startSync().free(), sync: () => own.sync(filter, other), merge: () => filter.merge(other), clone: () => filter.clone().free(), reply: () => { const session = other.startSync(); try { filter.reply(session.next()); } finally { session.free(); } },
  };
  const turn = async (during, act) => {
    [filter, other] = [new own.Filter(kind), new own.Filter(kind)];
    other.add('b');
    source.act = () => { turns++; during(); };
    try { act(); } catch (error) { assert.ok(['EXHAUSTED', 'FREED'].includes(error.code), error.stack); }
    source.act = () => {};
    for (const object of [filter, other]) object.free();
    await null; // what was freed in the middle of a call goes after it
  };
  for (const [name, act] of Object.entries(acts))
    for (const [what, run] of Object.entries(during)) {
      await turn(run, act);
      const before = freeRoom(calls);
      await turn(run, act);
      assert.equal(freeRoom(calls), before, `${name}, and the source ${what}`);
    }
  assert.ok(turns > 20, String(turns));
  assertUsable(own);
});

test('a few bytes of a filter of another configuration take no memory, however large it is', () => {
  const elsewhere = fresh({}), frames = [200, 1e7, 1e8].map((capacity) => new elsewhere.Filter({ capacity }).toBytes());
  const { own, calls } = withCalls(() => fresh({ maximumMemory: 64 << 20 })), small = new own.Filter({ capacity: 100 }), before = freeRoom(calls);
  const saying = (end) => ({ code: 'MISMATCH', message: `the filters have different configurations${end}` });
  assert.ok(frames.every(({ length }) => length < 100));
  assert.throws(() => small.merge(frames[0]), saying(': capacity 100 and 200'));
  for (const frame of frames.slice(1)) assert.throws(() => small.merge(frame), saying('')); // there is room for the first of them
  assert.ok(freeRoom(calls) >= before);
  assertUsable(own);
});

test('constructors and fromBytes that fail part-way lose no memory', () => {
  const { own, calls } = withCalls(() => fresh({ maximumMemory: 4 << 20 })), frame = new own.Filter().toBytes();
  const thrown = new Error('by a getter'), throwing = new Proxy(class {}, { get() { throw thrown; } });
  const makers = [own.Filter, own.Window, own.Counter].slice(0, isCore ? 1 : 3).map((Class) => () => Reflect.construct(Class, [{ ...(Class !== own.Filter && { window: 60 }) }], throwing));
  const from = (prototype) => () => own.Filter.fromBytes.call({ prototype }, frame);
  const acts = [...makers, from(5), from(undefined), () => own.Filter.fromBytes.call({ get prototype() { throw thrown; } }, frame), () => own.Filter.fromBytes(frame, { replica: new Uint8Array(9) }), () => own.Filter.fromBytes(frame, { get replica() { throw thrown; } })];
  freeRoom(calls);
  const before = freeRoom(calls);
  for (const act of acts) {
    assert.throws(act);
    assert.equal(freeRoom(calls), before, String(act));
  }
});

test('a clock that calls or frees in the middle of a call changes no key and loses nothing', beyondCore, () => {
  const own = fresh(), { now } = Date, timed = () => new own.Filter({ kind: 'orcuckoo', semantics: 'last-writer-wins' }), long = 'w'.repeat(40000);
  const other = new own.Filter({ capacity: 1000 });
  let filter = timed();
  const withClock = (tell, act) => { Date.now = tell; try { return act(); } finally { Date.now = now; } };
  const calling = () => { for (const key of ['other', long]) other.add(key); other.addMany(['x', 'y']); return now(); };
  for (const key of ['swift', 'ü'.repeat(30), long]) {
    assert.equal(withClock(calling, () => filter.add(key)), true);
    assert.equal(withClock(calling, () => filter.addMany([key, `${key}-2`])), 1);
    assert.deepEqual(filter.hasMany([key, `${key}-2`, 'other', 'y']), [true, true, false, false]);
    assert.equal(withClock(calling, () => filter.delete(key)), true);
    assert.deepEqual(filter.hasMany([key, `${key}-2`]), [false, true]);
  }
  const freeing = () => { filter.free(); return now(); }, odd = () => ({ valueOf: freeing });
  for (const tell of [freeing, odd])
    for (const act of [() => filter.add('a'), () => filter.add(long), () => filter.delete('a'), () => filter.addMany(['a', long]), () => filter.deleteMany(['a'])]) {
      filter = timed();
      filter.addMany(names(50));
      assert.throws(() => withClock(tell, act), { code: 'FREED' }, String(act));
    }
  assertUsable(own);
});

test('without FinalizationRegistry there is free()', () => {
  const registry = globalThis.FinalizationRegistry;
  globalThis.FinalizationRegistry = undefined;
  try {
    const own = fresh();
    assertUsable(own);
    const session = new own.Filter().startSync();
    session.free();
    assert.throws(() => session.next(), { code: 'FREED' });
  } finally {
    globalThis.FinalizationRegistry = registry;
  }
});

// ---- memory ------------------------------------------------------------------------------------------------------------------

// The calls of the module of the instance that `make` loads.
function withCalls(make) {
  const { Instance } = WebAssembly;
  let calls = null;
  WebAssembly.Instance = function (...given) { const instance = new Instance(...given); calls = instance.exports; return instance; };
  try { return { own: make(), calls }; } finally { WebAssembly.Instance = Instance; }
}

// Takes all memory but one block of `room` bytes; returns what gives it back.
function fill(calls, room) {
  const kept = calls.allocate(room) >>> 0, taken = [];
  for (let size = 1 << 20; size >= 16; size >>= 1)
    for (let at = calls.allocate(size) >>> 0; at !== 0; at = calls.allocate(size) >>> 0) taken.push(at);
  calls.release(kept);
  return () => { for (const at of taken) calls.release(at); };
}

// Bytes that can be allocated, in blocks of powers of two.
function freeRoom(calls) {
  const taken = [];
  let room = 0;
  for (let size = 1 << 22; size >= 16; size >>= 1)
    for (let at = calls.allocate(size) >>> 0; at !== 0; at = calls.allocate(size) >>> 0) { taken.push(at); room += size; }
  for (const at of taken) calls.release(at);
  return room;
}

test('calls that the exhausted stack stops lose no memory, or are the last ones', { skip: !globalThis.process && 'engines of pages differ' }, () => {
  const uses = { compare: (a, b) => a.compare(b), equals: (a, b) => a.equals(b), info: (a) => a.info(), has: (a) => a.has('x'), hasMany: (a) => a.hasMany(['x', 'y']), count: (a) => a.count('x') };
  for (const options of [{}, kind])
    for (const [name, use] of Object.entries(uses)) {
      const { own, calls } = withCalls(() => fresh({ maximumMemory: 8 << 20 })), [a, b] = [new own.Filter(options), new own.Filter(options)];
      a.addMany(names(500, 'here'));
      b.addMany(names(500, 'there'));
      const answer = use(a, b);
      freeRoom(calls);
      const before = freeRoom(calls), down = () => { try { down(); } catch { use(a, b); } };
      const from = (depth, ...more) => (depth === 0 ? down() : from(depth - 1, ...more, depth)); // so that the stack ends elsewhere each time
      for (let depth = 0; depth < 40; depth++) try { from(depth); } catch (error) { assert.ok(error instanceof RangeError || error.code === 'BROKEN', error.stack); }
      try {
        assert.deepEqual(use(a, b), answer, name);
        assert.equal(freeRoom(calls), before, name);
      } catch (error) {
        if (error.code !== 'BROKEN') throw error;
      }
    }
});

const acts = ({ Filter, sync }, options) => ({
  add: (filter) => filter.add('one more'),
  addMany: (filter) => filter.addMany(names(700, 'more')),
  merge: (filter, other) => filter.merge(other),
  mergeBytes: (filter, other, frame) => filter.merge(frame),
  fromBytes: (filter, other, frame) => Filter.fromBytes(frame).free(),
  toBytes: (filter) => filter.toBytes(),
  clone: (filter) => filter.clone().free(),
  delta: (filter) => filter.delta(filter.cursor()),
  replica: (filter) => filter.replica(),
  sync: (filter, other) => sync(filter, other),
  long: (filter) => filter.add('w'.repeat(20000)),
  ...(options.kind === 'orcuckoo' && { delete: (filter) => filter.delete('bird-5') }),
});

for (const options of [{}, { capacity: 2000 }, ...(removes ? [kind] : []), ...(isCore ? [] : [{ kind: 'orcuckoo', semantics: 'last-writer-wins' }, { kind: 'bloom', scalable: true, capacity: 100 }, { kind: 'cuckoo', capacity: 3000 }])])
  test(`${JSON.stringify(options)}: each call fails at each allocation, keeps what there is, and succeeds once there is room`, () => {
    const { own, calls } = withCalls(() => fresh({ maximumMemory: 4 << 20 })), { Filter } = own;
    const outcomes = { done: 0, refused: 0 };
    new Filter().addMany(['a']); // the room for batches
    for (const [name, act] of Object.entries(acts(own, options))) {
      const filter = new Filter(options), other = new Filter(options);
      filter.addMany(names(600));
      other.addMany(names(600, 'other'));
      const frame = other.toBytes();
      let room = 16, refused = true;
      for (; refused && room < 2e6; room = Math.ceil(room * 1.4)) {
        const before = filter.digest(), giveBack = fill(calls, room);
        try {
          act(filter, other, frame);
          refused = false;
        } catch (error) {
          assert.equal(error.code, 'NO_MEMORY', `${name} with ${room}: ${error.stack}`);
          if (name !== 'addMany' && name !== 'sync') assert.equal(filter.digest(), before, `${name} with ${room}`);
        } finally {
          giveBack();
        }
        assert.ok(filter.hasMany(names(600)).every((found, i) => found || (name === 'delete' && i === 5)), `${name} with ${room}`);
        outcomes[refused ? 'refused' : 'done']++;
      }
      assert.equal(refused, false, name);
      filter.free();
      other.free();
    }
    assert.ok(outcomes.refused > 20, JSON.stringify(outcomes));
    assertUsable(own);
  });

test('what has more bits than a number of 32 bits counts is too large, as a filter and as bytes', () => {
  const own = fresh(), most = 2 ** 29;
  for (const options of [{ capacity: 5e8 }, { capacity: 5e8, layout: 'classic' }, ...(isCore ? [] : [{ kind: 'cuckoo', capacity: 5e8 }])])
    assert.throws(() => new own.Filter(options), { code: 'TOO_LARGE' }, JSON.stringify(options));
  const filter = new own.Filter(kind), session = filter.startSync(), bytes = new Uint8Array(most);
  for (const use of [() => filter.merge(bytes), () => own.Filter.fromBytes(bytes), () => filter.reply(bytes), () => session.next(bytes), () => filter.startSync(bytes)])
    assert.throws(use, { code: 'TOO_LARGE', message: /^(a frame|a message|the memory of a sync) of 536870912 bytes: at most 536870911/ }, String(use));
  assertUsable(own);
});

// ---- realms and threads --------------------------------------------------------------------------------------------------------

test('keys, frames, dates and modules of another realm are as those of this one', { skip: !globalThis.process && 'Node makes realms' }, async () => {
  const { runInNewContext } = await import('node:vm');
  const { Uint8Array: Bytes, Date: Time, Array: List } = runInNewContext('({ Uint8Array, Date, Array })');
  const own = fresh(), filter = new own.Filter(kind);
  assert.equal(filter.add(Bytes.of(1, 2, 3)), true);
  assert.equal(filter.addMany(List.of(Bytes.of(1, 2, 3), 'a')), 1);
  assert.equal(own.Filter.fromBytes(Bytes.from(filter.toBytes())).digest(), filter.digest());
  assert.throws(() => filter.add(new List()), TypeError);
  if (!isCore) {
    const window = new own.Window({ window: 60 });
    assert.equal(window.add('a', new Time(1.8e12)), true);
    assert.equal(window.has('a', 1.8e12), true);
    assert.throws(() => window.add('a', new Time(NaN)), TypeError);
  }
  const module = runInNewContext('(bytes) => new WebAssembly.Module(bytes)')(wasm());
  assert.equal(new (load(module, { crypto: webcrypto }).Filter)().add('a'), true);
});

test('a worker has an instance of its own, and filters cross as bytes', { skip: !globalThis.process && 'loading.js has it for pages' }, async () => {
  const { Worker } = await import('node:worker_threads');
  const source = `
    const { parentPort, workerData } = require('node:worker_threads');
    const { webcrypto } = require('node:crypto');
    import(workerData.url).then(({ load }) => {
      const { Filter } = load(workerData.module, { crypto: webcrypto });
      parentPort.once('message', (frame) => {
        const filter = Filter.fromBytes(frame);
        filter.add('there');
        parentPort.postMessage(filter.toBytes());
      });
    });`;
  const worker = new Worker(source, { eval: true, workerData: { url: new URL('load.js', folderUrl).href, module: new WebAssembly.Module(wasm()) } });
  const filter = new roost.Filter(kind);
  filter.add('here');
  worker.postMessage(filter.toBytes());
  const frame = await new Promise((done, fail) => { worker.once('message', done); worker.once('error', fail); });
  await worker.terminate();
  assert.equal(filter.merge(frame), true);
  assert.deepEqual(filter.hasMany(['here', 'there']), [true, true]);
});
