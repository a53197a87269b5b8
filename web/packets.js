// Messages under way, as dots on a canvas over the map: they move in each frame, and a canvas costs a fraction of moving SVG.
import { $, colour } from './dom.js';

const MOST = 80; // dots
const still = matchMedia('(prefers-reduced-motion: reduce)');
let places = null, scale = null;

new ResizeObserver(() => { scale = null; }).observe($('map'));

/** Where the replicas are, in units of the map, and how large. */
function placePackets(where, radius) {
  places = where.map((place) => ({ ...place, radius }));
  scale = null;
}

// The map's units as pixels of the canvas.
function fit() {
  const canvas = $('packets'), box = $('map').getBoundingClientRect(), ratio = globalThis.devicePixelRatio, { a, e, f } = $('map').getScreenCTM();
  canvas.width = Math.round(box.width * ratio);
  canvas.height = Math.round(box.height * ratio);
  scale = [a * ratio, 0, 0, a * ratio, (e - box.left) * ratio, (f - box.top) * ratio];
}

// The larger, the more bytes. What the network loses gets smaller and never arrives.
function radiusOf({ ack, size, doomed }, along) {
  const whole = ack ? 3.5 : Math.min(11, 2 + Math.log2(Math.max(16, size)) / 1.6);
  return doomed ? whole * (1 - along) : whole;
}

// From rim to rim, so that no dot hides what is in a node.
function placeOf({ from, to }, along, radius) {
  const a = places[from], b = places[to], length = Math.hypot(b.x - a.x, b.y - a.y), rim = a.radius + radius, at = (rim + (length - 2 * rim) * along) / length;
  return [a.x + (b.x - a.x) * at, a.y + (b.y - a.y) * at];
}

/** `part` of a tick has passed since the last one. */
function movePackets({ messages, tick }, part) {
  if (still.matches) return;
  if (!scale) fit();
  const pen = $('packets').getContext('2d');
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.clearRect(0, 0, pen.canvas.width, pen.canvas.height);
  pen.setTransform(...scale);
  for (const message of messages.slice(0, MOST)) {
    const along = Math.min(1, Math.max(0, (tick + part - message.sent) / (message.due - message.sent))), radius = radiusOf(message, along);
    pen.fillStyle = colour(message.ack ? 'soft' : 'blue');
    pen.beginPath();
    pen.arc(...placeOf(message, along, radius), radius, 0, 2 * Math.PI);
    pen.fill();
  }
}

export { placePackets, movePackets };
