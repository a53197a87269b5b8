// The filters through npm's redis, in both versions of the protocol: SOCKET is the server's, the library lies below NODE_MODULES.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

const { createClient, RESP_TYPES } = createRequire(process.env.NODE_MODULES + '/')('redis');

for (const RESP of [2, 3]) {
  const client = createClient({ RESP, socket: { path: process.env.SOCKET } });
  await client.connect();
  await client.flushAll();
  const { bf, cf } = client;
  assert.equal(await bf.reserve('b', 0.01, 1000), 'OK');
  assert.equal(await bf.add('b', 'swift'), true);
  assert.equal(await bf.add('b', 'swift'), false);
  assert.deepEqual(await bf.mAdd('b', ['swift', 'martin']), [false, true]);
  assert.equal(await bf.exists('b', 'martin'), true);
  assert.deepEqual(await bf.mExists('b', ['martin', 'heron']), [true, false]);
  assert.deepEqual(await bf.insert('made', ['a', 'b'], { CAPACITY: 500, ERROR: 0.001, EXPANSION: 4 }), [true, true]);
  assert.equal(await bf.card('b'), 2);
  const info = await bf.info('b');
  assert.equal(info['Capacity'], 1000);
  assert.equal(info['Number of items inserted'], 2);
  assert.equal(info['Expansion rate'], 2);
  assert.equal(await cf.reserve('c', 100, { BUCKETSIZE: 4, MAXITERATIONS: 30, EXPANSION: 2 }), 'OK');
  assert.equal(await cf.add('c', 'swift'), true);
  assert.equal(await cf.addNX('c', 'swift'), false);
  assert.deepEqual(await cf.insert('c', ['swift', 'martin']), [true, true]);
  assert.equal((await cf.insertNX('c', ['swift', 'wren'])).length, 2);
  assert.equal(await cf.count('c', 'swift'), 2);
  assert.equal(await cf.exists('c', 'heron'), false);
  assert.equal(await cf.del('c', 'swift'), true);
  assert.equal((await cf.info('c'))['Number of items deleted'], 1);
  await assert.rejects(bf.reserve('b', 0.01, 10), /item exists/);
  await assert.rejects(bf.info('missing'), /not found/);
  await assert.rejects(cf.del('missing', 'x'), /Not found/);

  // in pieces: bytes, not text
  const bytes = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
  for (const [family, key] of [['bf', 'b'], ['cf', 'c']]) {
    const pieces = [];
    for (let iterator = 0; ;) {
      const piece = await bytes[family].scanDump(key, iterator);
      iterator = piece.iterator;
      if (iterator === 0) break;
      pieces.push(piece);
    }
    for (const { iterator, chunk } of pieces) assert.equal(await client[family].loadChunk(key + '2', iterator, chunk), 'OK');
    assert.equal(await client.sendCommand(['ROOST.DIGEST', key + '2']), await client.sendCommand(['ROOST.DIGEST', key]));
  }
  await client.close();
  console.log(`ok npm's redis, protocol ${RESP}`);
}
