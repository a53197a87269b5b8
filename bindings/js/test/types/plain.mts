// In a program that does not know what browsers have.
import { Filter } from 'roost-filter';
import { load } from 'roost-filter/load';

export const filter: Filter = new Filter();
export const own = load(new Uint8Array(8));
