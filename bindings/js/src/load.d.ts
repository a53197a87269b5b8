import * as all from './index.js';

/** The classes over a module: a WebAssembly.Module, or the bytes of one. `maximumMemory` bounds all objects together; `crypto` is needed in Node 18, which has none of its own. */
export function load(source: WebAssembly.Module | BufferSource, options?: { maximumMemory?: number; crypto?: { getRandomValues(bytes: Uint8Array): Uint8Array } }): typeof all;
export { RoostError } from './index.js';
