// What became of a typed key at one replica: [state, text]. States are those of style.css.

const once = ['not yet', 'counted once', 'counted twice'];

function counted(replica, key) {
  const times = replica.exact.times(key);
  return [times === 0 ? 'absent' : 'here', once[times] ?? `counted ${times} times`];
}

// A key that is absent was here before, or is nowhere any more, or is still to come.
function absent(world, replica, key, gone) {
  const nowhere = world.replicas.every((other) => !world.holds(other, key));
  return replica.knew.has(key) || nowhere ? ['gone', gone] : ['absent', 'not yet'];
}

function inWindow(world, replica, key) {
  const left = Math.ceil(world.windowLeft(replica, key)), found = world.has(replica, key);
  if (left > 0) return found ? [left > 20 ? 'here' : 'fading', `${left} s left`] : ['lost', 'lost'];
  return found && replica.knew.has(key) ? ['fading', 'expired'] : absent(world, replica, key, 'forgotten');
}

function stateOf(world, replica, key) {
  if (!replica.alive) return ['down', 'no answer'];
  if (world.mode === 'counter') return counted(replica, key);
  if (world.mode === 'window') return inWindow(world, replica, key);
  const held = world.holds(replica, key), found = world.has(replica, key);
  if (held) return found ? ['here', 'here'] : ['lost', 'lost'];
  return found ? ['wrong', 'false positive'] : absent(world, replica, key, 'removed');
}

// What to say when a message changed the state of a key, or null.
function changeOf(world, replica, key, [before], [after]) {
  const was = before === 'here' || before === 'fading', is = after === 'here' || after === 'fading';
  if (is && !was && before !== 'down') return `${key} arrives at ${replica.name}`;
  if (after !== 'gone' || before === 'gone' || before === 'down') return null;
  return world.mode === 'window' ? `${key} is forgotten at ${replica.name}` : `The removal of ${key} arrives at ${replica.name}`;
}

// What the replica answers when it is asked for a key, beside what is true.
function answerOf(world, replica, key) {
  const { name } = replica, found = world.has(replica, key), held = world.holds(replica, key), window = world.mode === 'window';
  if (world.mode === 'reconcile') return `${key}: ${found ? '' : 'not '}in the list of ${name}`;
  if (!found) return `${key}: certainly not at ${name}${held ? ' (wrong: it was lost)' : ''}`;
  if (held) return `${key}: probably at ${name} (it is)`;
  if (window && replica.exact.map.has(key)) return `${key}: probably at ${name} (older than the window, not forgotten yet)`;
  return `${key}: probably at ${name} (a false positive: ${world.everAdded.has(key) ? 'it is not there' : 'nobody added it'})`;
}

export { stateOf, changeOf, answerOf };
