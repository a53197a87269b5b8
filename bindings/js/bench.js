// Add and look up beside two packages of npm, in one run: node bench.js PACKAGE_FOLDER MODULES_FOLDER [--csv FILE]
//
// MODULES_FOLDER has bloom-filters and bloomfilter below node_modules (npm install bloom-filters bloomfilter, there). All filters
// are for the same keys at 1 %. Time is that of the processor, and each figure the best of several rounds in which the
// contestants take turns, so that a busy machine slows all of them alike.
import { createRequire } from 'node:module';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, modules, , csv] = process.argv.slice(2);
const roost = await import(pathToFileURL(resolve(folder, 'index.js')));
const core = await import(pathToFileURL(resolve(folder, 'core.js')));
const require = createRequire(resolve(modules, 'x.js'));
const { BloomFilter: Published } = require('bloom-filters');
const { BloomFilter: Davies } = await import(pathToFileURL(join(resolve(modules), 'node_modules/bloomfilter/bloomfilter.js')));

const COUNT = 100_000, ROUNDS = 15, FPR = 0.01;
const SHORT = process.env.BENCH_KEYS === 'long' ? 'https://example.org/articles/2026/' : 'user:';
const present = Array.from({ length: COUNT }, (_, i) => `${SHORT}${i * 7919}`);
const asked = present.map((key, i) => (i % 2 ? key : `${key}?`));
const bits = Math.ceil(-COUNT * Math.log(FPR) / Math.LN2 ** 2), probes = Math.round(-Math.log2(FPR));

const contestants = [
  ['roost-filter bloom', () => new roost.Filter({ kind: 'bloom', capacity: COUNT, fpr: FPR }), true],
  ['roost-filter cuckoo, growing', () => new roost.Filter({ fpr: FPR }), true],
  ['roost-filter orcuckoo, growing', () => new roost.Filter({ kind: 'orcuckoo', fpr: FPR }), true],
  ['roost-filter/core bloom', () => new core.Filter({ kind: 'bloom', capacity: COUNT, fpr: FPR }), true],
  ['roost-filter/core cuckoo, growing', () => new core.Filter({ fpr: FPR }), true],
  ['bloomfilter', () => new Davies(bits, probes), false],
  ['bloom-filters', () => Published.create(COUNT, FPR), false],
];
const tests = {
  add: (filter) => { for (const key of present) filter.add(key); },
  has: (filter) => { let n = 0; for (const key of asked) n += (filter.has ?? filter.test).call(filter, key); return n; },
  addMany: (filter) => filter.addMany(present),
  hasMany: (filter) => filter.hasMany(asked),
};
function spent(run) {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

const best = {};
for (let round = 0; round < ROUNDS; round++)
  for (const [name, make, batches] of contestants) {
    if (name === 'bloom-filters' && round > 2) continue; // seconds each
    for (const test of batches ? Object.keys(tests) : ['add', 'has']) {
      const filter = make();
      if (test === 'has' || test === 'hasMany') { if (batches) filter.addMany(present); else tests.add(filter); }
      const cost = spent(() => tests[test](filter)) * 1000 / COUNT;
      const key = `${name}\t${test}`;
      best[key] = Math.min(best[key] ?? Infinity, cost);
      filter.free?.();
    }
  }
const rows = Object.entries(best).map(([key, cost]) => [...key.split('\t'), Math.round(cost)]);
const table = rows.map((row) => ({ package: row[0], call: row[1], 'ns a key': row[2] }));
console.table(table);
if (csv) writeFileSync(csv, ['package,call,nanoseconds_a_key', ...rows.map((row) => `"${row[0]}",${row[1]},${row[2]}`)].join('\n') + '\n');
