export { Filter, Sync, sync, version, RoostError } from './index.js';
export type { Bytes, FilterOptions, Info, Key, Keys, RoostErrorCode, SyncResult } from './index.js';
