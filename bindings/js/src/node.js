// Gets a module that lies beside this file, at once: without a wait, CommonJS programs can `require` the package in Node from 20.19
// on. Elsewhere fetched.js does it.
import { webcrypto } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { load } from './load.js';
import { hasVectors } from './vectors.js';

export const loadFrom = (plain, withVectors) => load(readFileSync(hasVectors() ? withVectors : plain), { crypto: webcrypto });
