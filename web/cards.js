// The cards of the replicas: digest, picture, typed keys and what can be done to them.
import { $, agrees, colour, counted, grouped, make, put, size, write } from './dom.js';
import { UNIVERSE, noun } from './simulation.js';
import { chosenCell, forgetCell, makeInspectable, updateTip, prefixes } from './cells.js';
import { Pixels, drawPictures, readMarks, WIDTH, HEIGHT } from './pictures.js';

let world, cards = [], pick, pictured;

// `onPick` is called with a typed key and a replica when the user presses its chip.
function drawCards(shown, act, onPick) {
  world = shown;
  pick = onPick;
  pictured = null;
  forgetCell();
  const chosen = $('at').value;
  $('cards').replaceChildren();
  $('cards').dataset.count = world.count;
  $('at').replaceChildren();
  cards = world.replicas.map((replica) => drawCard(replica, act));
  if (chosen && Number(chosen) < world.count) $('at').value = chosen;
}

function drawCard({ name, index }, act) {
  make($('at'), 'option', { value: index }, name);
  const card = make($('cards'), 'article', { class: 'card', 'aria-label': name }), head = make(card, 'header');
  make(head, 'h3', {}, name);
  const count = make(head, 'span', { class: 'size number' });
  const digest = make(card, 'div', { class: 'digest' });
  make(digest, 'i');
  const text = make(digest, 'span'), same = make(digest, 'span', { class: 'same' });
  const chips = make(card, 'div', { class: 'chips', role: 'toolbar', 'aria-orientation': 'vertical', 'aria-label': `Typed ${noun(world)}s at ${name}` });
  chips.onkeydown = moveAmongChips;
  const canvas = make(card, 'canvas', { width: WIDTH, height: HEIGHT });
  if (world.mode === 'counter') put(canvas, 'role', 'img');
  else {
    for (const [attribute, value] of Object.entries({ role: 'slider', tabindex: 0, 'aria-valuemin': 0, 'aria-valuemax': UNIVERSE - 1, 'aria-valuenow': 0, 'aria-valuetext': 'arrow keys go from key to key' })) put(canvas, attribute, value);
    makeInspectable(canvas, redrawPictures);
  }
  const caption = make(card, 'p', { class: 'caption', title: ['grow', 'reconcile'].includes(world.mode) ? '' : prefixes(world) });
  const bar = make(card, 'div', { class: 'bar' });
  const buttons = { kill: make(bar, 'button', {}, 'Kill'), backup: make(bar, 'button', {}, 'Back up'), restore: make(bar, 'button', {}, 'Restore') };
  for (const [what, button] of Object.entries(buttons)) button.onclick = () => act(what, index);
  return { card, count, text, same, canvas, pixels: new Pixels(canvas), caption, chips, buttons };
}

// ---- typed keys ----------------------------------------------------------------------------------------------------------

const signs = { here: '✓', fading: '✓', absent: '…', gone: '–', lost: '!', wrong: '?', down: '×' };

// One stop for Tab; arrow keys go from chip to chip.
function moveAmongChips(event) {
  const all = [...event.currentTarget.children], by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
  if (!by) return;
  event.preventDefault();
  const next = all[(all.indexOf(document.activeElement) + by + all.length) % all.length];
  for (const chip of all) chip.tabIndex = chip === next ? 0 : -1;
  next.focus();
}

function chipOf(chips, key, replica) {
  const chip = make(chips, 'button', { class: 'chip', type: 'button', tabindex: -1 });
  make(chip, 'i', { 'aria-hidden': true });
  make(chip, 'bdi', {}, key);
  chip.append(' ');
  make(chip, 'span');
  chip.key = key;
  chip.onclick = () => pick(key, replica.index);
  return chip;
}

// Chips that stay are the same nodes, so that they keep the focus.
function updateChips(replica, { chips }) {
  const old = [...chips.children].filter((chip) => !world.typed.includes(chip.key)), focused = old.includes(document.activeElement);
  for (const chip of old) chip.remove();
  world.typed.forEach((key, i) => {
    const chip = [...chips.children].find((other) => other.key === key) ?? chipOf(chips, key, replica), [state, text] = replica.states.get(key);
    put(chip, 'data-state', state);
    write(chip.children[0], signs[state]);
    write(chip.children[2], text);
    put(chip, 'title', key);
    if (chips.children[i] !== chip) chips.insertBefore(chip, chips.children[i]); // a key that was typed again is the last one
  });
  if (chips.firstChild && ![...chips.children].some((chip) => chip.tabIndex === 0)) chips.firstChild.tabIndex = 0;
  if (focused) chips.firstChild?.focus();
}

// ---- drawing -------------------------------------------------------------------------------------------------------------

// Only what differs is drawn. In windows, time alone changes the pictures.
function redrawPictures() {
  readMarks(world); // a pointer may come before the cards are updated
  const cell = chosenCell(), time = world.mode === 'window' ? world.tick : 0;
  const sign = [time, cell, colour('field'), ...world.replicas.flatMap(({ digest, size: keys }) => [digest, keys])].join();
  if (sign !== pictured) drawPictures(world, cards.map(({ pixels }) => pixels), cell);
  pictured = sign;
  updateTip(world, cards.map(({ canvas }) => canvas));
}

function likeOthers(replica) {
  const others = world.replicas.filter(({ alive, digest }) => alive && digest === replica.digest).length - 1;
  return others === 1 ? 'like 1 other' : `like ${others} others`;
}

function stateText({ marks, frame }) {
  if (world.mode === 'reconcile') return `${size(frame.length)} as a list`;
  return `${world.mode === 'grow' ? counted(marks.length, 'bit set', 'bits set') : counted(marks.length, 'prefix', 'prefixes')}, ${size(frame.length)}`;
}

function updateCard(replica, card) {
  const equal = agrees(world, replica);
  put(card.card, 'class', `card${replica.alive ? '' : ' down'}${equal ? ' agrees' : ''}${equal && world.result.converged ? ' all' : ''}`);
  write(card.count, !replica.alive ? 'killed' : world.mode === 'counter' ? '' : counted(replica.size ?? 0, 'key'));
  write(card.text, replica.alive ? replica.digest.slice(0, 8) : 'no answer');
  put(card.text.parentElement, 'title', `The digest of the state: equal digests, equal states. ${replica.digest ?? ''}`);
  write(card.same, equal ? (world.result.converged ? 'equal' : likeOthers(replica)) : '');
  write(card.buttons.kill, replica.alive ? 'Kill' : 'Start');
  card.buttons.backup.disabled = !replica.alive;
  card.buttons.restore.disabled = !replica.backup;
  put(card.buttons.restore, 'title', replica.backup ? `Back to tick ${replica.backup.tick}` : 'No backup yet');
  write(card.caption, replica.alive ? stateText(replica) : 'Its state is on the disk.');
  put(card.canvas, 'aria-label', world.mode === 'counter' ? `${replica.name}: ${replica.alive ? `${grouped(replica.value)} counted` : 'killed'}` : `Keys at ${replica.name}`);
  updateChips(replica, card);
}

function updateCards() {
  readMarks(world);
  world.replicas.forEach((replica, i) => updateCard(replica, cards[i]));
}

export { drawCards, updateCards, redrawPictures };
