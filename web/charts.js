// Lines over the ticks of a run. They are SVG, so that themes, zoom and screens of any width need no drawing of ours.
import { make, put } from './dom.js';

const WIDTH = 300, HEIGHT = 100, MOST = 200; // units; points

function lineOf(svg, name, shape) { return svg.querySelector(`.${name}`) ?? make(svg, shape, { class: name, 'vector-effect': 'non-scaling-stroke' }); }

/** `lines` have a class of style.css and a property of the points; `most` is the value at the top, `limit` one that is marked. */
function drawLines(svg, points, { lines, most, limit = null, text }) {
  const span = Math.max(1, points.at(-1)?.tick ?? 1), skip = Math.ceil(points.length / MOST), height = (value) => (HEIGHT - 2 - (HEIGHT - 4) * (value / most)).toFixed(1);
  const shown = points.filter((_, i) => (points.length - 1 - i) % skip === 0);
  put(svg, 'viewBox', `0 0 ${WIDTH} ${HEIGHT}`);
  put(svg, 'preserveAspectRatio', 'none');
  put(svg, 'aria-label', text);
  if (limit !== null) for (const [name, value] of Object.entries({ x1: 0, x2: WIDTH, y1: height(limit), y2: height(limit) })) put(lineOf(svg, 'limit', 'line'), name, value);
  for (const [name, property] of lines) put(lineOf(svg, name, 'polyline'), 'points', shown.map((point) => `${((WIDTH * point.tick) / span).toFixed(1)},${height(point[property])}`).join(' '));
}

export { drawLines };
