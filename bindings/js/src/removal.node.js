// removal.js in Node, without a wait.
import { loadFrom } from './node.js';

export const { Filter, Sync, sync, version } = loadFrom(new URL('./removal.wasm', import.meta.url), new URL('./removal-simd.wasm', import.meta.url));
export { RoostError } from './instance.js';
