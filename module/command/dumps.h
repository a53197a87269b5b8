/*
 * Dumps: SCANDUMP and ROOST.DUMP, a filter in chunks (value/chunks.h).
 *
 * The first call takes a snapshot, so that chunks fit together whatever is added meanwhile. The snapshot of a large
 * filter is an incremental job. Snapshots take memory for as long as clients read them, so there is a limit for all of
 * them together: MOST_BYTES, or a single one if that is larger. Clients that read the same filter in the same state
 * share a snapshot. An idle snapshot is dropped when another one needs the room. If all are in use, a new dump is
 * refused and can be tried again. A reply has one chunk, so a slow reader makes the server hold one.
 */
#ifndef MODULE_COMMAND_DUMPS_H
#define MODULE_COMMAND_DUMPS_H

#include "module/key/target.h"

/* Replies [next iterator, chunk], or the error if the iterator is not valid. Closes the target. */
int reply_chunk(struct target *target, long long iterator, const char *error);

void forget_dumps(void);

/* For INFO: how many bytes the snapshots take. */
uint64_t dumps_bytes(void);

#endif
