// roost-filter: all of it.
import { loadFrom } from './fetched.js';

const all = await loadFrom(new URL('./roost.wasm', import.meta.url), new URL('./roost-simd.wasm', import.meta.url));

export const { Filter, Window, Counter, Sync, Reconciliation, sync, reconcile, version } = all;
export { RoostError } from './instance.js';
