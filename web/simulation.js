// The playground without its page: replicas, a bad network between them, and the exact sets beside them.
//
// Time goes in ticks, and everything at random comes from one seed, the actors of replicas too: the same seed and the same
// script give the same run, digest for digest. A script is a list of what the user did, each with its tick.
//
// Replicas send deltas. Each keeps, for each peer, the cursor up to which the peer has acknowledged its changes, and which
// incarnation of the peer that was. A replica that was restored from a backup is a new incarnation: it refuses a delta that is
// based on what it had before, and gets the whole state. Each message also carries the exact state of its sender, which costs
// nothing here, so that the exact set of a replica is always the one that its filter should answer for.
import { ExactSet, ExactTimes, ExactCounter } from './exact.js';
import { stateOf, changeOf } from './typed.js';
import { measure } from './measure.js';

const PLACES = ['Amsterdam', 'Tokyo', 'Lima', 'Oslo', 'Nairobi'];
const UNIVERSE = 320; // keys of the stream
const BEFORE = 400; // keys that all replicas hold when the run begins
const START = 1.8e12; // milliseconds
const TICK = 1000; // milliseconds of the replicas' clocks
const WINDOW = 60; // seconds
const COUNTED = 3600; // seconds for which a counter knows an operation
const MOST_ACTS = 2000; // that an address holds
const MOST_TYPED = 250; // keys, so that the Bloom filter keeps its rate
const SHOWN = 6; // typed keys
const EVENTS = 30; // that are kept
const WORST = { delay: 40, duplicate: 60, loss: 60 }; // of the network: ticks, and of a hundred messages
const ACK_BYTES = 24; // of an acknowledgement, and of what a message has beside its state
const BURST = 30, REST = 30; // ticks: the stream adds keys, then replicas have time to become equal

const MODES = {
  grow: { title: 'Grow-only', kind: 'Bloom filter', text: 'A Bloom filter. Keys are added and never removed; merge is a bitwise or.', removes: false },
  remove: { title: 'Observed-remove', kind: 'cuckoo filter', text: 'A cuckoo filter that grows. A removed key stays removed; an addition at the same time wins.', removes: true },
  window: { title: 'Window', kind: `last ${WINDOW} seconds`, text: `Keys of the last ${WINDOW} seconds. Each tick is a second; what is older is forgotten.`, removes: false },
  counter: { title: 'Counter', kind: 'retries count once', text: 'Operations with ids, each counted once. A retry at the same replica changes nothing.', removes: false },
  reconcile: { title: 'Reconcile', kind: 'lists that differ', text: 'Real sets of keys. Two replicas find what differs, for a few bytes each.', removes: false },
};

// What replicas hold, for the texts.
const noun = ({ mode }) => (mode === 'counter' ? 'operation' : 'key');
const aNoun = (world) => `${world.mode === 'counter' ? 'an' : 'a'} ${noun(world)}`;

// What users do, and the kinds of values that it takes.
const ACTS = {
  add: ['replica', 'key'], remove: ['replica', 'key'], toggle: ['line'], all: ['boolean'], kill: ['replica'], backup: ['replica'], restore: ['replica'],
  set: ['name', 'number'], stream: ['boolean'],
};

// What a replica knows of a peer: its incarnation, the cursor that it has acknowledged, the one last sent, and when.
const UNSENT = { incarnation: null, cursor: null, sent: null, at: 0 };

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
// At most 100 code units, and no half of a pair, which has no bytes in UTF-8.
const wellFormed = (text) => text.slice(0, 100).replace(/\p{Surrogate}/gu, '\ufffd');

// ---- the world -----------------------------------------------------------------------------------------------------------

class World {
  constructor(load, module, { mode = 'remove', count = 4, seed = 1, script = [], scenario = '' } = {}) {
    this.random = randomFrom(seed);
    const draw = randomFrom(seed ^ 0x5eed);
    this.roost = load(module, { crypto: { getRandomValues: (bytes) => { for (let i = 0; i < bytes.length; i++) bytes[i] = draw(256); return bytes; } } });
    Object.assign(this, { mode, count, seed, scenario, script: [...script], done: [], tick: 0, messages: [], lines: new Map(), incarnations: 0 });
    this.stream = true;
    this.network = { delay: 6, duplicate: 10, loss: 5 };
    this.bytes = { sent: 0, whole: 0, messages: 0, lost: 0, doubled: 0 };
    Object.assign(this, { history: [], probes: [], operations: { fresh: 0, ignored: 0 } });
    Object.assign(this, { everAdded: new Set(), everTyped: new Set(), typed: [], events: [], noted: 0, agreed: 0, wasConverged: true });
    for (let i = 0; i < count; i++) for (let j = 0; j < i; j++) this.lines.set(`${j}-${i}`, true);
    this.replicas = Array.from({ length: count }, (_, i) => ({ index: i, name: PLACES[i], alive: true, backup: null, merged: 0, knew: new Set(), states: new Map(), ...this.fresh() }));
    this.fillBefore();
    this.acknowledgeAll();
    this.note(`${count} replicas start with the same ${BEFORE} ${noun(this)}s`, true);
    measure(this);
    this.follow();
  }

  // The module's memory is then free for the next world at once.
  free() { if (this.mode !== 'reconcile') for (const { filter } of this.replicas) filter.free(); }

  // ---- replicas ----------------------------------------------------------------------------------------------------------

  fresh() {
    const { Filter, Window, Counter } = this.roost;
    const incarnation = String(++this.incarnations);
    const made = { // a Bloom filter of 5 %, so that there are false positives to see
      grow: () => [new Filter({ kind: 'bloom', capacity: 1000, fpr: 0.05 }), new ExactSet(incarnation)],
      remove: () => [new Filter({ kind: 'orcuckoo', fpr: 0.01 }), new ExactSet(incarnation)],
      window: () => [new Window({ window: WINDOW }), new ExactTimes()],
      counter: () => [new Counter({ window: COUNTED }), new ExactCounter(incarnation, 2 * COUNTED * 1000)],
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

  // All have the same state, and know it: what made them equal is no traffic of the run.
  acknowledgeAll() {
    if (this.mode === 'reconcile') return;
    for (const replica of this.replicas)
      for (const { index, incarnation } of this.replicas) if (index !== replica.index) replica.peers.set(index, { ...UNSENT, incarnation, cursor: replica.filter.cursor() });
  }

  peer(replica, index) {
    if (!replica.peers.has(index)) replica.peers.set(index, { ...UNSENT });
    return replica.peers.get(index);
  }

  now() { return START + this.tick * TICK; }
  line(a, b) { return `${Math.min(a, b)}-${Math.max(a, b)}`; }

  bytesOf(replica) {
    return this.mode === 'reconcile' ? new TextEncoder().encode([...replica.filter].sort().join('\n')) : replica.filter.toBytes();
  }

  digestOf(replica) {
    if (this.mode !== 'reconcile') return replica.filter.digest();
    const { filter: keys, listed } = replica;
    if (listed?.keys === keys && listed.count === keys.size) return listed.digest; // lists only grow
    const filter = new this.roost.Filter({ kind: 'cuckoo', capacity: 2000, fpr: 1e-6 });
    filter.addMany(keys);
    replica.listed = { keys, count: keys.size, digest: filter.digest() };
    filter.free();
    return replica.listed.digest;
  }

  has(replica, key) { return this.mode === 'window' ? replica.filter.has(key, this.now()) : replica.filter.has(key); }

  holds(replica, key) { // exactly
    if (this.mode === 'window') return this.windowLeft(replica, key) > 0;
    return this.mode === 'counter' ? replica.exact.times(key) > 0 : replica.held.has(key);
  }

  windowLeft(replica, key) { return WINDOW - replica.exact.age(key, this.now()) / 1000; }

  replicaAt(index) { return Number.isInteger(index) ? this.replicas[index] : undefined; }

  // ---- what users do -----------------------------------------------------------------------------------------------------

  add(index, key) {
    const replica = this.replicaAt(index);
    if (!replica?.alive) return;
    if (this.mode === 'counter') { this.countOnce(replica, key); return; }
    replica.filter.add(key, this.now());
    replica.exact.add(key, this.now());
    this.everAdded.add(key);
  }

  // An operation that the replica knows is not counted again. A while after the window either is right.
  countOnce(replica, id) {
    const age = replica.exact.age(id, this.now()), { applied } = replica.filter.increment(id, 1, this.now());
    if (age === Infinity) { this.operations.fresh++; this.operations.ignored += !applied; }
    if (age === Infinity || (age > COUNTED * 1000 && applied)) replica.exact.add(id, this.now());
  }

  remove(index, key) {
    const replica = this.replicaAt(index);
    if (!replica?.alive || !MODES[this.mode].removes || !replica.exact.keys().has(key)) return false; // remove only what was added
    replica.filter.delete(key);
    replica.exact.remove(key);
    return true;
  }

  toggle(line) {
    if (!this.lines.has(line)) return;
    const up = !this.lines.get(line), names = line.split('-').map((index) => this.replicas[index].name).join('–'), last = this.events.at(-1);
    this.lines.set(line, up);
    if (last?.tick === this.tick && last.toggled === up) { // several at once are one event
      last.names.push(names);
      last.text = `${last.names.join(', ')} are ${up ? 'healed' : 'cut'}`;
    } else Object.assign(this.note(`${names} is ${up ? 'healed' : 'cut'}`), { toggled: up, names: [names] });
  }

  setAll(up) {
    for (const line of this.lines.keys()) this.lines.set(line, up);
    this.note(`All lines are ${up ? 'healed' : 'cut'}`);
  }

  // A replica stores itself before it sends anything, so what it loses when it is killed is nothing.
  kill(index) {
    const replica = this.replicaAt(index);
    if (!replica) return;
    if (replica.alive && this.mode !== 'reconcile') replica.stored = { bytes: replica.filter.toBytes(), identity: replica.filter.replica() };
    else if (!replica.alive && this.mode !== 'reconcile') {
      replica.filter.free();
      replica.filter = this.classOf().fromBytes(replica.stored.bytes, { replica: replica.stored.identity });
    }
    replica.alive = !replica.alive;
    this.note(replica.alive ? `${replica.name} starts with the state that it had stored` : `${replica.name} is killed`);
  }

  classOf() { return { window: this.roost.Window, counter: this.roost.Counter }[this.mode] ?? this.roost.Filter; }

  backUp(index) {
    const replica = this.replicaAt(index);
    if (!replica?.alive) return;
    replica.backup = { knew: new Set(replica.knew), tick: this.tick, bytes: this.bytesOf(replica), keys: this.mode === 'reconcile' ? new Set(replica.filter) : null, exact: replica.exact.copy() };
  }

  restore(index) {
    const replica = this.replicaAt(index), { backup } = replica ?? {};
    if (!backup) return;
    if (this.mode !== 'reconcile') replica.filter.free();
    replica.filter = this.mode === 'reconcile' ? new Set(backup.keys) : this.classOf().fromBytes(backup.bytes);
    replica.incarnation = String(++this.incarnations);
    replica.exact = backup.exact.copy();
    replica.exact.actor = replica.incarnation;
    replica.peers = new Map();
    replica.knew = new Set(backup.knew);
    replica.alive = true;
    this.note(`${replica.name} is restored from tick ${backup.tick}`);
  }

  set(name, value) {
    if (!Object.hasOwn(this.network, name)) return;
    this.network[name] = Math.max(0, Math.min(WORST[name], Math.floor(Number(value)) || 0));
    this.note({ delay: 'Messages take up to', duplicate: 'Duplicates:', loss: 'Loss:' }[name] + ` ${this.network[name]} ${name !== 'delay' ? '%' : this.network.delay === 1 ? 'tick longer' : 'ticks longer'}`);
  }

  setStream(on) {
    this.stream = on;
    this.note(`The stream of ${noun(this)}s ${on ? 'starts' : 'ends'}`);
  }

  type(what, index, key) {
    const replica = this.replicaAt(index), { typed, everTyped } = this;
    if (!replica?.alive || (everTyped.size >= MOST_TYPED && !everTyped.has(key))) return;
    const before = this.mode === 'counter' ? replica.filter.value : 0, done = what === 'add' ? this.add(index, key) : this.remove(index, key);
    if (done === false) return;
    everTyped.add(key);
    replica.knew.add(key);
    if (!typed.includes(key)) this.typed = [...typed, key].slice(-SHOWN);
    if (this.mode !== 'counter') this.note(`${key} is ${what === 'add' ? 'added' : 'removed'} at ${replica.name}`);
    else this.note(replica.filter.value === before ? `${key} was counted before: ${replica.name} ignores the retry` : `${key} is counted at ${replica.name}`);
  }

  // Does what the user asks, now, and remembers it for the address.
  act(name, ...values) {
    this.acting = true;
    this.perform(name, values);
    this.acting = false;
    measure(this);
    this.look(true);
  }

  perform(name, values) {
    const acts = { add: (...where) => this.type('add', ...where), remove: (...where) => this.type('remove', ...where), toggle: this.toggle, all: this.setAll, kill: this.kill, backup: this.saveNow, restore: this.restore, set: this.set, stream: this.setStream };
    if (!Object.hasOwn(acts, name)) return;
    if (this.done.length < MOST_ACTS) this.done.push([this.tick, name, ...values]);
    acts[name].apply(this, values);
  }

  saveNow(index) {
    this.backUp(index);
    if (this.replicaAt(index)?.alive) this.note(`${this.replicas[index].name} is backed up`);
  }

  // ---- what just happened --------------------------------------------------------------------------------------------------

  // Screen readers do not read what is quiet: routine, and in a scenario all but what the user does, since captions tell the rest.
  note(text, routine = false) {
    const event = { tick: this.tick, number: ++this.noted, text, quiet: routine || (this.scenario !== '' && !this.acting) };
    this.events.push(event);
    if (this.events.length > EVENTS) this.events.shift();
    return event;
  }

  // Sees what became of the typed keys at each replica. What the user does is noted elsewhere.
  look(quietly) {
    for (const replica of this.replicas) {
      const states = new Map();
      for (const key of this.typed) {
        const state = stateOf(this, replica, key), before = replica.states.get(key), change = before && !quietly && changeOf(this, replica, key, before, state);
        if (change) this.note(change);
        if (['here', 'fading'].includes(state[0])) replica.knew.add(key);
        states.set(key, state);
      }
      replica.states = states;
    }
  }

  // ---- time --------------------------------------------------------------------------------------------------------------

  step() {
    this.tick++;
    if (this.stream) this.streamSome();
    if (this.tick === 40) {
      this.replicas.forEach(({ index }) => this.backUp(index));
      this.note('All replicas are backed up', true);
    }
    this.deliver();
    for (const replica of this.replicas) if (replica.alive && this.random(3) === 0) this.send(replica);
    measure(this);
    this.look(false);
    if (this.result.converged && !this.wasConverged && this.tick - this.agreed > 20) {
      this.note('All replicas are equal');
      this.agreed = this.tick;
    }
    this.wasConverged = this.result.converged;
    this.follow();
  }

  // What users did came after the tick that it is recorded with.
  follow() {
    const due = this.script.filter(([tick]) => tick <= this.tick);
    if (due.length === 0) return;
    this.script = this.script.slice(due.length);
    for (const [, name, ...values] of due) this.perform(name, values);
    measure(this);
    this.look(true);
  }

  streamSome() {
    const index = this.random(this.count), number = this.random(UNIVERSE), what = this.random(10);
    if (this.tick % 2 || (this.tick - 1) % (BURST + REST) >= BURST) return;
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
      if (message.shown) continue; // a reconciliation, which is drawn
      if (!this.lines.get(this.line(message.from, message.to)) || !this.replicas[message.to].alive || message.doomed) this.bytes.lost++;
      else if (message.ack) this.takeAck(message);
      else this.take(message);
    }
  }

  // Whole states would need the same messages, duplicates and acknowledgements: `whole` is the size of this one among them.
  post(message, size, whole = size) {
    const { delay, duplicate, loss } = this.network;
    const copies = this.random(100) < duplicate ? 2 : 1;
    this.bytes.messages += copies;
    this.bytes.doubled += copies - 1;
    for (let i = 0; i < copies; i++) {
      this.bytes.sent += size;
      this.bytes.whole += whole;
      this.messages.push({ ...message, size, sent: this.tick, due: this.tick + 2 + this.random(delay + 1), doomed: this.random(100) < loss });
    }
  }

  // To a peer with unseen changes. What is on its way is not sent again before its acknowledgement could have come.
  send(replica) {
    const open = this.replicas.filter((other) => other !== replica && this.lines.get(this.line(replica.index, other.index)) && this.lacksSome(replica, other.index));
    if (open.length === 0) return;
    const other = open[this.random(open.length)];
    if (this.mode === 'reconcile') { this.meet(replica, other); return; }
    const peer = this.peer(replica, other.index), { bytes, cursor } = replica.filter.delta(peer.cursor);
    Object.assign(peer, { sent: cursor, at: this.tick });
    const base = peer.cursor === null ? null : peer.incarnation, whole = replica.filter.toBytes().length;
    this.post({ from: replica.index, to: other.index, bytes, cursor, author: replica.incarnation, base, exact: replica.exact.copy() }, bytes.length + ACK_BYTES, whole + ACK_BYTES);
  }

  lacksSome(replica, index) {
    if (this.mode === 'reconcile') return true;
    const peer = this.peer(replica, index), now = replica.filter.cursor(), waits = this.tick - peer.at < 2 * (this.network.delay + 2);
    return !same(peer.cursor, now) && !(waits && same(peer.sent, now));
  }

  take(message) {
    const replica = this.replicas[message.to], peer = this.peer(replica, message.from), fits = message.base === null || message.base === replica.incarnation;
    if (Number(message.author) > Number(peer.incarnation ?? 0)) Object.assign(peer, { ...UNSENT, incarnation: message.author }); // it was restored
    if (fits) {
      const changed = replica.filter.merge(message.bytes);
      replica.exact.merge(message.exact);
      if (changed && this.tick - replica.merged > 30) this.note(`${replica.name} merges ${message.bytes.length} bytes from ${this.replicas[message.from].name}`, true);
      replica.merged = this.tick;
    } else this.note(`${replica.name} refuses a delta that is based on its state before the restore`);
    this.post({ ack: true, from: message.to, to: message.from, fits, incarnation: replica.incarnation, author: message.author, cursor: message.cursor }, ACK_BYTES);
  }

  takeAck(message) {
    const replica = this.replicas[message.to], peer = this.peer(replica, message.from);
    if (message.author !== replica.incarnation) return; // to the one before
    if (peer.incarnation !== null && Number(message.incarnation) < Number(peer.incarnation)) return; // from the one before
    peer.incarnation = message.incarnation;
    peer.cursor = message.fits ? message.cursor : null;
    if (!message.fits) peer.sent = null;
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
    this.bytes.whole += this.bytesOf(a).length; // one list there, and what it lacked back
    this.bytes.sent += size;
    this.bytes.messages += here.result().messages;
    this.messages.push({ from: a.index, to: b.index, size, sent: this.tick, due: this.tick + 3, shown: true });
    [here, there].forEach((session) => session.free());
  }
}

export { World, MODES, WORST, ACTS, MOST_ACTS, MOST_TYPED, UNIVERSE, BEFORE, keyOf, noun, aNoun, wellFormed };
