// Every export of the package in the way that it is meant, and misuse that the compiler is to refuse.
import { Counter, Filter, Reconciliation, RoostError, Sync, Window, reconcile, sync, version } from 'roost-filter';
import type { FilterOptions, Info, Key, Keys, RoostErrorCode, SyncResult, WindowInfo, WindowOptions } from 'roost-filter';
import * as core from 'roost-filter/core';
import * as removal from 'roost-filter/removal';
import { load, type LoadOptions } from 'roost-filter/load';

// ---- filters

const options: FilterOptions = { capacity: 1000, fpr: 0.01, kind: 'orcuckoo', layout: 'blocked', bits: 24, bucket: 4, multiset: true, entry: 64, seed: 5n,
  scalable: true, growth: 2, schedule: 'gentle', writers: 4, semantics: 'add-wins' };
const filter = new Filter(options), empty = new Filter();
const key: Key = new Uint8Array(2);
const keys: Keys = new Set(['a', new Uint8Array(1)]);
const isNew: boolean = filter.add('swift');
const count: number = filter.addMany(keys) + filter.addMany(['a']) + filter.deleteMany(['a']) + filter.count(key);
const found: boolean[] = filter.hasMany(['a', key]);
const was: boolean = filter.has(key) || filter.delete(key) || filter.deleteOne('a') || isNew;
const order: 'equal' | 'before' | 'after' | 'concurrent' = filter.compare(empty);
const same: boolean = filter.leq(empty) || filter.equals(empty) || filter.merge(empty) || filter.merge(empty.toBytes());
const posted: BodyInit = filter.toBytes(), stored = new Blob([filter.toBytes(), filter.delta().bytes]), size: number = filter.size;
const copy: Filter = filter.clone(), decoded: Filter = Filter.fromBytes(filter.toBytes(), { replica: filter.replica() });
const { bytes, cursor }: { bytes: Uint8Array; cursor: Uint8Array } = filter.delta(filter.cursor());
const info: Info = filter.info();
const digest: string = filter.digest() + info.digest + (info.actor ?? '') + info.fpr_now.toFixed() + info.journal.toFixed() + version;
filter.free();

// ---- windows and counters

const window: Window = new Window({ window: '10m', capacity: 1000, fpr: 1e-6, past: 3, seed: '0x1' } satisfies WindowOptions);
const seen: boolean = window.add('a') || window.add('a', 5) || window.has('a', new Date());
window.addMany(['a'], Date.now());
window.trustUntil(null);
class Birds extends Filter { sing() { return 'song'; } }
const song: string = Birds.fromBytes(filter.toBytes()).sing() + new Birds().clone().sing();
class Bees extends Filter { hum() { return 'hum'; } }
const birds = new Birds(), bees = new Bees(); // of any class that extends Filter, with any other
const merged: boolean = birds.merge(filter) || filter.merge(birds) || birds.merge(bees) || birds.leq(filter) || bees.equals(birds) || birds.compare(bees) === 'equal';
sync(birds, filter).equal || sync(birds, bees).equal;
const windowInfo: WindowInfo = Window.fromBytes(window.toBytes()).info();
const counter = new Counter({ window: 60 });
const { applied, value }: { applied: boolean; value: number | bigint } = counter.increment('id', 5n, new Date());
const total: number | bigint = counter.value;
Counter.fromBytes(counter.toBytes(), {}).trustUntil(new Date());
const slots: number = windowInfo.slots + counter.info().newest;

// ---- sessions

const session: Sync = filter.startSync(null);
const message: Uint8Array | null = session.next();
if (message !== null) session.next(copy.reply(message));
const result: SyncResult = session.result();
const memory: Uint8Array = session.memory();
session.free();
const both: SyncResult & { memory: Uint8Array } = sync(copy, decoded, memory);
const here: Reconciliation = reconcile(['a', key], { method: 'auto', multiset: false, first: null });
const first = here.next();
if (first !== null) reconcile(new Set(['b']), { first }).next(first);
const differences: { key: Key; here: number; there: number }[] = here.done ? here.differences() : [];
const exact: boolean = here.result().exact && here.result().onlyHere === differences.length;
here.free();

// ---- errors, and the other modules

try {
  filter.add('x');
} catch (error) {
  if (error instanceof RoostError) {
    const code: RoostErrorCode | (string & {}) = error.code;
    const details: [string, number | undefined, number | undefined, Uint8Array | null | undefined] = [code, error.done, error.changed, error.reply];
    if (error.code === 'FULL') console.log(error.message, details);
  }
}
new RoostError('TEST', 'made by a program');
const small: Filter = new core.Filter({ capacity: 10 });
small.merge(new removal.Filter());
core.sync(small, new core.Filter());
const loadOptions: LoadOptions = { maximumMemory: 1 << 24, crypto: globalThis.crypto };
const own = load(new Uint8Array(8), loadOptions);
const used: number = own.usedMemory();
load(await WebAssembly.compile(new Uint8Array(8))).reconcile(['a']);
new own.Window({ window: 5 }).merge(window);

// ---- misuse

// @ts-expect-error: a string is one key
filter.addMany('abc');
// @ts-expect-error: bytes are one key
filter.hasMany(new Uint8Array(3));
// @ts-expect-error: a number is no key
filter.add(5);
// @ts-expect-error: no such option
new Filter({ size: 100 });
// @ts-expect-error: no such kind
new Filter({ kind: 'quotient' });
// @ts-expect-error: a window needs its length
new Window({});
// @ts-expect-error: filters merge with filters
filter.merge(window);
// @ts-expect-error: also those of a class that extends Filter
birds.merge(window);
// @ts-expect-error: and are compared with filters
birds.compare(counter);
// @ts-expect-error: windows merge with windows
window.merge(counter);
// @ts-expect-error: bytes, not text
Filter.fromBytes('Rost');
// @ts-expect-error: sessions come from startSync
new Sync();
// @ts-expect-error: and from reconcile
new Reconciliation();
// @ts-expect-error: two of one kind
sync(filter, window);
// @ts-expect-error: the value is read
counter.value = 5;
// @ts-expect-error: no such method of reconciliation
reconcile([], { method: 'magic' });
// @ts-expect-error: core has no windows
core.Window;
// @ts-expect-error: no such figure
info.figure;
// @ts-expect-error: the class that the three have in common is not there at run time
import('roost-filter').then((all) => all.Replica);
// @ts-expect-error: internal
filter.change;

export { count, found, was, order, same, merged, bytes, cursor, digest, seen, applied, value, total, slots, result, both, exact, used };
