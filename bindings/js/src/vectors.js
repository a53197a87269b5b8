// Each module has two forms: with vectors of 128 bits, by which filters that grow are faster, and without. This asks which of
// them the engine can run.

// A function of no arguments that returns a vector, whose bytes are all 0: (func (result v128) (i8x16.splat (i32.const 0)))
const vectors = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 8, 1, 6, 0, 65, 0, 253, 15, 11]);

export function hasVectors() {
  if (typeof WebAssembly === 'undefined') throw new Error('roost-filter needs WebAssembly, which this engine does not have, or which is switched off');
  return WebAssembly.validate(vectors);
}
