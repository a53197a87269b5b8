// What the figures of the playground show: the filters' answers beside the exact states.

const PROBES = 200; // keys that nobody adds, asked for at each replica; others in each tick
const SPAN = 60; // ticks over which false positives are counted
const GRACE = 36; // seconds for which a window may keep a key longer
const POINTS = 400; // of the charts

function measure(world) {
  const result = { lost: 0, returned: 0, wrong: 0, asked: 0, promised: 0 }, alive = world.replicas.filter((replica) => replica.alive);
  world.replicas.forEach((replica) => readState(world, replica));
  for (const replica of alive) {
    if (world.mode === 'counter') compareValues(replica, result);
    else compareKeys(world, replica, result);
  }
  if (world.mode !== 'reconcile') result.promised = world.promised ??= world.replicas[0].filter.info().fpr_promised;
  countFalsePositives(world, alive, result);
  world.result = { ...result, converged: new Set(alive.map(({ digest }) => digest)).size === 1 };
  keepPoint(world);
}

// Bytes are made anew only where the digest says that the state is another one.
function readState(world, replica) {
  const digest = replica.alive ? world.digestOf(replica) : null;
  if (digest !== replica.digest) replica.frame = digest === null ? null : world.bytesOf(replica);
  replica.digest = digest;
  if (replica.alive && replica.exact.keys) replica.held = replica.exact.keys();
}

function compareValues(replica, result) {
  replica.value = replica.filter.value;
  replica.expected = replica.exact.value;
  result.lost += Math.max(0, replica.expected - replica.value);
  result.returned += Math.max(0, replica.value - replica.expected);
}

function compareKeys(world, replica, result) {
  const keys = [...world.everAdded], answers = replica.filter.hasMany?.(keys);
  replica.size = 0;
  keys.forEach((key, i) => {
    const found = answers ? answers[i] : world.has(replica, key), held = world.holds(replica, key);
    replica.size += held;
    if (held && !found) result.lost++;
    if (!held && found && isLongGone(world, replica, key)) result.returned++;
  });
}

// A removed key that is found again came back. A grow-only filter takes a key that another replica has for one of its own at
// the promised rate; a window keeps keys a slot longer than it says.
function isLongGone(world, replica, key) {
  if (world.mode === 'remove') return true;
  return world.mode === 'window' && replica.exact.map.has(key) && world.windowLeft(replica, key) < -GRACE;
}

// ---- false positives -------------------------------------------------------------------------------------------------------

// Of a counter, a false positive is a new operation that it takes for a retry. Lists have none.
function countFalsePositives(world, alive, result) {
  if (world.mode === 'reconcile') return;
  if (world.mode === 'counter') { Object.assign(result, { wrong: world.operations.ignored, asked: world.operations.fresh }); return; }
  const keys = Array.from({ length: PROBES }, (_, i) => `absent-${world.tick}-${i}`), now = { tick: world.tick, asked: alive.length * PROBES, wrong: 0 };
  for (const { filter } of alive)
    now.wrong += world.mode === 'window' ? keys.filter((key) => filter.has(key, world.now())).length : filter.hasMany(keys).filter(Boolean).length;
  world.probes = [...world.probes.filter(({ tick }) => tick !== world.tick && tick > world.tick - SPAN), now];
  for (const { wrong, asked } of world.probes) { result.wrong += wrong; result.asked += asked; }
}

// ---- charts ----------------------------------------------------------------------------------------------------------------

function keepPoint(world) {
  const { tick, history, bytes: { sent, whole }, result: { wrong, asked } } = world;
  if (tick % 2 === 1) return;
  if (history.at(-1)?.tick === tick) history.pop();
  history.push({ tick, sent, whole, rate: asked ? wrong / asked : 0 });
  if (history.length > POINTS) world.history = history.filter((_, i) => i % 2 === 0);
}

export { measure };
