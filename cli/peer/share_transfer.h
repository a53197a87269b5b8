/* What a writer of a scalable Bloom filter does not use goes to others that need it. */
#ifndef CLI_PEER_SHARE_TRANSFER_H
#define CLI_PEER_SHARE_TRANSFER_H

#include "cli/file/filter_file.h"

/*
 * Lends idle parts of the shares of this file's replica (roost_filter_transfer_shares) and sets *gave if there were
 * any. The file must be locked and fresh, and has to be saved before anybody is told. Complains where it fails.
 */
bool transfer_idle_shares(struct filter_file *file, bool *gave);

#endif
