/*
 * A share that was transferred must not be used again. So a transfer happens only under the lock, in the state of the
 * file, and is on the disk before a peer gets it: if the process dies in between, no peer has it.
 *
 * Only replicas that have added something transfer shares. Any other one would first take a share of its own, and
 * mirrors and copies without additions would use up the number of writers that the filter was created for. That would
 * break the promised rate as soon as real writers come.
 */
#include "share_transfer.h"

bool transfer_idle_shares(struct filter_file *file, bool *gave)
{
    *gave = false;
    if (!roost_filter_get_actor(file->filter))
        return true;
    roost_status status = roost_filter_transfer_shares(file->filter, gave);
    return status == ROOST_OK || complain_of_status(file->name, status);
}
