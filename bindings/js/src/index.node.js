// index.js in Node, without a wait.
import { loadFrom } from './node.js';

export const { Filter, Window, Counter, Sync, Reconciliation, sync, reconcile, version } = loadFrom(new URL('./roost.wasm', import.meta.url), new URL('./roost-simd.wasm', import.meta.url));
export { RoostError } from './instance.js';
