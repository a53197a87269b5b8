/* What stands behind the frame in a file: which replica this very file is, and what it knows of its peers. */
#ifndef CLI_FILE_REPLICA_SECTION_H
#define CLI_FILE_REPLICA_SECTION_H

#include "cli/base/byte_buffer.h"
#include "file_identity.h"
#include "peer_memories.h"

/* Whether bytes behind a frame are a section at all, be it a damaged one. */
bool is_replica_section(roost_bytes bytes);

enum replica_verdict {
    REPLICA_IS_OURS,    /* restored */
    REPLICA_IS_FOREIGN, /* the file is a copy, or was restored from one */
    REPLICA_IS_LATER,   /* written by a later version */
    REPLICA_IS_DAMAGED,
};

/*
 * Makes the filter, as decoded from the frame, the replica that the section tells of, if the open file is the very one
 * that the section was written for. Otherwise the filter stays as it is, and there are no peers.
 */
enum replica_verdict replica_section_restore(roost_bytes section, roost_bytes frame, int descriptor,
                                             roost_filter *filter, struct peer_memories *peers);

/* The section for the file of that identity: behind this frame of the filter, with these bytes of
   roost_filter_save_replica. */
void replica_section_append(struct byte_buffer *section, const roost_filter *filter, roost_bytes frame,
                            roost_bytes replica, const struct peer_memories *peers,
                            const struct file_identity *identity);

#endif
