// The exact states that replicas of the playground have beside their filters. Nothing here calls the library.

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

// For each key, when it was last added.
class ExactTimes {
  constructor() { this.map = new Map(); }
  copy() { const copy = new ExactTimes(); copy.map = new Map(this.map); return copy; }
  add(key, time) { this.map.set(key, Math.max(time, this.map.get(key) ?? -Infinity)); }
  merge(other) { for (const [key, time] of other.map) this.add(key, time); }
  age(key, now) { return now - (this.map.get(key) ?? -Infinity); }
}

// How many operations each actor counted, and of the late ones when and by whom. The states of an actor follow one another, so
// the larger count holds all that the smaller one has.
class ExactCounter {
  constructor(actor, keep) { this.actor = actor; this.keep = keep; this.counts = new Map(); this.operations = new Map(); }
  copy() { const copy = new ExactCounter(this.actor, this.keep); copy.counts = new Map(this.counts); copy.operations = new Map(this.operations); return copy; }
  add(id, time) {
    this.counts.set(this.actor, (this.counts.get(this.actor) ?? 0) + 1);
    this.#note(id, { time, by: new Set([this.actor]) });
    if (this.counts.get(this.actor) % 100 === 0) for (const [old, { time: then }] of this.operations) if (time - then > this.keep) this.operations.delete(old);
  }
  #note(id, { time, by }) {
    const was = this.operations.get(id);
    if (was && was.time >= time && [...by].every((actor) => was.by.has(actor))) return;
    this.operations.set(id, was ? { time: Math.max(time, was.time), by: new Set([...was.by, ...by]) } : { time, by });
  }
  merge(other) {
    for (const [actor, count] of other.counts) this.counts.set(actor, Math.max(count, this.counts.get(actor) ?? 0));
    for (const [id, operation] of other.operations) this.#note(id, operation);
  }
  age(id, now) { return now - (this.operations.get(id)?.time ?? -Infinity); }
  times(id) { return this.operations.get(id)?.by.size ?? 0; }
  get value() { let value = 0; for (const count of this.counts.values()) value += count; return value; }
}

export { ExactSet, ExactTimes, ExactCounter };
