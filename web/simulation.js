// The playground without its page: replicas, a bad network between them, and the exact sets beside them.
//
// Time goes in ticks, and everything at random comes from one seed, the actors of replicas too: the same seed and the same
// script give the same run, digest for digest. A script is a list of what the user did, each with its tick.
//
// Replicas send deltas. Each keeps, for each peer, the cursor up to which the peer has acknowledged its changes, and which
// incarnation of the peer that was. A replica that was restored from a backup is a new incarnation: it refuses a delta that is
// based on what it had before, and gets the whole state. Each message also carries the exact state of its sender, which costs
// nothing here, so that the exact set of a replica is always the one that its filter should answer for.

const PLACES = ['Amsterdam', 'Tokyo', 'Lima', 'Oslo', 'Nairobi'];
const UNIVERSE = 320; // keys of the stream
const BEFORE = 400; // keys that all replicas hold when the run begins
const PROBES = 500; // keys that nobody adds
const START = 1.8e12; // milliseconds
const TICK = 1000; // milliseconds of the replicas' clocks
const WINDOW = 60; // seconds
const ACK_BYTES = 24;

const MODES = {
  grow: { title: 'Grow-only', text: 'A Bloom filter. Keys are added and never removed; merge is a bitwise or.', removes: false },
  remove: { title: 'Observed-remove', text: 'A cuckoo filter that grows. A removed key stays removed; an addition at the same time wins.', removes: true },
  window: { title: 'Window', text: `Keys of the last ${WINDOW} seconds. Each tick is a second; what is older is forgotten.`, removes: false },
  counter: { title: 'Counter', text: 'Operations with ids, each counted once. A retry at the same replica changes nothing.', removes: false },
  reconcile: { title: 'Reconcile', text: 'Real sets of keys. Two replicas find what differs, for a few bytes each.', removes: false },
};

function randomFrom(seed) {
  let state = (seed * 2654435761 + 12345) >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}
const same = (a, b) => a !== null && b !== null && a.length === b.length && a.every((byte, i) => byte === b[i]);
const keyOf = (number) => `key-${number}`;

// ---- the exact states ----------------------------------------------------------------------------------------------------

// Dots: which additions were seen (`seen`: actor to the last number), and which of them are alive.
class ExactSet {
  constructor(actor) { this.actor = actor; this.seen = new Map(); this.live = new Map(); }
  copy() { const copy = new ExactSet(this.actor); copy.seen = new Map(this.seen); copy.live = new Map(this.live); return copy; }
  add(key) {
    this.remove(key);
    const number = (this.seen.get(this.actor) ?? 0) + 1;
    this.seen.set(this.actor, number);
    this.live.set(`${this.actor}.${number}`, key);
  }
  remove(key) { for (const [dot, held] of this.live) if (held === key) this.live.delete(dot); }
  #saw(dot) { const [actor, number] = dot.split('.'); return (this.seen.get(actor) ?? 0) >= Number(number); }
  merge(other) {
    for (const dot of [...this.live.keys()]) if (!other.live.has(dot) && other.#saw(dot)) this.live.delete(dot);
    for (const [dot, key] of other.live) if (!this.#saw(dot)) this.live.set(dot, key);
    for (const [actor, number] of other.seen) this.seen.set(actor, Math.max(number, this.seen.get(actor) ?? 0));
  }
  keys() { return new Set(this.live.values()); }
}

// For each key the last time, or for each operation its amount.
class ExactMap {
  constructor() { this.map = new Map(); }
  copy() { const copy = new ExactMap(); copy.map = new Map(this.map); return copy; }
  set(key, value) { this.map.set(key, Math.max(value, this.map.get(key) ?? -Infinity)); }
  merge(other) { for (const [key, value] of other.map) this.set(key, value); }
}

// ---- the world -----------------------------------------------------------------------------------------------------------

class World {
  constructor(load, module, { mode = 'remove', count = 4, seed = 1, script = [] } = {}) {
    this.random = randomFrom(seed);
    const draw = randomFrom(seed ^ 0x5eed);
    this.roost = load(module, { crypto: { getRandomValues: (bytes) => { for (let i = 0; i < bytes.length; i++) bytes[i] = draw(256); return bytes; } } });
    Object.assign(this, { mode, count, seed, script: [...script], done: [], tick: 0, messages: [], events: [], lines: new Map(), incarnations: 0 });
    this.stream = true;
    this.network = { delay: 6, duplicate: 10, loss: 5 };
    this.bytes = { sent: 0, whole: 0, messages: 0, lost: 0, doubled: 0 };
    this.history = [];
    this.everAdded = new Set();
    for (let i = 0; i < count; i++) for (let j = 0; j < i; j++) this.lines.set(`${j}-${i}`, true);
    this.replicas = Array.from({ length: count }, (_, i) => ({ index: i, name: PLACES[i], alive: true, backup: null, added: 0, ...this.fresh() }));
    this.fillBefore();
    this.probes = Array.from({ length: PROBES }, (_, i) => `absent-${i}`);
    this.measure();
    this.follow();
  }

  // ---- replicas ----------------------------------------------------------------------------------------------------------

  fresh() {
    const { Filter, Window, Counter } = this.roost;
    const incarnation = String(++this.incarnations);
    const made = {
      grow: () => [new Filter({ kind: 'bloom', capacity: 1000, fpr: 0.01 }), new ExactSet(incarnation)],
      remove: () => [new Filter({ kind: 'orcuckoo', fpr: 0.01 }), new ExactSet(incarnation)],
      window: () => [new Window({ window: WINDOW }), new ExactMap()],
      counter: () => [new Counter({ window: 3600 }), new ExactMap()],
      reconcile: () => [new Set(), new ExactSet(incarnation)],
    }[this.mode]();
    return { filter: made[0], exact: made[1], incarnation, peers: new Map() };
  }

  // The first replica adds them, the others get its state.
  fillBefore() {
    const [first, ...others] = this.replicas;
    for (let i = 0; i < BEFORE; i++) this.add(0, `before-${i}`);
    for (const other of others) {
      if (this.mode === 'reconcile') for (const key of first.filter) other.filter.add(key);
      else other.filter.merge(first.filter);
      other.exact.merge(first.exact);
    }
  }

  peer(replica, index) {
    if (!replica.peers.has(index)) replica.peers.set(index, { incarnation: null, cursor: null });
    return replica.peers.get(index);
  }

  now() { return START + this.tick * TICK; }
  line(a, b) { return `${Math.min(a, b)}-${Math.max(a, b)}`; }

  bytesOf(replica) {
    return this.mode === 'reconcile' ? new TextEncoder().encode([...replica.filter].sort().join('\n')) : replica.filter.toBytes();
  }

  digestOf(replica) {
    if (this.mode !== 'reconcile') return replica.filter.digest();
    const filter = new this.roost.Filter({ kind: 'cuckoo', capacity: 2000, fpr: 1e-6 });
    filter.addMany(replica.filter);
    const digest = filter.digest();
    filter.free();
    return digest;
  }

  has(replica, key) { return this.mode === 'window' ? replica.filter.has(key, this.now()) : replica.filter.has(key); }

  holds(replica, key) { // exactly
    if (this.mode === 'window') return this.now() - (replica.exact.map.get(key) ?? -Infinity) < WINDOW * 1000;
    return this.mode === 'counter' ? replica.exact.map.has(key) : replica.held.has(key);
  }

  // ---- what users do -----------------------------------------------------------------------------------------------------

  add(index, key) {
    const replica = this.replicas[index];
    if (!replica?.alive) return;
    if (this.mode === 'counter') {
      const { applied } = replica.filter.increment(key, 1, this.now());
      if (applied) replica.exact.set(`${replica.incarnation}/${key}`, 1);
    } else {
      if (this.mode === 'window') replica.filter.add(key, this.now());
      else replica.filter.add(key);
      if (this.mode === 'window') replica.exact.set(key, this.now());
      else replica.exact.add(key);
    }
    this.everAdded.add(key);
    replica.added++;
  }

  remove(index, key) {
    const replica = this.replicas[index];
    if (!replica?.alive || !MODES[this.mode].removes || !replica.exact.keys().has(key)) return; // remove only what was added
    replica.filter.delete(key);
    replica.exact.remove(key);
  }

  toggle(line) {
    if (!this.lines.has(line)) return;
    this.lines.set(line, !this.lines.get(line));
  }

  setAll(up) { for (const line of this.lines.keys()) this.lines.set(line, up); }

  // A replica stores itself before it sends anything, so what it loses when it is killed is nothing.
  kill(index) {
    const replica = this.replicas[index];
    if (!replica) return;
    if (replica.alive && this.mode !== 'reconcile') replica.stored = { bytes: replica.filter.toBytes(), identity: replica.filter.replica() };
    else if (!replica.alive && this.mode !== 'reconcile') {
      replica.filter.free();
      replica.filter = this.classOf().fromBytes(replica.stored.bytes, { replica: replica.stored.identity });
    }
    replica.alive = !replica.alive;
  }

  classOf() { return { window: this.roost.Window, counter: this.roost.Counter }[this.mode] ?? this.roost.Filter; }

  backUp(index) {
    const replica = this.replicas[index];
    if (!replica?.alive) return;
    replica.backup = { tick: this.tick, bytes: this.bytesOf(replica), keys: this.mode === 'reconcile' ? new Set(replica.filter) : null, exact: replica.exact.copy() };
  }

  restore(index) {
    const replica = this.replicas[index], { backup } = replica ?? {};
    if (!backup) return;
    if (this.mode !== 'reconcile') replica.filter.free();
    replica.filter = this.mode === 'reconcile' ? new Set(backup.keys) : this.classOf().fromBytes(backup.bytes);
    replica.incarnation = String(++this.incarnations);
    replica.exact = backup.exact.copy();
    replica.exact.actor = replica.incarnation;
    replica.peers = new Map();
    replica.alive = true;
  }

  set(name, value) { if (name in this.network) this.network[name] = Math.max(0, Math.min(60, Number(value) || 0)); }

  // Does what the user asks, now, and remembers it for the address.
  act(name, ...values) {
    this.done.push([this.tick, name, ...values]);
    this.perform(name, values);
  }

  perform(name, values) {
    const acts = { add: this.add, remove: this.remove, toggle: this.toggle, all: this.setAll, kill: this.kill, backup: this.backUp, restore: this.restore, set: this.set, stream: (on) => { this.stream = on; } };
    if (!Object.hasOwn(acts, name)) return;
    acts[name].apply(this, values);
    this.measure();
  }

  // ---- time --------------------------------------------------------------------------------------------------------------

  step() {
    this.tick++;
    if (this.stream) this.streamSome();
    if (this.tick === 40) this.replicas.forEach(({ index }) => this.backUp(index));
    this.deliver();
    for (const replica of this.replicas) if (replica.alive && this.random(6) === 0) this.send(replica);
    this.measure();
    this.follow();
  }

  // What users did came after the tick that it is recorded with.
  follow() {
    while (this.script.length > 0 && this.script[0][0] <= this.tick) {
      const [, name, ...values] = this.script.shift();
      this.act(name, ...values);
    }
  }

  streamSome() {
    const index = this.random(this.count), number = this.random(UNIVERSE), what = this.random(10);
    if (this.tick % 2) return;
    if (this.mode === 'counter') this.add(index, what < 3 && this.last ? this.last : (this.last = `op-${this.tick}`));
    else if (this.mode === 'remove' && what < 4) {
      const keys = [...this.replicas[index].exact.keys()];
      if (keys.length > 30) this.remove(index, keys[this.random(keys.length)]);
    } else this.add(index, keyOf(number));
  }

  deliver() {
    const due = this.messages.filter((message) => message.due <= this.tick);
    this.messages = this.messages.filter((message) => message.due > this.tick);
    for (const message of due) {
      if (!this.lines.get(this.line(message.from, message.to)) || !this.replicas[message.to].alive || message.doomed) this.bytes.lost++;
      else if (message.ack) this.takeAck(message);
      else this.take(message);
    }
  }

  post(message, size) {
    const { delay, duplicate, loss } = this.network;
    const copies = this.random(100) < duplicate ? 2 : 1;
    this.bytes.messages++;
    this.bytes.doubled += copies - 1;
    for (let i = 0; i < copies; i++) {
      this.bytes.sent += size;
      this.messages.push({ ...message, sent: this.tick, due: this.tick + 2 + this.random(delay + 1), doomed: this.random(100) < loss });
    }
  }

  send(replica) {
    const open = this.replicas.filter((other) => other !== replica && this.lines.get(this.line(replica.index, other.index)));
    if (open.length === 0) return;
    const other = open[this.random(open.length)];
    if (this.mode === 'reconcile') { this.meet(replica, other); return; }
    const peer = this.peer(replica, other.index);
    if (peer.cursor !== null && same(peer.cursor, replica.filter.cursor())) return; // nothing new
    const { bytes, cursor } = replica.filter.delta(peer.cursor);
    this.bytes.whole += replica.filter.toBytes().length;
    this.post({ from: replica.index, to: other.index, bytes, cursor, author: replica.incarnation, base: peer.cursor === null ? null : peer.incarnation, exact: replica.exact.copy() }, bytes.length + ACK_BYTES);
  }

  take(message) {
    const replica = this.replicas[message.to], fits = message.base === null || message.base === replica.incarnation;
    if (fits) {
      replica.filter.merge(message.bytes);
      replica.exact.merge(message.exact);
    }
    this.post({ ack: true, from: message.to, to: message.from, fits, incarnation: replica.incarnation, author: message.author, cursor: message.cursor }, ACK_BYTES);
  }

  takeAck(message) {
    const replica = this.replicas[message.to], peer = this.peer(replica, message.from);
    if (message.author !== replica.incarnation) return; // to the one before
    if (peer.incarnation !== null && Number(message.incarnation) < Number(peer.incarnation)) return; // from the one before
    peer.incarnation = message.incarnation;
    peer.cursor = message.fits ? message.cursor : null;
  }

  // All messages of a reconciliation at once, then the keys that were found missing.
  meet(a, b) {
    if (!b.alive) return;
    const here = this.roost.reconcile(a.filter);
    let message = here.next(), size = 0;
    const there = this.roost.reconcile(b.filter, { first: message });
    for (let turn = there; message; turn = turn === there ? here : there) { size += message.length; message = turn.next(message); }
    const forB = here.differences().map(({ key }) => key), forA = there.differences().map(({ key }) => key);
    for (const key of forA) { a.filter.add(key); size += key.length + 1; }
    for (const key of forB) { b.filter.add(key); size += key.length + 1; }
    a.exact.merge(b.exact);
    b.exact.merge(a.exact);
    this.bytes.whole += this.bytesOf(a).length + this.bytesOf(b).length;
    this.bytes.sent += size;
    this.bytes.messages += here.result().messages;
    this.messages.push({ from: a.index, to: b.index, sent: this.tick, due: this.tick + 3, shown: true });
    [here, there].forEach((session) => session.free());
  }

  // ---- what is measured ----------------------------------------------------------------------------------------------------

  measure() {
    const result = { lost: 0, returned: 0, wrong: 0, asked: 0, promised: 0 };
    for (const replica of this.replicas) {
      replica.digest = replica.alive ? this.digestOf(replica) : null;
      replica.frame = replica.alive ? this.bytesOf(replica) : null;
      if (!replica.alive) continue;
      if (replica.exact.keys) replica.held = replica.exact.keys();
      this.compareReplica(replica, result);
    }
    const digests = new Set(this.replicas.filter(({ alive }) => alive).map(({ digest }) => digest));
    this.result = { ...result, converged: digests.size === 1 };
    if (this.tick % 4 === 0) this.history.push({ tick: this.tick, sent: this.bytes.sent, whole: this.bytes.whole });
    if (this.history.length > 400) this.history = this.history.filter((_, i) => i % 2 === 0);
  }

  compareReplica(replica, result) {
    if (this.mode === 'counter') {
      replica.value = replica.filter.value;
      replica.expected = replica.exact.map.size;
      result.lost += Math.max(0, replica.expected - replica.value);
      result.returned += Math.max(0, replica.value - replica.expected);
      result.promised = replica.filter.info().fpr_promised;
      return;
    }
    replica.size = 0;
    const keys = [...this.everAdded], answers = replica.filter.hasMany?.(keys);
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i], found = answers ? answers[i] : this.has(replica, key), held = this.holds(replica, key);
      replica.size += held;
      if (held && !found) result.lost++;
      if (!held && found && this.isLongGone(replica, key)) result.returned++;
    }
    if (this.mode === 'reconcile') return;
    result.promised = replica.filter.info().fpr_promised;
    result.asked += PROBES;
    if (this.mode === 'window') { for (const probe of this.probes) result.wrong += replica.filter.has(probe, this.now()); }
    else result.wrong += replica.filter.hasMany(this.probes).filter(Boolean).length;
  }

  // A removed key that is found again came back. A grow-only filter takes a key that another replica has for one of its own at
  // the promised rate; a window keeps keys a slot longer than it says.
  isLongGone(replica, key) {
    if (this.mode === 'remove') return true;
    return this.mode === 'window' && this.now() - (replica.exact.map.get(key) ?? -Infinity) > 1.6 * WINDOW * 1000 && replica.exact.map.has(key);
  }
}

// ---- the address -----------------------------------------------------------------------------------------------------------

// 120.toggle.0-1~130.add.2.swift: acts, each a tick, a name and values; dots and tildes in values are escaped.
const escaped = (text) => encodeURIComponent(text).replaceAll('.', '%2E').replaceAll('~', '%7E');
const encodeScript = (done) => done.map((act) => act.map((value) => escaped(typeof value === 'boolean' ? (value ? 'on' : 'off') : String(value))).join('.')).join('~');

function decodeScript(text) {
  return text.split('~').filter(Boolean).slice(0, 2000).map((act) => {
    const [tick, name, ...values] = act.split('.').map((value) => { try { return decodeURIComponent(value); } catch { return ''; } });
    const typed = values.map((value, i) => (value === 'on' ? true : value === 'off' ? false : i === 0 && /^[0-9]+$/.test(value) && name !== 'set' ? Number(value) : value));
    return [Number(tick) || 0, name, ...typed];
  }).sort((a, b) => a[0] - b[0]);
}

function toAddress(world) {
  return `#${new URLSearchParams({ mode: world.mode, replicas: world.count, seed: world.seed })}${world.done.length ? `&script=${encodeScript(world.done)}` : ''}`;
}

function fromAddress(hash) {
  const words = new Map(hash.replace(/^#/, '').split('&').map((pair) => pair.split('=')).map(([name, ...rest]) => [name, rest.join('=')]));
  const number = (name, least, most, otherwise) => { const value = Number(words.get(name)); return Number.isInteger(value) && value >= least && value <= most && words.get(name) ? value : otherwise; };
  return { mode: Object.hasOwn(MODES, words.get('mode') ?? '') ? words.get('mode') : 'remove', count: number('replicas', 3, 5, 4), seed: number('seed', 0, 2 ** 31, 1), script: decodeScript(words.get('script') ?? '') };
}

export { World, MODES, PLACES, UNIVERSE, BEFORE, keyOf, toAddress, fromAddress };
