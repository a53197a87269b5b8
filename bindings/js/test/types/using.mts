// Objects free themselves at the end of a block.
import { Filter, reconcile } from 'roost-filter';

{
  using filter = new Filter();
  using session = filter.startSync();
  using other = reconcile(['a']);
  console.log(session.next(), other.done);
}
