// roost-filter/removal: the core, and filters whose keys can be removed.
import { loadFrom } from './fetched.js';

const removal = await loadFrom(new URL('./removal.wasm', import.meta.url), new URL('./removal-simd.wasm', import.meta.url));

export const { Filter, Sync, sync, version } = removal;
export { RoostError } from './instance.js';
