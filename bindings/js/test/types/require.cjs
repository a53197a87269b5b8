for (const name of ['roost-filter', 'roost-filter/removal', 'roost-filter/core']) {
  const { Filter, RoostError } = require(name);
  const filter = new Filter();
  if (!filter.add('swift') || !filter.has('swift') || typeof RoostError !== 'function') throw new Error(name);
  console.log(`ok require('${name}') from CommonJS`);
}
const { readFileSync } = require('node:fs');
const { load } = require('roost-filter/load');
console.log(new (load(readFileSync(require.resolve('roost-filter/roost.wasm'))).Filter)().add('x') ? 'ok load from CommonJS' : 'not ok load');
