// CommonJS, Node 20.19 or later.
import roost = require('roost-filter');

export const filter: roost.Filter = new roost.Filter({ kind: 'orcuckoo' });
