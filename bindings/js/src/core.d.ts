export { Filter, Sync, sync, version, RoostError } from './index.js';
export type { FilterOptions, Info, Key, Keys, RoostErrorCode, SyncResult } from './index.js';
