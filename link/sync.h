/* Syncs two regions whose values differ for an unknown reason; the link carries their messages. */
#ifndef LINK_SYNC_H
#define LINK_SYNC_H

#include "engine_state.h"

/* False, and the work has failed, if there were too many in this round or without memory. */
bool sync_two(struct work *work, unsigned initiator, unsigned responder);

#endif
