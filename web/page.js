// The page of the playground: shows a World (simulation.js) and passes on what the user does.
import { load } from './load.js';
import { World, MODES, WORST, MOST_ACTS, MOST_TYPED, noun, aNoun, wellFormed } from './simulation.js';
import { SCENARIOS } from './scenarios.js';
import { toAddress, fromAddress, optionsOf } from './address.js';
import { answerOf } from './typed.js';
import { $, counted, forgetColours, make, put, write } from './dom.js';
import { drawMap, updateMap } from './map.js';
import { movePackets } from './packets.js';
import { drawLegend } from './cells.js';
import { drawCards, redrawPictures, updateCards } from './cards.js';
import { hindrance } from './agreement.js';
import { updateFigures } from './figures.js';
import { drawStory, updateStory } from './story.js';

let module, world, playing = true, untilEqual = false;

function sorry(text) {
  $('sorry').textContent = text;
  $('sorry').hidden = false;
}

// ---- beginning ---------------------------------------------------------------------------------------------------------

function begin(options) {
  world?.free();
  world = new World(load, module, options);
  untilEqual = false;
  moved = null;
  globalThis.playground = { get world() { return world; }, pause: () => setPlaying(false), run: (ticks) => { for (let i = 0; i < ticks; i++) world.step(); draw(); } };
  const { removes, text } = MODES[world.mode], counter = world.mode === 'counter';
  for (const mode of Object.keys(MODES)) {
    put($(`mode-${mode}`), 'aria-checked', mode === world.mode);
    put($(`mode-${mode}`), 'tabindex', mode === world.mode ? 0 : -1);
  }
  drawMap(world, act);
  drawCards(world, act, pick);
  drawLegend(world);
  drawStory(world);
  $('seed').value = world.seed;
  $('count').value = world.count;
  $('about').textContent = text;
  $('remove').hidden = $('remove').disabled = !removes;
  $('check').hidden = $('check').disabled = counter; // a counter has no query
  document.querySelector('.sliders').hidden = world.mode === 'reconcile';
  $('atomic').hidden = world.mode !== 'reconcile';
  $('add').textContent = counter ? 'Count' : 'Add';
  document.querySelector('label[for=key]').textContent = counter ? 'Operation' : 'Key';
  $('streamed').textContent = `Stream of ${noun(world)}s`;
  put($('streamed').parentElement, 'title', removes ? 'Additions and removals, at random replicas' : counter ? 'Operations and retries, at random replicas' : 'Additions, at random replicas');
  $('key').placeholder = counter ? 'order-17' : 'swift';
  $('sorry').hidden = true;
  silence();
  draw();
}

function restart(changes) {
  const { mode, count, seed } = world;
  begin({ mode, count, seed, ...changes });
  saveAddress();
}

// What was said of the last act goes with the next one.
function silence() { for (const id of ['said', 'refused']) write($(id), ''); }

function act(...what) {
  silence();
  world.act(...what);
  saveAddress();
  draw();
}

// Browsers refuse many changes of the address at once.
let saving = null;
function saveAddress() { saving ??= setTimeout(saveNow, 250); }
function saveNow() {
  clearTimeout(saving);
  saving = null;
  try { history.replaceState(null, '', toAddress(world)); } catch { /* too many, or too long: the page goes on without */ }
}

for (const [mode, { title, kind }] of Object.entries(MODES)) {
  const choice = make($('modes'), 'button', { type: 'button', role: 'radio', id: `mode-${mode}` });
  make(choice, 'span', {}, title);
  choice.append(' ');
  make(choice, 'small', {}, kind);
  choice.onclick = () => restart({ mode, script: [] });
}
$('modes').onkeydown = (event) => {
  const all = Object.keys(MODES), by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (!by) return;
  event.preventDefault();
  const choice = $(`mode-${all[(all.indexOf(world.mode) + by + all.length) % all.length]}`);
  choice.click();
  choice.focus();
};

// ---- scenarios ---------------------------------------------------------------------------------------------------------

function tell(name) {
  const scenario = SCENARIOS.find(({ id }) => id === name);
  restart(scenario ? optionsOf(scenario) : { script: [] });
  setPlaying(true);
}
$('scenario').onchange = () => tell($('scenario').value);
$('next').onclick = () => tell($('next').value);

// ---- drawing -----------------------------------------------------------------------------------------------------------

const SLIDERS = Object.keys(WORST);
let moved = null; // the slider that the user holds
function draw() {
  for (const name of SLIDERS) {
    if (name !== moved) $(name).value = world.network[name];
    write($(`${name}-value`), name === 'delay' ? counted(Number($(name).value), 'tick') : `${$(name).value} %`);
  }
  $('stream').checked = world.stream;
  left = [];
  for (const draws of PARTS) draws();
}
// What a tick changes.
const PARTS = [() => { updateStory(world); updateMap(); }, updateCards, redrawPictures, () => updateFigures(world)];
let left = []; // parts of the last tick that are not drawn yet

// ---- controls ----------------------------------------------------------------------------------------------------------

function setPlaying(on) {
  playing = on;
  if (!on) untilEqual = false;
  write($('play'), on ? 'Pause' : 'Play');
  put($('play'), 'class', on ? '' : 'primary');
}
$('play').onclick = () => setPlaying(!playing);
$('step').onclick = () => { setPlaying(false); world.step(); draw(); };
$('restart').onclick = () => {
  const hasStopped = !$('sorry').hidden; // by an error: the message says that this goes on
  restart({ scenario: world.scenario, script: [...world.done, ...world.script] });
  if (hasStopped) setPlaying(true);
};
$('equal').onclick = () => {
  silence();
  const why = hindrance(world);
  if (why) { write($('refused'), why); return; }
  if (world.stream) act('stream', false);
  setPlaying(true);
  untilEqual = true;
};
$('stream').onchange = () => act('stream', $('stream').checked);
$('cut').onclick = () => act('all', false);
$('heal').onclick = () => act('all', true);
for (const name of SLIDERS) {
  $(name).max = WORST[name];
  $(name).oninput = () => { moved = Number($(name).value) === world.network[name] ? null : name; draw(); }; // back where it was, it is no change
  $(name).onchange = () => { moved = null; act('set', name, Number($(name).value)); };
}
$('seed').onchange = () => restart({ seed: Math.max(0, Math.min(2 ** 31 - 1, Math.floor(Number($('seed').value) || 0))), script: [] });
$('count').onchange = () => restart({ count: Number($('count').value), script: [] });
$('copy').onclick = async () => {
  saveNow();
  try { await navigator.clipboard.writeText(new URL(toAddress(world), location.href).href); $('copy').textContent = 'Copied'; } catch { $('copy').textContent = 'It is in the address bar'; }
  if (world.done.length >= MOST_ACTS) $('copy').textContent = `Copied the first ${MOST_ACTS} acts`;
  setTimeout(() => { $('copy').textContent = 'Copy address'; }, 2000);
};

// ---- typed keys --------------------------------------------------------------------------------------------------------

$('typed').onsubmit = (event) => { event.preventDefault(); typed('add'); };
$('remove').onclick = () => typed('remove');
$('check').onclick = () => {
  const { key, replica } = asked();
  $('said').textContent = refusal(key, replica) ?? answerOf(world, replica, key);
};
$('key').oninput = $('at').onchange = silence;
const asked = () => ({ key: wellFormed($('key').value.trim()), replica: world.replicas[Number($('at').value)] });
function pick(key, index) {
  $('key').value = key;
  $('at').value = index;
  silence();
  $('key').focus();
}
function typed(what) {
  const { key, replica } = asked();
  $('said').textContent = refusal(key, replica) ?? full(key) ?? typedAt(what, key, replica);
}
function refusal(key, replica) {
  if (key === '') return `Type ${aNoun(world)} first.`;
  return replica.alive ? null : `${replica.name} is killed. Start it first.`;
}
function full(key) {
  return world.everTyped.size >= MOST_TYPED && !world.everTyped.has(key) ? `The playground takes ${MOST_TYPED} typed ${noun(world)}s. Choose a mode for a new run.` : null;
}
function typedAt(what, key, replica) {
  const counter = world.mode === 'counter', was = counter ? replica.value : world.holds(replica, key); // not what the filter takes for one of its own
  act(what, replica.index, key);
  if (counter) return replica.value === was ? `${key} was counted before.` : `${key} is counted once.`;
  if (what === 'remove') return was ? `${key} is removed at ${replica.name}.` : `${key} is not at ${replica.name}.`;
  return `${key} is ${was ? 'there already' : 'added'} at ${replica.name}.`;
}

window.onhashchange = () => { if (world && location.hash !== toAddress(world)) begin(fromAddress(location.hash)); };

// ---- themes ------------------------------------------------------------------------------------------------------------

const { documentElement: root } = document, isDark = () => getComputedStyle(root).colorScheme === 'dark';
const stored = (call) => { try { return call(localStorage); } catch { return null; } }; // pages of files may have no storage

function repaint() {
  forgetColours();
  write($('theme'), isDark() ? 'Light theme' : 'Dark theme');
  if (world) draw();
}
function chooseTheme(theme) {
  if (['dark', 'light'].includes(theme)) root.dataset.theme = theme;
  repaint();
}
$('theme').onclick = () => {
  chooseTheme(isDark() ? 'light' : 'dark');
  stored((storage) => storage.setItem('theme', root.dataset.theme));
};
for (const query of ['(prefers-color-scheme: dark)', '(forced-colors: active)']) matchMedia(query).addEventListener('change', repaint);
chooseTheme(stored((storage) => storage.getItem('theme')));

// ---- time --------------------------------------------------------------------------------------------------------------

const LENGTH = 140; // of a tick, in milliseconds
const speed = () => Number($('speed').value); // browsers set it when users come back to the page
let last = 0;

function tick() {
  world.step();
  if (untilEqual && world.result.converged) setPlaying(false);
  left = [...PARTS];
  if (speed() > 1 || !playing) draw();
}

// At most one tick a frame: a tab that was in the background goes on where it was. What a tick changes is drawn in the frames
// after it, a part in each, so that no frame takes long.
function frame(now) {
  const length = LENGTH / speed();
  try {
    if (left.length > 0) left.shift()();
    else if (playing && now - last >= length) {
      last = now - last > 2 * length ? now : last + length;
      tick();
    }
    if (playing) movePackets(world, Math.max(0, (now - last) / length));
  } catch (error) {
    setPlaying(false);
    sorry(`The run stopped: ${error.message}. Press Restart to go on.`);
    reportError(error);
  }
  requestAnimationFrame(frame);
}

// The module is in the page gzipped, which halves the page.
async function compiled() {
  const packed = Uint8Array.from(atob(WASM), (letter) => letter.charCodeAt(0));
  return WebAssembly.compile(await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer());
}

async function start() {
  const missing = ['WebAssembly', 'DecompressionStream'].find((name) => !(name in globalThis));
  if (missing) { sorry(`This browser has no ${missing}, which the playground needs.`); return; }
  try {
    module = await compiled();
    begin(fromAddress(location.hash));
  } catch (error) {
    sorry(`This browser cannot run the playground's WebAssembly module: ${error.message}`);
    return;
  }
  document.documentElement.dataset.ready = ''; // style.css shows the controls
  requestAnimationFrame(frame);
}
start();
