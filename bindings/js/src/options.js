// The options of filters, windows and counters: the words, defaults and refusals of the program `roost create`.
import { RoostError, nameOf } from './instance.js';

export const kinds = { bloom: 1, cuckoo: 2, orcuckoo: 3, window: 6, counter: 7 };
export const layouts = { blocked: 1, classic: 2 };
export const schedules = { quadratic: 1, halving: 2, gentle: 3 };
export const semantics = { 'add-wins': 0, 'remove-wins': 1, 'last-writer-wins': 2 };
const DEFAULT_SEED = 0x526f6f7374n;
const DEFAULT_FPR = 0.01;
const DEFAULT_FIRST_CAPACITY = 10000; // of a growing Bloom filter
const DEFAULT_WINDOW_CAPACITY = 100000;

function refuse(option, why) {
  throw new RoostError('INVALID', `${option}: ${why}`);
}

const shown = (value) => (typeof value === 'string' ? `'${value.slice(0, 40)}'` : typeof value === 'number' ? String(value) : nameOf(value));

/** The options of these names, each read once: they may be accessors. Others are refused. */
export function readOptions(options, names) {
  if (typeof options !== 'object' || options === null) throw new TypeError(`options must be an object, not ${nameOf(options)}`);
  for (const name of Object.keys(options))
    if (!names.includes(name)) refuse(name, `no such option; there are ${names.join(', ')}`);
  return Object.fromEntries(names.map((name) => [name, options[name]]));
}

function whole(options, name, least, most) {
  const value = options[name];
  if (value === undefined) return 0;
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < least || value > most)
    refuse(name, `must be a whole number from ${least} to ${most}, not ${shown(value)}`);
  return value;
}

function choice(options, name, values) {
  const value = options[name];
  if (value === undefined) return 0;
  if (typeof value !== 'string' || !Object.hasOwn(values, value)) refuse(name, `must be one of ${Object.keys(values).join(', ')}, not ${shown(value)}`);
  return values[value];
}

function oneOf(options, name, values) {
  const value = options[name];
  if (value === undefined) return 0;
  if (!values.includes(value)) refuse(name, `must be one of ${values.join(', ')}, not ${shown(value)}`);
  return value;
}

function boolean(options, name) {
  const value = options[name];
  if (value !== undefined && typeof value !== 'boolean') refuse(name, `must be true or false, not ${shown(value)}`);
  return value === true;
}

function rate(options) {
  const value = options.fpr;
  if (value === undefined) return 0;
  if (typeof value !== 'number' || !(value > 0 && value < 1)) refuse('fpr', `must be a number between 0 and 1, not ${shown(value)}`);
  return value;
}

// A number, a bigint, or a text as the program takes and prints it: decimal, or 0x and hexadecimal.
function seedHalves(options) {
  let seed = options.seed ?? DEFAULT_SEED;
  if (typeof seed === 'number' && Number.isSafeInteger(seed)) seed = BigInt(seed);
  if (typeof seed === 'string' && /^(0x[0-9a-f]{1,16}|[0-9]{1,20})$/i.test(seed)) seed = BigInt(seed);
  if (typeof seed !== 'bigint' || seed < 0n || seed >= 2n ** 64n) refuse('seed', `must be a whole number from 0 to 2^64 - 1, beyond 2^53 - 1 as a bigint or a text, not ${shown(options.seed)}`);
  return [Number(seed >> 32n), Number(seed & 0xffffffffn)];
}

const filterOptions = ['capacity', 'fpr', 'kind', 'layout', 'bits', 'bucket', 'multiset', 'entry', 'seed', 'scalable', 'growth', 'schedule', 'writers', 'semantics'];

function fitKind(o) {
  const name = Object.keys(kinds).find((key) => kinds[key] === o.kind);
  if (o.kind !== kinds.bloom && o.layout) refuse('layout', `only for kind bloom, not ${name}`);
  if (o.kind === kinds.bloom && o.bits) refuse('bits', 'only for kinds cuckoo and orcuckoo');
  if (o.kind === kinds.bloom && o.bucket) refuse('bucket', 'only for kinds cuckoo and orcuckoo');
  if (o.kind !== kinds.orcuckoo && o.multiset) refuse('multiset', 'only for kind orcuckoo');
  if (o.kind !== kinds.orcuckoo && o.entry) refuse('entry', 'only for kind orcuckoo');
}

function fitSemantics(o, options) {
  if (o.kind !== kinds.orcuckoo && options.semantics !== undefined) refuse('semantics', 'only for kind orcuckoo');
  if (o.semantics && !o.grows) refuse('semantics', `a filter of fixed size is add-wins; for ${options.semantics} add scalable`);
  if (o.semantics && o.multiset) refuse('semantics', `a multiset is add-wins; leave multiset out for ${options.semantics}`);
}

function fitGrowth(o) {
  if (!o.grows && o.growth) refuse('growth', 'only with scalable');
  if (!o.grows && o.schedule) refuse('schedule', 'only with scalable');
  if (o.schedule === schedules.gentle && o.kind === kinds.bloom) refuse('schedule gentle', 'only for kinds cuckoo and orcuckoo');
  if (o.grows && o.bits && o.kind !== kinds.bloom) refuse('bits', 'not for a cuckoo filter that grows: give capacity without scalable, or fpr');
  if (o.grows && o.bucket && o.kind !== kinds.bloom) refuse('bucket', 'not for a cuckoo filter that grows: give capacity without scalable');
  if (o.grows && o.entry) refuse('entry', 'not for a filter that grows, whose entries are as wide as they must be');
}

function fitEntries(o) {
  const least = o.multiset ? 8 : 16;
  if (o.entry === 32 && !o.multiset) refuse('entry 32', 'only with multiset; a set needs entries of 64 bits');
  if (o.entry === 32 && o.bits && o.bits !== 8) refuse('bits', 'entries of 32 bits have fingerprints of 8 bits, no others');
  if (o.bits && (o.bits < least || o.bits > 28)) refuse('bits', `must be from ${least} to 28 in an orcuckoo ${o.multiset ? 'multiset' : 'filter without multiset'}`);
}

// The values of the call `filter_new`, in order.
export function filterValues(given) {
  const options = readOptions(given, filterOptions);
  const o = {
    kind: choice(options, 'kind', { bloom: 1, cuckoo: 2, orcuckoo: 3 }),
    layout: choice(options, 'layout', layouts),
    capacity: whole(options, 'capacity', 1, 2 ** 53 - 1),
    fpr: rate(options),
    bits: whole(options, 'bits', 4, 32),
    bucket: oneOf(options, 'bucket', [1, 2, 4, 8]),
    entry: oneOf(options, 'entry', [32, 64]),
    multiset: boolean(options, 'multiset'),
    scalable: boolean(options, 'scalable'),
    writers: whole(options, 'writers', 1, 1024),
    growth: oneOf(options, 'growth', [1, 2, 4, 8]),
    schedule: choice(options, 'schedule', schedules),
    semantics: choice(options, 'semantics', semantics),
  };
  const [high, low] = seedHalves(options);
  o.grows = o.scalable || o.capacity === 0;
  o.kind ||= o.grows && !o.layout ? kinds.cuckoo : kinds.bloom;
  fitKind(o);
  fitGrowth(o);
  fitSemantics(o, options);
  if (o.kind === kinds.orcuckoo) fitEntries(o);
  const bitsAreGiven = !o.grows && (o.bits || o.entry === 32);
  const capacity = o.capacity || (o.kind === kinds.bloom ? DEFAULT_FIRST_CAPACITY : 0);
  return [o.kind, o.layout, capacity, o.fpr || (bitsAreGiven ? 0 : DEFAULT_FPR), high, low, o.entry === 32 ? 8 : o.bits, o.bucket, o.entry,
    Number(o.multiset), Number(o.grows), o.grows ? o.writers : 0, o.growth, o.schedule, o.semantics];
}

const units = { us: 1n, ms: 1000n, s: 1_000_000n, '': 1_000_000n, m: 60_000_000n, h: 3_600_000_000n, d: 86_400_000_000n };
const LONGEST_DURATION = 40; // as text

// Microseconds of a text as the program takes it: exact, and rounded down, so that the same text makes the same window everywhere.
function microsecondsOfText(text) {
  const match = text.length <= LONGEST_DURATION && /^(?=\.?[0-9])([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?(us|ms|[smhd]|)$/.exec(text);
  if (!match) return NaN;
  const [, whole, fraction = '', power = '0', unit] = match;
  const exponent = Number(power) - fraction.length, tens = 10n ** BigInt(Math.min(Math.abs(exponent), 2 * LONGEST_DURATION));
  const value = BigInt(whole + fraction) * units[unit];
  return Number(exponent < 0 ? value / tens : value * tens);
}

// Of seconds, or of a text.
function microseconds(options) {
  const given = options.window;
  if (given === undefined) refuse('window', 'is missing; give how long keys are kept at least, as 600 (seconds) or "10m"');
  const result = typeof given === 'string' ? microsecondsOfText(given) : typeof given === 'number' ? Math.round(given * 1e6) : NaN;
  if (Number.isNaN(result)) refuse('window', `must be a number of seconds, or a text as '60s', '10m', '1.5h', '2d', '250ms', '90', not ${shown(given)}`);
  if (result < 1 || result > 2 ** 50) refuse('window', `must be above 0 and at most 35 years, not ${shown(given)}`);
  return result;
}

// The values of the call `window_new`.
export function windowValues(kind, given) {
  const options = readOptions(given, ['window', 'capacity', 'fpr', 'past', 'seed']);
  return [kinds[kind], microseconds(options), whole(options, 'capacity', 1, 2 ** 53 - 1) || DEFAULT_WINDOW_CAPACITY, rate(options),
    whole(options, 'past', 1, 255), ...seedHalves(options)];
}

const methods = { auto: 0, riblt: 1, dbf: 2, 'ccf-query': 3, 'ccf-decode': 4 };

// The values of the call `reconcile_new`, and the first message of the other side.
export function reconcileValues(given) {
  const options = readOptions(given, ['method', 'multiset', 'first']);
  return { values: [choice(options, 'method', methods), Number(boolean(options, 'multiset'))], first: options.first ?? null };
}

const LEAST_MEMORY = 2 ** 21;

// The bytes that an instance may take, and where its random numbers come from.
export function instanceValues(given) {
  const { maximumMemory = 2 ** 32, crypto = globalThis.crypto } = readOptions(given, ['maximumMemory', 'crypto']);
  if (typeof maximumMemory !== 'number' || !(maximumMemory >= LEAST_MEMORY)) throw new TypeError(`maximumMemory: must be a number of bytes from ${LEAST_MEMORY} on, not ${shown(maximumMemory)}`);
  if (typeof crypto?.getRandomValues !== 'function') throw new TypeError('crypto: is missing; in Node 18 pass webcrypto of node:crypto');
  return { maximumMemory, crypto };
}
