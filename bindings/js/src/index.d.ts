// Types of roost-filter. docs/javascript.md of the project explains them by example.

declare global {
  // As lib.esnext.disposable has them, for compilers that are told of an older library.
  interface SymbolConstructor { readonly dispose: unique symbol }
}

/** A string stands for its bytes in UTF-8. */
export type Key = string | Uint8Array;

/** Bytes that a call returns, in a buffer of their own: for `fetch`, `Blob` and the like also where Uint8Array has a parameter. */
export type Bytes = ReturnType<Uint8Array['slice']>;

/** An array or another iterable of keys; a string is one key. */
export type Keys = Iterable<Key> & object;

/** The options of `roost create`, with its defaults. */
export interface FilterOptions {
  /** Elements, over all replicas, for which `fpr` holds. Without it the filter grows. */
  capacity?: number;
  /** The promised false-positive rate; 0.01 by default. */
  fpr?: number;
  /** `bloom` by default with a capacity, else `cuckoo`; keys of an `orcuckoo` filter can be removed. */
  kind?: 'bloom' | 'cuckoo' | 'orcuckoo';
  layout?: 'blocked' | 'classic';
  bits?: number;
  bucket?: 1 | 2 | 4 | 8;
  multiset?: boolean;
  entry?: 32 | 64;
  /** Filters of equal seeds merge. */
  seed?: number | bigint | string;
  scalable?: boolean;
  growth?: 1 | 2 | 4 | 8;
  schedule?: 'quadratic' | 'halving' | 'gentle';
  writers?: number;
  /** Of an `orcuckoo` filter that grows: what holds where one replica adds a key and another deletes it at the same time. */
  semantics?: 'add-wins' | 'remove-wins' | 'last-writer-wins';
}

export interface WindowOptions {
  /** How long keys are kept at least: seconds, or a text as `10m`. */
  window: number | string;
  capacity?: number;
  fpr?: number;
  past?: number;
  seed?: number | bigint | string;
}

/**
 * The name of a status of the library; `FREED`; `BUSY`: a source of random numbers called back; or `BROKEN`: the engine stopped a
 * call in the middle, as where the stack was exhausted, and the instance is lost.
 */
export type RoostErrorCode = 'INVALID' | 'NO_MEMORY' | 'TOO_LARGE' | 'FULL' | 'MISMATCH' | 'UNSUPPORTED' | 'NOT_FRAME' | 'UNSUPPORTED_VERSION'
  | 'TRUNCATED' | 'CORRUPT' | 'EXHAUSTED' | 'PROTOCOL' | 'CLOCK' | 'OVERFLOW' | 'FREED' | 'BUSY' | 'BROKEN';

/** A failure with the text of the library. Nothing was changed. */
export class RoostError extends Error {
  constructor(code: RoostErrorCode | (string & {}), message: string);
  code: RoostErrorCode | (string & {});
  /** Of `addMany` and `deleteMany`: how many keys were done before, and how many of them changed something. A TypeError has them too. */
  done?: number;
  changed?: number;
  /** Of a session: a message that tells the peer. */
  reply?: Bytes | null;
}

export interface Info {
  kind: 'bloom' | 'cuckoo' | 'orcuckoo' | 'window' | 'counter';
  layout: 'blocked' | 'classic' | 'none';
  schedule: 'quadratic' | 'halving' | 'gentle' | 'none';
  semantics: 'add-wins' | 'remove-wins' | 'last-writer-wins';
  scalable: boolean;
  multiset: boolean;
  promise_holds: boolean;
  seed: string;
  digest: string;
  /** 16 hexadecimal digits; null while the replica has none. */
  actor: string | null;
  capacity: number;
  elements: number;
  entries: number;
  overflow: number;
  load: number;
  fpr_promised: number;
  fpr_now: number;
  bytes_memory: number;
  bits: number;
  probes: number;
  fingerprint_bits: number;
  bucket_size: number;
  buckets: number;
  entry_bits: number;
  tables: number;
  writers: number;
  growth: number;
  inserted: number;
  growth_limit: number;
  shortest_prefix: number;
  longest_prefix: number;
  actors: number;
  dots: number;
  gaps: number;
  journal: number;
  /** In seconds; 0 for a filter. */
  window: number;
  past: number;
}

export interface WindowInfo extends Info {
  window_seconds: number;
  slot_seconds: number;
  shortest_slot_seconds: number;
  slots: number;
  /** Seconds since 1970. */
  newest: number;
}

export interface SyncResult {
  equal: boolean;
  changed: boolean;
  rounds: number;
  sent: number;
  received: number;
}

/** What filters, windows and counters have in common; `Kind` is which of them, whatever class of the program extends it. */
declare abstract class Replica<Kind> {
  /** Merges a filter, its bytes, a delta or a file of the program; whether anything was new. */
  merge(other: Kind | Uint8Array): boolean;
  compare(other: Kind): 'equal' | 'before' | 'after' | 'concurrent';
  leq(other: Kind): boolean;
  equals(other: Kind): boolean;
  /** About how many keys there are. */
  readonly size: number;
  /** 32 hexadecimal digits, as the program prints them. */
  digest(): string;
  toBytes(): Bytes;
  clone(): this;
  cursor(): Bytes;
  /** What changed since a cursor, and the cursor for the next call; without a cursor the whole state. */
  delta(since?: Uint8Array | null): { bytes: Bytes; cursor: Bytes };
  /** The identity and journal of this replica, to be stored beside toBytes. */
  replica(): Bytes;
  /** Begins a sync; `memory` is that of the sync before with this peer. */
  startSync(memory?: Uint8Array | null): Sync;
  /** Answers a message of the other side's sync. */
  reply(request: Uint8Array): Bytes;
  info(): Info;
  /** Frees the memory at once. The object cannot be used any more. */
  free(): void;
  /** The same, for `using`, where the engine has it. */
  [Symbol.dispose](): void;
}

export class Filter extends Replica<Filter> {
  constructor(options?: FilterOptions);
  /** Of a class that extends this one: an object of it, whose constructor is not called. */
  static fromBytes<Kind>(this: { prototype: Kind }, bytes: Uint8Array, options?: { replica?: Uint8Array | null }): Kind;
  /** Whether it is new. */
  add(key: Key): boolean;
  /** How many are new. */
  addMany(keys: Keys): number;
  has(key: Key): boolean;
  hasMany(keys: Keys): boolean[];
  /** Kind `orcuckoo` only; whether it was there. Remove only what was added. */
  delete(key: Key): boolean;
  deleteMany(keys: Keys): number;
  /** One copy, of a multiset. */
  deleteOne(key: Key): boolean;
  /** How many copies a multiset holds; in a set, 1 or 0. */
  count(key: Key): number;
}

export class Window extends Replica<Window> {
  constructor(options: WindowOptions);
  /** Of a class that extends this one: an object of it, whose constructor is not called. */
  static fromBytes<Kind>(this: { prototype: Kind }, bytes: Uint8Array, options?: { replica?: Uint8Array | null }): Kind;
  /** True: it is new, it did not come within the window before. Times are in milliseconds; Date.now() by default. */
  add(key: Key, time?: number | Date): boolean;
  addMany(keys: Keys, time?: number | Date): number;
  has(key: Key, time?: number | Date): boolean;
  /** The latest time that is accepted; null: any. */
  trustUntil(time: number | Date | null): void;
  info(): WindowInfo;
}

export class Counter extends Replica<Counter> {
  constructor(options: WindowOptions);
  /** Of a class that extends this one: an object of it, whose constructor is not called. */
  static fromBytes<Kind>(this: { prototype: Kind }, bytes: Uint8Array, options?: { replica?: Uint8Array | null }): Kind;
  /** Counts an operation once. Values beyond 2^53 are bigints. */
  increment(id: Key, by?: number | bigint, time?: number | Date): { applied: boolean; value: number | bigint };
  readonly value: number | bigint;
  trustUntil(time: number | Date | null): void;
  info(): WindowInfo;
}

export class Sync {
  private constructor();
  /** Takes the reply to the message before and returns the next message; null: the sync is over. */
  next(reply?: Uint8Array | null): Bytes | null;
  result(): SyncResult;
  memory(): Bytes;
  free(): void;
  /** The same, for `using`, where the engine has it. */
  [Symbol.dispose](): void;
}

export class Reconciliation {
  private constructor();
  next(message?: Uint8Array | null): Bytes | null;
  readonly done: boolean;
  result(): { keys: number; onlyHere: number; onlyThere: number; changed: number; messages: number; sent: number; received: number; exact: boolean; complete: boolean };
  /** The keys of this side that the other side lacks, or has another count of. */
  differences(): { key: Key; here: number; there: number }[];
  free(): void;
  /** The same, for `using`, where the engine has it. */
  [Symbol.dispose](): void;
}

/** Syncs two filters of one program. */
export function sync<Kind>(here: Replica<Kind>, there: Replica<Kind>, memory?: Uint8Array | null): SyncResult & { memory: Bytes };

/** Finds which keys two sides lack; `first` is the first message of the other side. */
export function reconcile(keys: Keys, options?: { method?: 'auto' | 'riblt' | 'dbf' | 'ccf-query' | 'ccf-decode'; multiset?: boolean; first?: Uint8Array | null }): Reconciliation;

export const version: string;

export {}; // without it, what has no `export` would be exported as well
