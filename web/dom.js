// Making and changing the nodes of the page.

const $ = (id) => document.getElementById(id);
const SVG = 'http://www.w3.org/2000/svg';
const make = (parent, name, attributes = {}, text = '') => {
  const node = parent.namespaceURI === SVG || name === 'svg' ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.textContent = text;
  return parent.appendChild(node);
};
// Only what differs is written, so that screen readers have nothing to repeat.
const put = (node, name, value) => { if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value); };
const write = (node, text) => { if (node.textContent !== text) node.textContent = text; };

// The colours of style.css as `rgb(...)`, system colours too. Looking them up takes long, so they are kept until the theme changes.
const palette = new Map();
function colour(name) {
  if (!palette.has(name)) {
    const probe = make(document.body, 'i', { hidden: '', style: `color: var(--${name}); forced-color-adjust: none` });
    palette.set(name, getComputedStyle(probe).color);
    probe.remove();
  }
  return palette.get(name);
}
const forgetColours = () => palette.clear();
const numbers = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const grouped = (number) => numbers.format(number);
const counted = (number, one, more = `${one}s`) => `${grouped(number)} ${number === 1 ? one : more}`;
const size = (bytes) => (bytes < 10000 ? `${grouped(bytes)} B` : bytes < 1e7 ? `${grouped(bytes / 1000)} kB` : `${grouped(bytes / 1e6)} MB`);
const rate = (value) => (value === 0 ? '0' : value >= 1e-6 ? `${Number((value * 100).toPrecision(2))} %` : `1 in ${grouped(1 / value)}`);
const listed = (words) => (words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`);

// Whether another replica that is alive has the same digest.
const agrees = (world, replica) => replica.alive && world.replicas.some((other) => other !== replica && other.alive && other.digest === replica.digest);

export { $, make, put, write, colour, forgetColours, grouped, counted, size, rate, listed, agrees };
