/* Transfers unused shares of a scalable Bloom filter's capacity to writers that need them. */
#ifndef CLI_PEER_SHARE_TRANSFER_H
#define CLI_PEER_SHARE_TRANSFER_H

#include "cli/file/filter_file.h"

/*
 * Transfers idle parts of the shares of this file's replica (roost_filter_transfer_shares); *gave tells whether there
 * were any. The file must be locked and loaded, and must be saved before a peer gets the state. Complains if it fails.
 */
bool transfer_idle_shares(struct filter_file *file, bool *gave);

#endif
