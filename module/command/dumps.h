/*
 * Dumps: SCANDUMP and ROOST.DUMP, a filter in chunks (value/chunks.h).
 *
 * An iterator names the state that is dumped, by 32 bits of its digest, and the position in its bytes. Equal states have
 * equal bytes, so as long as the filter does not change the server needs to remember nothing: any number of dumps can
 * be read at the same time, from any position, also after a restart. A position behind the end replies with an empty
 * chunk. That holds for filters of any size; a large one is encoded again by an incremental job.
 *
 * Snapshots keep the bytes of a state, so that chunks fit together whatever is added meanwhile, and so that they are
 * encoded once. The first call takes one; of a large filter that is an incremental job. There is a limit for all of them
 * together: MOST_BYTES, or a single one if that is larger. Clients that read the same filter in the same state share a
 * snapshot. An idle snapshot is dropped when another one needs the room. If all are in use, a dump goes on without one.
 * An iterator of a state that is gone, and of which there is no snapshot, is not valid: the dump has to begin again.
 *
 * A reply has one chunk, so a slow reader makes the server hold one.
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
