// The pictures of the cards. Above, a cell for each key of the stream. Below, what the filter has: bits by their place in the
// array, row by row, or prefixes by theirs among all hashes, as if the rows were one line.
import { $, colour, grouped, listed, make, put, write } from './dom.js';
import { UNIVERSE, BEFORE, keyOf } from './simulation.js';
import { marksOf } from './frames.js';

const COLUMNS = 40, CELL = 12, TOP = 6, BITS = 240, ROWS = 6, MIDDLE = 116, END = 204;
// What the lower half of a card shows, or null.
const drawn = { grow: 'bits of the array that are set', remove: 'prefixes', window: 'prefixes, paler as they get older', counter: 'prefixes of operations’ hashes', reconcile: null };
const PREFIXES = 'A prefix is the stored first bits of a key’s hash';
const heightOf = (world) => (drawn[world.mode] ? CELL : 2 * CELL);

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
  const before = world.mode === 'window' ? '' : `; ${BEFORE} others were there before`;
  const prefixes = world.mode === 'grow' || !drawn[world.mode] ? '' : ` ${PREFIXES}.`;
  $('cells').textContent = `${counter ? '' : `Each cell is one of ${UNIVERSE} keys of the stream${before}. `}${drawn[world.mode] ? `Below are the ${drawn[world.mode]}.${prefixes}` : ''}`;
  entry('cell', 'held by all');
  entry('blue', 'not everywhere yet');
  if (!counter) entry('red', 'lost');
  if (!counter && world.mode !== 'reconcile') entry('amber', world.mode === 'window' ? 'older than the window, not forgotten yet' : 'false positive');
}

// ---- drawing -----------------------------------------------------------------------------------------------------------

function readMarks(world) {
  for (const replica of world.replicas)
    replica.marks = replica.alive && drawn[world.mode] ? new Map(marksOf(replica.frame).map((mark) => [mark[0], mark])) : null;
}

function drawCells(world, pen, replica, alive) {
  const [blue, plain, red, amber] = ['blue', 'cell', 'red', 'amber'].map(colour), height = heightOf(world);
  for (let i = 0; i < UNIVERSE; i++) {
    const key = keyOf(i), found = world.has(replica, key), held = world.holds(replica, key);
    if (!found && !held) continue;
    pen.fillStyle = !held ? amber : !found ? red : alive.every((other) => world.holds(other, key)) ? plain : blue;
    pen.fillRect((i % COLUMNS) * CELL + 1, TOP + Math.floor(i / COLUMNS) * height, CELL - 2, height - 2);
  }
}

function drawMarks(world, pen, replica, alive) {
  const [blue, plain] = ['blue', 'cell'].map(colour), width = pen.canvas.width, array = world.mode === 'grow';
  const step = width / BITS, high = (END - MIDDLE) / ROWS;
  for (const [number, [, place, age]] of replica.marks) {
    pen.fillStyle = alive.every(({ marks }) => marks.has(number)) ? plain : blue;
    pen.globalAlpha = 1 - 0.7 * age;
    if (array) pen.fillRect((number % BITS) * step, MIDDLE + Math.floor(number / BITS) * step, step, step);
    else pen.fillRect((place * ROWS % 1) * (width - 3), MIDDLE + Math.floor(place * ROWS) * high, 3, high - 3);
  }
  pen.globalAlpha = 1;
}

function drawPicture(world, replica, canvas) {
  const pen = canvas.getContext('2d'), alive = world.replicas.filter((other) => other.alive);
  pen.fillStyle = colour('field');
  pen.fillRect(0, 0, canvas.width, canvas.height);
  if (replica.alive && world.mode === 'counter') {
    pen.fillStyle = colour('ink');
    pen.font = '600 56px system-ui, "Liberation Sans", sans-serif';
    pen.textAlign = 'center';
    pen.fillText(grouped(replica.value), canvas.width / 2, 78);
  } else if (replica.alive) drawCells(world, pen, replica, alive);
  if (replica.marks) drawMarks(world, pen, replica, alive);
  if (chosen !== null && world.mode !== 'counter') {
    pen.strokeStyle = colour('ink');
    pen.lineWidth = 3;
    pen.strokeRect((chosen % COLUMNS) * CELL - 1, TOP - 2 + Math.floor(chosen / COLUMNS) * heightOf(world), CELL + 2, heightOf(world) + 2);
  }
}

// ---- which key a cell is -------------------------------------------------------------------------------------------------

let chosen = null, place = null; // the cell, and where the tip is

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
function makeInspectable(canvas, world, redraw) {
  const cellAt = (event) => {
    const box = canvas.getBoundingClientRect(), column = Math.floor(((event.clientX - box.left) / box.width) * canvas.width / CELL);
    const row = Math.floor((((event.clientY - box.top) / box.height) * canvas.height - TOP) / heightOf(world)), cell = row * COLUMNS + column;
    return row < 0 || column < 0 || column >= COLUMNS || cell >= UNIVERSE ? null : cell;
  };
  canvas.onpointermove = canvas.onpointerdown = (event) => choose(cellAt(event), canvas, redraw);
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

export { drawLegend, readMarks, drawPicture, updateTip, makeInspectable, forgetCell, drawn, PREFIXES };
