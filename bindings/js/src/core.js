// roost-filter/core: the smallest module, with filters that keep what is added.
import { loadFrom } from './fetched.js';

const core = await loadFrom(new URL('./core.wasm', import.meta.url), new URL('./core-simd.wasm', import.meta.url));

export const { Filter, Sync, sync, version } = core;
export { RoostError } from './instance.js';
