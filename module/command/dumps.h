/*
 * Dumps: SCANDUMP and ROOST.DUMP, a filter in pieces (pieces.h).
 *
 * The first call takes a snapshot, so that pieces fit together whatever is added meanwhile: of a large filter in steps,
 * while others are served. Snapshots are memory that readers make the server hold, so there is a bound on all of them
 * together: MOST_BYTES, or one alone where that is larger. Readers of one filter in one state share a snapshot; one
 * that nobody has read for a while goes when another needs the room; where all are being read, the newcomer is told to
 * come again. An answer has one piece, so that a slow reader holds one.
 */
#ifndef MODULE_COMMAND_DUMPS_H
#define MODULE_COMMAND_DUMPS_H
#include "module/key/target.h"

/* [next iterator, piece] of the filter of the target, which is closed. An iterator that leads nowhere: the error. */
int reply_chunk(struct target *target, long long iterator, const char *error);

void forget_dumps(void);

/* For INFO: how many bytes the snapshots take. */
uint64_t dumps_bytes(void);

#endif
