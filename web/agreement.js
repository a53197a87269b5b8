// Whether replicas are equal, and what keeps them from it.
import { counted, listed } from './dom.js';
import { noun } from './simulation.js';

// Replicas that are alive, in groups that reach each other, the largest first.
function groupsOf(world) {
  const left = new Set(world.replicas.filter(({ alive }) => alive)), groups = [];
  for (const first of left) {
    const group = new Set([first]);
    for (const from of group) for (const to of left) if (world.lines.get(world.line(from.index, to.index))) group.add(to);
    for (const replica of group) left.delete(replica);
    groups.push([...group]);
  }
  return groups.sort((a, b) => b.length - a.length);
}

// How many keys, or operations of a counter, have changes that some replica lacks.
function lacking(world) {
  const alive = world.replicas.filter((replica) => replica.alive), exact = alive.map((replica) => replica.exact);
  if (world.mode === 'counter') {
    const counts = [...new Set(exact.flatMap(({ counts: all }) => [...all.keys()]))].map((actor) => exact.map(({ counts: all }) => all.get(actor) ?? 0));
    return counts.reduce((sum, of) => sum + Math.max(...of) - Math.min(...of), 0);
  }
  const keys = new Set();
  if (world.mode === 'remove') { for (const { live } of exact) for (const [dot, key] of live) if (!exact.every((other) => other.live.has(dot))) keys.add(key); }
  else if (world.mode === 'window') { for (const [i, { map }] of exact.entries()) for (const [key, time] of map) if (world.windowLeft(alive[i], key) > 0 && exact.some((other) => other.map.get(key) !== time)) keys.add(key); }
  else for (const { held } of alive) for (const key of held) if (!alive.every((other) => other.held.has(key))) keys.add(key);
  return keys.size;
}

function lackingText(world) {
  const count = lacking(world), what = { remove: 'change', window: 'change', counter: 'operation' }[world.mode] ?? 'key';
  if (count === 0) return `The same ${noun(world)}s everywhere; digests differ still.`;
  return `${counted(count, what)} ${count === 1 ? 'is' : 'are'} not everywhere yet.`;
}

/** A title, and a line that says more. */
function agreementOf(world) {
  const groups = groupsOf(world), down = world.replicas.some(({ alive }) => !alive);
  if (groups.length === 0) return ['All replicas are killed', 'Start one.'];
  if (groups.flat().length === 1) return [`Only ${groups[0][0].name} is alive`, 'Killed replicas get what they lack when they start.'];
  if (world.result.converged) return [down ? 'All others are equal' : 'All replicas are equal', down ? 'Killed replicas get what they lack when they start.' : 'All digests are the same.'];
  if (groups.length === 1) return ['Still spreading', lackingText(world)];
  const off = groups.slice(1).flat().sort((a, b) => a.index - b.index).map(({ name }) => name);
  return [groups[0].length === 1 && off.length > 1 ? 'Cut off: all replicas' : `Cut off: ${listed(off)}`, lackingText(world)];
}

// Why replicas would never become equal, or null.
function hindrance(world) {
  const groups = groupsOf(world).length;
  if (groups === 0) return 'All replicas are killed. Start one first.';
  return groups === 1 || world.result.converged ? null : 'Some replicas are cut off. Heal their lines first.';
}

export { agreementOf, hindrance };
