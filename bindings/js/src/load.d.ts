import * as all from './index.js';

/** WebAssembly.Module, where the compiler knows it. */
type Module = typeof globalThis extends { WebAssembly: { Module: { prototype: infer Known } } } ? Known : object;

export interface LoadOptions {
  /** In bytes; bounds all objects together. */
  maximumMemory?: number;
  /** Needed in Node 18, which has none of its own. */
  crypto?: { getRandomValues(bytes: all.Bytes): unknown };
}

/** The classes over a module: a WebAssembly.Module, or the bytes of one. `usedMemory` returns the bytes that the instance takes. */
export function load(source: Module | ArrayBuffer | ArrayBufferView, options?: LoadOptions): typeof all & { usedMemory(): number };
export { RoostError } from './index.js';
