// roost-filter/core: a smaller module, with the filters that most pages need.
import { loadFrom } from './fetched.js';

const core = await loadFrom(new URL('./core.wasm', import.meta.url));

export const { Filter, Sync, sync, version } = core;
export { RoostError } from './instance.js';
