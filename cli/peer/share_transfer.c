/*
 * A share that was given away must not be spent again. So lending happens only under the lock, in the state that the
 * file has, and is on the disk before a peer hears of it: a process that dies in between has told nobody.
 *
 * Only replicas that have added something lend. Any other one would take a share of its own for the purpose, and then
 * mirrors and copies that nobody adds to would use up the number of writers that the filter was made for, which voids
 * the promise as soon as true writers come.
 */
#include "share_transfer.h"

bool transfer_idle_shares(struct filter_file *file, bool *gave)
{
    *gave = false;
    if (!roost_filter_actor(file->filter))
        return true;
    roost_status status = roost_filter_transfer_shares(file->filter, gave);
    return status == ROOST_OK || complain_of_status(file->name, status);
}
