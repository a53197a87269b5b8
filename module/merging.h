/* Merges of large frames, in steps. */
#ifndef MODULE_MERGING_H
#define MODULE_MERGING_H

#include "target.h"

/* Whether taking in this frame would hold the server for long. The target has a filter, or its key is missing. */
bool merge_is_long(const struct target *target, roost_bytes frame);

/*
 * Takes in the frame while others are served, and answers when all of it is in, as ROOST.MERGE does; the target is
 * closed. Only where can_wait(). `event` is the keyspace event at the end.
 */
int merge_in_steps(struct target *target, RedisModuleString *frame, const char *event);

#endif
