// The filters of same_bytes.py in JavaScript, for Node and for a page alike: keys and frames come in as objects, and digests and
// frames go out. What reads and writes files is node.mjs, and what talks to a page is chromium.mjs.

const text = (bytes) => { // as a string where it is one: both ways to pass a key
  try { return new TextDecoder('utf-8', { fatal: true }).decode(bytes); } catch { return bytes; }
};

function make(roost, leave, options, { keys, speaker, now, asked }) {
  const { kind, ...rest } = options, own = (i) => `${speaker} own ${i}`;
  const timed = options.window !== undefined, time = timed ? [now * 1000] : [];
  const replica = timed ? new (kind === 'window' ? roost.Window : roost.Counter)(rest) : new roost.Filter(options);
  leave('empty', replica);
  if (kind === 'counter') {
    for (let i = 0; i < asked.own_ids; i++) replica.increment(own(i), i + 1, ...time);
  } else {
    for (const key of keys.slice(0, asked.one_by_one)) replica.add(text(key), ...time);
    replica.addMany(keys.slice(asked.one_by_one).map(text), ...time);
    leave('same', replica);
    replica.addMany(Array.from({ length: asked.own_keys }, (_, i) => own(i)), ...time);
    if (kind === 'orcuckoo') replica.delete(own(0));
  }
  leave('own', replica);
}

function merge(roost, leave, options, frames) {
  const kinds = { window: roost.Window, counter: roost.Counter };
  const replica = (kinds[options.kind] ?? roost.Filter).fromBytes(frames[0]);
  for (const frame of frames.slice(1)) replica.merge(frame);
  leave('merged', replica);
}

/** `frames`: those of each form, the own one first, to be merged; without them the filters are made. */
export function speak(roost, request, frames = null) {
  const stages = [];
  for (const [form, options] of Object.entries(request.asked.forms)) {
    const leave = (stage, replica) => stages.push({ form, stage, digest: replica.digest(), frame: replica.toBytes() });
    if (frames) merge(roost, leave, options, frames[form]);
    else make(roost, leave, options, request);
  }
  return stages;
}
