// What exists at run time is declared, and the other way round: exports, methods, options, fields of results.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const require = createRequire(import.meta.url);
const ts = require('typescript');
const folder = dirname(require.resolve('roost-filter/package.json'));
const names = (list) => [...new Set(list)].sort();
const internal = new Set(['constructor', 'Symbol(nodejs.util.inspect.custom)']); // of load.js alone

// ---- the declarations

const files = ['index', 'core', 'removal', 'load'].map((name) => join(folder, `${name}.d.ts`));
const program = ts.createProgram(files, { module: ts.ModuleKind.Node16, moduleResolution: ts.ModuleResolutionKind.Node16, target: ts.ScriptTarget.ES2022, strict: true, types: [] });
const checker = program.getTypeChecker();
const isValue = (symbol) => ((symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol).flags & ts.SymbolFlags.Value) !== 0;
const exportsOf = (file) => checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(join(folder, `${file}.d.ts`))));
const declared = new Map(exportsOf('index').map((symbol) => [symbol.name, symbol]));
const nameOf = (symbol) => (symbol.name.startsWith('__@dispose') ? 'Symbol.dispose' : symbol.name);
const membersOf = (name) => names(checker.getDeclaredTypeOfSymbol(declared.get(name)).getProperties().map(nameOf));
const staticsOf = (name) => names(checker.getTypeOfSymbol(declared.get(name)).getProperties().map((symbol) => symbol.name).filter((member) => member !== 'prototype'));

// ---- what there is

const roost = await import('roost-filter');
function membersAtRunTime(Class) {
  const found = [];
  for (let at = Class.prototype; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at))
    found.push(...Reflect.ownKeys(at).map((member) => (member === Symbol.dispose ? 'Symbol.dispose' : String(member))));
  return names(found.filter((member) => !internal.has(member)));
}
function compare(what, declares, has) {
  assert.deepEqual(names(declares), names(has), what);
  console.log(`ok ${what}: ${has.length}`);
}

// The forms for pages fetch their module, which Node does not do for files.
globalThis.fetch = async (url) => new Response(readFileSync(url));
for (const file of ['index', 'core', 'removal', 'load'])
  compare(`exports of ${file}`, exportsOf(file).filter(isValue).map((symbol) => symbol.name), Object.keys(await import(join(folder, `${file}.js`))));
for (const file of ['index', 'core', 'removal'])
  compare(`exports of ${file}.node`, Object.keys(await import(join(folder, `${file}.node.js`))), Object.keys(await import(join(folder, `${file}.js`))));
for (const name of ['Filter', 'Window', 'Counter', 'Sync', 'Reconciliation'])
  compare(`members of ${name}`, membersOf(name).filter((member) => member !== 'Symbol.dispose' || Symbol.dispose), membersAtRunTime(roost[name]));
for (const name of ['Filter', 'Window', 'Counter'])
  compare(`static members of ${name}`, staticsOf(name), names(['fromBytes', ...Object.getOwnPropertyNames(roost[name]).filter((member) => !['length', 'name', 'prototype'].includes(member))]));

// ---- options, and fields of what calls return

const refused = (make) => { try { make(); } catch (error) { return error.message.replace(/.*there are /, '').split(', '); } };
compare('options of filters', membersOf('FilterOptions'), refused(() => new roost.Filter({ none: 1 })));
compare('options of windows', membersOf('WindowOptions'), refused(() => new roost.Window({ none: 1 })));
const filter = new roost.Filter(), window = new roost.Window({ window: 60 });
compare('fields of info', membersOf('Info'), Object.keys(filter.info()));
compare('fields of the info of windows', membersOf('WindowInfo'), Object.keys(window.info()));
compare('fields of the result of a sync', membersOf('SyncResult'), Object.keys(filter.startSync().result()));
const returned = (name, method) => names(checker.getSignaturesOfType(checker.getTypeOfSymbol(checker.getDeclaredTypeOfSymbol(declared.get(name)).getProperty(method)), ts.SignatureKind.Call)[0].getReturnType().getProperties().map((symbol) => symbol.name));
compare('fields of a delta', returned('Filter', 'delta'), Object.keys(filter.delta()));
compare('fields of the result of a reconciliation', returned('Reconciliation', 'result'), Object.keys(roost.reconcile(['a']).result()));
compare('fields of an increment', returned('Counter', 'increment'), Object.keys(new roost.Counter({ window: 60 }).increment('a')));
const { load } = await import('roost-filter/load');
const loadType = checker.getSignaturesOfType(checker.getTypeOfSymbol(exportsOf('load').find((symbol) => symbol.name === 'load')), ts.SignatureKind.Call)[0].getReturnType();
compare('what load returns', loadType.getProperties().filter((symbol) => isValue(symbol) || symbol.name === 'usedMemory').map((symbol) => symbol.name), Object.keys(load(readFileSync(join(folder, 'roost.wasm')))));
