// Add and look up beside two packages of npm, in one run: node bench.js PACKAGE_FOLDER MODULES_FOLDER [--csv FILE]
//
// MODULES_FOLDER has bloom-filters and bloomfilter below node_modules (npm install bloom-filters bloomfilter, there). All filters
// are for the same keys at 1 %. Time is that of the processor, and each figure the best of several rounds in which the
// contestants take turns, so that a busy machine slows all of them alike.
//
// There is a run for each module, in a process of its own, since engines call a module faster if a program has no other: first all
// of the package, then its core, then both without vectors.
import { execFileSync } from 'node:child_process';
import { webcrypto } from 'node:crypto';
import { createRequire } from 'node:module';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const [folder, modules, word, last] = process.argv.slice(2);
const runs = { roost: 'roost-filter', core: 'roost-filter/core', 'roost-plain': 'roost-filter without vectors', 'core-plain': 'roost-filter/core without vectors' };
const own = word === '--run' ? last : null; // of a run: which module it is about

const COUNT = 100_000, ROUNDS = 15, FPR = 0.01;
const SHORT = process.env.BENCH_KEYS === 'long' ? 'https://example.org/articles/2026/' : 'user:';
const present = Array.from({ length: COUNT }, (_, i) => `${SHORT}${i * 7919}`);
const asked = present.map((key, i) => (i % 2 ? key : `${key}?`));
const bits = Math.ceil(-COUNT * Math.log(FPR) / Math.LN2 ** 2), probes = Math.round(-Math.log2(FPR));

async function contestants() {
  const at = (path) => pathToFileURL(resolve(folder, path)), [module, plain] = own.split('-');
  const { Filter } = plain ? (await import(at('load.js'))).load(readFileSync(at(`${module}.wasm`)), { crypto: webcrypto })
    : await import(at(module === 'roost' ? 'index.node.js' : 'core.node.js'));
  const { BloomFilter: Published } = createRequire(resolve(modules, 'x.js'))('bloom-filters');
  const { BloomFilter: Davies } = await import(pathToFileURL(join(resolve(modules), 'node_modules/bloomfilter/bloomfilter.js')));
  const list = [
    ['bloom', () => new Filter({ kind: 'bloom', capacity: COUNT, fpr: FPR }), true],
    ['cuckoo, growing', () => new Filter({ fpr: FPR }), true],
    ['bloomfilter', () => new Davies(bits, probes), false],
  ];
  if (module === 'roost') list.push(['orcuckoo, growing', () => new Filter({ kind: 'orcuckoo', fpr: FPR }), true]);
  if (own === 'roost') list.push(['bloom-filters', () => Published.create(COUNT, FPR), false]);
  return list;
}
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

async function run() {
  const best = {};
  const all = await contestants();
  for (let round = 0; round < ROUNDS; round++)
    for (const [name, make, batches] of all) {
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
  return Object.entries(best).map(([key, cost]) => [...key.split('\t'), Math.round(cost)]);
}

if (own) {
  console.log(JSON.stringify(await run()));
} else {
  const rows = Object.keys(runs).flatMap((name) =>
    JSON.parse(execFileSync(process.execPath, [fileURLToPath(import.meta.url), folder, modules, '--run', name], { encoding: 'utf8' })).map((row) => [runs[name], ...row]));
  console.table(rows.map(([run, name, call, cost]) => ({ run, filter: name, call, 'ns a key': cost })));
  if (word === '--csv') writeFileSync(last, ['run,filter,call,nanoseconds_a_key', ...rows.map((row) => `${row[0]},"${row[1]}",${row[2]},${row[3]}`)].join('\n') + '\n');
}
