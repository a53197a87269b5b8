// What the figures of the playground show: the filters' answers beside the exact states.

const PROBES = Array.from({ length: 500 }, (_, i) => `absent-${i}`); // keys that nobody adds
const GRACE = 36; // seconds for which a window may keep a key longer
const POINTS = 400; // of the chart

function measure(world) {
  const result = { lost: 0, returned: 0, wrong: 0, asked: 0, promised: 0 };
  for (const replica of world.replicas) {
    replica.digest = replica.alive ? world.digestOf(replica) : null;
    replica.frame = replica.alive ? world.bytesOf(replica) : null;
    if (!replica.alive) continue;
    if (replica.exact.keys) replica.held = replica.exact.keys();
    if (world.mode === 'counter') compareValues(replica, result);
    else compareKeys(world, replica, result);
  }
  const digests = new Set(world.replicas.filter(({ alive }) => alive).map(({ digest }) => digest));
  world.result = { ...result, converged: digests.size === 1 };
  if (world.tick % 4 === 0) world.history.push({ tick: world.tick, sent: world.bytes.sent, whole: world.bytes.whole });
  if (world.history.length > POINTS) world.history = world.history.filter((_, i) => i % 2 === 0);
}

function compareValues(replica, result) {
  replica.value = replica.filter.value;
  replica.expected = replica.exact.value;
  result.lost += Math.max(0, replica.expected - replica.value);
  result.returned += Math.max(0, replica.value - replica.expected);
  result.promised = replica.filter.info().fpr_promised;
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
  if (world.mode === 'reconcile') return;
  result.promised = replica.filter.info().fpr_promised;
  result.asked += PROBES.length;
  if (world.mode === 'window') { for (const probe of PROBES) result.wrong += replica.filter.has(probe, world.now()); }
  else result.wrong += replica.filter.hasMany(PROBES).filter(Boolean).length;
}

// A removed key that is found again came back. A grow-only filter takes a key that another replica has for one of its own at
// the promised rate; a window keeps keys a slot longer than it says.
function isLongGone(world, replica, key) {
  if (world.mode === 'remove') return true;
  return world.mode === 'window' && replica.exact.map.has(key) && world.windowLeft(replica, key) < -GRACE;
}

export { measure };
