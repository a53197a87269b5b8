/* The section behind the frame in a file: which replica this very file is, and the cursors of its peers. */
#ifndef FILE_REPLICA_SECTION_H
#define FILE_REPLICA_SECTION_H

#include "../base/bitstream.h"
#include "file_identity.h"
#include "peer_cursors.h"

/* Whether bytes behind a frame are a section at all, possibly a damaged one. */
bool is_replica_section(roost_bytes bytes);

/*
 * Makes the filter, as decoded from the frame, the replica that the section describes, if the open file is the very one
 * that the section was written for: ROOST_REPLICA_RESTORED. Otherwise the filter stays as it is, and there are no
 * peers. Without memory *status is ROOST_NO_MEMORY, and the result means nothing.
 */
roost_replica_status replica_section_restore(roost_bytes section, roost_bytes frame, int descriptor,
                                             roost_filter *filter, struct peer_cursors *peers, roost_status *status);

/* Appends the section for the file of that identity: behind this frame of the filter, of which only the last bytes are
   used, with these bytes of roost_filter_save_replica. */
void replica_section_append(struct bit_writer *section, const roost_filter *filter, roost_bytes frame,
                            roost_bytes replica, const struct peer_cursors *peers,
                            const struct file_identity *identity);

#endif
