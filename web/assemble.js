// One page from its sources, the package and the module, gzipped and as base64: node assemble.js PACKAGE_FOLDER OUT_FILE
//
// The files are modules; without their import and export lines each part is a function that returns what others import.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const [folder, out] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const joined = (path) => readFileSync(path, 'utf8').replace(/^import .*;\n/gm, '').replace(/^export \{.*\};\n/gm, '').replace(/^export (?=class|function|const|async)/gm, '');
const part = (names, files) => `const { ${names} } = (() => {\n${files.map(joined).join('\n')}\nreturn { ${names} };\n})();\n`;
const wasm = gzipSync(readFileSync(join(folder, 'roost.wasm')), { level: 9 }).toString('base64');
// In this order: each part comes after those that it imports.
const parts = {
  exact: 'ExactSet, ExactTimes, ExactCounter', typed: 'stateOf, changeOf, answerOf', measure: 'measure',
  simulation: 'World, MODES, WORST, ACTS, MOST_ACTS, MOST_TYPED, UNIVERSE, BEFORE, keyOf, noun, aNoun, wellFormed', scenarios: 'SCENARIOS', address: 'toAddress, fromAddress, optionsOf',
  frames: 'marksOf', dom: '$, make, put, write, colour, forgetColours, grouped, counted, size, rate, listed, agrees', packets: 'placePackets, movePackets', map: 'drawMap, updateMap',
  agreement: 'agreementOf, hindrance', charts: 'drawLines',
  pictures: 'Pixels, readMarks, drawPictures, cellAt, WIDTH, HEIGHT, COLUMNS', cells: 'drawLegend, updateTip, makeInspectable, chosenCell, forgetCell, prefixes', cards: 'drawCards, updateCards, redrawPictures', figures: 'updateFigures', story: 'drawStory, updateStory',
};
const script = [
  `const WASM = '${wasm}';\n`,
  part('load', ['instance.js', 'options.js', 'load.js'].map((name) => join(folder, name))),
  ...Object.entries(parts).map(([name, names]) => part(names, [join(here, `${name}.js`)])),
  joined(join(here, 'page.js')),
].join('');
if (script.includes('</script')) throw new Error('a script would end too soon');

// What index.html has for those who open it as it is, and what takes its place.
const replaced = [
  ['<link rel="stylesheet" href="style.css">', `<style>${readFileSync(join(here, 'style.css'), 'utf8')}</style>`],
  [/<!--source-->.*?<!--\/source-->\n/s, ''],
  ['<!--script-->', `<script type="module">${script}</script>`],
];
let page = readFileSync(join(here, 'index.html'), 'utf8');
for (const [from, to] of replaced) {
  if (page.split(from).length !== 2) throw new Error(`index.html has no ${from}, or several`);
  page = page.replace(from, () => to);
}
writeFileSync(out, page);
console.log(`${out}: ${Math.round(page.length / 1000)} kB`);
