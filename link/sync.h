/* Two regions compare their values themselves, where no cursor tells what changed: a sync, whose messages we carry. */
#ifndef LINK_SYNC_H
#define LINK_SYNC_H

#include "engine_state.h"

/* False where there were too many in this round, or no memory: the work is in trouble then. */
bool sync_two(struct work *work, unsigned asking, unsigned answering);

#endif
