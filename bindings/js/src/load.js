// The classes of the package, over one instance of a WebAssembly module. index.js, removal.js and core.js load the module that
// belongs to them; a page that has the bytes of one elsewhere, as in a single file, calls `load` itself.
import { Cell, Instance, RoostError, bytesOf, kept, nameOf, sizeOf } from './instance.js';
import { filterValues, instanceValues, kinds, layouts, readOptions, reconcileValues, schedules, semantics, windowValues } from './options.js';

export { RoostError };

const orders = ['equal', 'before', 'after', 'concurrent'];
const infoNames = ['capacity', 'elements', 'entries', 'overflow', 'load', 'fpr_promised', 'fpr_now', 'bytes_memory', 'bits', 'probes',
  'fingerprint_bits', 'bucket_size', 'buckets', 'entry_bits', 'tables', 'writers', 'growth', 'inserted', 'growth_limit', 'shortest_prefix',
  'longest_prefix', 'actors', 'dots', 'gaps', 'journal', 'window', 'past'];
// Their names in info(), and as options; those that follow from others come after these.
const comparedOptions = [['kind', 'kind'], ['capacity', 'capacity'], ['fpr_promised', 'fpr'], ['seed', 'seed'], ['semantics', 'semantics'], ['window', 'window'],
  ['layout', 'layout'], ['multiset', 'multiset'], ['past', 'past'], ['entry_bits', 'entry'], ['bucket_size', 'bucket'], ['fingerprint_bits', 'bits'],
  ['writers', 'writers'], ['growth', 'growth'], ['schedule', 'schedule']];
const CURSOR = 16; // bytes
const ONLY_HERE = 1; // among the results of `reconcile_result`
const INVALID = 1, TOO_LARGE = 3, FULL = 4, UNSUPPORTED = 6; // statuses

const wordOf = (table, number) => Object.keys(table).find((word) => table[word] === number);
const hex = (high, low) => ((BigInt(high) << 32n) | BigInt(low)).toString(16);
const signed = (high, low) => {
  const value = BigInt.asIntN(64, (BigInt(high) << 32n) | BigInt(low));
  return value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : value;
};

// ---- frames: what can be seen without decoding (docs/format.md) --------------------------------------------------------

const MODEST = 8 << 20; // bytes that may be taken to explain an error: a few may claim any amount
const startsWith = (bytes, text) => [...text].every((letter, i) => bytes[i] === letter.charCodeAt(0));

// Where the body begins and ends, or null.
function bodyOf(bytes) {
  if (bytes.length < 7 || !startsWith(bytes, 'Rost')) return null;
  let length = 0, at = 6, scale = 1;
  for (; at < bytes.length && bytes[at] > 127 && scale < 2 ** 49; at++, scale *= 128) length += (bytes[at] & 127) * scale;
  return { begin: at + 1, end: at + 1 + length + (bytes[at] ?? 0) * scale };
}

// A file of the program has a section about its replica behind the frame. It belongs to that file alone.
function frameOf(bytes) {
  const body = bodyOf(bytes), end = body ? body.end + 8 : Infinity;
  if (end >= bytes.length) return bytes;
  const rest = bytes.subarray(end);
  return startsWith(rest, 'Rrep') || startsWith(rest.subarray(-4), 'Rrep') ? bytes.subarray(0, end) : bytes;
}

/**
 * Makes the classes over a module: a WebAssembly.Module, or the bytes of one. `maximumMemory` bounds all objects together, in
 * bytes. `crypto` is where random numbers come from.
 */
export function load(source, options = {}) {
  const isModule = Object.prototype.toString.call(source) === '[object WebAssembly.Module]'; // also of another window
  const module = isModule ? source : new WebAssembly.Module(source);
  const roost = new Instance(module, instanceValues(options));
  const { calls } = roost;
  const isCore = calls.window_new === undefined; // roost-filter/core, or roost-filter/removal
  const removes = calls.filter_remove !== undefined;

  function refuseBeyondCore(what, where = 'roost-filter') {
    return new RoostError('UNSUPPORTED', `${what} is not in roost-filter/${removes ? 'removal' : 'core'}; import it from ${where}`);
  }

  // Before a change, where the last writer wins, and before its keys are placed: a clock that a program has set may call, or free.
  function tellTime(cell) {
    if (!cell.timed) return;
    const time = 1000 * Date.now();
    roost.call('filter_set_time', live(cell).handle, time);
  }

  // ---- what is told about an object, by its address: a class that extends Filter may have calls of its own ---------------------------

  function digestAt(at) {
    roost.call('filter_digest', at);
    return roost.text(roost.textAt);
  }

  function infoAt(at) {
    roost.ask('filter_info', at);
    const numbers = [...roost.results(infoNames.length + 11)];
    const info = { kind: '' };
    infoNames.forEach((name, i) => (info[name] = numbers[i]));
    const [kind, layout, schedule, scalable, multiset, wins, holds, seedHigh, seedLow, actorHigh, actorLow] = numbers.slice(infoNames.length);
    const actor = hex(actorHigh, actorLow);
    return Object.assign(info, {
      kind: wordOf(kinds, kind), layout: wordOf(layouts, layout) ?? 'none', schedule: wordOf(schedules, schedule) ?? 'none', window: info.window / 1e6,
      scalable: scalable !== 0, multiset: multiset !== 0, semantics: wordOf(semantics, wins), promise_holds: holds !== 0, seed: `0x${hex(seedHigh, seedLow)}`,
      actor: actor === '0' ? null : actor.padStart(16, '0'), digest: digestAt(at),
    });
  }

  // ---- errors that say what to do ------------------------------------------------------------------------------------------

  // The first difference of two configurations; '' if it is one that info() does not have.
  function difference(ours, theirs) {
    if (ours.window === theirs.window && ours.scalable !== theirs.scalable)
      return `: one has a capacity of ${(ours.scalable ? theirs : ours).capacity}, and the other grows`;
    const [name, option] = comparedOptions.find(([each]) => ours[each] !== theirs[each]) ?? [];
    return name === undefined ? '' : `: ${option} ${ours[name]} and ${theirs[name]}`;
  }

  function explainMismatch(error, at, otherAt) {
    if (error.code === 'MISMATCH') error.message += difference(infoAt(at), infoAt(otherAt));
    return error;
  }

  // A change that the library refused.
  function refusal(at, status) {
    const error = roost.error(status);
    if (status !== FULL && status !== UNSUPPORTED) return error;
    const { capacity, kind } = infoAt(at);
    if (status === FULL) error.message += `: it was made for ${capacity} keys; give a larger capacity, or none, and it grows`;
    else if (kind !== 'orcuckoo') error.message += `: ${kind}; only filters of kind orcuckoo remove keys`;
    return error;
  }

  // ---- calls with a key ------------------------------------------------------------------------------------------------

  function live(cell) {
    if (cell.handle === 0) throw new RoostError('FREED', 'this object was freed');
    return cell;
  }

  // What only this file gives to constructors that programs can reach. A cell that a program brings would be an address of its choice.
  const makeKey = Symbol('cell');

  function refuseOthers(key) {
    if (key !== makeKey) throw new TypeError('objects of this class are made by other calls: see the documentation');
  }

  // What this file asks of its own objects, and of no others. As static methods they could be called, and replaced, by programs.
  let cellOf, replicaOf, timedOf, sessionOf;

  // `placed` is the size of the key where it is placed already.
  function change(cell, call, key, placed = -1) {
    if (roost.broken) throw roost.broken;
    tellTime(cell);
    const size = placed < 0 ? roost.place(key) : placed, { handle } = cell;
    let returned;
    try {
      returned = handle === 0 ? 0 : call(handle, roost.placedAt, size);
    } catch (cause) {
      throw roost.breakDown(cause);
    }
    roost.unplace();
    live(cell);
    if (returned > 1) throw refusal(handle, returned >> 1);
    return returned === 1;
  }

  function look(cell, call, key, size = roost.place(key)) {
    if (roost.broken) throw roost.broken;
    const { handle } = cell;
    try {
      const found = handle === 0 ? 0 : call(handle, roost.placedAt, size);
      live(cell);
      return found !== 0;
    } finally {
      roost.stack.value = roost.stackTop; // where the stack was exhausted in the middle
      roost.unplace();
    }
  }

  // ---- what filters, windows and counters have in common ---------------------------------------------------------------

  class Replica {
    #cell;
    #class; // Filter, Window or Counter

    // `make` is called once this object is there: until then a class that a program extends may throw.
    constructor(key, make, Class) {
      refuseOthers(key);
      const cell = (this.#cell = make());
      this.#class = Class;
      cell.timed = calls.filter_has_time !== undefined && calls.filter_has_time(cell.handle) !== 0;
      roost.freed.register(this, cell, cell);
    }

    static {
      cellOf = (object) => object.#cell;
      replicaOf = (object) => {
        if (object !== null && typeof object === 'object' && #cell in object) return object.#live().at;
        throw new TypeError(typeof object?.toBytes === 'function' ? 'this is a filter of another instance: make one of its toBytes() here' : `must be a filter, not ${nameOf(object)}`);
      };
    }

    #live() { return live(this.#cell); }

    merge(other) {
      if (other !== null && typeof other === 'object' && #cell in other) return this.#mergeWith(other);
      const bytes = bytesOf(sizeOf(other) < 0 && typeof other?.toBytes === 'function' ? other.toBytes() : other);
      if (bytes === null) throw new TypeError(`merge takes a filter or its bytes, not ${nameOf(other)}`);
      const frame = frameOf(bytes);
      try {
        return roost.withBytes(frame, 'a frame', (at, size) => roost.answer(roost.call('filter_merge_frame', this.#live().at, at, size)));
      } catch (error) {
        throw error.code === 'MISMATCH' ? this.#explainFrame(error, frame) : error;
      }
    }

    #mergeWith(other) {
      const [a, b] = [this.#live().at, other.#live().at];
      try {
        return roost.answer(roost.call('filter_merge', a, b));
      } catch (error) {
        throw explainMismatch(error, a, b);
      }
    }

    #explainFrame(error, frame) {
      let other = null;
      try {
        other = decodeFrame(frame, Math.max(MODEST, 4 * frame.length));
        return explainMismatch(error, this.#live().at, other.at);
      } catch {
        return error; // of a filter that takes more, or damaged
      } finally {
        other?.drop();
      }
    }

    compare(other) {
      const [a, b] = [replicaOf(this), replicaOf(other)];
      try {
        roost.check(roost.call('filter_compare', a, b));
      } catch (error) {
        throw explainMismatch(error, a, b);
      }
      return orders[roost.result(0)];
    }

    leq(other) {
      const order = this.compare(other);
      return order === 'equal' || order === 'before';
    }

    equals(other) {
      const [a, b] = [replicaOf(this), replicaOf(other)];
      return roost.call('filter_equal', a, b) !== 0;
    }

    digest() { return digestAt(this.#live().at); }

    toBytes() {
      roost.check(roost.call('filter_encode', this.#live().at));
      return roost.takeMade();
    }

    clone() {
      roost.check(roost.call('filter_clone', this.#live().at));
      return adopt(this.#class, Object.getPrototypeOf(this), new Cell(roost, roost.result(0), 'filter_free'));
    }

    cursor() {
      roost.check(roost.call('filter_cursor', this.#live().at));
      return roost.view().slice(roost.textAt, roost.textAt + CURSOR);
    }

    delta(since = null) {
      if (since !== null && sizeOf(since) !== CURSOR) throw new TypeError(`a cursor is a Uint8Array of ${CURSOR} bytes that delta or cursor returned`);
      return roost.withBytes(since, 'a cursor', (at) => {
        roost.check(roost.call('filter_delta', this.#live().at, at));
        const cursor = roost.view().slice(roost.textAt, roost.textAt + CURSOR);
        return { bytes: roost.takeMade(), cursor };
      });
    }

    replica() {
      roost.check(roost.call('filter_save_replica', this.#live().at));
      return roost.takeMade();
    }

    startSync(memory = null) {
      return roost.withBytes(memory, 'the memory of a sync', (at, size) => {
        const cell = this.#live();
        roost.check(roost.call('sync_new', cell.at, at, size));
        return new Sync(makeKey, new Cell(roost, roost.result(0), 'sync_free', cell));
      });
    }

    reply(request) {
      if (sizeOf(request) < 0) throw new TypeError(`a message must be a Uint8Array, not ${nameOf(request)}`);
      return roost.withBytes(request, 'a message', (at, size) => {
        const status = roost.call('sync_reply', this.#live().at, at, size);
        const reply = roost.takeMade();
        if (status === 0) return reply;
        throw Object.assign(roost.error(status), { reply }); // which tells the peer
      });
    }

    info() { return infoAt(this.#live().at); }

    /** About how many keys there are. */
    get size() { return Math.round(this.info().elements); }

    // What console.log shows in Node.
    [Symbol.for('nodejs.util.inspect.custom')]() {
      if (this.#cell.handle === 0) return `${this.constructor.name} (freed)`;
      const { kind, capacity, fpr_promised: fpr, scalable } = this.info();
      const [name, room] = [this.constructor.name, scalable || capacity === 0 ? 'grows' : `capacity ${capacity}`];
      return `${name}${kind === name.toLowerCase() ? '' : ` ${kind}`} (about ${this.size} keys, ${room}, fpr ${fpr})`;
    }

    free() {
      const cell = this.#cell;
      if (cell.handle === 0) return;
      cell.handle = 0;
      roost.freed.unregister(cell);
      cell.drop();
    }
  }
  if (Symbol.dispose) Replica.prototype[Symbol.dispose] = Replica.prototype.free;

  // Makes an object of a class that the program may have extended; its constructor takes what it likes, and is not called.
  function adopt(Class, prototype, cell) {
    const object = new Class(makeKey, cell);
    return prototype === Class.prototype ? object : Object.setPrototypeOf(object, prototype);
  }

  const cellFor = (first, second, make) => {
    if (first === makeKey) return second;
    make();
    return new Cell(roost, roost.result(0), 'filter_free');
  };

  function decodeFrame(frame, limit = 0) {
    roost.withBytes(frame, 'a frame', (at, size) => roost.check(roost.call('filter_decode', at, size, limit)));
    return new Cell(roost, roost.result(0), 'filter_free');
  }

  // Decodes for one class, and refuses the kinds of the others.
  function decode(Class, prototype, allowed, given, options) {
    const bytes = bytesOf(given), { replica } = readOptions(options, ['replica']);
    Object.create(prototype); // throws if it is none
    if (bytes === null) throw new TypeError(`the bytes of a filter must be a Uint8Array, not ${nameOf(given)}`);
    const frame = frameOf(bytes);
    const kind = isCore && frame[bodyOf(frame)?.begin];
    if (isCore && bodyOf(frame) && frame[4] < 6 && ![1, 34, removes ? 35 : 34].includes(kind)) throw refuseBeyondCore('this kind of filter');
    const cell = decodeFrame(frame), found = wordOf(kinds, roost.ask('filter_kind', cell.at));
    try {
      if (!allowed.includes(found)) throw new RoostError('MISMATCH', `these are the bytes of a ${found}, not of a ${allowed.join(' or ')}`);
      if (replica !== undefined && replica !== null)
        roost.withBytes(replica, 'a replica', (at, size) => roost.check(roost.call('filter_restore_replica', cell.at, at, size)));
    } catch (error) {
      cell.drop();
      throw error;
    }
    return adopt(Class, prototype, cell);
  }

  // Adds or removes all keys of an iterable; how many changed. An error has how many were done.
  function changeMany(cell, name, keys, ...more) {
    let done = 0, changed = 0;
    const use = (at, flags, count) => {
      const status = roost.call(name, live(cell).at, at, flags, count, ...more);
      done += roost.result(0);
      changed += roost.result(1);
      if (status !== 0) throw refusal(live(cell).at, status);
    };
    roost.inBatches(keys, use, (error) => Object.assign(error, { done, changed }), () => tellTime(cell));
    return changed;
  }

  const checkMade = (status, kind) => roost.check(status, status === INVALID ? `this combination of options makes no ${kind}` : '');

  // ---- filters -----------------------------------------------------------------------------------------------------------

  function newFilter(options) {
    const values = filterValues(options);
    const [kind, layout, , fpr] = values, grows = values[10];
    if (isCore && (kind === kinds.bloom ? grows : !grows)) throw refuseBeyondCore(`a ${wordOf(kinds, kind)} filter ${grows ? 'that grows' : 'of fixed size'}`);
    if (isCore && values[14] !== 0) throw refuseBeyondCore(`a filter with semantics ${wordOf(semantics, values[14])}`);
    if (kind === kinds.orcuckoo && !removes) throw refuseBeyondCore('an orcuckoo filter', 'roost-filter/removal');
    const status = roost.call('filter_new', ...values);
    if (isCore && status === UNSUPPORTED) throw refuseBeyondCore(`a blocked Bloom filter with a rate of ${fpr}`);
    if (status === INVALID && kind === kinds.bloom && layout !== layouts.classic && fpr < 1e-9)
      throw new RoostError('INVALID', `fpr: a rate of ${fpr} is too low for the blocked layout; use layout: 'classic'`);
    if (status === TOO_LARGE) throw roost.error(status, 'give a smaller capacity, or none, and the filter grows');
    checkMade(status, 'filter');
  }

  const { filter_add, filter_contains } = calls, { keyAt } = roost;
  const cannotRemove = () => 2 * UNSUPPORTED; // where no kind can

  class Filter extends Replica {
    #cell;

    constructor(options = {}, cell) {
      super(makeKey, () => cellFor(options, cell, () => newFilter(options)), Filter);
      this.#cell = cellOf(this);
    }

    static fromBytes(bytes, options = {}) {
      return decode(Filter, this.prototype, ['bloom', 'cuckoo', 'orcuckoo'], bytes, options);
    }

    // These two are called most: as `change` and `look`, with what is rare left to them.
    add(key) {
      const { timed } = this.#cell;
      if (timed) return change(this.#cell, filter_add, key);
      const size = roost.place(key), { handle } = this.#cell;
      if (handle === 0 || roost.placedAt !== keyAt || roost.broken !== null) return change(this.#cell, filter_add, key, size);
      let returned;
      try {
        returned = filter_add(handle, keyAt, size);
      } catch (cause) {
        throw roost.breakDown(cause);
      }
      if (returned > 1) throw refusal(handle, returned >> 1);
      return returned === 1;
    }

    has(key) {
      const size = roost.place(key), { handle } = this.#cell;
      if (handle === 0 || roost.placedAt !== keyAt || roost.broken !== null) return look(this.#cell, filter_contains, key, size);
      try {
        return filter_contains(handle, keyAt, size) !== 0;
      } catch (cause) {
        roost.stack.value = roost.stackTop;
        throw cause;
      }
    }

    delete(key) { return change(this.#cell, calls.filter_remove ?? cannotRemove, key); }
    deleteOne(key) { return change(this.#cell, calls.filter_remove_one ?? cannotRemove, key); }

    count(key) {
      const cell = this.#cell, size = roost.place(key);
      try {
        return roost.ask('filter_count', live(cell).at, roost.placedAt, size);
      } finally {
        roost.unplace();
      }
    }

    addMany(keys) { return changeMany(this.#cell, 'filter_add_many', keys); }

    deleteMany(keys) {
      if (!removes) roost.check(UNSUPPORTED);
      return changeMany(this.#cell, 'filter_remove_many', keys);
    }

    hasMany(keys) {
      const cell = this.#cell, found = Array.isArray(keys) ? new Array(keys.length) : [];
      let length = 0;
      roost.inBatches(keys, (at, flags, count) => {
        roost.ask('filter_contains_many', live(cell).at, at, flags, count);
        const bytes = roost.view();
        for (let i = 0; i < count; i++) found[length++] = bytes[flags + i] !== 0;
      });
      found.length = length;
      return found;
    }
  }

  // ---- windows and counters ------------------------------------------------------------------------------------------------

  // Of a Date, of this or of another window.
  function millisecondsOf(date) {
    try {
      return Date.prototype.getTime.call(date);
    } catch {
      return NaN;
    }
  }

  // A Date, or milliseconds since 1970 as Date.now() has them; in microseconds.
  function timeOf(time) {
    const value = typeof time === 'object' && time !== null ? millisecondsOf(time) : time;
    if (typeof value !== 'number' || !(value >= 0 && value < 2 ** 55 / 1000)) throw new TypeError('a time must be a Date, or a number of milliseconds since 1970');
    return Math.round(value * 1000);
  }

  function newTimed(kind, options) {
    if (isCore) throw refuseBeyondCore(`a ${kind}`);
    checkMade(roost.call('window_new', ...windowValues(kind, options)), kind);
  }

  class Timed extends Replica {
    #cell;
    #kind;

    constructor(kind, options, cell) {
      super(makeKey, () => cellFor(options, cell, () => newTimed(kind, options)), kind === 'window' ? Window : Counter);
      this.#cell = cellOf(this);
      this.#kind = kind;
    }

    // The cell of a window or of a counter; of `kind`, if that is given.
    static {
      timedOf = (object, kind) => {
        if (object !== null && typeof object === 'object' && #cell in object && (kind ?? object.#kind) === object.#kind) return object.#cell;
        throw new TypeError(`this is no ${kind ?? 'window or counter'}`);
      };
    }

    trustUntil(time) {
      roost.call('window_set_latest', live(timedOf(this)).at, time === null ? 0 : Math.max(1, timeOf(time))); // 0 is none, for the module
    }

    info() {
      const cell = timedOf(this), info = super.info();
      roost.ask('window_info', cell.at);
      const [window, slot, shortest, slots, , newest] = roost.results(6);
      return Object.assign(info, { window_seconds: window / 1e6, slot_seconds: slot / 1e6, shortest_slot_seconds: shortest / 1e6, slots, newest: newest / 1e6 });
    }
  }

  class Window extends Timed {
    constructor(options = {}, cell) { super('window', options, cell); }

    static fromBytes(bytes, options = {}) { return decode(Window, this.prototype, ['window'], bytes, options); }

    add(key, time = Date.now()) {
      const at = timeOf(time);
      return !change(timedOf(this, 'window'), (handle, place, size) => calls.window_add(handle, place, size, at), key); // which tells whether it was there
    }

    has(key, time = Date.now()) {
      const at = timeOf(time);
      return look(timedOf(this, 'window'), (handle, place, size) => calls.window_contains(handle, place, size, at), key);
    }

    addMany(keys, time = Date.now()) { return changeMany(timedOf(this, 'window'), 'window_add_many', keys, timeOf(time)); }
  }

  class Counter extends Timed {
    constructor(options = {}, cell) { super('counter', options, cell); }

    static fromBytes(bytes, options = {}) { return decode(Counter, this.prototype, ['counter'], bytes, options); }

    increment(id, by = 1, time = Date.now()) {
      const at = timeOf(time);
      if (typeof by === 'number' && !Number.isSafeInteger(by)) throw new TypeError(`an amount must be a whole number${Number.isInteger(by) ? ', beyond 2^53 - 1 as a bigint' : ''}`);
      if (typeof by !== 'number' && typeof by !== 'bigint') throw new TypeError(`an amount must be a number or a bigint, not ${nameOf(by)}`);
      const amount = BigInt(by);
      if (amount !== BigInt.asIntN(64, amount)) throw new RoostError('OVERFLOW', 'an amount has at most 64 bits');
      const bits = BigInt.asUintN(64, amount);
      const count = (handle, place, size) => calls.counter_increment(handle, place, size, Number(bits >> 32n), Number(bits & 0xffffffffn), at);
      let applied;
      try {
        applied = change(timedOf(this, 'counter'), count, id);
      } catch (error) {
        throw error.code === 'INVALID' ? new RoostError('INVALID', 'the id of an operation has 1 to 65536 bytes') : error;
      }
      return { applied, value: signed(roost.result(0), roost.result(1)) };
    }

    get value() {
      roost.check(roost.ask('counter_value', live(timedOf(this, 'counter')).at));
      return signed(roost.result(0), roost.result(1));
    }
  }

  // ---- sessions ------------------------------------------------------------------------------------------------------------

  class Session {
    #cell;

    constructor(key, cell) {
      refuseOthers(key);
      this.#cell = cell;
      roost.freed.register(this, cell, cell);
    }

    // `ends` is the call that frees sessions of this class.
    static {
      sessionOf = (session, ends) => {
        if (session === null || typeof session !== 'object' || !(#cell in session) || session.#cell.destroy !== ends) throw new TypeError('this is no session of this class');
        if (session.#cell.handle === 0) throw new RoostError('FREED', 'this session was freed');
        return session.#cell.at;
      };
    }

    free() {
      const cell = this.#cell;
      if (cell.handle === 0) return;
      cell.handle = 0;
      roost.freed.unregister(cell);
      cell.drop();
    }
  }
  if (Symbol.dispose) Session.prototype[Symbol.dispose] = Session.prototype.free;

  const syncOf = (session) => sessionOf(session, 'sync_free');
  const reconciliationOf = (session) => sessionOf(session, 'reconcile_free');

  function nextMessage(handle, call, message) {
    return roost.withBytes(message, 'a message', (at, size) => {
      const status = roost.call(call, handle, at, size);
      const made = roost.takeMade();
      if (status !== 0) throw Object.assign(roost.error(status), { reply: made.length > 0 ? made : null });
      return made.length > 0 ? made : null;
    });
  }

  class Sync extends Session {
    next(reply = null) { return nextMessage(syncOf(this), 'sync_next', reply); }

    result() {
      roost.ask('sync_result', syncOf(this));
      const [equal, changed, rounds, sent, received] = roost.results(5);
      return { equal: equal !== 0, changed: changed !== 0, rounds, sent, received };
    }

    memory() {
      roost.check(roost.call('sync_memory', syncOf(this)));
      return roost.takeMade();
    }
  }

  /** Syncs two filters of this program; `memory` is what the sync before returned. */
  function sync(here, there, memory = null) {
    const session = here.startSync(memory);
    try {
      for (let message = session.next(); message !== null; message = session.next(there.reply(message)));
      return { ...session.result(), memory: session.memory() };
    } finally {
      session.free();
    }
  }

  class Reconciliation extends Session {
    #keys;

    constructor(key, cell, keys) {
      super(key, cell);
      this.#keys = keys;
    }

    next(message = null) { return nextMessage(reconciliationOf(this), 'reconcile_next', message); }
    get done() { return roost.ask('reconcile_is_done', reconciliationOf(this)) !== 0; }

    result() {
      roost.ask('reconcile_result', reconciliationOf(this));
      const [keys, onlyHere, onlyThere, changed, messages, sent, received, exact, complete] = roost.results(9);
      return { keys, onlyHere, onlyThere, changed, messages, sent, received, exact: exact !== 0, complete: complete !== 0 };
    }

    // The room is as large as the module says, not `result` of a program.
    differences() {
      const handle = reconciliationOf(this);
      if (roost.ask('reconcile_is_done', handle) === 0) throw new RoostError('INVALID', 'the differences are known once the session is done');
      roost.ask('reconcile_result', handle);
      const count = roost.result(ONLY_HERE), at = roost.allocate(24 * count);
      try {
        roost.ask('reconcile_differences', handle, at);
        const numbers = new BigUint64Array(roost.view().buffer.slice(at, at + 24 * count));
        return Array.from({ length: count }, (_, i) => ({ key: this.#keys[Number(numbers[3 * i])], here: Number(numbers[3 * i + 1]), there: Number(numbers[3 * i + 2]) }));
      } finally {
        roost.call('release', at);
      }
    }
  }

  /** Begins to find out which of `keys` another side lacks; with `first`, its first message, answers the other side. */
  function reconcile(keys, options = {}) {
    if (isCore) throw refuseBeyondCore('reconcile');
    const { values, first } = reconcileValues(options), list = [];
    if (first === null) roost.check(roost.call('reconcile_new', ...values));
    else roost.withBytes(first, 'the first message', (at, size) => roost.check(roost.call('reconcile_respond', at, size)));
    const session = new Reconciliation(makeKey, new Cell(roost, roost.result(0), 'reconcile_free'), list);
    try {
      roost.inBatches(remember(keys, list), (at, flags, count) => roost.check(roost.call('reconcile_add_many', reconciliationOf(session), at, count)));
    } catch (error) {
      session.free();
      throw error;
    }
    return session;
  }

  // Numbers of keys are those of the calls that added them.
  function remember(keys, list) {
    if (typeof keys === 'string' || typeof keys?.[Symbol.iterator] !== 'function' || sizeOf(keys) >= 0) return keys; // refused later
    for (const key of keys) list.push(kept(key));
    return list;
  }

  // Else a program could put a class of its own between these, to which their constructors would pass cells.
  [Filter, Timed, Window, Counter, Sync, Reconciliation].forEach(Object.preventExtensions);

  return { Filter, Window, Counter, Sync, Reconciliation, RoostError, sync, reconcile, version: roost.text(calls.version() >>> 0), usedMemory: () => roost.memory.buffer.byteLength };
}
