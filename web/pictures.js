// The pictures of the cards. Above, a cell for each key of the stream. Below, what the replica has: bits by their place in the
// array, row by row, prefixes by theirs among all hashes, as if the rows were one line, or the other keys of a list.
import { colour, grouped } from './dom.js';
import { UNIVERSE, BEFORE, keyOf } from './simulation.js';
import { marksOf } from './frames.js';

const WIDTH = 480, HEIGHT = 210, COLUMNS = 40, CELL = 12, TOP = 6, MIDDLE = 116; // pixels of a picture
const BITS = 240, ROWS = 6, ROW = 14, LISTED = 60; // bits in a row; rows of prefixes, and their height; keys of a list in a row
const STREAM = Array.from({ length: UNIVERSE }, (_, number) => keyOf(number)), streamed = new Set(STREAM);

// Rectangles into an array of pixels: thousands of them cost less than as many calls of a canvas.
class Pixels {
  constructor(canvas) {
    this.pen = canvas.getContext('2d');
    this.image = this.pen.createImageData(WIDTH, HEIGHT);
    this.dots = new Uint32Array(this.image.data.buffer);
  }
  rectangle(left, top, width, height, paint) {
    const { dots } = this, first = top * WIDTH + left;
    for (let row = first; row < first + height * WIDTH; row += WIDTH) for (let at = row; at < row + width; at++) dots[at] = paint;
  }
  show() { this.pen.putImageData(this.image, 0, 0); }
}

// A colour as a pixel, mixed with the ground.
const paints = new Map();
function paintOf(name, ground = 0) {
  const [from, to] = [colour(name), colour('field')], id = `${from}${to}${ground}`;
  if (!paints.has(id)) {
    const [a, b] = [from, to].map((text) => text.match(/\d+/g).map(Number)), [red, green, blue] = [0, 1, 2].map((i) => Math.round(a[i] * (1 - ground) + b[i] * ground));
    paints.set(id, ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0);
  }
  return paints.get(id);
}

// ---- what a replica has ----------------------------------------------------------------------------------------------------

// The keys of a list that are not of the stream: those that were there before, then the typed ones.
function listMarks(world, keys) {
  const marks = [];
  for (let i = 0; i < BEFORE; i++) if (keys.has(`before-${i}`)) marks.push([i]);
  [...world.everTyped].forEach((key, i) => { if (keys.has(key) && !streamed.has(key)) marks.push([BEFORE + i]); });
  return marks;
}

// Each number once: two additions of a key have the same prefix.
const distinct = (marks) => [...new Map(marks.map((mark) => [mark[0], mark])).values()];

// Replicas with equal digests share their marks, and a state that stays is not read again.
function readMarks(world) {
  const known = new Map(world.replicas.filter(({ marks }) => marks).map(({ marks, drawn }) => [drawn, marks]));
  for (const replica of world.replicas) {
    const { alive, digest, frame } = replica;
    if (alive && !known.has(digest)) known.set(digest, distinct(world.mode === 'reconcile' ? listMarks(world, replica.filter) : marksOf(frame)));
    Object.assign(replica, { drawn: digest, marks: alive ? known.get(digest) : null });
  }
}

// How many of some sets of marks have a number. Those of bits are small, and many.
function countsOf(mode, sets) {
  if (mode !== 'grow') {
    const map = new Map();
    for (const marks of sets) for (const [number] of marks) map.set(number, (map.get(number) ?? 0) + 1);
    return (number) => map.get(number);
  }
  const counts = new Uint8Array(BITS * BITS);
  for (const marks of sets) for (let i = 0; i < marks.length; i++) counts[marks[i][0]]++;
  return (number) => counts[number];
}

// ---- drawing ---------------------------------------------------------------------------------------------------------------

const answersOf = (world, { filter }) => (filter.hasMany ? filter.hasMany(STREAM) : STREAM.map((key) => world.has({ filter }, key)));

// For each key of the stream, how many replicas hold it.
function holders(world, alive) { return STREAM.map((key) => alive.reduce((count, replica) => count + world.holds(replica, key), 0)); }

function drawCells(world, pixels, replica, everywhere) {
  const [blue, plain, red, amber, empty] = ['blue', 'cell', 'red', 'amber', 'empty'].map((name) => paintOf(name)), found = answersOf(world, replica);
  STREAM.forEach((key, i) => {
    const held = world.holds(replica, key), paint = held ? (!found[i] ? red : everywhere[i] ? plain : blue) : found[i] ? amber : empty;
    pixels.rectangle((i % COLUMNS) * CELL + 1, TOP + Math.floor(i / COLUMNS) * CELL, CELL - 2, CELL - 2, paint);
  });
}

// In a window, prefixes get paler with time: a state has no clock, and keeps those that no query finds until the next addition.
function paintOfAge(name, since, until, now) {
  return now < until ? paintOf(name, 0.7 * ((now - since) / (until - since))) : paintOf('empty');
}

// `shared` tells whether all replicas have a mark.
function drawMarks({ mode, now }, pixels, marks, shared) {
  const plain = paintOf('cell'), blue = paintOf('blue');
  for (let i = 0; i < marks.length; i++) {
    const [number, place, since, until] = marks[i], isShared = shared(number), solid = isShared ? plain : blue;
    if (mode === 'grow') pixels.rectangle((number % BITS) * 2, MIDDLE + Math.floor(number / BITS) * 3, 2, 3, solid);
    else if (mode === 'reconcile') pixels.rectangle((number % LISTED) * 8 + 1, MIDDLE + Math.floor(number / LISTED) * 8, 6, 6, solid);
    else pixels.rectangle(Math.floor(((place * ROWS) % 1) * (WIDTH - 3)), MIDDLE + Math.floor(place * ROWS) * ROW, 3, ROW - 3, mode === 'window' ? paintOfAge(isShared ? 'cell' : 'blue', since, until, now) : solid);
  }
}

function drawNumber(pen, text) {
  pen.fillStyle = colour('ink');
  pen.font = '600 56px system-ui, "Liberation Sans", sans-serif';
  pen.textAlign = 'center';
  pen.fillText(text, WIDTH / 2, 78);
}

function drawChosen(pen, cell) {
  pen.strokeStyle = colour('ink');
  pen.lineWidth = 3;
  pen.strokeRect((cell % COLUMNS) * CELL - 1, TOP - 2 + Math.floor(cell / COLUMNS) * CELL, CELL + 2, CELL + 2);
}

// `chosen` is the cell that the user points at, or null.
function drawPictures(world, pictures, chosen) {
  const alive = world.replicas.filter((replica) => replica.alive), isCounter = world.mode === 'counter', ground = paintOf('field');
  const everywhere = isCounter ? [] : holders(world, alive).map((count) => count === alive.length);
  const sets = [...new Set(alive.map(({ marks }) => marks))], count = sets.length > 1 ? countsOf(world.mode, sets) : null, shared = (number) => !count || count(number) === sets.length;
  world.replicas.forEach((replica, i) => {
    const pixels = pictures[i];
    pixels.dots.fill(ground);
    if (replica.alive && !isCounter) drawCells(world, pixels, replica, everywhere);
    if (replica.alive) drawMarks({ mode: world.mode, now: world.now() }, pixels, replica.marks, shared);
    pixels.show();
    if (replica.alive && isCounter) drawNumber(pixels.pen, grouped(replica.value));
    if (chosen !== null && !isCounter) drawChosen(pixels.pen, chosen);
  });
}

// Which cell is at a place of a picture, given from 0 to 1, or null.
function cellAt(x, y) {
  const column = Math.floor((x * WIDTH) / CELL), row = Math.floor((y * HEIGHT - TOP) / CELL), cell = row * COLUMNS + column;
  return row < 0 || column < 0 || column >= COLUMNS || cell >= UNIVERSE ? null : cell;
}

export { Pixels, readMarks, drawPictures, cellAt, WIDTH, HEIGHT, COLUMNS };
