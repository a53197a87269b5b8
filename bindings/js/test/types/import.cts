// CommonJS, any Node.
import type { Filter } from 'roost-filter' with { 'resolution-mode': 'import' };

export async function make(): Promise<Filter> {
  const roost = await import('roost-filter');
  return new roost.Filter();
}
