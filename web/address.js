// A run as the address of the page: #mode=remove&replicas=4&seed=1&script=120.toggle.0-1~130.add.2.swift
//
// Of a script, each act is a tick, a name and values; dots and tildes in values are escaped. Anyone may write an address, so all
// that is not valid is left out.
import { ACTS, MODES, MOST_ACTS, wellFormed } from './simulation.js';
import { SCENARIOS } from './scenarios.js';

const MOST_TICK = 1e6;
const escaped = (text) => encodeURIComponent(text).replaceAll('.', '%2E').replaceAll('~', '%7E');
const unescaped = (text) => { try { return decodeURIComponent(text); } catch { return undefined; } };
const whole = (text, most) => (/^[0-9]{1,7}$/.test(text ?? '') && Number(text) <= most ? Number(text) : undefined);

const parse = {
  replica: (text) => whole(text, 4),
  key: (text) => (text ? wellFormed(text) : undefined),
  line: (text) => (/^[0-4]-[0-4]$/.test(text ?? '') ? text : undefined),
  name: (text) => (/^[a-z]+$/.test(text ?? '') ? text : undefined),
  number: (text) => whole(text, 60),
  boolean: (text) => ({ on: true, off: false })[text],
};

const encodeScript = (acts) => acts.map((act) => act.map((value) => escaped(typeof value === 'boolean' ? (value ? 'on' : 'off') : String(value))).join('.')).join('~');

function decodeAct(text) {
  const [tick, name, ...values] = text.split('.', 6).map(unescaped), kinds = Object.hasOwn(ACTS, name ?? '') ? ACTS[name] : null;
  const act = kinds ? [whole(tick, MOST_TICK), name, ...kinds.map((kind, i) => parse[kind](values[i]))] : [undefined];
  return act.includes(undefined) || values.length !== kinds.length ? null : act;
}

// Of too long an address the beginning is used.
function decodeScript(text) {
  return text.slice(0, 1e6).split('~', MOST_ACTS).map(decodeAct).filter(Boolean).sort((a, b) => a[0] - b[0]);
}

function toAddress(world) {
  const acts = [...world.done, ...world.script], words = new URLSearchParams({ mode: world.mode, replicas: world.count, seed: world.seed });
  if (world.scenario) words.set('scenario', world.scenario);
  return `#${words}${acts.length ? `&script=${encodeScript(acts)}` : ''}`;
}

const optionsOf = ({ id, mode, count, seed, script }) => ({ mode, count, seed, scenario: id, script: decodeScript(script) });

// Without an address, the first scenario. A scenario by its name alone is that scenario; beside a script it names whose captions
// to show.
function fromAddress(hash) {
  const words = new Map(hash.replace(/^#/, '').split('&').map((pair) => pair.split('=')).map(([name, ...rest]) => [name, rest.join('=')]));
  const scenario = /^#?$/.test(hash) ? SCENARIOS[0] : SCENARIOS.find(({ id }) => id === words.get('scenario'));
  if (scenario && !words.has('script')) return optionsOf(scenario);
  const number = (name, least, most, otherwise) => (/^[0-9]{1,10}$/.test(words.get(name) ?? '') && Number(words.get(name)) >= least && Number(words.get(name)) <= most ? Number(words.get(name)) : otherwise);
  const mode = Object.hasOwn(MODES, words.get('mode') ?? '') ? words.get('mode') : 'remove', count = number('replicas', 3, 5, 4);
  const fits = scenario?.mode === mode && scenario.count === count;
  return { mode, count, seed: number('seed', 0, 2 ** 31 - 1, 1), scenario: fits ? scenario.id : '', script: decodeScript(words.get('script') ?? '') };
}

export { toAddress, fromAddress, optionsOf };
