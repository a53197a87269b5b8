// Types of roost-filter. docs/javascript.md of the project explains them by example.

/** A string stands for its bytes in UTF-8. */
export type Key = string | Uint8Array;

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

/** A failure with the text of the library. Nothing was changed. */
export class RoostError extends Error {
  code: 'INVALID' | 'NO_MEMORY' | 'TOO_LARGE' | 'FULL' | 'MISMATCH' | 'UNSUPPORTED' | 'NOT_FRAME' | 'UNSUPPORTED_VERSION' | 'TRUNCATED'
    | 'CORRUPT' | 'EXHAUSTED' | 'PROTOCOL' | 'CLOCK' | 'OVERFLOW' | 'FREED' | 'BROKEN' | string;
  /** Of `addMany`: how many keys were done before, and how many of them changed something. */
  done?: number;
  changed?: number;
  /** Of a session: a message that tells the peer. */
  reply?: Uint8Array | null;
}

export interface Info {
  kind: 'bloom' | 'cuckoo' | 'orcuckoo' | 'window' | 'counter';
  layout: 'blocked' | 'classic' | 'none';
  capacity: number;
  elements: number;
  entries: number;
  overflow: number;
  load: number;
  fpr_promised: number;
  fpr_now: number;
  promise_holds: boolean;
  bytes_memory: number;
  digest: string;
  seed: string;
  scalable: boolean;
  multiset: boolean;
  semantics: 'add-wins' | 'remove-wins' | 'last-writer-wins';
  actor: string | null;
  [name: string]: string | number | boolean | null;
}

export interface SyncResult {
  equal: boolean;
  changed: boolean;
  rounds: number;
  sent: number;
  received: number;
}

/** What filters, windows and counters have in common. */
declare abstract class Replica {
  /** Merges a filter, its bytes, a delta or a file of the program; whether anything was new. */
  merge(other: this | Uint8Array): boolean;
  compare(other: this): 'equal' | 'before' | 'after' | 'concurrent';
  leq(other: this): boolean;
  equals(other: this): boolean;
  /** 32 hexadecimal digits, as the program prints them. */
  digest(): string;
  toBytes(): Uint8Array;
  clone(): this;
  cursor(): Uint8Array;
  /** What changed since a cursor, and the cursor for the next call; without a cursor the whole state. */
  delta(since?: Uint8Array | null): { bytes: Uint8Array; cursor: Uint8Array };
  /** The identity and journal of this replica, to be stored beside toBytes. */
  replica(): Uint8Array;
  /** Begins a sync; `memory` is that of the sync before with this peer. */
  startSync(memory?: Uint8Array | null): Sync;
  /** Answers a message of the other side's sync. */
  reply(request: Uint8Array): Uint8Array;
  info(): Info;
  /** Frees the memory at once. The object cannot be used any more. */
  free(): void;
}

export class Filter extends Replica {
  constructor(options?: FilterOptions);
  static fromBytes(bytes: Uint8Array, options?: { replica?: Uint8Array | null }): Filter;
  /** Whether it is new. */
  add(key: Key): boolean;
  /** How many are new. */
  addMany(keys: Iterable<Key>): number;
  has(key: Key): boolean;
  hasMany(keys: Iterable<Key>): boolean[];
  /** Kind `orcuckoo` only; whether it was there. Remove only what was added. */
  delete(key: Key): boolean;
  deleteMany(keys: Iterable<Key>): number;
  /** One copy, of a multiset. */
  deleteOne(key: Key): boolean;
  /** How many copies a multiset holds; in a set, 1 or 0. */
  count(key: Key): number;
}

export class Window extends Replica {
  constructor(options: WindowOptions);
  static fromBytes(bytes: Uint8Array, options?: { replica?: Uint8Array | null }): Window;
  /** Whether the key came within the window before. Times are in milliseconds; Date.now() by default. */
  add(key: Key, time?: number | Date): boolean;
  addMany(keys: Iterable<Key>, time?: number | Date): number;
  has(key: Key, time?: number | Date): boolean;
  /** The latest time that is accepted; null: any. */
  trustUntil(time: number | Date | null): void;
}

export class Counter extends Replica {
  constructor(options: WindowOptions);
  static fromBytes(bytes: Uint8Array, options?: { replica?: Uint8Array | null }): Counter;
  /** Counts an operation once. Values beyond 2^53 are bigints. */
  increment(id: Key, by?: number | bigint, time?: number | Date): { applied: boolean; value: number | bigint };
  readonly value: number | bigint;
  trustUntil(time: number | Date | null): void;
}

export class Sync {
  private constructor();
  /** Takes the reply to the message before and returns the next message; null: the sync is over. */
  next(reply?: Uint8Array | null): Uint8Array | null;
  result(): SyncResult;
  memory(): Uint8Array;
  free(): void;
}

export class Reconciliation {
  private constructor();
  next(message?: Uint8Array | null): Uint8Array | null;
  readonly done: boolean;
  result(): { keys: number; onlyHere: number; onlyThere: number; changed: number; messages: number; sent: number; received: number; exact: boolean; complete: boolean };
  /** The keys of this side that the other side lacks, or has another count of. */
  differences(): { key: Key; here: number; there: number }[];
  free(): void;
}

/** Syncs two filters of one program. */
export function sync<Kind extends Replica>(here: Kind, there: Kind, memory?: Uint8Array | null): SyncResult & { memory: Uint8Array };

/** Finds which keys two sides lack; `first` is the first message of the other side. */
export function reconcile(keys: Iterable<Key>, options?: { method?: 'auto' | 'riblt' | 'dbf' | 'ccf-query' | 'ccf-decode'; multiset?: boolean; first?: Uint8Array | null }): Reconciliation;

export const version: string;
