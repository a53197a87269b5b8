export { Filter, Sync, sync, version, RoostError } from './index.js';
export type { FilterOptions, Info, Key, SyncResult } from './index.js';
