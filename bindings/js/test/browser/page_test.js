// In a page, what the tests import of Node: `test` of node:test, node:assert/strict, and what else they use. suite.js maps these
// names to this file, so that the tests which Node runs run in a browser as they are.

// ---- node:test ---------------------------------------------------------------------------------------------------------

const tests = [];

export function test(name, ...rest) {
  const run = rest.pop(), { skip = false } = rest[0] ?? {};
  tests.push({ name, run, skip });
}

/** Runs what was registered; returns what became of each. */
export async function runTests() {
  const results = [];
  for (const { name, run, skip } of tests) {
    if (skip) { results.push({ name, skipped: skip === true ? '' : skip }); continue; }
    try { await run(); results.push({ name }); } catch (error) { results.push({ name, error: String(error?.stack ?? error) }); }
  }
  return results;
}

// ---- node:assert/strict -------------------------------------------------------------------------------------------------

class AssertionError extends Error {}

const shown = (value) => (ArrayBuffer.isView(value) ? `[${value.slice(0, 50)}]` : JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? `${part}n` : part)) ?? String(value)).slice(0, 300);
const fail = (message) => { throw new AssertionError(message); };

function same(a, b) {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return Object.is(a, b);
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  if (ArrayBuffer.isView(a)) return a.length === b.length && a.every((value, i) => value === b[i]);
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && same(a[name], b[name]));
}

// Of an error and what `throws` was told: a class, a pattern, properties, or a function that returns true.
function fits(error, wanted) {
  if (wanted === undefined) return true;
  if (wanted instanceof RegExp) return wanted.test(String(error));
  if (typeof wanted === 'function') return wanted === Error || wanted.prototype instanceof Error ? error instanceof wanted : wanted(error) === true;
  return Object.keys(wanted).every((name) => (wanted[name] instanceof RegExp ? wanted[name].test(error?.[name]) : same(error?.[name], wanted[name])));
}

export default {
  AssertionError,
  fail,
  ok: (value, message) => value || fail(message ?? `${shown(value)} is not true`),
  equal: (a, b, message) => Object.is(a, b) || fail(`${message ?? ''} ${shown(a)} is not ${shown(b)}`),
  deepEqual: (a, b, message) => same(a, b) || fail(`${message ?? ''} ${shown(a)} is not ${shown(b)}`),
  match: (text, pattern) => pattern.test(text) || fail(`${shown(text)} does not match ${pattern}`),
  throws(call, wanted, message) {
    let error = null;
    try { call(); } catch (thrown) { error = { thrown }; }
    if (error === null) fail(`${message ?? ''} nothing was thrown by ${call}`);
    if (!fits(error.thrown, typeof wanted === 'string' ? undefined : wanted)) fail(`${message ?? ''} ${call} threw ${error.thrown?.stack ?? error.thrown}`);
  },
};

// ---- node:crypto and node:util ------------------------------------------------------------------------------------------

export const webcrypto = globalThis.crypto;
export const inspect = (value) => value[Symbol.for('nodejs.util.inspect.custom')]();
