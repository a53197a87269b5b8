// One page from its sources, the package and the module as base64: node assemble.js PACKAGE_FOLDER OUT_FILE
//
// The files are modules; without their import and export lines each part is a function that returns what others import.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const [folder, out] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const joined = (path) => readFileSync(path, 'utf8').replace(/^import .*;\n/gm, '').replace(/^export \{.*\};\n/gm, '').replace(/^export (?=class|function|const|async)/gm, '');
const part = (names, files) => `const { ${names} } = (() => {\n${files.map(joined).join('\n')}\nreturn { ${names} };\n})();\n`;
const wasm = readFileSync(join(folder, 'roost.wasm')).toString('base64');
// In this order: each part comes after those that it imports.
const parts = {
  exact: 'ExactSet, ExactTimes, ExactCounter', typed: 'stateOf, changeOf, answerOf', measure: 'measure',
  simulation: 'World, MODES, ACTS, MOST_ACTS, MOST_TYPED, UNIVERSE, BEFORE, keyOf, wellFormed', scenarios: 'SCENARIOS', address: 'toAddress, fromAddress, optionsOf',
  frames: 'marksOf', dom: '$, make, put, write, colour, grouped, size, rate, listed, agrees', map: 'drawMap, updateMap',
  agreement: 'agreementOf, isConnected',
  cells: 'drawLegend, readMarks, drawPicture, updateTip, makeInspectable, forgetCell, drawn, PREFIXES', cards: 'drawCards, updateCards', figures: 'updateFigures',
};
const script = [
  `const WASM = '${wasm}';\n`,
  part('load', ['instance.js', 'options.js', 'load.js'].map((name) => join(folder, name))),
  ...Object.entries(parts).map(([name, names]) => part(names, [join(here, `${name}.js`)])),
  joined(join(here, 'page.js')),
].join('');
if (script.includes('</script')) throw new Error('a script would end too soon');
const page = readFileSync(join(here, 'index.html'), 'utf8')
  .replace('/*style*/', () => readFileSync(join(here, 'style.css'), 'utf8')).replace('/*script*/', () => script);
writeFileSync(out, page);
console.log(`${out}: ${Math.round(page.length / 1000)} kB`);
