// The column beside the network: whether replicas agree, the figures, the bytes, and what just happened.
import { agreementOf } from './agreement.js';
import { $, colour, grouped, make, put, rate, size, write } from './dom.js';

// What is lost, and what is there although it should not be; sets that only grow have no such keys.
const NAMES = {
  remove: ['Keys lost', 'Removed keys that reappeared'], window: ['Keys lost', 'Forgotten keys that reappeared'], counter: ['Operations lost', 'Counted too often'],
};
const LATE = 5; // events that are shown
const PAUSE = 3000; // milliseconds between announcements

function list(where, rows) {
  const nodes = [...where.children];
  if (nodes.length !== 2 * rows.length) {
    where.replaceChildren();
    for (const [term] of rows) { make(where, 'dt', {}, term); make(where, 'dd'); }
  }
  rows.forEach(([term, value, kind], i) => {
    write(where.children[2 * i], term);
    write(where.children[2 * i + 1], value);
    put(where.children[2 * i + 1], 'class', kind ?? '');
  });
}

function updateFigures(world) {
  const { lost, returned, wrong, asked, promised, converged } = world.result, { sent, whole, messages, lost: dropped, doubled } = world.bytes;
  const [title, more] = agreementOf(world), names = NAMES[world.mode] ?? ['Keys lost', null];
  put($('agreement'), 'class', `panel${converged ? ' converged' : ''}`);
  write($('agreement').querySelector('strong'), title);
  write($('more'), more);
  const good = (number) => `big ${number === 0 ? 'good' : 'bad'}`;
  list($('figures'), [
    [names[0], grouped(lost), good(lost)], ...(names[1] ? [[names[1], grouped(returned), good(returned)]] : []),
    ...(asked > 0 ? [['False positives', `${rate(wrong / asked)}`, wrong / asked <= promised * 1.5 + 0.001 ? 'good' : 'bad']] : []),
    ...(promised > 0 ? [['Promised at most', rate(promised)]] : [['Result', 'exact', 'good']]),
  ]);
  list($('bytes'), [['Sent', size(sent)], [world.mode === 'reconcile' ? 'Whole lists instead' : 'Whole states instead', size(whole)],
    ['Messages', grouped(messages)], ['Lost, duplicated', `${grouped(dropped)}, ${grouped(doubled)}`]]);
  write($('clock'), `tick ${grouped(world.tick)}`);
  put($('clock').parentElement, 'class', `state small${converged ? ' converged' : ''}`);
  put($('clock').parentElement, 'title', title);
  updateBrief(world, title);
  drawChart(world);
  updateEvents(world);
}

// For narrow screens, on which the figures are far from the network.
function updateBrief({ mode, result: { lost, returned, converged } }, title) {
  const brief = $('brief'), [, again] = NAMES[mode] ?? [];
  put(brief, 'class', converged ? 'converged' : '');
  write(brief.children[0], `Lost ${grouped(lost)}`);
  write(brief.children[1], again ? `${mode === 'counter' ? 'counted too often' : 'reappeared'} ${grouped(returned)}` : '');
  write(brief.children[2], title);
  [lost, returned].forEach((number, i) => put(brief.children[i], 'class', number === 0 ? 'good' : 'bad'));
}

function drawChart(world) {
  const canvas = $('chart'), pen = canvas.getContext('2d'), { width, height } = canvas, left = 8, bottom = height - 8, top = 40;
  const { history: points } = world, last = points.at(-1) ?? { tick: 1, sent: 0, whole: 0 };
  const most = Math.max(1, last.whole, last.sent), span = Math.max(1, last.tick);
  pen.clearRect(0, 0, width, height);
  pen.strokeStyle = colour('rule');
  pen.lineWidth = 2;
  pen.strokeRect(left, top, width - 2 * left, bottom - top);
  pen.font = '600 24px system-ui, "Liberation Sans", sans-serif';
  [['whole', 'soft', world.mode === 'reconcile' ? 'whole lists' : 'whole states', 'right', width - left], ['sent', 'blue', 'sent', 'left', left]].forEach(([name, paint, label, align, x]) => {
    pen.strokeStyle = pen.fillStyle = colour(paint);
    pen.lineWidth = 5;
    pen.beginPath();
    for (const point of points) pen.lineTo(left + (width - 2 * left) * point.tick / span, bottom - (bottom - top - 6) * point[name] / most);
    pen.stroke();
    pen.textAlign = align;
    pen.fillText(label, x, 26);
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
  const fresh = current.events.filter(({ number }) => number > announced), said = fresh.slice(-2).map(({ text }) => text);
  if (said.length === 0) return;
  const left = current.noted - announced - said.length;
  announced = current.noted;
  write($('announced'), `${said.join('. ')}.${left > 0 ? ` ${left} earlier.` : ''}`);
}

export { updateFigures };
