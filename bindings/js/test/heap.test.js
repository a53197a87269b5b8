// The heap of the modules, by itself: random calls in memories of several sizes, until they are full and after; and what the library
// asks it for where a stranger's count needs more than there are addresses.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { folder, root } from './package.js';

// The calls of a file, over the heap.
function compiled(calls, ...more) {
  const place = mkdtempSync(join(tmpdir(), 'roost-heap-')), out = join(place, 'heap.wasm');
  try {
    // Without -fno-builtin the compiler takes for granted that malloc returns something.
    execFileSync('clang', ['--target=wasm32-wasi', '-O1', '-fno-builtin', '-mbulk-memory', '-nostartfiles', '-Wl,--no-entry,--import-memory,--stack-first',
      join(root, calls), join(root, 'bindings/js/wasm/heap.c'), ...more, '-o', out]);
    return new WebAssembly.Module(readFileSync(out));
  } finally {
    rmSync(place, { recursive: true });
  }
}

test('blocks of the heap are apart, aligned, cleared, and joined again when all are free', () => {
  const module = compiled('bindings/js/test/heap_calls.c');
  let refused = 0;
  for (let pages = 80; pages < 90; pages++) {
    const memory = new WebAssembly.Memory({ initial: 4, maximum: pages }), heap = new WebAssembly.Instance(module, { env: { memory } }).exports;
    for (const most of [2000, 40000, 400000]) {
      const result = heap.call(pages * most + 1, 10000, most);
      assert.ok(result >= 0, `${['', 'damaged', 'not aligned', 'not zero'][-result]}, with ${pages} pages and up to ${most} bytes`);
      refused += result;
      assert.equal(heap.end(), 0);
      assert.equal(heap.has_room(memory.buffer.byteLength - 4 * 65536), 1);
    }
    for (const size of [0xffffffff, 0xfffe0000, 0xfffdffff, 0x7fffffff, 91 * 65536]) assert.equal(heap.has_room(size), 0, String(size));
    assert.equal(heap.has_room_for(65536, 65537), 0);
  }
  assert.ok(refused > 100, String(refused));
});

test('a count whose numbers need more memory than there are addresses gets none', () => {
  const sources = ['base/bitstream.c', 'base/memory.c', 'sync/ranges.c'].map((name) => join(root, 'src', name));
  const module = compiled('tests/forged_count.c', '-std=gnu17', '-ffunction-sections', '-Wl,--gc-sections,--allow-undefined', '-isystem', join(folder, '../include'), `-I${root}/include`, `-I${root}/src`, ...sources);
  const memory = new WebAssembly.Memory({ initial: 4, maximum: 65536 });
  const imports = Object.fromEntries(WebAssembly.Module.imports(module).filter(({ kind }) => kind === 'function').map(({ name }) => [name, () => assert.fail(name)]));
  assert.equal(new WebAssembly.Instance(module, { env: { memory, ...imports } }).exports.read_forged(), 0);
});
