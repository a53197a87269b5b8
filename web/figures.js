// The column beside the network: whether replicas agree, the figures, false positives and bytes as charts, and what just happened.
import { agreementOf } from './agreement.js';
import { drawLines } from './charts.js';
import { $, counted, grouped, make, put, rate, size, write } from './dom.js';

// What is lost, and what is there although it should not be; sets that only grow have no such keys.
const NAMES = {
  remove: ['Keys lost', 'Removed keys that reappeared'], window: ['Keys lost', 'Forgotten keys that reappeared'], counter: ['Operations lost', 'Counted too often'],
};
const LATE = 5; // events that are shown
const PAUSE = 4000; // milliseconds between announcements

// Rows of a term, a value, its class, and the line of a chart that it is the name of.
function list(where, rows) {
  if (where.children.length !== rows.length) {
    where.replaceChildren();
    for (let i = 0; i < rows.length; i++) { const row = make(where, 'div'); make(row, 'dt'); make(row, 'dd'); }
  }
  rows.forEach(([term, value, kind = '', line = ''], i) => {
    const [name, number] = where.children[i].children;
    write(name, term);
    write(number, value);
    put(name, 'class', line);
    put(number, 'class', kind);
  });
}

function updateFigures(world) {
  const { lost, returned, converged } = world.result, [title, more] = agreementOf(world), names = NAMES[world.mode] ?? ['Keys lost'];
  put($('agreement'), 'class', `panel${converged ? ' converged' : ''}`);
  write($('agreement').querySelector('strong'), title);
  write($('more'), more);
  list($('figures'), [lost, returned].slice(0, names.length).map((number, i) => [names[i], grouped(number), number === 0 ? 'good' : 'bad']));
  write($('clock'), `tick ${grouped(world.tick)}`);
  put($('clock').parentElement, 'class', `state small${converged ? ' converged' : ''}`);
  put($('clock').parentElement, 'title', title);
  updateBrief(world, title, more);
  updateRates(world);
  updateBytes(world);
  updateEvents(world);
}

// For narrow screens, on which the figures are far from the network.
function updateBrief({ mode, result: { lost, returned, converged } }, title, more) {
  const [state, first, second, detail] = $('brief').children, [, again] = NAMES[mode] ?? [];
  put($('brief'), 'class', converged ? 'converged' : '');
  write(state, title);
  write(first, `lost ${grouped(lost)}`);
  write(second, again ? `${mode === 'counter' ? 'counted too often' : 'reappeared'} ${grouped(returned)}` : '');
  write(detail, more);
  [[first, lost], [second, returned]].forEach(([node, number]) => put(node, 'class', number === 0 ? 'good' : 'bad'));
}

// ---- charts --------------------------------------------------------------------------------------------------------------

// The promise holds for many queries: a few more false positives than that are chance.
const isKept = ({ wrong, asked, promised }) => wrong <= promised * asked * 1.5 + 10;

function updateRates(world) {
  const { wrong, asked, promised } = world.result, exact = world.mode === 'reconcile', measured = asked ? wrong / asked : 0;
  const queries = world.mode === 'counter' ? 'new operations were taken for retries' : 'queries for keys that nobody added, in the last 60 ticks';
  $('rate-chart').toggleAttribute('hidden', exact);
  $('rates').hidden = exact;
  write($('wrong').lastChild, exact ? 'None: reconciliation compares the keys themselves.' : `${grouped(wrong)} of ${grouped(asked)} ${queries}.`);
  if (exact) return;
  list($('rates'), [['Measured', rate(measured), isKept(world.result) ? 'good' : 'bad', 'ours'], ['Promised at most', rate(promised), '', 'limit']]);
  drawLines($('rate-chart'), world.history, {
    lines: [['ours', 'rate']], limit: promised, most: Math.max(promised * 1.2, ...world.history.map((point) => point.rate)) || 1,
    text: `False positives: ${rate(measured)} measured, at most ${rate(promised)} promised`,
  });
}

function updateBytes(world) {
  const { sent, whole, messages, lost, doubled } = world.bytes, instead = world.mode === 'reconcile' ? 'Whole lists instead' : 'Whole states instead', saved = whole > 0 ? `${grouped(100 * (1 - sent / whole))} %` : '–';
  list($('bytes'), [['Sent', size(sent), '', 'ours'], [instead, size(whole), '', 'whole'], ['Saved', saved, 'good']]);
  write($('traffic').lastChild, `${counted(messages, 'message')}${world.mode === 'reconcile' ? '' : ` with acknowledgements; ${grouped(lost)} lost, ${counted(doubled, 'duplicate')}`}.`);
  drawLines($('byte-chart'), world.history, {
    lines: [['whole', 'whole'], ['ours', 'sent']], most: Math.max(1, whole, sent), text: `Bytes: ${size(sent)} sent. ${instead}: ${size(whole)}`,
  });
}

// ---- what just happened --------------------------------------------------------------------------------------------------

let current = null, shown = null, announced = 0, timer = null;

function updateEvents(world) {
  const late = world.events.slice(-LATE).reverse(), text = late.map(({ number, text: words }) => `${number} ${words}`).join('\n');
  if (world !== current) { current = world; announced = 0; }
  if (text === shown) return;
  shown = text;
  $('events').replaceChildren();
  for (const { tick, text: words } of late) {
    const row = make($('events'), 'li');
    make(row, 'span', { class: 'number' }, grouped(tick));
    make(row, 'bdi', {}, words);
  }
  timer ??= setTimeout(announce, PAUSE);
}

// Screen readers get the last events at most every few seconds, and how many were left out.
function announce() {
  timer = null;
  const fresh = current.events.filter(({ number, quiet }) => number > announced && !quiet), said = fresh.slice(-2).map(({ text }) => text);
  announced = current.noted;
  if (said.length > 0) write($('announced'), `${said.join('. ')}.${fresh.length > 2 ? ` ${fresh.length - 2} earlier.` : ''}`);
}

export { updateFigures };
