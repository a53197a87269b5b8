// core.js in Node, without a wait.
import { loadFrom } from './node.js';

export const { Filter, Sync, sync, version } = loadFrom(new URL('./core.wasm', import.meta.url), new URL('./core-simd.wasm', import.meta.url));
export { RoostError } from './instance.js';
