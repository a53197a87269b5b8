// What a frame holds, for drawing: the bits of a Bloom filter, or hash prefixes. docs/format.md says what the bytes mean; this
// reads the kinds that the playground has, and trusts its input, which comes from the module itself.
//
// A mark is [number, place, since, until]: the number tells marks apart, the place is from 0 to 1 (of the array, or of all hashes).
// Prefixes of windows and counters also have when their slot began and until when they are found, in milliseconds.

class Reader {
  constructor(bytes) { this.bytes = bytes; this.at = 0; }
  byte() { return this.bytes[this.at++]; }
  skip(count) { this.at += count; }
  varint() {
    for (let value = 0, unit = 1; ; unit *= 128) {
      const byte = this.byte();
      value += (byte & 127) * unit;
      if (byte < 128) return value;
    }
  }
}

class BitReader {
  constructor(bytes, from) { this.bytes = bytes; this.at = from * 8; }
  bit() { const { at } = this; this.at++; return (this.bytes[at >> 3] >> (at & 7)) & 1; }
  bits(count) {
    let value = 0;
    for (let done = 0; done < count;) {
      const from = this.at & 7, take = Math.min(8 - from, count - done);
      value += ((this.bytes[this.at >> 3] >> from) & ((1 << take) - 1)) * 2 ** done;
      this.at += take;
      done += take;
    }
    return value;
  }
  zeros() { let count = 0; while (!this.bit()) count++; return count; }
  rice(parameter) { const high = this.zeros(); return high * 2 ** parameter + this.bits(parameter); }
  gamma() { const length = this.zeros(); return 2 ** length + this.bits(length); }
  get byte() { return Math.ceil(this.at / 8); }
}

const SHOWN = 32; // bits of a prefix that matter here
const floorLog = (value) => { let log = 0; while (2 ** (log + 1) <= value) log++; return log; };
const riceParameter = (universe, count) => (count === 0 ? 0 : floorLog(Math.max(1, Math.floor((universe / count) * 63070 / 65536))));

function bloomMarks(reader, size) {
  const marks = [], raw = reader.byte() === 0;
  if (raw) {
    for (let i = 0; i < size; i++) if ((reader.bytes[reader.at + (i >> 3)] >> (i & 7)) & 1) marks.push([i, i / size]);
    return marks;
  }
  const count = reader.varint(), bits = new BitReader(reader.bytes, reader.at), parameter = riceParameter(size, count);
  for (let i = 0, at = -1; i < count; i++) { at += 1 + bits.rice(parameter); marks.push([at, at / size]); }
  return marks;
}

function skipContext(reader) {
  for (let actors = reader.varint(); actors > 0; actors--) {
    reader.skip(8);
    for (let more = reader.varint() % 2; more; more = reader.varint() % 2) reader.varint();
  }
}

function dottedPrefixes(reader) {
  skipContext(reader);
  const live = reader.varint();
  reader.varint();
  reader.skip(reader.varint());
  const marks = [], bits = new BitReader(reader.bytes, reader.at);
  while (marks.length < live) {
    const run = bits.gamma(), length = bits.bits(6), shown = Math.min(length, SHOWN);
    for (let i = 0; i < run; i++) {
      bits.at += length - shown;
      const first = bits.bits(shown);
      marks.push([first * 64 + length, first / 2 ** shown]);
    }
  }
  return marks;
}

// Prefixes have more bits than a number holds exactly: what is lost is far behind what is shown.
function timedPrefixes(reader, length, window, past) {
  const marks = [], slotLength = Math.ceil(window / (past + 1)) / 1000;
  let slot = 0;
  for (let slots = reader.varint(), i = 0; i < slots; i++) {
    slot = i === 0 ? reader.varint() : slot - reader.varint();
    const count = reader.varint(), bits = new BitReader(reader.bytes, reader.at), parameter = riceParameter(2 ** length, count);
    for (let j = 0, at = -1; j < count; j++) {
      at += 1 + bits.rice(parameter);
      const first = Math.floor(at / 2 ** (length - SHOWN));
      marks.push([first, first / 2 ** SHOWN, slot * slotLength, (slot + past + 2) * slotLength]);
    }
    reader.at = bits.byte;
  }
  return marks;
}

function marksOf(frame) {
  const reader = new Reader(frame);
  reader.skip(6);
  reader.varint();
  const kind = reader.byte();
  reader.skip(1);
  reader.varint();
  reader.skip(8);
  reader.varint();
  const length = reader.byte();
  reader.skip(1);
  if (kind === 1) {
    const size = reader.varint();
    reader.varint();
    return bloomMarks(reader, size);
  }
  reader.varint();
  reader.skip(2);
  if (kind === 35) {
    reader.skip(1);
    return dottedPrefixes(reader);
  }
  return timedPrefixes(reader, length, reader.varint(), reader.byte());
}

export { marksOf };
