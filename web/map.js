// The network: replicas and the lines between them. A drag cuts or heals each line that it crosses, a click
// or Enter the one that it is on.
import { $, agrees, grouped, make, put, write } from './dom.js';
import { movePackets, placePackets } from './packets.js';

const FINGER = 14, MOUSE = 11; // how near a line is hit: pixels of the page, units of the map
const RADIUS = 20, NAME = 27; // of a replica, and how far its name is
const narrow = matchMedia('(max-width: 520px)');
let world, act, places = [], nodes = [];
const lines = new Map();

// Replicas are on an ellipse that fills the map: on a phone the map is higher for its width, so that fingers have room.
function arrange(count) {
  const [width, height] = narrow.matches ? [360, 262] : [600, 226], left = 64, top = RADIUS + NAME - 4;
  const angles = Array.from({ length: count }, (_, i) => Math.PI * (-0.5 + (2 * i) / count) - (count === 4 ? Math.PI / 4 : 0));
  const spread = (values, from, to) => { const least = Math.min(...values), most = Math.max(...values); return values.map((value) => from + ((value - least) / (most - least)) * (to - from)); };
  const xs = spread(angles.map(Math.cos), left, width - left), ys = spread(angles.map(Math.sin), top, height - top);
  put($('map'), 'viewBox', `0 0 ${width} ${height}`);
  return xs.map((x, i) => ({ x, y: ys[i], below: ys[i] > height / 2 }));
}

function drawMap(shown, onAct) {
  world = shown;
  act = onAct;
  const map = $('map');
  endTrail();
  map.replaceChildren();
  lines.clear();
  places = arrange(world.count);
  for (const line of world.lines.keys()) drawLine(map, line);
  placePackets(places, RADIUS);
  nodes = places.map(({ x, y, below }, i) => {
    const group = make(map, 'g', { class: 'node' });
    make(group, 'circle', { cx: x, cy: y, r: RADIUS });
    make(group, 'text', { class: 'name', x, y: y + (below ? NAME + 11 : -NAME) }, world.replicas[i].name);
    return { group, count: make(group, 'text', { class: 'count', x, y: y + 4.5 }) };
  });
  make(map, 'polyline', { class: 'knife', id: 'knife' });
}
narrow.addEventListener('change', () => { if (world) { drawMap(world, act); updateMap(); } });

function drawLine(map, line) {
  const [a, b] = line.split('-').map(Number), ends = { x1: places[a].x, y1: places[a].y, x2: places[b].x, y2: places[b].y };
  const group = make(map, 'g', { class: 'line', role: 'switch', tabindex: 0, 'data-line': line, 'aria-label': `Line between ${world.replicas[a].name} and ${world.replicas[b].name}` });
  make(group, 'line', { class: 'touch', ...ends });
  make(group, 'line', { class: 'wire', ...ends });
  group.onkeydown = (event) => { if ((event.key === 'Enter' || event.key === ' ') && !event.repeat) { event.preventDefault(); act('toggle', line); } };
  group.onclick = ({ detail }) => { if (detail === 0) act('toggle', line); }; // of a screen reader; a pointer's click counts itself
  lines.set(line, group);
}

// ---- dragging ----------------------------------------------------------------------------------------------------------

let trail = null, touched = new Set(), pointer = null;
const pointOf = (event) => new DOMPoint(event.clientX, event.clientY).matrixTransform($('map').getScreenCTM().inverse());
const side = (a, b, p) => Math.sign((b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x));
const crosses = (a, b, c, d) => side(a, b, c) !== side(a, b, d) && side(c, d, a) !== side(c, d, b);

// The line at most so far from a pointer, or undefined: a finger is wider than the point of a mouse. All lines of a replica meet in
// its circle, where none of them is meant.
function lineNear(event, isTouch) {
  const point = pointOf(event);
  if (places.some(({ x, y }) => Math.hypot(x - point.x, y - point.y) <= RADIUS)) return undefined;
  const reach = isTouch ? FINGER / $('map').getScreenCTM().a : MOUSE, distance = (line) => {
    const [a, b] = line.split('-').map((index) => places[index]), [x, y] = [b.x - a.x, b.y - a.y];
    const along = Math.max(0, Math.min(1, ((point.x - a.x) * x + (point.y - a.y) * y) / (x * x + y * y)));
    return Math.hypot(a.x + along * x - point.x, a.y + along * y - point.y);
  };
  return [...world.lines.keys()].map((line) => [distance(line), line]).filter(([far]) => far <= reach).sort((a, b) => a[0] - b[0])[0]?.[1];
}

// A finger scrolls the page unless it starts near a line. (`touch-action` on a line would hold for the rectangle around it.)
$('map').addEventListener('touchstart', (event) => { if (event.touches.length === 1 && lineNear(event.touches[0], true)) event.preventDefault(); }, { passive: false });

$('map').onpointerdown = (event) => {
  if (trail || event.button !== 0) return; // a second finger, or another button
  trail = [pointOf(event)];
  pointer = event.pointerId;
  touched = new Set();
  try { $('map').setPointerCapture(pointer); } catch { /* the pointer is gone already */ }
};
$('map').onpointermove = (event) => {
  if (!trail || event.pointerId !== pointer) return;
  const last = trail.at(-1), here = pointOf(event);
  if (Math.hypot(here.x - last.x, here.y - last.y) < 4) return;
  trail = [...trail.slice(-23), here];
  $('knife').setAttribute('points', trail.map(({ x, y }) => `${x},${y}`).join(' '));
  for (const line of world.lines.keys()) {
    const [a, b] = line.split('-').map(Number);
    if (!touched.has(line) && crosses(last, here, places[a], places[b])) { touched.add(line); act('toggle', line); }
  }
};
function endTrail() {
  trail = pointer = null;
  $('knife')?.setAttribute('points', '');
}
$('map').onpointerup = (event) => {
  if (!trail || event.pointerId !== pointer) return;
  const hit = trail.length === 1 && lineNear(event, event.pointerType === 'touch');
  if (hit) act('toggle', hit);
  endTrail();
};
document.addEventListener('keydown', ({ key }) => { if (key === 'Escape') endTrail(); });
for (const name of ['pointercancel', 'lostpointercapture']) $('map').addEventListener(name, (event) => { if (event.pointerId === pointer) endTrail(); });

// ---- drawing -----------------------------------------------------------------------------------------------------------

function updateMap() {
  for (const [line, group] of lines) {
    const up = world.lines.get(line);
    put(group, 'class', up ? 'line' : 'line cut');
    put(group, 'aria-checked', up);
  }
  world.replicas.forEach(updateNode);
  movePackets(world, 0);
}

// In a node is how many keys the replica holds, or the value of a counter.
function updateNode(replica, i) {
  const { group, count } = nodes[i], equal = agrees(world, replica);
  put(group, 'class', `node${replica.alive ? '' : ' down'}${equal ? ' agrees' : ''}${equal && world.result.converged ? ' all' : ''}`);
  write(count, !replica.alive ? '×' : grouped(world.mode === 'counter' ? replica.value : replica.size));
}

export { drawMap, updateMap };
