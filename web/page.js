// The page of the playground: draws a World (simulation.js) and passes on what the user does.
import { load } from './load.js';
import { World, MODES, UNIVERSE, BEFORE, keyOf, toAddress, fromAddress } from './simulation.js';
import { marksOf } from './frames.js';

const module = new WebAssembly.Module(Uint8Array.from(atob(WASM), (letter) => letter.charCodeAt(0)));
const $ = (id) => document.getElementById(id);
const SVG = 'http://www.w3.org/2000/svg';
const make = (parent, name, attributes = {}, text = '') => {
  const node = parent.namespaceURI === SVG || name === 'svg' ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.textContent = text;
  return parent.appendChild(node);
};
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const grouped = (number) => Math.round(number).toLocaleString('en');
const size = (bytes) => (bytes < 10000 ? `${grouped(bytes)} B` : bytes < 1e7 ? `${grouped(bytes / 1000)} kB` : `${grouped(bytes / 1e6)} MB`);
const rate = (value) => (value === 0 ? '0' : value >= 0.0001 ? `${Number((value * 100).toPrecision(2))} %` : value.toExponential(0));

let world, playing = true, places = [], cards = [], lines = new Map(), nodes = [];

// ---- beginning ---------------------------------------------------------------------------------------------------------

function begin(options) {
  world = new World(load, module, options);
  globalThis.playground = { get world() { return world; }, pause: () => setPlaying(false), run: (ticks) => { for (let i = 0; i < ticks; i++) world.step(); draw(); } };
  drawModes();
  drawMap();
  drawCards();
  drawLegend();
  $('seed').value = world.seed;
  $('count').value = world.count;
  $('about').textContent = MODES[world.mode].text;
  $('remove').disabled = !MODES[world.mode].removes;
  $('remove').title = MODES[world.mode].removes ? '' : 'Only observed-remove filters remove keys';
  $('add').textContent = world.mode === 'counter' ? 'Count' : 'Add';
  document.querySelector('label[for=key]').textContent = world.mode === 'counter' ? 'Operation' : 'Key';
  $('key').placeholder = world.mode === 'counter' ? 'order-17' : 'swift';
  draw();
}

function restart(changes) {
  const { mode, count, seed } = world;
  begin({ mode, count, seed, ...changes });
  history.replaceState(null, '', toAddress(world));
}

function act(...what) {
  world.act(...what);
  history.replaceState(null, '', toAddress(world));
  draw();
}

function drawModes() {
  $('modes').replaceChildren();
  for (const [mode, { title }] of Object.entries(MODES)) {
    const selected = mode === world.mode;
    const tab = make($('modes'), 'button', { role: 'tab', 'aria-selected': selected, tabindex: selected ? 0 : -1, id: `mode-${mode}` }, title);
    tab.onclick = () => { restart({ mode, script: [] }); $(`mode-${mode}`).focus(); };
  }
}
$('modes').onkeydown = (event) => {
  const all = Object.keys(MODES), step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (step) $(`mode-${all[(all.indexOf(world.mode) + step + all.length) % all.length]}`).click();
};

// ---- the network -------------------------------------------------------------------------------------------------------

function drawMap() {
  const map = $('map');
  map.replaceChildren();
  lines.clear();
  const { count } = world;
  places = Array.from({ length: count }, (_, i) => {
    const angle = Math.PI * (-0.5 + (2 * i) / count) - (count === 4 ? Math.PI / 4 : 0);
    const [middle, height] = { 3: [140, 88], 4: [122, 113], 5: [132, 82] }[count];
    return { x: 360 + 270 * Math.cos(angle), y: middle + height * Math.sin(angle) };
  });
  for (const line of world.lines.keys()) {
    const [a, b] = line.split('-').map(Number), ends = { x1: places[a].x, y1: places[a].y, x2: places[b].x, y2: places[b].y };
    const group = make(map, 'g', { class: 'line', role: 'switch', tabindex: 0, 'data-line': line });
    make(group, 'line', { class: 'touch', ...ends });
    make(group, 'line', { class: 'wire', ...ends });
    group.onkeydown = (event) => { if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); act('toggle', line); } };
    lines.set(line, group);
  }
  make(map, 'g', { id: 'packets' });
  nodes = places.map(({ x, y }, i) => {
    const group = make(map, 'g', { class: 'node' });
    make(group, 'circle', { cx: x, cy: y, r: 15 });
    make(group, 'text', { x, y: y + (y > 125 ? 36 : -24) }, world.replicas[i].name);
    return group;
  });
  make(map, 'polyline', { class: 'knife', id: 'knife' });
}

// A drag cuts or heals each line that it crosses; a click the one that it is on.
let trail = null, touched = new Set();
const pointOf = (event) => {
  const matrix = $('map').getScreenCTM().inverse();
  return new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix);
};
const side = (a, b, p) => Math.sign((b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x));
const crosses = (a, b, c, d) => side(a, b, c) !== side(a, b, d) && side(c, d, a) !== side(c, d, b);
$('map').onpointerdown = (event) => {
  trail = [pointOf(event)];
  touched = new Set();
  $('map').setPointerCapture(event.pointerId);
};
$('map').onpointermove = (event) => {
  if (!trail) return;
  const last = trail.at(-1), here = pointOf(event);
  if (Math.hypot(here.x - last.x, here.y - last.y) < 4) return;
  trail.push(here);
  $('knife').setAttribute('points', trail.slice(-24).map(({ x, y }) => `${x},${y}`).join(' '));
  for (const line of world.lines.keys()) {
    const [a, b] = line.split('-').map(Number);
    if (!touched.has(line) && crosses(last, here, places[a], places[b])) { touched.add(line); act('toggle', line); }
  }
};
const endTrail = (event) => {
  if (!trail) return;
  if (trail.length === 1 && event.type === 'pointerup') {
    const hit = document.elementsFromPoint(event.clientX, event.clientY).find((element) => element.closest?.('.line'));
    if (hit) act('toggle', hit.closest('.line').dataset.line);
  }
  trail = null;
  $('knife').setAttribute('points', '');
};
$('map').onpointerup = endTrail;
$('map').onpointercancel = endTrail;

function updateMap(part) {
  for (const [line, group] of lines) {
    const up = world.lines.get(line), [a, b] = line.split('-').map(Number);
    group.classList.toggle('cut', !up);
    group.setAttribute('aria-checked', up);
    group.setAttribute('aria-label', `Line between ${world.replicas[a].name} and ${world.replicas[b].name}: ${up ? 'up' : 'cut'}`);
  }
  world.replicas.forEach((replica, i) => { nodes[i].setAttribute('class', `node${replica.alive ? '' : ' down'}${replica.alive && agrees(replica) ? ' agrees' : ''}`); });
  const packets = $('packets');
  while (packets.childElementCount > world.messages.length) packets.lastChild.remove();
  while (packets.childElementCount < Math.min(world.messages.length, 80)) make(packets, 'circle', { r: 4.5 });
  world.messages.slice(0, 80).forEach(({ from, to, sent, due, ack }, i) => {
    const along = Math.min(1, Math.max(0, (world.tick + part - sent) / (due - sent))), a = places[from], b = places[to], packet = packets.children[i];
    packet.setAttribute('class', ack ? 'packet ack' : 'packet');
    packet.setAttribute('cx', a.x + (b.x - a.x) * along);
    packet.setAttribute('cy', a.y + (b.y - a.y) * along);
  });
}

// ---- cards -------------------------------------------------------------------------------------------------------------

function drawCards() {
  $('cards').replaceChildren();
  $('cards').dataset.count = world.count;
  const chosen = $('at').value;
  $('at').replaceChildren();
  cards = world.replicas.map(({ name, index }) => {
    make($('at'), 'option', { value: index }, name);
    const card = make($('cards'), 'article', { class: 'card', 'aria-label': name });
    const head = make(card, 'header');
    make(head, 'h3', {}, name);
    const count = make(head, 'span', { class: 'size number' });
    const digest = make(card, 'div', { class: 'digest', title: 'The digest of the state: equal digests, equal states' });
    make(digest, 'i');
    const text = make(digest, 'span');
    const canvas = make(card, 'canvas', { width: 480, height: 210, role: 'img' });
    const caption = make(card, 'p', { class: 'caption' });
    const bar = make(card, 'div', { class: 'bar' });
    const buttons = { kill: make(bar, 'button', {}, 'Kill'), backup: make(bar, 'button', {}, 'Back up'), restore: make(bar, 'button', {}, 'Restore') };
    for (const [what, button] of Object.entries(buttons)) button.onclick = () => act(what, index);
    return { card, count, text, canvas, caption, buttons };
  });
  if (chosen && Number(chosen) < world.count) $('at').value = chosen;
}

const agrees = (replica) => {
  const alive = world.replicas.filter((other) => other.alive);
  return alive.length > 1 && alive.some((other) => other !== replica && other.digest === replica.digest);
};

// What the lower half of a card shows, or null.
const drawn = { grow: 'bits of the array that are set', remove: 'hash prefixes', window: 'hash prefixes, paler as they get older', counter: 'hash prefixes of operations', reconcile: null };

function drawLegend() {
  const legend = $('legend'), counter = world.mode === 'counter', entry = (paint, text) => {
    const span = make(legend, 'span');
    make(span, 'i', { style: `background: var(--${paint})` });
    span.append(text);
  };
  legend.replaceChildren();
  const before = world.mode === 'window' ? '' : `; ${BEFORE} others were there before`;
  make(legend, 'span', {}, `${counter ? '' : `Each cell is one of ${UNIVERSE} keys of the stream${before}. `}${drawn[world.mode] ? `Below are the ${drawn[world.mode]}.` : ''}`);
  entry('wire', 'held by all');
  entry('blue', 'not everywhere yet');
  if (!counter) entry('red', 'lost');
  if (!counter && world.mode !== 'reconcile') entry('amber', world.mode === 'window' ? 'older than the window, not forgotten yet' : 'false positive');
}

// Calls `visit` with each thing of one replica, and whether all replicas that are alive have it.
function compared(sets, own, visit) {
  for (const [number, value] of own) visit(value, sets.every((set) => set.has(number)));
}

// Above, a cell for each key of the stream. Below, what the filter has: bits by their place in the array, row by row, or
// prefixes by theirs among all hashes, as if the rows were one line.
const COLUMNS = 40, CELL = 12, BITS = 240, ROWS = 6, MIDDLE = 116, END = 204;
function drawCells(pen, replica, alive) {
  const [blue, plain, red, amber] = ['blue', 'wire', 'red', 'amber'].map(colour), height = drawn[world.mode] ? CELL : 2 * CELL;
  for (let i = 0; i < UNIVERSE; i++) {
    const key = keyOf(i), found = world.has(replica, key), held = world.holds(replica, key);
    if (!found && !held) continue;
    pen.fillStyle = !held ? amber : !found ? red : alive.every((other) => world.holds(other, key)) ? plain : blue;
    pen.fillRect((i % COLUMNS) * CELL + 1, 6 + Math.floor(i / COLUMNS) * height, CELL - 2, height - 2);
  }
}

function drawMarks(pen, replica, alive) {
  const [blue, plain] = ['blue', 'wire'].map(colour), width = pen.canvas.width, array = world.mode === 'grow';
  const step = width / BITS, high = (END - MIDDLE) / ROWS;
  compared(alive.map(({ marks }) => marks), replica.marks, ([number, place, age], everywhere) => {
    pen.fillStyle = everywhere ? plain : blue;
    pen.globalAlpha = 1 - 0.7 * age;
    if (array) pen.fillRect((number % BITS) * step, MIDDLE + Math.floor(number / BITS) * step, step, step);
    else pen.fillRect((place * ROWS % 1) * (width - 3), MIDDLE + Math.floor(place * ROWS) * high, 3, high - 3);
  });
  pen.globalAlpha = 1;
}

function drawCanvas(replica, { canvas }) {
  const pen = canvas.getContext('2d'), alive = world.replicas.filter((other) => other.alive);
  pen.clearRect(0, 0, canvas.width, canvas.height);
  pen.fillStyle = colour('field');
  pen.fillRect(0, 0, canvas.width, canvas.height);
  if (!replica.alive) return;
  if (world.mode === 'counter') {
    pen.fillStyle = colour('ink');
    pen.font = '600 56px system-ui, "Liberation Sans", sans-serif';
    pen.textAlign = 'center';
    pen.fillText(grouped(replica.value), canvas.width / 2, 78);
  } else drawCells(pen, replica, alive);
  if (replica.marks) drawMarks(pen, replica, alive);
}

function updateCards() {
  for (const replica of world.replicas)
    replica.marks = replica.alive && drawn[world.mode] ? new Map(marksOf(replica.frame).map((mark) => [mark[0], mark])) : null;
  world.replicas.forEach((replica, i) => {
    const { card, count, text, canvas, caption, buttons } = cards[i];
    card.className = `card${replica.alive ? '' : ' down'}${replica.alive && agrees(replica) ? ' agrees' : ''}`;
    count.textContent = !replica.alive ? 'killed' : world.mode === 'counter' ? `${grouped(replica.value)} counted` : `${grouped(replica.size ?? 0)} keys`;
    text.textContent = replica.alive ? `${replica.digest.slice(0, 8)} ${replica.digest.slice(8, 16)}` : 'no answer';
    buttons.kill.textContent = replica.alive ? 'Kill' : 'Start';
    buttons.backup.disabled = !replica.alive;
    buttons.restore.disabled = !replica.backup;
    buttons.restore.title = replica.backup ? `Back to tick ${replica.backup.tick}` : 'No backup yet';
    const marks = replica.marks ? `${grouped(replica.marks.size)} ${world.mode === 'grow' ? 'bits set' : 'prefixes'}, ` : '';
    caption.textContent = replica.alive ? `${marks}${size(replica.frame.length)}${marks ? '' : ' as a list'}` : 'Its state is on the disk.';
    canvas.setAttribute('aria-label', `${replica.name}: ${count.textContent}`);
    drawCanvas(replica, cards[i]);
  });
}

// ---- figures -----------------------------------------------------------------------------------------------------------

function list(where, rows) {
  where.replaceChildren();
  for (const [term, value, kind] of rows) {
    make(where, 'dt', {}, term);
    make(where, 'dd', { class: kind ?? '' }, value);
  }
}

function updateFigures() {
  const { lost, returned, wrong, asked, promised, converged } = world.result, { sent, whole, messages, lost: dropped, doubled } = world.bytes;
  $('agreement').className = `panel${converged ? ' converged' : ''}`;
  $('agreement').querySelector('strong').textContent = converged ? 'All digests are equal' : 'Replicas differ';
  const good = (number) => `big ${number === 0 ? 'good' : 'bad'}`;
  const counter = world.mode === 'counter';
  list($('figures'), [
    [counter ? 'Operations lost' : 'Keys lost', grouped(lost), good(lost)], [counter ? 'Counted too often' : 'Keys that came back', grouped(returned), good(returned)],
    ...(asked > 0 ? [['False positives', `${rate(wrong / asked)}`, wrong / asked <= promised * 1.5 + 0.001 ? 'good' : 'bad']] : []),
    ...(promised > 0 ? [['Promised at most', rate(promised)]] : [['Result', 'exact', 'good']]),
  ]);
  list($('bytes'), [['Sent', size(sent)], [world.mode === 'reconcile' ? 'Whole lists' : 'Whole states', size(whole)],
    ['Messages', grouped(messages)], ['Lost, duplicated', `${grouped(dropped)}, ${grouped(doubled)}`]]);
  $('clock').textContent = `tick ${grouped(world.tick)}`;
  $('clock').parentElement.className = `state small${converged ? ' converged' : ''}`;
  $('clock').parentElement.title = converged ? 'All digests are equal' : 'Replicas differ';
  drawChart();
}

function drawChart() {
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

function draw() {
  for (const name of ['delay', 'duplicate', 'loss']) {
    if (document.activeElement !== $(name)) $(name).value = world.network[name];
    $(`${name}-value`).textContent = name === 'delay' ? `${$(name).value} ticks` : `${$(name).value} %`;
  }
  $('stream').checked = world.stream;
  updateMap(0);
  updateCards();
  updateFigures();
}

// ---- controls ----------------------------------------------------------------------------------------------------------

function setPlaying(on) {
  playing = on;
  $('play').textContent = on ? 'Pause' : 'Play';
}
$('play').onclick = () => setPlaying(!playing);
$('step').onclick = () => { setPlaying(false); world.step(); draw(); };
$('restart').onclick = () => restart({ script: world.done });
$('stream').onchange = () => act('stream', $('stream').checked);
$('cut').onclick = () => act('all', false);
$('heal').onclick = () => act('all', true);
for (const name of ['delay', 'duplicate', 'loss']) $(name).oninput = () => draw();
for (const name of ['delay', 'duplicate', 'loss']) $(name).onchange = () => act('set', name, $(name).value);
$('seed').onchange = () => restart({ seed: Math.max(0, Math.min(2 ** 31, Math.floor(Number($('seed').value) || 0))), script: [] });
$('count').onchange = () => restart({ count: Number($('count').value), script: [] });
$('theme').onclick = () => {
  const dark = colour('paper') === '#14181c';
  document.documentElement.dataset.theme = dark ? 'light' : 'dark';
  draw();
};
$('copy').onclick = async () => {
  history.replaceState(null, '', toAddress(world));
  try { await navigator.clipboard.writeText(location.href); $('copy').textContent = 'Copied'; } catch { $('copy').textContent = 'It is in the address bar'; }
  setTimeout(() => { $('copy').textContent = 'Copy address'; }, 2000);
};
$('typed').onsubmit = (event) => { event.preventDefault(); typed('add'); };
$('remove').onclick = () => typed('remove');
function typed(what) {
  const key = $('key').value, replica = world.replicas[Number($('at').value)];
  if (key === '') { $('said').textContent = 'Type a key first.'; return; }
  if (!replica.alive) { $('said').textContent = `${replica.name} is down.`; return; }
  const was = world.mode === 'counter' ? replica.value : world.has(replica, key);
  act(what, replica.index, key);
  $('said').textContent = world.mode === 'counter' ? (replica.value === was ? `${key} was counted before.` : `${key} is counted once.`)
    : what === 'remove' ? (was ? `${key} is removed at ${replica.name}.` : `${key} is not at ${replica.name}.`) : `${key} is ${was ? 'there already' : 'added'} at ${replica.name}.`;
}
window.onhashchange = () => { if (location.hash !== toAddress(world)) begin(fromAddress(location.hash)); };
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => draw());

// ---- time --------------------------------------------------------------------------------------------------------------

const LENGTH = 140; // of a tick, in milliseconds
let last = 0;
function frame(now) {
  if (playing && now - last >= LENGTH) {
    last = now;
    world.step();
    draw();
  } else if (playing) updateMap((now - last) / LENGTH);
  requestAnimationFrame(frame);
}
begin(fromAddress(location.hash));
requestAnimationFrame(frame);
