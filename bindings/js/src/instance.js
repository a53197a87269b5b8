// One instance of the WebAssembly module: its memory, how bytes and keys get into it, and what becomes of an error.
//
// Keys are the hot path. A short string is written into a fixed place by a loop over its characters, which is quicker than
// TextEncoder up to some twenty characters; a longer one, and one with other characters than ASCII, by encodeInto. A batch of
// strings is joined and encoded by one call: where that gives as many bytes as there are characters, all of them are ASCII, and
// the lengths of the strings are their sizes.
//
// User code may run while keys are read from an iterator, and may call the same instance, or free an object. So keys are first
// collected, then written, and handles are looked up last.

const codes = ['OK', 'INVALID', 'NO_MEMORY', 'TOO_LARGE', 'FULL', 'MISMATCH', 'UNSUPPORTED', 'NOT_FRAME', 'UNSUPPORTED_VERSION',
  'TRUNCATED', 'CORRUPT', 'EXHAUSTED', 'PROTOCOL', 'CLOCK', 'OVERFLOW', 'SYSTEM', 'BUSY', 'INTERRUPTED'];
const NO_MEMORY = 2, EXHAUSTED = 11;

/** An error of the library; `code` is the name of its status, as `FULL` or `MISMATCH`. */
export class RoostError extends Error {
  constructor(code, message) {
    super(message);
    this.name = 'RoostError';
    this.code = code;
  }
}

const typedArray = Object.getPrototypeOf(Uint8Array.prototype);
const tagOf = Object.getOwnPropertyDescriptor(typedArray, Symbol.toStringTag).get;
const lengthOf = Object.getOwnPropertyDescriptor(typedArray, 'length').get;
const bufferOf = Object.getOwnPropertyDescriptor(typedArray, 'buffer').get;
const offsetOf = Object.getOwnPropertyDescriptor(typedArray, 'byteOffset').get;
const valuesOf = typedArray.values;

// Of the bytes of a Uint8Array, of this or of another window; -1 for anything else. A class that extends Uint8Array may have
// a length, a set and a slice of its own, so none of these is asked.
function sizeOf(value) {
  if (typeof value !== 'object' || value === null || tagOf.call(value) !== 'Uint8Array') return -1;
  const size = lengthOf.call(value);
  if (size === 0) refuseLost(value);
  return size;
}

// A buffer that was transferred to another thread, or became shorter, leaves arrays without bytes behind.
function refuseLost(bytes) {
  try {
    valuesOf.call(bytes);
  } catch {
    throw new TypeError(isDetached(bufferOf.call(bytes)) ? 'the buffer of this Uint8Array is detached' : 'this Uint8Array lies outside of its buffer, which became shorter');
  }
}

function isDetached(buffer) {
  try {
    return new Uint8Array(buffer, 0, 0) === null;
  } catch {
    return true;
  }
}

// The same bytes as a Uint8Array of no other class; null for anything else.
function bytesOf(value) {
  const size = sizeOf(value);
  return size < 0 ? null : new Uint8Array(bufferOf.call(value), offsetOf.call(value), size);
}

function nameOf(value) {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' || typeof value === 'function' ? `a value of type ${typeof value}` : `${typeof value} ${String(value).slice(0, 40)}`;
}

const SMALL = 20; // characters that the loop writes
const KEY_ROOM = 1 << 14;
const MOST_BYTES = 2 ** 29 - 1; // whose bits the library counts with 32 bits
const BATCH = 4096; // keys
const BATCH_ROOM = 1 << 18; // bytes of their text
const encoder = new TextEncoder();
const decoder = new TextDecoder();

// What an iterator yielded, as it is now: it may fill the same bytes anew for each key. (A Buffer's slice is no copy.)
function kept(key) {
  const isBytes = typeof key === 'object' && key !== null && tagOf.call(key) === 'Uint8Array';
  return isBytes && lengthOf.call(key) > 0 ? new Uint8Array(key) : key;
}

// A copy of some elements. They may be accessors that run code, or change each time; here each is read once.
function elementsOf(list, from) {
  const count = Math.min(BATCH, list.length - from), elements = new Array(count);
  for (let i = 0; i < count; i++) elements[i] = list[from + i];
  return elements;
}

export class Instance {
  constructor(module, { maximumMemory, crypto }) {
    this.crypto = crypto;
    const declared = 32; // pages; the data of the module and its stack are within
    const maximum = Math.min(65536, Math.floor(maximumMemory / 65536));
    this.memory = new WebAssembly.Memory({ initial: declared, maximum });
    this.broken = null; // what is thrown by each call from now on
    this.isBusy = false; // a source of random numbers runs, in the middle of a call
    this.noRandom = null; // why the last random numbers could not be had
    const instance = new WebAssembly.Instance(module, {
      env: { memory: this.memory },
      math: Math,
      roost: { random: (at, size) => this.random(at >>> 0, size >>> 0) },
    });
    this.calls = instance.exports;
    this.stack = this.calls.__stack_pointer;
    this.stackTop = this.stack.value;
    this.bytes = new Uint8Array(this.memory.buffer);
    this.resultsAt = this.calls.results_address();
    this.textAt = this.calls.text_address();
    this.keyAt = this.allocate(KEY_ROOM);
    this.keyRoom = this.view().subarray(this.keyAt, this.keyAt + KEY_ROOM);
    this.keyWords = new Int32Array(this.memory.buffer, this.keyAt, KEY_ROOM / 4);
    this.placedAt = this.keyAt;
    this.batchAt = 0;
    // Some engines have none, and free() alone frees.
    this.freed = globalThis.FinalizationRegistry ? new FinalizationRegistry((cell) => cell.drop()) : { register() {}, unregister() {} };
  }

  // Called by the module in the middle of a call. A source of random numbers is code of the program: until it returns, nobody else may
  // call, what is dropped waits, and the key of that call stays where it is.
  random(at, size) {
    const { placedAt } = this, key = this.view().slice(this.keyAt, this.keyAt + KEY_ROOM);
    this.broken = new RoostError('BUSY', 'a source of random numbers must not call what it makes numbers for');
    this.isBusy = true;
    try {
      this.view().set(this.draw(size), at);
      this.noRandom = null;
      return 1;
    } catch (cause) {
      this.noRandom = cause;
      return 0;
    } finally {
      this.isBusy = false;
      this.broken = null;
      this.placedAt = placedAt;
      this.keyRoom.set(key);
    }
  }

  // The source gets bytes of its own: the memory of the module has all else beside them, and it may keep what it gets. One that returns
  // before it has numbers, as by a promise, leaves zeros. The module asks for 8 bytes at a time.
  draw(size) {
    const bytes = new Uint8Array(size);
    this.crypto.getRandomValues(bytes);
    if (bytes.every((byte) => byte === 0)) throw new Error('the source left all bytes 0');
    return bytes;
  }

  // ---- memory ------------------------------------------------------------------------------------------------------

  // All of the memory. It is another buffer once the memory has grown; the old one is then empty.
  view() {
    if (this.bytes.length === 0) {
      this.bytes = new Uint8Array(this.memory.buffer);
      this.keyRoom = this.bytes.subarray(this.keyAt, this.keyAt + KEY_ROOM);
      this.keyWords = new Int32Array(this.memory.buffer, this.keyAt, KEY_ROOM / 4);
    }
    return this.bytes;
  }

  allocate(size) {
    const at = size < 2 ** 32 ? this.call('allocate', size) >>> 0 : 0;
    if (at === 0) throw this.error(NO_MEMORY);
    return at;
  }

  result(index) {
    const at = this.resultsAt + 8 * index;
    this.view();
    return new DataView(this.bytes.buffer, at, 8).getFloat64(0, true);
  }

  results(count) {
    this.view();
    return new Float64Array(this.bytes.buffer, this.resultsAt, count);
  }

  // The bytes that the last call made, copied out of the module.
  takeMade() {
    const at = this.result(0), size = this.result(1);
    const copy = this.view().slice(at, at + size);
    this.call('release_made');
    return copy;
  }

  text(at) {
    const bytes = this.view();
    let end = at;
    while (bytes[end] !== 0) end++;
    return decoder.decode(bytes.subarray(at, end));
  }

  // ---- calls and errors --------------------------------------------------------------------------------------------

  // A trap, or a stack that is exhausted in the middle of a call, leaves the memory of the module in an unknown state.
  call(name, ...values) {
    if (this.broken) throw this.broken;
    try {
      return this.calls[name](...values);
    } catch (cause) {
      throw this.breakDown(cause);
    }
  }

  breakDown(cause) {
    this.broken = new RoostError('BROKEN', `this instance of Roost stopped in the middle of a call and cannot be used any more: ${cause && cause.message}`);
    this.broken.cause = cause;
    return this.broken;
  }

  // For calls that change nothing and take no memory, not even for a while: the instance goes on.
  ask(name, ...values) {
    if (this.broken) throw this.broken;
    try {
      return this.calls[name](...values);
    } catch (cause) {
      this.stack.value = this.stackTop;
      throw cause;
    }
  }

  error(status, what) {
    const text = this.broken ? '' : this.text(this.calls.status_text(status) >>> 0);
    const error = new RoostError(codes[status] ?? 'UNKNOWN', what ? `${what}: ${text}` : text);
    return status === EXHAUSTED && this.noRandom !== null ? this.withoutRandom(error) : error;
  }

  // A replica without a name of its own cannot add: that is what the library says, and this is why.
  withoutRandom(error) {
    error.message += `; there are no random numbers: ${this.noRandom?.message ?? this.noRandom}`;
    error.cause = this.noRandom;
    return error;
  }

  check(status, what) {
    if (status !== 0) throw this.error(status, what);
  }

  // Of `status * 2 + answer`.
  answer(returned) {
    if (returned > 1) throw this.error(returned >> 1);
    return returned === 1;
  }

  // ---- keys --------------------------------------------------------------------------------------------------------

  // Writes a key to `keyAt`, or elsewhere if it is long, and returns its size; `placedAt` is where it is.
  place(key) {
    if (typeof key === 'string') {
      const length = key.length;
      let bytes = this.bytes;
      if (bytes.length === 0) bytes = this.view();
      this.placedAt = this.keyAt;
      if (length <= SMALL) {
        // Four at a time, as bytes of a word. The last word is written whole: there is room.
        const words = this.keyWords, whole = length & ~3;
        let i = 0, seen = 0;
        for (; i < whole; i += 4) {
          const a = key.charCodeAt(i), b = key.charCodeAt(i + 1), c = key.charCodeAt(i + 2), d = key.charCodeAt(i + 3);
          seen |= a | b | c | d;
          words[i >> 2] = a | b << 8 | c << 16 | d << 24;
        }
        let last = 0;
        for (let shift = 0; i < length; i++, shift += 8) {
          const character = key.charCodeAt(i);
          seen |= character;
          last |= character << shift;
        }
        words[whole >> 2] = last;
        if (seen < 128) return length;
      }
      if (length * 3 <= KEY_ROOM) return encoder.encodeInto(key, this.keyRoom).written;
      return this.placeText(key);
    }
    const size = sizeOf(key);
    if (size < 0) throw new TypeError(`a key must be a string or a Uint8Array, not ${nameOf(key)}`);
    return this.placeBytes(key, size);
  }

  placeBytes(bytes, size) {
    if (size > KEY_ROOM) return this.placeLong(bytes, size);
    this.view();
    this.keyRoom.set(bytes); // which has an end, for bytes that another thread makes longer just now
    this.placedAt = this.keyAt;
    return size;
  }

  placeLong(bytes, size) {
    const at = this.allocate(size);
    this.view().subarray(at, at + size).set(bytes);
    this.placedAt = at;
    return size;
  }

  placeText(text) {
    const bytes = encoder.encode(text);
    return this.placeLong(bytes, bytes.length);
  }

  // After each call with a key.
  unplace() {
    const at = this.placedAt;
    if (at === this.keyAt) return;
    this.placedAt = this.keyAt;
    if (!this.broken) this.call('release', at);
  }

  // Calls `use(at, size)` with bytes that are not a key: a frame, a message. null and undefined are no bytes.
  withBytes(bytes, what, use) {
    if (bytes === null || bytes === undefined) return use(0, 0);
    const size = sizeOf(bytes);
    if (size < 0) throw new TypeError(`${what} must be a Uint8Array, not ${nameOf(bytes)}`);
    if (size > MOST_BYTES) throw new RoostError('TOO_LARGE', `${what} of ${size} bytes: at most ${MOST_BYTES} can be read`);
    this.placeBytes(bytes, size);
    const at = this.placedAt;
    try {
      return use(at, size);
    } finally {
      this.unplace();
    }
  }

  // ---- batches -----------------------------------------------------------------------------------------------------
  //
  //     batchAt   | 4096 pairs of address and size | 4096 flags | text of the keys |

  /**
   * Passes all keys of an iterable to `use(keys, flags, count)` in batches. Keys that are longer than a batch come alone, in
   * memory of their own. `use` reads the flags before it returns. `explain` gets an error of a batch and returns what is thrown; errors
   * of an iterator are those of whoever made it. `prepare` runs before the keys of a batch are placed, and may run code of the program.
   */
  inBatches(keys, use, explain = (error) => error, prepare = () => {}) {
    if (typeof keys === 'string' || keys === null || keys === undefined || typeof keys[Symbol.iterator] !== 'function' || sizeOf(keys) >= 0)
      throw new TypeError(`keys must be an array or another iterable of keys, not ${sizeOf(keys) >= 0 ? 'a Uint8Array' : nameOf(keys)}`);
    if (Array.isArray(keys)) {
      for (let from = 0; from < keys.length; from += BATCH) this.passBatch(elementsOf(keys, from), use, explain, prepare);
      return;
    }
    let batch = [];
    for (const key of keys) {
      batch.push(kept(key));
      if (batch.length === BATCH) {
        this.passBatch(batch, use, explain, prepare);
        batch = [];
      }
    }
    if (batch.length > 0) this.passBatch(batch, use, explain, prepare);
  }

  passBatch(keys, use, explain, prepare) {
    try {
      prepare();
      if (this.broken) throw this.broken;
      if (this.batchAt === 0) this.batchAt = this.allocate(BATCH * 9 + BATCH_ROOM);
      const flagsAt = this.batchAt + 8 * BATCH, textAt = flagsAt + BATCH;
      if (this.placeJoined(keys, textAt)) use(this.batchAt, flagsAt, keys.length);
      else this.passInParts(keys, flagsAt, textAt, use);
    } catch (error) {
      throw explain(error);
    }
  }

  // Strings of ASCII that fit, all at once. Where it returns false, nothing but addresses and sizes was written.
  placeJoined(keys, textAt) {
    const pairs = new Uint32Array(this.view().buffer, this.batchAt, 2 * keys.length);
    let at = textAt;
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i];
      if (typeof key !== 'string') return false;
      pairs[2 * i] = at;
      pairs[2 * i + 1] = key.length;
      at += key.length;
    }
    const total = at - textAt;
    if (total > BATCH_ROOM) return false;
    const { read, written } = encoder.encodeInto(keys.join(''), this.bytes.subarray(textAt, textAt + BATCH_ROOM));
    return written === total && read === total;
  }

  passInParts(keys, flagsAt, textAt, use) {
    const sizes = new Array(keys.length);
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i];
      const size = typeof key === 'string' ? key.length : sizeOf(key);
      if (size < 0) throw new TypeError(`a key must be a string or a Uint8Array, not ${nameOf(key)}`);
      sizes[i] = size;
    }
    for (let from = 0; from < keys.length;) {
      const until = this.placeSome(keys, sizes, from, textAt);
      if (until > from) use(this.batchAt, flagsAt, until - from);
      else this.useAlone(keys[from], flagsAt, use);
      from = until > from ? until : from + 1;
    }
  }

  // As many from `from` on as fit; returns which is the first that does not.
  placeSome(keys, sizes, from, textAt) {
    const room = this.view().subarray(textAt, textAt + BATCH_ROOM);
    const pairs = new Uint32Array(room.buffer, this.batchAt, 2 * BATCH);
    let used = 0, i = from;
    for (; i < keys.length; i++) {
      const key = keys[i];
      let size = sizes[i];
      if (typeof key === 'string') {
        if (used + 3 * size > BATCH_ROOM) break;
        size = encoder.encodeInto(key, room.subarray(used)).written;
      } else {
        if (used + size > BATCH_ROOM) break;
        room.set(key, used);
      }
      pairs[2 * (i - from)] = textAt + used;
      pairs[2 * (i - from) + 1] = size;
      used += size;
    }
    return i;
  }

  useAlone(key, flagsAt, use) {
    const size = typeof key === 'string' ? this.placeText(key) : this.placeLong(key, sizeOf(key));
    try {
      const pair = new Uint32Array(this.view().buffer, this.batchAt, 2);
      pair[0] = this.placedAt;
      pair[1] = size;
      use(this.batchAt, flagsAt, 1);
    } finally {
      this.unplace();
    }
  }
}

/**
 * An object in the memory of an instance. It is freed when nobody holds it any more: the JavaScript object, and sessions that
 * use it. `free` on the JavaScript object, or the garbage collector, drops its hold.
 */
export class Cell {
  constructor(instance, at, destroy, other = null) {
    this.instance = instance;
    this.at = at;
    this.handle = at; // 0 once the JavaScript object was freed; sessions may still use it
    this.destroy = destroy;
    this.other = other; // a cell that this one uses
    this.holds = 1;
    if (other) other.holds++;
  }

  drop() {
    const { at, instance, other } = this;
    if (instance.isBusy) {
      queueMicrotask(() => this.drop()); // when nobody has its address any more: the call under way may use it
      return;
    }
    if (--this.holds > 0) return;
    this.at = 0;
    try {
      if (!instance.broken) instance.call(this.destroy, at);
    } catch {
      // The instance is now broken, and the next call says so. The garbage collector has nobody to tell.
    }
    if (other) other.drop();
  }
}

export { bytesOf, kept, nameOf, sizeOf };
