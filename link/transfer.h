/* Frames on their way: pulled from one region, pushed to others, and what that says about cursors. */
#ifndef LINK_TRANSFER_H
#define LINK_TRANSFER_H

#include "engine_state.h"

/* Each is asked for; where there is no memory the work is in trouble. Of the value of a generation: */
void transfer_delta(struct work *work, unsigned source, region_set destinations, uint64_t generation,
                    roost_cursor since);
void transfer_whole(struct work *work, unsigned source, region_set destinations, uint64_t generation);
/* That there is none. */
void transfer_deletion(struct work *work, region_set destinations, uint64_t generation);

#endif
