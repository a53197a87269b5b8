// Prints core_rates of core.h, from the table of the library: node core_rates.js TABLE HEADER
import { readFileSync } from 'node:fs';

const [table, header] = process.argv.slice(2).map((path) => readFileSync(path, 'utf8'));
const number = (name) => Number(header.match(new RegExp(`#define ${name} +(\\d+)`))[1]);
const rates = [...table.slice(0, table.indexOf('/* 16 probes')).matchAll(/\b0x[0-9a-f]{16}\b/g)].map(([rate]) => BigInt(rate));
if (rates.length !== number('CORE_RATES')) throw new Error(`${rates.length} rates up to twelve probes, not CORE_RATES`);

const bytes = [];
let last = 0n, lastStep = 0n;
for (const rate of rates.map((bits) => bits >> BigInt(64 - number('RATE_BITS')))) {
  const step = rate - last, difference = step - lastStep;
  [last, lastStep] = [rate, step];
  let rest = difference < 0n ? -2n * difference - 1n : 2n * difference;
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  bytes.push(Number(rest));
}
console.log(`#include "core.h"\nconst uint8_t core_rates[] = {${bytes.join()}};`);
