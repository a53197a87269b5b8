/* Transfers frames: pulls them from one region, pushes them to others, and updates cursors. */
#ifndef LINK_TRANSFER_H
#define LINK_TRANSFER_H

#include "engine_state.h"

/* Without memory the work has failed. The generation is that of the value. */
void transfer_delta(struct work *work, unsigned source, region_set destinations, uint64_t generation,
                    roost_cursor since);
void transfer_whole(struct work *work, unsigned source, region_set destinations, uint64_t generation);
/* Deletes the key up to this generation. */
void transfer_deletion(struct work *work, region_set destinations, uint64_t generation);

#endif
