// Tabs of one site share a set of keys. Each change is sent to all of them as a delta; a new tab asks for the whole state.
//
//   const birds = share('birds');  birds.add('swift');  birds.filter.has('swift')
import { Filter } from 'roost-filter';

export function share(name) {
  const filter = new Filter({ kind: 'orcuckoo' });
  const channel = new BroadcastChannel(`roost-${name}`);
  let cursor = filter.cursor();
  const tell = () => {
    const delta = filter.delta(cursor);
    cursor = delta.cursor;
    channel.postMessage({ delta: delta.bytes });
  };
  channel.onmessage = ({ data }) => {
    if (data.delta) filter.merge(data.delta); // merging twice, or in another order, changes nothing
    if (data.hello) channel.postMessage({ delta: filter.toBytes() });
  };
  channel.postMessage({ hello: true });
  return {
    filter,
    add(key) { const added = filter.add(key); tell(); return added; },
    delete(key) { const removed = filter.delete(key); tell(); return removed; },
    close() { channel.close(); filter.free(); },
  };
}
