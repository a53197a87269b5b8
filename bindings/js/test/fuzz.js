// Random and hostile calls of the package, beside an exact model: node fuzz.js SECONDS [SEED]
//
// Objects of all kinds are made, changed, merged, synced, encoded and freed, with arguments of which some make no sense: other
// types, freed objects, frames that were cut or changed, messages of other sessions, iterators that free what they feed, a source
// of random numbers that fails, frees and calls. The memory of the module is bounded, so that allocations fail too. Checked after
// each call: an error is a RoostError or a TypeError, the instance is not broken, and no key is lost.
import { webcrypto } from 'node:crypto';
import assert from 'node:assert/strict';
import { load, roost, wasm } from './package.js';

const seconds = Number(process.argv[2] ?? 10);
let state = Number(process.argv[3] ?? Date.now() % 2 ** 31) >>> 0;
console.log(`seed ${state}`);
const random = (below) => {
  state = (state + 0x6d2b79f5) >>> 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) % below;
};
const pick = (list) => list[random(list.length)];
const { RoostError } = roost;
const module = new WebAssembly.Module(wasm());

const options = [{}, { kind: 'orcuckoo' }, { kind: 'bloom', capacity: 300 }, { kind: 'cuckoo', capacity: 200 }, { kind: 'orcuckoo', capacity: 200 },
  { kind: 'bloom', scalable: true, capacity: 50 }, { kind: 'orcuckoo', multiset: true, capacity: 100, entry: 32 }, { kind: 'orcuckoo', multiset: true }, { kind: 'bloom', capacity: 1e6 }];
const nonsense = [undefined, null, 5, -1, NaN, 1n, 'text', {}, [], [5], new Uint8Array(), new Uint8Array(40), new Uint16Array(3), Symbol('x'), () => 1, new Proxy({}, {}), Object.create(null), Infinity, 2 ** 40];
// Keys and lists that answer differently each time they are asked.
class Liar extends Uint8Array { get length() { return random(70000); } get buffer() { return null; } slice() { return 5; } subarray() { return 'x'; } set() { return 7; } }
const resized = () => { const buffer = new ArrayBuffer(random(20000), { maxByteLength: 20000 }), bytes = new Uint8Array(buffer); buffer.resize?.(random(20000)); return bytes; };
const changing = (list) => Object.defineProperty([...list], random(list.length + 1), { get: () => pick([key(), key(), 'y'.repeat(random(300000)), new Liar(random(30000)), pick(nonsense)]), enumerable: true });
const oddKey = () => pick([() => new Liar(random(70000)), resized, () => new Uint8Array(new SharedArrayBuffer(random(20000)))])();
const key = () => pick([() => `k${random(500)}`, () => `k${random(500)}`, () => `ü${random(50)}`, () => '', () => 'z'.repeat(random(300)), () => 'w'.repeat(17000 + random(3)), () => new Uint8Array([random(4), random(4)])])();
const keys = () => Array.from({ length: random(40) }, key);
const text = (value) => (typeof value === 'string' ? `s${value}` : `b${[...value]}`);
function damaged(bytes) {
  const copy = bytes.slice(0, random(3) ? bytes.length : random(bytes.length + 1));
  for (let i = random(3); i > 0 && copy.length > 0; i--) copy[random(copy.length)] ^= 1 << random(8);
  return copy;
}

let calls = 0, errors = 0, instances = 0, memories = 0;
const counts = {};

// One instance, its objects, and what each must hold: `sure` is a set of keys, or null where that is not known.
function run(until) {
  const maximumMemory = pick([4, 6, 16, 64]) << 20;
  const own = load(module, { maximumMemory, crypto: { getRandomValues(bytes) { if (random(20) === 0) interrupt(); return webcrypto.getRandomValues(bytes); } } });
  instances++;
  let objects = [], sessions = [], bytes = [], time = 1.8e12;
  const hold = (object, sure, form) => { if (objects.length > 12) objects.splice(random(objects.length), 1)[0].object.free(); objects.push({ object, sure, form }); };
  const one = () => pick(objects);
  // What a source of random numbers does in the middle of a call: fails, frees, calls.
  const interrupt = () => {
    const entry = one();
    pick([() => { throw new Error('no entropy today'); }, () => { if (entry) { entry.object.free(); entry.sure = null; } }, () => { pick(sessions)?.free(); }, () => entry?.object.has?.(key()), () => entry?.object.addMany?.(keys()), () => new own.Filter(pick(options))])();
  };
  const removable = (entry) => options[entry.form]?.kind === 'orcuckoo';
  const acts = {
    make: () => { const form = random(options.length); hold(new own.Filter(options[form]), new Set(), form); },
    makeTimed: () => hold(random(2) ? new own.Window({ window: '10m' }) : new own.Counter({ window: 60 }), null, -1),
    makeNonsense: () => new (pick([own.Filter, own.Window, own.Counter]))(pick([pick(nonsense), { capacity: pick(nonsense) }, { kind: pick(nonsense) }, { fpr: pick(nonsense), seed: pick(nonsense) }, { window: pick(nonsense) }])),
    add: () => { const entry = one(), k = key(); time += random(1000); entry.object.add ? entry.object.add(k, ...(entry.form < 0 ? [time] : [])) : entry.object.increment(k, random(9) - 4, time); if (entry.sure && entry.form >= 0) entry.sure.add(text(k)); },
    addMany: () => { const entry = one(), list = keys(); if (entry.form < 0) return;
      let done = 0;
      try { entry.object.addMany(random(2) ? list : new Set(list)); done = list.length; } catch (error) { done = 0; throw error; } finally { if (entry.sure) list.slice(0, done).forEach((k) => entry.sure.add(text(k))); } },
    addNonsense: () => { const entry = one(); entry.sure?.delete('s'); entry.object[pick(['add', 'has', 'addMany', 'hasMany', 'delete', 'merge', 'compare', 'equals', 'delta', 'reply', 'startSync', 'increment', 'count', 'deleteMany', 'trustUntil'])]?.(pick(nonsense), pick(nonsense)); }, // the empty key makes sense, and may be removed
    remove: () => { const entry = one(); if (!removable(entry) || !entry.sure || options[entry.form].entry === 32) return; const k = key(); if (entry.sure.has(text(k))) { entry.object.delete(k); entry.sure.delete(text(k)); } },
    hostileIterator: () => { const entry = one(), victim = one(); entry.object.addMany?.((function* () { yield key(); if (random(4) === 0) { victim.object.free(); victim.sure = null; } victim.object.has?.('x'); yield key(); if (random(2)) throw new RoostError('TEST', 'thrown by an iterator'); })()); },
    look: () => { const entry = one(); if (entry.sure) for (const k of [...entry.sure].slice(0, 20)) if (k[0] === 's') assert.equal(entry.object.has(k.slice(1)), true, `lost ${k}`); },
    merge: () => { const a = one(), b = one(); a.object.merge(b.object); if (a.sure && b.sure && !removable(a)) b.sure.forEach((k) => a.sure.add(k)); else if (a !== b) a.sure &&= a.form >= 0 && removable(a) ? new Set() : a.sure; },
    mergeBytes: () => { const a = one(); if (bytes.length === 0) return; a.object.merge(random(2) ? damaged(pick(bytes)) : pick(bytes)); if (removable(a)) a.sure &&= new Set(); },
    encode: () => { const entry = one(); const frame = pick([() => entry.object.toBytes(), () => entry.object.delta().bytes, () => entry.object.replica(), () => entry.object.cursor()])(); bytes.push(frame); if (bytes.length > 20) bytes.shift(); },
    decode: () => { if (bytes.length === 0) return; const frame = random(2) ? damaged(pick(bytes)) : pick(bytes); hold(pick([own.Filter, own.Window, own.Counter]).fromBytes(frame, random(3) ? {} : { replica: pick(bytes) }), null, -2); },
    same: () => { const entry = one(); if (entry.form < -1) return; const copy = entry.object.constructor.fromBytes(entry.object.toBytes()); assert.equal(copy.digest(), entry.object.digest()); copy.free(); },
    clone: () => { const entry = one(); hold(entry.object.clone(), entry.sure && new Set(entry.sure), entry.form); },
    delta: () => { const entry = one(); entry.object.delta(random(2) ? entry.object.cursor() : pick(bytes)?.subarray(0, 16)); },
    sync: () => { const a = one(), b = one(); own.sync(a.object, b.object, random(4) ? null : pick(bytes) ?? null); if (removable(a)) { if (a !== b) a.sure &&= new Set(); if (a !== b) b.sure &&= new Set(); } else if (a.sure && b.sure) { b.sure.forEach((k) => a.sure.add(k)); a.sure.forEach((k) => b.sure.add(k)); } },
    start: () => { sessions.push(one().object.startSync(pick([null, null, ...bytes]))); if (sessions.length > 6) sessions.shift().free(); },
    step: () => { const session = pick(sessions); if (!session) return; const message = session.next(pick([null, ...bytes])); if (message) bytes.push(message); },
    reply: () => { if (bytes.length) bytes.push(one().object.reply(random(2) ? damaged(pick(bytes)) : pick(bytes))); const entry = objects.at(-1); if (entry) objects.forEach((e) => { if (removable(e)) e.sure &&= new Set(); }); },
    reconcile: () => { const list = keys(), here = own.reconcile(list, { multiset: random(2) === 0, method: pick(['auto', 'auto', 'riblt', 'dbf', 'ccf-query']) }); let m = here.next(); if (random(4) === 0) m = damaged(m);
      const there = own.reconcile(random(8) ? keys() : [pick(nonsense)], { first: m }); for (let turn = there, i = 0; m && i < 40; i++) { if (random(20) === 0) m = damaged(m); m = turn.next(m); turn = turn === there ? here : there; } if (here.done) here.differences(); there.result(); if (random(2)) here.free(); },
    addOdd: () => { const entry = one(); if (entry.form >= 0) pick([() => entry.object.add(oddKey()), () => entry.object.addMany(changing(keys())), () => entry.object.hasMany(changing(keys())), () => entry.object.addMany([...keys(), oddKey()]), () => entry.object.merge(new Liar(entry.object.toBytes().buffer))])(); },
    stranger: () => { // any method on any object
      const entry = one(), Class = pick([own.Filter, own.Window, own.Counter, own.Sync, own.Reconciliation]), from = random(2) ? Class.prototype : Object.getPrototypeOf(Class.prototype);
      const name = pick(Object.getOwnPropertyNames(from).filter((name) => name !== 'free' && name !== 'constructor')), { value, get } = Object.getOwnPropertyDescriptor(from, name);
      if (removable(entry)) entry.sure &&= new Set();
      (value ?? get).call(pick([entry.object, entry.object, pick(sessions), pick(nonsense)]), pick([key(), keys(), pick(bytes), pick(nonsense), one().object]), pick([time, pick(nonsense)])); },
    extended: () => { class Own extends own.Filter { constructor() { super({ capacity: 5 }); } } const entry = one(), copy = Own.fromBytes(entry.object.toBytes()); assert.equal(copy.clone().digest(), entry.object.digest()); },
    byHand: () => new (pick([own.Sync, own.Reconciliation, Object.getPrototypeOf(own.Filter)]))(pick(nonsense)),
    info: () => one().object.info(),
    free: () => { if (objects.length > 3) { const [entry] = objects.splice(random(objects.length), 1); entry.object.free(); if (random(3) === 0) entry.object.add?.('x'); } },
    freed: () => { const entry = one(); entry.object.free(); entry.sure = null; objects = objects.filter((e) => e !== entry); entry.object[pick(['toBytes', 'digest', 'info', 'clone', 'cursor', 'replica'])](); },
  };
  const names = Object.keys(acts);
  for (let i = 0; i < 3000 && performance.now() < until; i++) {
    const name = objects.length === 0 ? 'make' : pick(names);
    calls++;
    counts[name] ??= [0, 0];
    counts[name][0]++;
    try {
      acts[name]();
    } catch (error) {
      errors++;
      counts[name][1]++;
      if (error?.code === 'NO_MEMORY') memories++;
      if (!(error instanceof RoostError || error instanceof TypeError) || error.code === 'BROKEN' || error instanceof assert.AssertionError || (name !== 'stranger' && /Cannot read|not a function|not iterable|is not defined/.test(error.message))) {
        console.log(`after ${calls} calls, in ${name}:`, error);
        process.exit(1);
      }
    }
  }
  for (const { object, sure } of objects) if (sure) for (const k of sure) if (k[0] === 's' && k.length < 5000) assert.equal(object.has(k.slice(1)), true, `lost ${k}`);
}

const begin = process.cpuUsage();
const spent = () => { const { user, system } = process.cpuUsage(begin); return (user + system) / 1e6; };
while (spent() < seconds) {
  run(performance.now() + 5000);
  await new Promise((next) => setTimeout(next)); // in which what was dropped is freed
}
assert.ok(calls > 1000 && errors > 100);
if (process.argv.includes('--counts')) console.table(counts);
console.log(`ok ${calls} calls, ${errors} refused, ${memories} for want of memory, ${instances} instances, ${Math.round(spent())} s of processor`);
