// What the pictures of the cards mean: the legend, and which key a cell is.
import { $, listed, make, put, write } from './dom.js';
import { UNIVERSE, BEFORE, keyOf, aNoun } from './simulation.js';
import { cellAt, COLUMNS } from './pictures.js';

// What the lower half of a picture shows.
const DRAWN = { grow: 'the bits of the array that are set', remove: 'the prefixes', window: 'the prefixes, paler as they get older; those that are forgotten leave with the next addition', counter: 'the prefixes of operations’ hashes', reconcile: `the ${BEFORE} keys that were there before, and the typed ones` };
const prefixes = (world) => `A prefix is the stored first bits of ${aNoun(world)}’s hash`;

function drawLegend(world) {
  const legend = $('legend'), counter = world.mode === 'counter', entry = (paint, text) => {
    const span = make(legend, 'span');
    make(span, 'i', { style: `background: var(--${paint})` });
    span.append(text);
  };
  legend.replaceChildren();
  $('dots').replaceChildren();
  const dot = (paint, text) => { make(make($('dots'), 'span', {}), 'i', { style: `background: var(--${paint})` }).after(text); };
  dot('blue', world.mode === 'reconcile' ? 'reconciliation' : 'change');
  if (world.mode !== 'reconcile') dot('soft', 'acknowledgement');
  put($('dots'), 'title', 'The larger, the more bytes. Messages that the network loses get smaller on their way.');
  const before = ['window', 'reconcile'].includes(world.mode) ? '' : `; ${BEFORE} others were there before`;
  const what = ['grow', 'reconcile'].includes(world.mode) ? '' : ` ${prefixes(world)}.`;
  $('cells').textContent = `${counter ? '' : `Each cell is one of ${UNIVERSE} keys of the stream${before}. `}Below are ${DRAWN[world.mode]}.${what}`;
  entry('cell', 'held by all');
  entry('blue', 'not everywhere yet');
  if (!counter) entry('red', 'lost');
  if (!counter && world.mode !== 'reconcile') entry('amber', world.mode === 'window' ? 'older than the window, not forgotten yet' : 'false positive');
}

// ---- which key a cell is -------------------------------------------------------------------------------------------------

let chosen = null, place = null; // the cell, and where the tip is
const chosenCell = () => chosen;

function whoHas(world, number) {
  const key = keyOf(number), alive = world.replicas.filter((replica) => replica.alive), names = (replicas) => listed(replicas.map(({ name }) => name));
  const have = alive.filter((replica) => world.holds(replica, key)), wrong = alive.filter((replica) => !have.includes(replica) && world.has(replica, key));
  const text = have.length === 0 ? 'nobody has it' : have.length === alive.length ? 'at all replicas' : `at ${names(have)}, not at ${names(alive.filter((replica) => !have.includes(replica)))}`;
  return `${key}: ${text}${wrong.length ? `; ${world.mode === 'window' ? 'not forgotten yet' : 'a false positive'} at ${names(wrong)}` : ''}`;
}

// For those who see the tip, and for screen readers, which read the value of the slider that a picture is.
function updateTip(world, canvases) {
  const tip = $('tip');
  tip.hidden = chosen === null || world.mode === 'counter';
  if (tip.hidden) return;
  write(tip, whoHas(world, chosen));
  const width = document.documentElement.clientWidth, half = tip.offsetWidth / 2 + 8;
  tip.style.left = `${Math.max(half, Math.min(width - half, place.x))}px`;
  tip.style.top = `${place.y}px`;
  for (const canvas of canvases) {
    put(canvas, 'aria-valuenow', chosen);
    put(canvas, 'aria-valuetext', tip.textContent);
  }
}

function choose(cell, canvas, redraw) {
  if (cell === chosen) return;
  chosen = cell;
  if (cell !== null) {
    const box = canvas.getBoundingClientRect();
    place = { x: box.left + box.width / 2 + scrollX, y: box.top + scrollY };
  }
  redraw();
}

// `redraw` draws the pictures of all cards, so that the cell is marked on each of them.
function makeInspectable(canvas, redraw) {
  const under = (event) => { const box = canvas.getBoundingClientRect(); return cellAt((event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height); };
  canvas.onpointermove = canvas.onpointerdown = (event) => choose(under(event), canvas, redraw);
  canvas.onpointerleave = (event) => { if (event.pointerType === 'mouse' && document.activeElement !== canvas) choose(null, canvas, redraw); };
  canvas.onblur = () => choose(null, canvas, redraw);
  canvas.onfocus = () => { if (canvas.matches(':focus-visible') && chosen === null) choose(0, canvas, redraw); };
  canvas.onkeydown = (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: COLUMNS, ArrowUp: -COLUMNS, Home: -UNIVERSE, End: UNIVERSE }[event.key];
    if (event.key === 'Escape') choose(null, canvas, redraw);
    if (!by) return;
    event.preventDefault();
    choose(Math.max(0, Math.min(UNIVERSE - 1, (chosen ?? 0) + by)), canvas, redraw);
  };
}

const forgetCell = () => { chosen = null; };

export { drawLegend, updateTip, makeInspectable, chosenCell, forgetCell, prefixes };
