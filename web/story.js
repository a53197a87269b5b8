// The panel of scenarios: which one runs, what there is to see at the moment, how far it is, and which one comes next.
import { SCENARIOS } from './scenarios.js';
import { aNoun } from './simulation.js';
import { $, make, put, write } from './dom.js';

const LAST = 25; // ticks that the last caption takes

for (const { id, title } of SCENARIOS) make($('scenario'), 'option', { value: id }, title);

let shown;

// A bar for each caption, as wide as it takes time. All captions are there, unseen, behind the one that is shown, so that nothing
// below moves when another one is longer.
function drawStory(world) {
  shown = SCENARIOS.find(({ id }) => id === world.scenario);
  const after = SCENARIOS[SCENARIOS.indexOf(shown) + 1];
  $('scenario').value = world.scenario;
  write($('watch'), shown ? shown.watch : `Type ${aNoun(world)} and press ${world.mode === 'counter' ? 'Count' : 'Add'}, cut a line, kill a replica. Or choose a scenario.`);
  put($('watch'), 'class', shown ? 'told' : ''); // captions tell it
  $('next').textContent = !shown ? 'First' : after ? 'Next' : 'Free play';
  if (after || !shown) make($('next'), 'span', {}, ' scenario'); // phones have no room for it
  put($('next'), 'title', !shown ? SCENARIOS[0].title : after?.title ?? 'No script: it is your turn');
  $('next').value = !shown ? SCENARIOS[0].id : after?.id ?? '';
  $('progress').replaceChildren();
  $('captions').replaceChildren($('caption'), ...(shown?.captions ?? []).map(([, text]) => make($('captions'), 'p', { 'aria-hidden': true }, text)));
  for (const [from, to] of parts()) make(make($('progress'), 'span', { style: `flex-grow: ${to - from}` }), 'i');
}

const parts = () => (shown?.captions ?? []).map(([tick], i, all) => [tick, all[i + 1]?.[0] ?? tick + LAST]);

function updateStory(world) {
  const all = parts(), over = shown && world.tick >= all.at(-1)[1];
  write($('caption'), shown?.captions.findLast(([tick]) => tick <= world.tick)[1] ?? '');
  all.forEach(([from, to], i) => put($('progress').children[i].firstChild, 'style', `transform: scaleX(${Math.max(0, Math.min(1, (world.tick - from) / (to - from))).toFixed(2)})`));
  put($('next'), 'class', over ? 'primary' : '');
}

export { drawStory, updateStory };
